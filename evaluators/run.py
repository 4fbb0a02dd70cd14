"""One run: every attempt is solved and judged as it comes, a bounded number at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from builders.values import Item
from evaluators.scores import SEATS
from evaluators.values import Counts, Transcript, Verdict

# Items of one protocol: whoever solves and judges them takes just these.
One = TypeVar("One", bound=Item)


class Outcome(NamedTuple):
    """What a run brought: transcripts by item and epoch, verdicts by transcript and judge."""

    transcripts: tuple[Transcript, ...]
    verdicts: tuple[Verdict, ...]


async def run_attempts(
    todo: Sequence[tuple[One, int]],
    *,
    solve: Callable[[One, int], Awaitable[Transcript | None]],
    judge: Callable[[One, Transcript], Awaitable[tuple[Verdict, ...]]],
    workers: int,
    on_done: Callable[[], None] = lambda: None,
    lane: Callable[[One], str] | None = None,
) -> Outcome:
    """Solve and judge attempts, each an item and an epoch.

    Jury work on one answer goes on while other items are being solved. The outcome is in the order of `todo`,
    whatever the order in which attempts end.

    Args:
        todo: The attempts.
        solve: Makes a transcript; None where there is nothing to judge (an answer that was not brought).
        judge: Makes the verdicts on a transcript.
        workers: Attempts at work at once; with lanes, lanes at work at once.
        on_done: Called after each attempt.
        lane: Attempts that stand together in `todo` and have the same lane are solved one after another, so that each
            finds in a provider's cache what the one before it sent; None: every attempt is a lane of its own.

    Raises:
        ServiceRefusedError, ServiceDownError, JournalError: The first of these ends the run; what was finished is in
            the journal.
    """
    queue = iter(_lanes(todo, lane))
    done: dict[int, tuple[Transcript, tuple[Verdict, ...]]] = {}

    async def mark(place: int, item: One, transcript: Transcript) -> None:
        done[place] = (transcript, await judge(item, transcript))
        on_done()

    async def work() -> None:
        for attempts in queue:
            async with asyncio.TaskGroup() as judging:
                for place, (item, epoch) in attempts:
                    if transcript := await solve(item, epoch):
                        judging.create_task(mark(place, item, transcript))
                    else:
                        on_done()

    await together(work, min(workers, len(todo)))
    order = [done[place] for place in sorted(done)]
    return Outcome(
        tuple(transcript for transcript, _ in order),
        tuple(v for _, verdicts in order for v in sorted(verdicts, key=lambda v: v.judge)),
    )


def _lanes(
    todo: Sequence[tuple[One, int]], lane: Callable[[One], str] | None
) -> list[list[tuple[int, tuple[One, int]]]]:
    placed = list(enumerate(todo))
    if lane is None:
        return [[attempt] for attempt in placed]
    return [list(group) for _, group in groupby(placed, key=lambda attempt: lane(attempt[1][0]))]


async def together(work: Callable[[], Coroutine[None, None, None]], workers: int) -> None:
    """Let `workers` do the same work at once, each taking the next thing to do; the first real error ends them all."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None


def first_error(errors: BaseException) -> BaseException:
    """Dig the first real error out of nested task groups."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors


def count(outcome: Outcome, *, expected: int, seats: int = SEATS) -> Counts:
    """Sort the attempts of a run into the parts a reader is shown.

    Args:
        outcome: The run.
        expected: Attempts there were to make.
        seats: How many readable votes an answer needs; of a case, every answer at every stage.
    """
    said: dict[str, list[Verdict]] = {}
    for verdict in outcome.verdicts:
        if verdict.kind == "model" and verdict.score is not None:
            said.setdefault(verdict.transcript_id, []).append(verdict)
    no_answer = sum(t.no_answer for t in outcome.transcripts)
    failed = sum(t.failure is not None and not t.no_answer for t in outcome.transcripts)
    scored = sum(_judged(t, said.get(t.transcript_id, []), seats) for t in outcome.transcripts)
    attempted = len(outcome.transcripts)
    return Counts(
        expected=expected,
        scored=scored,
        no_answer=no_answer,
        unjudged=attempted - no_answer - failed - scored,
        failed=failed,
        missing=expected - attempted,
    )


def _judged(transcript: Transcript, votes: Sequence[Verdict], seats: int) -> bool:
    if transcript.protocol != "case":
        return len(votes) == seats
    if transcript.answer is None or transcript.no_answer:
        return False
    from evaluators.grades import complete

    return complete(transcript, votes, seats=seats)
