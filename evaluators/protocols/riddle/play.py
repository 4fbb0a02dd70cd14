"""Riddles in a run: prompts, brought answers and verdicts, and the calls."""

from collections.abc import Callable
from typing import NoReturn

from builders.values import Riddle
from evaluators.jury import deliberate
from evaluators.models import prepare
from evaluators.predictions import file_sha256, read_judge_files, read_predictions
from evaluators.prices import read_prices
from evaluators.pricing import quote, table
from evaluators.prompts import Prompt
from evaluators.protocols import Table, riddle
from evaluators.run import Outcome, run_attempts
from evaluators.runner import Runner
from evaluators.values import Model, Transcript, Verdict


class RiddlePlay:
    """The riddles of one run."""

    def __init__(self, table: Table, items: tuple[Riddle, ...], solver: Prompt, judge: Prompt) -> None:
        self._table, self._items, self._solver, self._judge = table, items, solver, judge
        options = table.options
        files = [file_sha256(f) for f in (options.predictions, *(options.judge_files or ())) if f]
        self.condition = riddle.condition(options.hints)
        if len(items) < len(table.split.items):
            self.condition += f";first={len(items)}"
        self.parts: tuple[object, ...] = (solver.sha256, judge.sha256, files)
        self.expected = len(items) * options.epochs
        self._brought: dict[tuple[str, int], Transcript] | None = None

    @property
    def items(self) -> tuple[Riddle, ...]:
        """What is played."""
        return self._items

    def only(self, ids: frozenset[str]) -> None:
        """Leave only these items to do: the share of one worker."""
        self._items = tuple(item for item in self._items if item.id in ids)

    @property
    def models(self) -> tuple[Model, ...]:
        """Models that the run calls."""
        options = self._table.options
        solver = () if options.predictions else (self._table.model,)
        return (*solver, *(() if options.judge_files else (seat.model for seat in self._table.seats)))

    def quote(self) -> str:
        """Say what the run would cost."""
        options = self._table.options
        return table(
            quote(
                self._items,
                model=None if options.predictions else self._table.model,
                seats=() if options.judge_files else self._table.seats,
                epochs=options.epochs,
                hints=options.hints,
                solver=self._solver,
                judge=self._judge,
            ),
            read_prices(options.price or (), batch=options.batch),
        )

    def read(self, key: str) -> Outcome | None:
        """Read what was brought; the outcome where answers and verdicts both were.

        Raises:
            PredictionError: If a file is refused.
        """
        options = self._table.options
        if options.predictions:
            self._brought = read_predictions(
                options.predictions,
                self._items,
                setup=self._setup(key),
                epochs=options.epochs,
                allow_missing=options.allow_missing,
            )
        if not options.judge_files:
            return None
        return self._judged_elsewhere()

    def prepare(self) -> None:
        """Refuse models that cannot be called.

        Raises:
            ModelError: If one cannot.
        """
        for model in self.models:
            prepare(model)

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Solve and judge."""
        setup, brought = self._setup(key), self._brought

        async def solve(item: Riddle, epoch: int) -> Transcript | None:
            if brought is not None:
                return brought.get((item.id, epoch))
            return await riddle.solve(item, runner.complete(setup.model, epoch=epoch), epoch=epoch, setup=setup)

        async def judge(item: Riddle, transcript: Transcript) -> tuple[Verdict, ...]:
            return await deliberate(item, transcript, runner, seats=self._table.seats, prompt=self._judge)

        todo = [(item, epoch) for item in self._items for epoch in range(self._table.options.epochs)]
        return await run_attempts(
            todo,
            solve=solve,
            judge=judge,
            workers=runner.concurrency,
            sealed=self._table.split.manifest.sealed,
            on_done=on_done,
        )

    def _setup(self, key: str) -> riddle.Setup:
        options, split = self._table.options, self._table.split
        return riddle.Setup(key, split.manifest.ref, self._table.model, options.hints, self._solver, self.condition)

    def _judged_elsewhere(self) -> Outcome:
        transcripts = tuple((self._brought or {}).values())
        verdicts = read_judge_files(
            self._table.options.judge_files,
            transcripts,
            panel=self._table.panel,
            provider=self._table.model.provider,
        )
        by_rule = tuple(riddle.no_answer(t) for t in transcripts if t.no_answer)
        order = {item.id: n for n, item in enumerate(self._items)}
        transcripts = tuple(sorted(transcripts, key=lambda t: order[t.item_id]))
        place = {t.transcript_id: n for n, t in enumerate(transcripts)}
        return Outcome(transcripts, tuple(sorted(verdicts + by_rule, key=lambda v: (place[v.transcript_id], v.judge))))


def open_riddles(table: Table, refuse: Callable[[str], NoReturn]) -> RiddlePlay:
    """Open the riddles of a split.

    Raises:
        PromptError, PredictionError: If prompts or brought files cannot be read.
    """
    options = table.options
    items = tuple(item for item in table.split.items if isinstance(item, Riddle))[: options.limit]
    solver, judge = (Prompt(f"riddle/{part}", home=options.prompts) for part in ("solver", "judge"))
    return RiddlePlay(table, items, solver, judge)
