"""Threads for a run's event loop: what is prepared in one for a call that was given up meanwhile is put away."""

import inspect
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Threads(ThreadPoolExecutor):
    """The executor of an event loop in which litellm makes calls.

    It prepares each call in a thread, which hands back a coroutine. Where the call was cancelled by then (a run that
    is stopped, a time limit) nobody awaits it, and Python warns of it when it is collected. Nothing was sent yet.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As `ThreadPoolExecutor` does it; a coroutine that comes too late is closed."""
        future = super().submit(fn, *args, **kwargs)
        cancel, given_up = future.cancel, list[bool]()

        def put_away(done: Future[Any]) -> None:
            late = given_up and done.done() and not done.cancelled() and done.exception() is None and done.result()
            if inspect.iscoroutine(late):
                late.close()

        def give_up() -> bool:
            # A thread that has begun cannot be stopped; it may end before this line or after it.
            given_up.append(True)
            cancelled = cancel()
            put_away(future)
            return cancelled

        future.cancel = give_up  # type: ignore[method-assign]
        future.add_done_callback(put_away)
        return future
