"""Threads for a run's event loop: what is prepared in one for a call that was given up meanwhile is put away."""

import inspect
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

LATEST = 60.0  # seconds after which nobody will await what was prepared; a loop is never so busy


class Threads(ThreadPoolExecutor):
    """The executor of an event loop in which litellm makes calls.

    It prepares each call in a thread, which hands back a coroutine. Where the call was cancelled by then (a run that
    is stopped, a time limit) nobody awaits it, and Python warns of it when it is collected. Nothing was sent yet.
    """

    def __init__(self) -> None:
        super().__init__()
        self._prepared: deque[tuple[float, Coroutine[Any, Any, Any]]] = deque()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As `ThreadPoolExecutor` does it; a coroutine that it brings is kept until it has begun."""
        self._put_away(before=time.monotonic() - LATEST)
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self._keep)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As `ThreadPoolExecutor` does it: with the loop, all that was given up ends."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._put_away(before=float("inf"))

    def _keep(self, done: Future[Any]) -> None:
        if not done.cancelled() and done.exception() is None and inspect.iscoroutine(made := done.result()):
            self._prepared.append((time.monotonic(), made))

    def _put_away(self, *, before: float) -> None:
        while self._prepared:
            since, first = self._prepared[0]
            waits = inspect.getcoroutinestate(first) == inspect.CORO_CREATED
            if waits and since >= before:
                return
            self._prepared.popleft()
            if waits:
                first.close()
