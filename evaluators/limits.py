"""How fast one service is called: calls in flight, requests and tokens a minute, and a back-off its calls share.

Time is the event loop's own, which only goes forward: a clock that is set anew changes nothing.
"""

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, ValidationError

from builders.values import Value
from evaluators.pace import Pace

MINUTE = 60.0
LONGEST_PAUSE = 60.0  # seconds that calls of a service wait together where it does not say how long
FEW, MANY = 3, 10  # fewest and most failures in a row that it takes to hold back all calls of a service
BAD_LUCK = 1e-6  # chance of a row of failures below which it is not taken for bad luck
LATELY = 64  # calls over which the share that failed is taken


class LimitError(ValueError):
    """A limit on the command line cannot be read."""


class ServiceDownError(RuntimeError):
    """So many calls in a row failed, and one more after a pause, that the service must be down."""


class Limits(Value):
    """What a service or a model may be asked at most; None: no limit of its own."""

    in_flight: int | None = Field(None, ge=1, description="Calls at one time.")
    rpm: int | None = Field(None, ge=1, description="Requests within any 60 seconds, retries included.")
    tpm: int | None = Field(None, ge=1, description="Tokens within any 60 seconds, input and output.")


def read_limits(given: Sequence[Sequence[str]]) -> dict[str, Limits]:
    """Read `[WHO] in_flight=N rpm=N tpm=N` groups, WHO a model, a service (`openai`) or an endpoint.

    Returns:
        Limits by name; the empty name stands for every service.

    Raises:
        LimitError: If a word is no limit; the message lists the known ones.
    """
    found: dict[str, Limits] = {}
    for words in given:
        who = words[0] if "=" not in words[0] else ""
        pairs = dict(word.partition("=")[::2] for word in words[bool(who) :])
        try:
            found[who] = Limits.model_validate(pairs)
        except ValidationError as error:
            known = ", ".join(f"{name}=N" for name in Limits.model_fields)
            first = error.errors()[0]
            raise LimitError(
                f"--limits {' '.join(words)}: {first['loc'][0]}: {first['msg']}; known are {known}"
            ) from None
        if not pairs:
            raise LimitError(f"--limits {who}: say what limit, for example rpm=500")
    return found


class Window:
    """A budget for every stretch of time: what is taken within any `seconds` stays within `most`.

    A leaky bucket would let up to twice as much through in a stretch that begins with a full bucket; this one
    remembers what it let through. One taking that is larger than the whole budget passes when nothing else has been
    taken for `seconds`, or it would wait for ever.

    Args:
        most: Units in any stretch of `seconds` (closed at its end, open at its beginning).
        seconds: Length of the stretch.
    """

    def __init__(self, most: int, *, seconds: float = MINUTE) -> None:
        self.most, self.seconds = most, seconds
        self._taken: deque[list[float]] = deque()  # [when, units], oldest first
        self._sum = 0.0

    def wait(self, units: float, *, now: float) -> float:
        """Seconds until `units` fit; 0: now."""
        while self._taken and now - self._taken[0][0] >= self.seconds:
            self._sum -= self._taken.popleft()[1]
        if not self._taken:
            self._sum = 0.0
            return 0.0
        over, ready = self._sum + units - self.most, now
        for when, held in self._taken:
            if over <= 0:
                break
            over, ready = over - held, when + self.seconds
        return max(0.0, ready - now)

    def take(self, units: float, *, now: float) -> list[float]:
        """Take units, and return the entry that `correct` changes."""
        self._taken.append(entry := [now, units])
        self._sum += units
        return entry

    def correct(self, entry: list[float], units: float) -> None:
        """Say what a taking really came to, once that is known."""
        if self._taken and entry[0] >= self._taken[0][0]:
            self._sum += units - entry[1]
            entry[1] = units


class Slots:
    """A semaphore whose size can change while its slots are held, which asyncio's cannot; first come, first served."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._held = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait for a slot."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given a slot in the same moment
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back."""
        self._held -= 1
        self._hand_out()

    def resize(self, size: int) -> None:
        """Change the size; slots that are too many go as they are given back."""
        self.size = size
        self._hand_out()

    def _hand_out(self) -> None:
        while self._queue and self._held < self.size:
            turn = self._queue.popleft()
            if not turn.done():  # who was cancelled still stands in the queue
                self._held += 1
                turn.set_result(None)


class Gate:
    """The limits of one service or model; what comes first goes through first.

    Args:
        limits: What is allowed.
        in_flight: Calls at one time where `limits` says nothing.
    """

    def __init__(self, limits: Limits, *, in_flight: int) -> None:
        self.most = limits.in_flight or in_flight
        self.slots = Slots(self.most)
        self._requests = Window(limits.rpm) if limits.rpm else None
        self._tokens = Window(limits.tpm) if limits.tpm else None
        self._turn = asyncio.Lock()

    async def enter(self, tokens: float) -> list[float] | None:
        """Wait for a slot and for room in the windows; the entry of the tokens, for `leave`."""
        await self.slots.acquire()
        try:
            async with self._turn:
                await self.ready()
                return await self._fit(tokens)
        except BaseException:
            self.slots.release()
            raise

    async def ready(self) -> None:
        """Wait until the service may be called at all; a plain gate always may."""

    async def _fit(self, tokens: float) -> list[float] | None:
        now = asyncio.get_running_loop().time
        windows = [(w, u) for w, u in ((self._requests, 1.0), (self._tokens, tokens)) if w is not None]
        # Whoever is here holds the turn: nobody else takes anything while this call sleeps, so one look back is enough,
        # and a second only where the clock is coarser than the sleep.
        while (wait := max((w.wait(u, now=now()) for w, u in windows), default=0.0)) > 0:  # noqa: ASYNC110
            await asyncio.sleep(wait)
        entries = [w.take(u, now=now()) for w, u in windows]
        return entries[-1] if self._tokens is not None else None

    def leave(self, entry: list[float] | None, tokens: float | None) -> None:
        """Give the slot back; `tokens` is what the call came to, None where nobody said."""
        self.slots.release()
        if self._tokens is not None and entry is not None and tokens is not None:
            self._tokens.correct(entry, tokens)


@dataclass
class Pass:
    """A call on its way: when it went, and whether it is the one that tries a service that seemed down."""

    sent: float
    entry: list[float] | None
    probe: bool = False


@dataclass
class Trouble:
    """How a call failed, as far as the service's other calls should know."""

    crowded: bool  # turned away or timed out, rather than broken
    retry_after: float | None
    said: str


@dataclass
class _Health:
    state: Literal["up", "suspect", "trying", "down"] = "up"
    in_a_row: int = 0
    failing: float = 0.0  # share of the last calls that failed
    pauses: int = 0
    until: float = float("-inf")  # when the pause ends
    paused: float = float("-inf")  # when a pause began that the service did not ask for
    said: str = ""
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class Service(Gate):
    """A service with the back-off that all its calls share.

    - Turned away or timed out: fewer calls in flight, unless that does not help (`pace.py`).
    - Retry-After: no call until then. More failures in a row, whatever their kind, than chance brings where as many
      fail as of late: a pause that doubles.
    - As many failures in a row as `breaker`: a longer pause, and then one call alone. If it fails, too, the service is
      down; if it succeeds, all goes on.

    Args:
        name: For messages.
        limits: What is allowed.
        in_flight: Calls at one time where `limits` says nothing.
        shortest: Seconds of the first shared pause; the breaker's is 60 times as long.
        longest: A service that asks for a longer wait is not waited for; its calls fail.
    """

    def __init__(self, name: str, limits: Limits, *, in_flight: int, shortest: float, longest: float) -> None:
        super().__init__(limits, in_flight=in_flight)
        self.name, self.breaker = name, max(10, self.most)
        self._shortest, self._longest = shortest, longest
        self._health = _Health()
        self.pace = Pace(self.most)

    async def start(self, tokens: float) -> Pass:
        """Wait for this call's turn.

        Raises:
            ServiceDownError: If the service is down.
        """
        entry = await self.enter(tokens)
        probe = self._health.state == "suspect"
        if probe:
            self._health.state = "trying"
            self._health.settled.clear()
        return Pass(asyncio.get_running_loop().time(), entry, probe)

    async def ready(self) -> None:
        """Wait out pauses, and the trial of a service that seemed down."""
        now, health = asyncio.get_running_loop().time, self._health
        while True:
            if health.state == "down":
                raise self._down()
            if health.state == "trying":
                await health.settled.wait()
            elif (left := health.until - now()) > 0:
                await asyncio.sleep(left)
            else:
                return

    def done(self, call: Pass, *, tokens: float | None, trouble: Trouble | None) -> None:
        """Note how a call ended.

        Raises:
            ServiceDownError: If it was the last hope.
        """
        try:
            # First the pace: the slot that is given back may be one too many.
            self._heed(call, trouble)
        finally:
            self.leave(call.entry, tokens)

    def _heed(self, call: Pass, trouble: Trouble | None) -> None:
        health, now = self._health, asyncio.get_running_loop().time()
        health.failing += ((trouble is not None) - health.failing) / LATELY
        if trouble is None or trouble.crowded:
            self.slots.resize(self.pace.note(refused=trouble is not None, sent=call.sent, now=now))
        if trouble is None:
            health.in_a_row = health.pauses = 0
            health.state = "up"
            health.settled.set()
            return
        health.in_a_row += 1
        health.said = trouble.said
        # A call that was on its way before may have come back well in the meantime: then it is no longer the last hope.
        if call.probe and health.state == "trying":
            health.state = "down"
            health.settled.set()
            raise self._down()
        self._hold_back(call, trouble)
        if health.state == "up" and health.in_a_row >= self.breaker:
            health.state = "suspect"
            self._pause(60 * self._shortest)

    def drop(self, call: Pass) -> None:
        """Note that a call was given up for a reason that says nothing about the service."""
        self.leave(call.entry, None)
        if call.probe and self._health.state == "trying":
            self._health.state = "suspect"
            self._health.settled.set()

    def _hold_back(self, call: Pass, trouble: Trouble) -> None:
        health = self._health
        if trouble.retry_after is not None and trouble.retry_after <= self._longest:
            self._pause(trouble.retry_after)
        # Calls that were on their way when it paused say nothing about the time after.
        if call.sent >= health.paused and health.in_a_row >= self._too_many():
            health.paused = asyncio.get_running_loop().time()
            self._pause(min(LONGEST_PAUSE, self._shortest * 2**health.pauses))
            health.pauses += 1

    def _too_many(self) -> int:
        """Failures in a row that are no bad luck."""
        if self.slots.size == 1:
            return FEW  # nothing but a pause makes it slower
        failing = self._health.failing
        return MANY if failing**MANY >= BAD_LUCK else max(FEW, math.ceil(math.log(BAD_LUCK) / math.log(failing)))

    def _pause(self, seconds: float) -> None:
        self._health.until = max(self._health.until, asyncio.get_running_loop().time() + seconds)

    def _down(self) -> ServiceDownError:
        h = self._health
        return ServiceDownError(
            f"{self.name}: {h.in_a_row} calls in a row failed, one of them alone after a pause; the last: {h.said}"
        )
