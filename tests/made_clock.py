"""An event loop whose clock jumps to the next thing to do: hours of waiting pass at once, in the order they would."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Where the loop would sleep, its clock is set on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise AssertionError("nothing is left to wait for: the tasks wait for each other")
        if not found and timeout:
            self.now += timeout
        return found


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def run_fast(task: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on that clock; it begins at 1000 s."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(task)
