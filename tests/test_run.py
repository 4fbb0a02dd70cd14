"""A run takes its items as it needs them and leaves the process as it found it."""

import asyncio
import gc
from collections.abc import Sequence
from typing import Any

import pytest

from builders.values import Riddle
from evaluators.run import calm_collector, run_attempts, run_calls
from evaluators.values import Transcript, Verdict
from tests.made import riddle


class Counted(Sequence[Any]):
    """Attempts at made items, and how many were looked at so far."""

    def __init__(self, attempts: int) -> None:
        self.attempts, self.looked_at = attempts, 0

    def __len__(self) -> int:
        return self.attempts

    def __getitem__(self, at: Any) -> Any:
        if at >= self.attempts:
            raise IndexError(at)
        self.looked_at += 1
        return riddle(at), 0


def test_no_more_items_are_held_than_are_at_work() -> None:
    todo, at_work, ahead = Counted(50), 0, []

    async def solve(item: Riddle, epoch: int) -> Transcript | None:
        nonlocal at_work
        at_work += 1
        ahead.append(todo.looked_at)
        await asyncio.sleep(0)
        return None

    async def judge(item: Riddle, transcript: Transcript) -> tuple[Verdict, ...]:
        raise AssertionError("there is nothing to judge")

    asyncio.run(run_attempts(todo, solve=solve, judge=judge, workers=4, sealed=False))
    assert at_work == todo.looked_at == 50
    assert all(looked <= begun + 4 for begun, looked in enumerate(ahead, start=1))


def test_work_that_stops_its_run_leaves_no_traceback_for_later(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        raise KeyboardInterrupt

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(leave())

    with pytest.raises(KeyboardInterrupt):
        run_calls(work())
    gc.collect()
    assert not caplog.records, "asyncio logs what nobody asked a task for"


def test_what_was_there_before_a_run_is_not_looked_through_meanwhile_and_is_again_afterwards() -> None:
    frozen, threshold = gc.get_freeze_count(), gc.get_threshold()
    with calm_collector():
        assert gc.get_freeze_count() > frozen + 1000
        knot: list[Any] = []
        knot.append(knot)
        del knot
        assert gc.collect() > 0, "garbage of the run itself is collected"
    assert (gc.get_freeze_count(), gc.get_threshold()) == (frozen, threshold)
