"""What the plays of all protocols do alike: which items they do, what was brought for them, whom they call."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from builders.values import Item
from evaluators.heading import Heading
from evaluators.jury import deliberate
from evaluators.models import prepare
from evaluators.predictions import Brought
from evaluators.protocols import Marking, Table
from evaluators.run import Outcome, run_attempts
from evaluators.runner import Runner
from evaluators.values import Model, Transcript, Verdict

One = TypeVar("One", bound=Item)
Asked_contra = TypeVar("Asked_contra", bound=Item, contravariant=True)


class Reader(Protocol[Asked_contra]):
    """Reads a file of answers to items."""

    def __call__(
        self, path: Path, items: Sequence[Asked_contra], *, heading: Heading, epochs: int, allow_missing: bool
    ) -> Brought:
        """The answers as transcripts."""


class ItemPlay(Generic[One]):
    """The items of one run.

    Args:
        table: What the run has settled before.
        items: What is played.
        condition: What was varied.
        marking: How the jury marks an attempt.
        reader: Reads answers that were brought; None where a protocol takes none.
    """

    models: tuple[Model, ...]
    parts: tuple[object, ...]

    def __init__(
        self,
        table: Table,
        items: tuple[One, ...],
        *,
        condition: str,
        marking: Marking,
        reader: Reader[One] | None = None,
    ) -> None:
        self.items, self.condition = items, condition
        self.expected = len(items) * table.options.epochs
        self._table, self._how, self._reader = table, marking, reader
        self._brought: Brought | None = None

    def only(self, ids: frozenset[str]) -> None:
        """Leave only these items to do: the share of one worker."""
        self.items = tuple(item for item in self.items if item.id in ids)

    def read(self, key: str) -> Outcome | None:
        """Read answers that were brought.

        Raises:
            PredictionError: If the file is refused.
        """
        options = self._table.options
        if options.predictions and self._reader is not None:
            self._brought = self._reader(
                options.predictions,
                self.items,
                heading=self._heading(key),
                epochs=options.epochs,
                allow_missing=options.allow_missing,
            )
        return None

    def prepare(self) -> None:
        """Refuse models that cannot be called.

        Raises:
            ModelError: If one cannot.
        """
        for model in self.models:
            prepare(model)

    def _heading(self, key: str) -> Heading:
        manifest = self._table.split.manifest
        return Heading(key, manifest.ref, self._table.model, manifest.protocol, self.condition)

    async def _attempts(
        self,
        items: Sequence[One],
        runner: Runner,
        solve: Callable[[One, int], Awaitable[Transcript]],
        *,
        on_done: Callable[[], None] = lambda: None,
        workers: int | None = None,
        lane: Callable[[One], str] | None = None,
    ) -> Outcome:
        """Solve each of the items as often as the run repeats it, or take what was brought, and let the jury mark it.

        Args:
            items: In the order of the outcome.
            runner: Makes the calls.
            solve: Makes the attempt number `epoch` at an item.
            on_done: Called after each attempt.
            workers: Attempts at work at once; None: as many as calls may be in flight.
            lane: As for `run_attempts`.
        """

        async def answer(item: One, epoch: int) -> Transcript | None:
            if self._brought is not None:
                return self._brought.get((item.id, epoch))
            return await solve(item, epoch)

        async def judge(item: One, transcript: Transcript) -> tuple[Verdict, ...]:
            return await deliberate(item, transcript, runner, seats=self._table.seats, how=self._how)

        todo = [(item, epoch) for item in items for epoch in range(self._table.options.epochs)]
        return await run_attempts(
            todo,
            solve=answer,
            judge=judge,
            workers=runner.concurrency if workers is None else workers,
            sealed=self._table.split.manifest.sealed,
            on_done=on_done,
            lane=lane,
        )


def first(items: Sequence[Item], table: Table) -> int | None:
    """How many items of a split a run does; None: all of them."""
    return len(items) if len(items) < len(table.split.items) else None
