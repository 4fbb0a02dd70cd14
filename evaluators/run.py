"""One run: every attempt is solved and judged as it comes, a bounded number at a time."""

import asyncio
import gc
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from threading import current_thread, main_thread
from typing import NamedTuple, TypeVar

from builders.values import Item
from evaluators.models import hang_up
from evaluators.scores import SEATS
from evaluators.spool import Spool
from evaluators.threads import Threads
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

    begun: list[asyncio.Task[Result]] = []

    async def whole() -> Result:
        asyncio.get_running_loop().set_default_executor(Threads())
        begun.extend(filter(None, [asyncio.current_task()]))
        try:
            return await work
        finally:
            await hang_up()

    try:
        with calm_collector():
            return asyncio.run(whole())
    except KeyboardInterrupt:
        # Raised by the work itself (a player who leaves), it ends the loop before the task: nobody asks the task for
        # it, and asyncio would print its whole traceback once the task is collected.
        for task in begun:
            if task.done() and not task.cancelled():
                task.exception()
        raise


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM (a scheduler, a container, `kill`) stop a run as Ctrl-C does: calls on their way are paid for."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def calm_collector() -> Iterator[None]:
    """Keep the garbage collector off what was there before: with litellm's modules 350,000 objects that stay.

    Looking through them again and again took a fifth to a quarter of a call's CPU time, in pauses that all calls waited
    for (`make bench-run`). What calls leave behind is collected as ever.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def run_attempts(
    todo: Sequence[tuple[One, int]],
    *,
    solve: Callable[[One, int], Awaitable[Transcript | None]],
    judge: Callable[[One, Transcript], Awaitable[tuple[Verdict, ...]]],
    workers: int,
    sealed: bool,
    on_done: Callable[[], None] = lambda: None,
    lane: Callable[[One], str] | None = None,
) -> Outcome:
    """Solve and judge attempts, each an item and an epoch.

    Jury work on one answer goes on while other items are being solved. The outcome is in the order of `todo`,
    whatever the order in which attempts end, and is read from disk: memory does not grow with the run.

    Args:
        todo: The attempts.
        solve: Makes a transcript; None where there is nothing to judge (an answer that was not brought).
        judge: Makes the verdicts on a transcript.
        workers: Attempts at work at once; with lanes, lanes at work at once.
        sealed: Keep finished attempts in memory alone: what was said about a sealed item touches no disk in clear.
        on_done: Called after each attempt.
        lane: Attempts that stand together in `todo` and have the same lane are solved one after another, so that each
            finds in a provider's cache what the one before it sent; None: every attempt is a lane of its own.

    Raises:
        ServiceRefusedError, ServiceDownError, JournalError: The first of these ends the run; what was finished is in
            the journal.
    """
    queue = _lanes(todo, lane)
    done = Spool(len(todo), on_disk=not sealed)

    async def mark(place: int, item: One, transcript: Transcript) -> None:
        verdicts = await judge(item, transcript)
        done.put(place, transcript, sorted(verdicts, key=lambda v: v.judge))
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
    return Outcome(*done.rows())


def _lanes(
    todo: Sequence[tuple[One, int]], lane: Callable[[One], str] | None
) -> Iterator[list[tuple[int, tuple[One, int]]]]:
    """Attempts with their places, lane by lane as they are asked for: a list of all would grow with the run."""
    if lane is None:
        yield from ([attempt] for attempt in enumerate(todo))
        return
    for _, group in groupby(enumerate(todo), key=lambda attempt: lane(attempt[1][0])):
        yield list(group)


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
    votes = Counter(v.transcript_id for v in outcome.verdicts if v.kind == "model" and v.score is not None)
    graded = _graded_cases(outcome, seats)
    attempted = no_answer = failed = scored = 0
    for t in outcome.transcripts:
        attempted += 1
        no_answer += t.no_answer
        failed += t.failure is not None and not t.no_answer
        scored += t.transcript_id in graded if t.protocol == "case" else votes[t.transcript_id] == seats
    return Counts(
        expected=expected,
        scored=scored,
        no_answer=no_answer,
        unjudged=attempted - no_answer - failed - scored,
        failed=failed,
        missing=expected - attempted,
    )


def _graded_cases(outcome: Outcome, seats: int) -> set[str]:
    """Cases of which every answer at every stage has a readable grade of every seat."""
    cases = {t.transcript_id: t for t in outcome.transcripts if t.protocol == "case" and t.answer and not t.no_answer}
    if not cases:
        return set()
    from evaluators.grades import complete

    said: dict[str, list[Verdict]] = {name: [] for name in cases}
    for verdict in outcome.verdicts:
        if verdict.kind == "model" and verdict.score is not None and verdict.transcript_id in said:
            said[verdict.transcript_id].append(verdict)
    return {name for name, t in cases.items() if complete(t, said[name], seats=seats)}
