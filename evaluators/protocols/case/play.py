"""Cases in a run: rubrics, the games, their grading, and what people graded."""

from collections.abc import Callable
from typing import Literal, NoReturn

from builders.values import Case
from evaluators.answers import CaseSettings
from evaluators.human_grades import read_grades
from evaluators.prices import read_prices
from evaluators.protocols import Table
from evaluators.protocols.case.game import Setup, Solver, play
from evaluators.protocols.case.marking import case_marking
from evaluators.protocols.case.person import Person
from evaluators.protocols.case.quote import quote
from evaluators.protocols.case.texts import load_case_texts
from evaluators.protocols.item_play import ItemPlay
from evaluators.protocols.soup.desk import Desk
from evaluators.protocols.soup.person import by_hand
from evaluators.protocols.soup.texts import Texts
from evaluators.rubrics import RubricSet, rubrics_for
from evaluators.run import Outcome
from evaluators.runner import Runner
from evaluators.values import Transcript


class CasePlay(ItemPlay[Case]):
    """The cases of one run."""

    def __init__(
        self, table: Table, items: tuple[Case, ...], *, settings: CaseSettings, rubrics: RubricSet | None, texts: Texts
    ) -> None:
        graded = sum(not case.practice for case in items)
        every = sum(isinstance(item, Case) and not item.practice for item in table.split.items)
        super().__init__(
            table,
            items,
            condition=condition(settings, rubrics, first=graded if graded < every else None),
            marking=case_marking(settings.grader_mode, texts, rubrics),
        )
        self._settings, self._rubrics, self._texts = settings, rubrics, texts
        self.expected = graded * table.options.epochs
        self.parts = (texts.sha256, rubrics.sha256 if rubrics else None, settings)
        player = (table.model,) if settings.player == "model" else ()
        self.models = (*player, *(seat.model for seat in table.seats))

    def quote(self) -> str:
        """Say what the run would cost, from the prompts of up to three cases."""
        return quote(
            self.items,
            model=self._table.model if self._settings.player == "model" else None,
            seats=self._table.seats,
            epochs=self._table.options.epochs,
            settings=self._settings,
            texts=self._texts,
            rubrics=self._rubrics.by_question if self._rubrics else {},
            prices=read_prices(self._table.options.price or ()),
        )

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Play and grade; each call has its own line in the journal, so that a killed game goes on at its stage.

        The practice case is played, where it is, and leaves no trace in the outcome.

        Raises:
            PredictionError: If the file of people's grades does not fit the answers.
        """
        setup = Setup(self._heading(key), self._settings, self._rubrics.sha256 if self._rubrics else None)
        # A person plays one case at a time.
        workers = 1 if self._settings.player == "human" else None

        async def solve(item: Case, epoch: int) -> Transcript:
            return await self._play(item, epoch, runner, setup)

        practice, cases = ([item for item in self.items if item.practice is which] for which in (True, False))
        await self._attempts(practice, runner, solve, workers=workers)
        played = await self._attempts(cases, runner, solve, workers=workers, on_done=on_done)
        if self._table.options.grades is None:
            return played
        judges = {seat.judge for seat in self._table.seats}
        human = read_grades(self._table.options.grades, played.transcripts, judges=judges)
        return played._replace(verdicts=(*played.verdicts, *human))

    async def _play(self, item: Case, epoch: int, runner: Runner, setup: Setup) -> Transcript:
        model, texts = self._table.model, self._texts
        if setup.settings.player == "human":
            desk = Desk(by_hand(runner.journal, model, epoch=epoch), model.decoding, texts)
            return await play(item, Person(desk, item), desk, epoch=epoch, setup=setup)
        desk = Desk(runner.complete(model, epoch=epoch), model.decoding, texts)
        return await play(item, Solver(desk, item, setup.settings.scheme), desk, epoch=epoch, setup=setup)


def condition(settings: CaseSettings, rubrics: RubricSet | None, *, first: int | None) -> str:
    """Name what was varied; grades by other rubrics are not compared."""
    who = "player=human" if settings.player == "human" else f"scheme={settings.scheme}"
    parts = [who, f"grader={settings.grader_mode}"]
    if rubrics is not None:
        parts.append(f"rubrics={rubrics.sha256[:8]}")
    return ";".join([*parts, *([f"first={first}"] if first is not None else [])])


def open_cases(table: Table, refuse: Callable[[str], NoReturn]) -> CasePlay:
    """Open the cases of a split.

    Raises:
        PromptError, RubricError, VaultError: If prompts or rubrics cannot be used.
    """
    options, split = table.options, table.split
    if options.predictions:
        refuse("--predictions: cases are played here, location by location; this split has cases")
    human = options.player == "human"
    if human and options.scheme:
        refuse("--scheme says how a model is asked; leave it out with --player human")
    settings = CaseSettings(
        kind="case",
        scheme=options.scheme or "simple",
        grader_mode=options.grader_mode or 5,
        player="human" if human else "model",
    )
    rubrics = None
    if settings.grader_mode in (4, 5):
        mode: Literal[4, 5] = 4 if settings.grader_mode == 4 else 5
        rubrics = rubrics_for(split, mode=mode, root=options.splits, path=options.rubrics)
    elif options.rubrics is not None:
        refuse(f"--rubrics is for grader modes 4 and 5, not {settings.grader_mode}")
    cases = tuple(item for item in split.items if isinstance(item, Case))
    # A person learns the game on the practice case; a model plays it where it is asked to.
    practice = tuple(case for case in cases if case.practice and (human or options.practice))
    graded = tuple(case for case in cases if not case.practice)[: options.limit]
    texts = load_case_texts(settings.grader_mode, home=options.prompts)
    return CasePlay(table, practice + graded, settings=settings, rubrics=rubrics, texts=texts)
