"""When calls start: a little apart where the event loop has time to spare."""

import asyncio

APART = 0.003  # seconds, about what a call costs the event loop: starts this far apart get into nobody's way


class Starts:
    """Keeps the calls of an event loop from starting all at once while it has time to spare.

    Calls that start together are answered together, and the loop works at all of them in turn, so that all their
    successors start late, and together again: for ever a burst at which the services wait, and then the loop. Started
    a little apart, each is worked at as it comes, and more of the wanted calls are in flight (`make bench-run`). Where
    calls end faster than that, the loop has no time to spare and works at bursts with less effort: there is no wait.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._next = float("-inf")
        self._mean = float("inf")  # seconds a call takes

    async def turn(self, in_flight: int) -> None:
        """Wait until another of `in_flight` calls may start; most find no wait."""
        now = asyncio.get_running_loop().time
        async with self._turn:
            if self._mean < 2 * APART * in_flight:
                return
            if (early := self._next - now()) > 0:
                await asyncio.sleep(early)
            self._next = now() + APART

    def took(self, seconds: float) -> None:
        """Note how long a call took."""
        self._mean = seconds if self._mean == float("inf") else 0.95 * self._mean + 0.05 * seconds
