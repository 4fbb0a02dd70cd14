"""What a person sees while a run goes on: done, failed, cost and time left, on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from evaluators.runner import GRACE, Tally


class Display(Protocol):
    """Takes note of finished attempts; `show` may be called after any call."""

    def done(self) -> None:
        """Count one attempt, solved and judged."""

    def show(self) -> None:
        """Refresh what stands there."""


def describe(tally: Tally) -> str:
    """Say in one line what a run has done: calls, replies from the journal, retries, failures and cost."""
    parts = [f"{tally.calls} calls"]
    if tally.journalled:
        parts.append(f"{tally.journalled} from the journal")
    if tally.retries:
        parts.append(f"{sum(tally.retries.values())} retries")
    failed = ", ".join(f"{n} {cause}" for cause, n in sorted(tally.failed.items()))
    parts.append(failed or "0 failed")
    parts.append(cost(tally))
    return " · ".join(parts)


def cost(tally: Tally) -> str:
    """Say what was spent, and of how much where that is capped.

    Calls of unknown price are named, never counted as free.
    """
    if tally.unpriced and not tally.cost_usd:
        return "cost unknown"
    unknown = f" + {tally.unpriced} calls of unknown price" if tally.unpriced else ""
    if tally.most_usd is None:
        return f"${tally.cost_usd:.4f}{unknown}"
    # The cap holds for the journal as a whole, earlier sessions included.
    return f"${tally.paid_before_usd + tally.cost_usd:.4f} of at most ${tally.most_usd:g}{unknown}"


def say_waiting(what: str) -> None:
    """Say what a run that was stopped still waits for."""
    waited = f"{what} on their way are waited for, {GRACE:g} s at most"
    print(f"stopping: {waited}; Ctrl-C once more ends at once", file=sys.stderr, flush=True)


@contextmanager
def progress(total: int, tally: Tally, *, what: str) -> Iterator[Display]:
    """Show a bar on a terminal, or a line now and then where stderr is a file."""
    if sys.stderr.isatty():
        with _bar(total, tally, what) as display:
            yield display
    else:
        yield _Lines(total, tally, what)


@contextmanager
def _bar(total: int, tally: Tally, what: str) -> Iterator[Display]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, state="")

        class Bar:
            def done(self) -> None:
                bar.advance(task)

            def show(self) -> None:
                bar.update(task, state=describe(tally))

        yield Bar()


class _Lines:
    def __init__(self, total: int, tally: Tally, what: str) -> None:
        self._total, self._tally, self._what = total, tally, what
        self._done = 0
        self._began = self._last = time.monotonic()

    def done(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._done == self._total or now - self._last >= 10:
            self._last = now
            left = (now - self._began) / self._done * (self._total - self._done)
            line = f"{self._what} {self._done}/{self._total} · {describe(self._tally)} · {left:.0f} s left"
            print(line, file=sys.stderr, flush=True)

    def show(self) -> None:
        pass
