"""One run: every attempt is solved and judged as it comes, a bounded number at a time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import NamedTuple, TypeVar

from builders.values import Item
from evaluators.models import hang_up
from evaluators.spool import Spool
from evaluators.values import Counts, Transcript, Verdict

# Items of one protocol: whoever solves and judges them takes just these.
One = TypeVar("One", bound=Item)
Result = TypeVar("Result")


class Outcome(NamedTuple):
    """What a run brought: transcripts by item and epoch, verdicts by transcript and judge."""

    transcripts: Sequence[Transcript]
    verdicts: Sequence[Verdict]


def run_calls(work: Coroutine[None, None, Result]) -> Result:
    """`asyncio.run` for work that calls models: their connections are closed at its end."""

    async def whole() -> Result:
        try:
            return await work
        finally:
            await hang_up()

    return asyncio.run(whole())


async def run_attempts(
    todo: Sequence[tuple[One, int]],
    *,
    solve: Callable[[One, int], Awaitable[Transcript | None]],
    judge: Callable[[One, Transcript], Awaitable[tuple[Verdict, ...]]],
    workers: int,
    on_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Solve and judge attempts, each an item and an epoch.

    Jury work on one answer goes on while other items are being solved. The outcome is in the order of `todo`,
    whatever the order in which attempts end, and is read from disk: memory does not grow with the run.

    Args:
        solve: Makes a transcript; None where there is nothing to judge (an answer that was not brought).
        judge: Makes the verdicts on a transcript.
        workers: Attempts at work at once.

    Raises:
        ServiceRefusedError, ServiceDownError, JournalError: The first of these ends the run; what was finished is in
            the journal.
    """
    queue = iter(enumerate(todo))
    done = Spool(len(todo))

    async def work() -> None:
        for place, (item, epoch) in queue:
            transcript = await solve(item, epoch)
            if transcript:
                verdicts = await judge(item, transcript)
                done.put(place, transcript, sorted(verdicts, key=lambda v: v.judge))
            on_done()

    await together(work, min(workers, len(todo)))
    return Outcome(*done.rows())


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


def count(outcome: Outcome, *, expected: int) -> Counts:
    """Sort the attempts of a run into the parts a reader is shown."""
    votes = Counter(v.transcript_id for v in outcome.verdicts if v.kind == "model" and v.score is not None)
    attempted = no_answer = failed = scored = 0
    for t in outcome.transcripts:
        attempted += 1
        no_answer += t.no_answer
        failed += t.failure is not None and not t.no_answer
        scored += votes[t.transcript_id] == 3
    return Counts(
        expected=expected,
        scored=scored,
        no_answer=no_answer,
        unjudged=attempted - no_answer - failed - scored,
        failed=failed,
        missing=expected - attempted,
    )
