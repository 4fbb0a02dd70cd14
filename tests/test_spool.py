"""Finished attempts on disk: they come back equal, in the order of the run, and memory does not grow with them."""

import asyncio
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.values import Riddle
from evaluators.run import run_attempts
from evaluators.spool import IN_MEMORY, Spool
from evaluators.values import Message, RiddleAnswer, Transcript, Usage, Verdict, transcript_id
from tests.made import riddle

words = st.text(max_size=20)


def transcript(n: int, text: str) -> Transcript:
    return Transcript(
        transcript_id=transcript_id("run", f"r-{n}", 0),
        split="sample-llm@1.0.0",
        item_id=f"r-{n}",
        model="m",
        protocol="riddle",
        condition="hints=0",
        messages=(Message(role="user", text=text),),
        answer=RiddleAnswer(answer=text, justification="y"),
        usage=Usage(input_tokens=n),
        seconds=n / 7,
    )


def verdict(n: int, judge: str, reply: str) -> Verdict:
    return Verdict(transcript_id=transcript_id("run", f"r-{n}", 0), judge=judge, kind="model", score=n % 2, reply=reply)


@settings(max_examples=50)
@given(st.permutations(range(8)), st.lists(words, min_size=8, max_size=8), st.data())
def test_attempts_come_back_equal_and_in_order_whatever_the_order_they_ended_in(
    order: list[int], texts: list[str], data: st.DataObject
) -> None:
    missing = data.draw(st.sets(st.integers(0, 7)))
    made = {n: (transcript(n, texts[n]), [verdict(n, j, texts[-n]) for j in "abc"[: n % 4]]) for n in range(8)}
    spool = Spool(8, on_disk=True)
    for n in order:
        if n not in missing:
            spool.put(n, *made[n])
    transcripts, verdicts = spool.rows()
    kept = [made[n] for n in range(8) if n not in missing]
    assert list(transcripts) == [t for t, _ in kept]
    assert list(verdicts) == [v for _, votes in kept for v in votes]
    assert transcripts[:] == tuple(transcripts)
    assert not len(transcripts) or transcripts[len(transcripts) - 1] == kept[-1][0]


def test_memory_does_not_grow_with_the_attempts() -> None:
    long = "x" * 20_000
    spool = Spool(1000, on_disk=True)
    tracemalloc.start()
    try:
        for n in range(1000):
            spool.put(n, transcript(n, long), ())
        transcripts, _ = spool.rows()
        assert sum(len(t.messages[0].text) for t in transcripts) == 20_000_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < IN_MEMORY + 2 * 2**20


class Asked(Sequence[tuple[Riddle, int]]):
    """Attempts that are made when they are asked for, with the number of those that were."""

    def __init__(self, items: Sequence[Riddle]) -> None:
        self.items, self.asked = items, 0

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: Any) -> Any:
        self.asked = max(self.asked, at + 1)
        return self.items[at], 0


@pytest.mark.parametrize("lane", [None, lambda item: item.id[:3]], ids=["each alone", "lanes of ten"])
def test_no_attempt_is_asked_for_before_its_turn(lane: Callable[[Riddle], str] | None) -> None:
    """A list of what is to be done would hold a run of any size in memory."""
    todo, ahead = Asked([riddle(0).model_copy(update={"id": f"{n:04}"}) for n in range(200)]), list[int]()

    async def solve(item: Riddle, epoch: int) -> Transcript | None:
        ahead.append(todo.asked - int(item.id))
        await asyncio.sleep(0)

    async def judge(item: Riddle, answer: Transcript) -> tuple[Verdict, ...]:
        return ()

    asyncio.run(run_attempts(todo, solve=solve, judge=judge, workers=4, sealed=False, lane=lane))
    assert len(ahead) == 200
    assert max(ahead) <= (4 if lane is None else 4 * 10 + 1)
