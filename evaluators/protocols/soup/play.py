"""Situation puzzles in a run: responder, reference points, brought reconstructions, and the games."""

from collections.abc import Callable
from typing import NoReturn

from builders.values import Soup
from evaluators.answers import Ablation, SoupSettings
from evaluators.jury import split_provider
from evaluators.models import public
from evaluators.points import PointSet, points_for
from evaluators.predictions import file_sha256, read_stories
from evaluators.prices import read_prices
from evaluators.prompts import language_of
from evaluators.protocols import Table
from evaluators.protocols.item_play import ItemPlay, first
from evaluators.protocols.soup.condition import write_condition
from evaluators.protocols.soup.desk import Desk
from evaluators.protocols.soup.game import Setup, play
from evaluators.protocols.soup.marking import soup_marking
from evaluators.protocols.soup.person import Person, by_hand
from evaluators.protocols.soup.quote import quote
from evaluators.protocols.soup.texts import Texts, load_texts
from evaluators.run import Outcome
from evaluators.runner import Runner
from evaluators.values import Decoding, Model, Transcript

# One fixed model answers the questions of every player, so that no score depends on how well a player hosts itself.
RESPONDER = Model(name="openai/gpt-5.1-2025-11-13", provider="openai")
SYMMETRIC = "symmetric"
HUMAN = "human"  # maker of a player who is no model


class SoupPlay(ItemPlay[Soup]):
    """The puzzles of one run."""

    def __init__(
        self,
        table: Table,
        items: tuple[Soup, ...],
        *,
        settings: SoupSettings,
        responder: Model,
        points: PointSet,
        texts: Texts,
    ) -> None:
        options = table.options
        unknown = options.predictions and options.responder is None  # only who played knows who had answered
        condition = write_condition(
            settings.model_copy(update={"responder": ""}) if unknown else settings,
            points.sha256,
            first=first(items, table),
            brought=bool(options.predictions),
            human=table.model.provider == HUMAN,
        )
        marking = soup_marking(points, texts, compat=settings.compat)
        super().__init__(table, items, condition=condition, marking=marking, reader=read_stories)
        self._settings, self._responder, self._texts, self._points = settings, responder, texts, points
        files = [file_sha256(options.predictions)] if options.predictions else []
        self.parts = (texts.sha256, points.sha256, settings, public(responder), files)
        player = (table.model,) if settings.player == "model" else ()
        self.models = (
            *(() if options.predictions else (*player, responder)),
            *(seat.model for seat in table.seats),
        )

    def quote(self) -> str:
        """Say what the run would cost, from one to three rehearsed games."""
        played = self._settings.player == "model" and not self._table.options.predictions
        return quote(
            self.items,
            {p.item_id: p for p in self._points.items},
            model=self._table.model if played else None,
            responder=None if self._table.options.predictions else self._responder,
            seats=self._table.seats,
            epochs=self._table.options.epochs,
            settings=self._settings,
            texts=self._texts,
            prices=read_prices(self._table.options.price or (), batch=self._table.options.batch),
        )

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Play and judge; each call has its own line in the journal, so that a killed game goes on at its turn."""
        setup = Setup(self._heading(key), self._settings, self._points.sha256)
        # A person plays one game at a time.
        workers = 1 if self._settings.player == "human" else None

        async def solve(item: Soup, epoch: int) -> Transcript:
            return await self._play(item, epoch, runner, setup)

        return await self._attempts(self.items, runner, solve, on_done=on_done, workers=workers)

    async def _play(self, item: Soup, epoch: int, runner: Runner, setup: Setup) -> Transcript:
        model, responder, texts = self._table.model, self._responder, self._texts
        if setup.settings.player == "human":
            desk = Desk(by_hand(runner.journal, model, epoch=epoch), model.decoding, texts)
            person = Person(desk, item, setup.settings)
            other = Desk(runner.complete(responder, epoch=epoch), responder.decoding, texts, unusable="responder")
            return await play(item, desk, other, epoch=epoch, setup=setup, player=person)
        desk = Desk(runner.complete(model, epoch=epoch), model.decoding, texts)
        if setup.settings.responder == SYMMETRIC:
            return await play(item, desk, desk, epoch=epoch, setup=setup)
        other = Desk(runner.complete(responder, epoch=epoch), responder.decoding, texts, unusable="responder")
        return await play(item, desk, other, epoch=epoch, setup=setup)


def open_soups(table: Table, refuse: Callable[[str], NoReturn]) -> SoupPlay:
    """Open the puzzles of a split.

    Raises:
        PromptError, PointsError, PredictionError: If prompts, reference points or a brought file cannot be used.
    """
    options, split = table.options, table.split
    if options.player == "human" and (options.predictions or options.responder == SYMMETRIC):
        refuse("--player human plays here, against a Responder: leave out --predictions and --responder symmetric")
    if options.player == "human" and table.model.provider != HUMAN:
        refuse(f"--player human: the player is no model of {table.model.provider!r}; say --provider human")
    responder, named = _responder(table, refuse)
    settings = game_settings(
        responder=named,
        ablation=options.ablate or "full",
        released=options.compat == "released",
        turns=options.turns,
        human=options.player == "human",
    )
    points = points_for(split, root=options.splits, path=options.points)
    if points.compat != settings.compat and points.judge != "author":
        refuse(
            f"these reference points were cut with compat {points.compat or 'none'!r}, the run has "
            f"{settings.compat or 'none'!r}; extract points of the same kind"
        )
    items = tuple(item for item in split.items if isinstance(item, Soup))[: options.limit]
    texts = load_texts(language_of(split.manifest), home=options.prompts)
    return SoupPlay(table, items, settings=settings, responder=responder, points=points, texts=texts)


def game_settings(
    *,
    responder: str,
    ablation: Ablation = "full",
    released: bool = False,
    turns: int | None = None,
    human: bool = False,
) -> SoupSettings:
    """Table 5 of the paper, with what the command line varies.

    The released code's windows count messages where the paper has turns: 10 and 4 messages are 5 and 2 turns.
    """
    windows = {"window": 5, "screening_window": 2, "compat": "released"} if released else {}
    varied = {"max_turns": turns} if turns is not None else {}
    player = "human" if human else "model"
    return SoupSettings.model_validate(
        {"responder": responder, "ablation": ablation, "player": player} | windows | varied
    )


def _responder(table: Table, refuse: Callable[[str], NoReturn]) -> tuple[Model, str]:
    asked, base = table.options.responder, table.options.responder_api_base
    if asked == SYMMETRIC:
        return table.model, SYMMETRIC
    if asked is None:
        if base is not None:
            refuse("--responder-api-base needs --responder: say which model is asked there")
        return RESPONDER, RESPONDER.name
    provider, name = split_provider(asked)
    if provider is None:
        refuse(f"responder {asked!r}: say who made it, as PROVIDER:{name}")
    # The environment of every game: where it can be, it is the same each time it is asked.
    return Model(name=name, provider=provider, api_base=base, decoding=Decoding(seed=table.options.seed)), name
