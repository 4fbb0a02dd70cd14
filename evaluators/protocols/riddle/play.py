"""Riddles in a run: prompts, brought answers and verdicts, and the calls."""

from collections.abc import Callable
from typing import NoReturn

from builders.values import Riddle
from evaluators.predictions import file_sha256, read_judge_files, read_predictions
from evaluators.prices import read_prices
from evaluators.pricing import quote, table
from evaluators.prompts import Prompt
from evaluators.protocols import Table, riddle
from evaluators.protocols.item_play import ItemPlay, first
from evaluators.protocols.riddle.marking import riddle_marking
from evaluators.run import Outcome
from evaluators.runner import Runner
from evaluators.values import Transcript


class RiddlePlay(ItemPlay[Riddle]):
    """The riddles of one run."""

    def __init__(self, table: Table, items: tuple[Riddle, ...], solver: Prompt, judge: Prompt) -> None:
        options = table.options
        condition = riddle.condition(options.hints, first=first(items, table))
        super().__init__(table, items, condition=condition, marking=riddle_marking(judge), reader=read_predictions)
        self._solver, self._judge = solver, judge
        files = [file_sha256(f) for f in (options.predictions, *(options.judge_files or ())) if f]
        self.parts = (solver.sha256, judge.sha256, files)
        seats = () if options.judge_files else table.seats
        self.models = (*(() if options.predictions else (table.model,)), *(seat.model for seat in seats))

    def quote(self) -> str:
        """Say what the run would cost."""
        options = self._table.options
        return table(
            quote(
                self.items,
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
        super().read(key)
        return self._judged_elsewhere() if self._table.options.judge_files else None

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Solve and judge."""
        run = self._heading(key)
        setup = riddle.Setup(run, self._table.options.hints, self._solver)

        async def solve(item: Riddle, epoch: int) -> Transcript:
            return await riddle.solve(item, runner.complete(run.model, epoch=epoch), epoch=epoch, setup=setup)

        return await self._attempts(self.items, runner, solve, on_done=on_done)

    def _judged_elsewhere(self) -> Outcome:
        transcripts = tuple((self._brought or {}).values())
        verdicts = read_judge_files(
            self._table.options.judge_files,
            transcripts,
            panel=self._table.panel,
            provider=self._table.model.provider,
        )
        by_rule = tuple(riddle.no_answer(t) for t in transcripts if t.no_answer)
        order = {item.id: n for n, item in enumerate(self.items)}
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
