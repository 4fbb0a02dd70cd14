"""Questions about novels in a run: what each is shown, settled before anything is sent, and the calls."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NoReturn

from builders.novels import open_novels
from builders.values import NovelQuestion
from evaluators.answers import NovelRecord, NovelSetting
from evaluators.jury import sit
from evaluators.models import Complete, ModelError, count_tokens, input_limit, prepare
from evaluators.predictions import file_sha256, read_choices
from evaluators.prices import read_prices
from evaluators.pricing import totals
from evaluators.prompts import Prompt
from evaluators.protocols import Table
from evaluators.protocols.novel.excerpt import SLACK, fit, record, sizes
from evaluators.protocols.novel.judge import judge, letter, no_answer
from evaluators.protocols.novel.quote import quote
from evaluators.protocols.novel.shelf import Fetch, Shelf
from evaluators.protocols.novel.solve import Setup, solve, solver_messages
from evaluators.run import Outcome, run_attempts
from evaluators.runner import Runner
from evaluators.values import Message, Model, Seat, Transcript, Verdict

REPLY = 1_000  # tokens left free for a reply where no --max-tokens says how many it may take


class NovelPlay:
    """The questions of one run.

    They run novel by novel, one question of a novel at a time and in the order of their answer positions, so that the
    next prompt begins with the whole of the one before it and a provider's cache pays. As many novels are in flight
    as there are workers.
    """

    def __init__(
        self,
        table: Table,
        items: tuple[NovelQuestion, ...],
        *,
        setting: NovelSetting,
        shown: Mapping[str, NovelRecord],
        limit: int | None,
        fetch: Fetch,
        solver: Prompt,
        marking: Prompt,
    ) -> None:
        options = table.options
        self._table, self._items, self._shown, self._fetch = table, items, shown, fetch
        self._solver, self._marking = solver, marking
        self._brought: dict[tuple[str, int], Transcript] | None = None
        files = [file_sha256(options.predictions)] if options.predictions else []
        self.condition = condition(
            setting,
            limit=limit if any(r.cut for r in shown.values()) else None,
            first=len(items) if len(items) < len(table.split.items) else None,
            brought=bool(files),
        )
        self.parts: tuple[object, ...] = (solver.sha256, marking.sha256, files)
        self.expected = len(items) * options.epochs
        self.shelf = Shelf(fetch, ())

    @property
    def models(self) -> tuple[Model, ...]:
        """Models that the run calls."""
        player = () if self._table.options.predictions else (self._table.model,)
        return (*player, *(seat.model for seat in self._table.seats))

    @property
    def items(self) -> tuple[NovelQuestion, ...]:
        """What is played."""
        return self._items

    def only(self, ids: frozenset[str]) -> None:
        """Leave only these items to do: the share of one worker."""
        self._items = tuple(item for item in self._items if item.id in ids)

    def quote(self) -> str:
        """Say what the run would cost, from the real prompts."""
        options = self._table.options
        brought = bool(options.predictions)
        rows, note = quote(
            self._items,
            None if brought else self._shown,
            model=self._table.model,
            seats=self._table.seats,
            epochs=self._table.options.epochs,
            solver=self._solver,
            judge=self._marking,
        )
        return totals(rows, note, read_prices(options.price or (), batch=options.batch))

    def read(self, key: str) -> Outcome | None:
        """Read answers that were brought.

        Raises:
            PredictionError: If the file is refused.
        """
        options = self._table.options
        if options.predictions:
            self._brought = read_choices(
                options.predictions,
                self._items,
                named=(key, self._table.split.manifest.ref, self._table.model.name, self.condition),
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

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Solve and judge."""
        model = self._table.model
        manifest = self._table.split.manifest
        # As in the store: what states no open licence is repeated nowhere.
        quotable = not manifest.licence.startswith("LicenseRef-")
        setup = Setup(key, manifest.ref, model, self.condition, self._solver, self._shown, quotable)
        todo = [(item, epoch) for item in reading_order(self._items) for epoch in range(self._table.options.epochs)]
        self.shelf = shelf = Shelf(self._fetch, (item.novel for item, _ in todo))

        async def answer(item: NovelQuestion, epoch: int) -> Transcript | None:
            if self._brought is not None:
                return self._brought.get((item.id, epoch))
            asked = runner.complete(model, epoch=epoch)
            needed = setup.shown[item.id].setting != "question-only"
            try:
                paragraphs = shelf.take(item.novel) if needed else ()
                return await solve(item, asked, paragraphs=paragraphs, epoch=epoch, setup=setup)
            finally:
                shelf.put_back(item.novel)

        async def marks(item: NovelQuestion, transcript: Transcript) -> tuple[Verdict, ...]:
            async def mark(complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
                return (await judge(item, transcript, complete, seat=seat, prompt=self._marking),)

            verdicts = await sit(transcript, runner, seats=self._table.seats, mark=mark, no_answer=no_answer)
            failed = transcript.failure is not None and not transcript.no_answer
            return verdicts if failed else (*verdicts, letter(item, transcript))

        return await run_attempts(
            todo,
            solve=answer,
            judge=marks,
            workers=runner.concurrency,
            sealed=self._table.split.manifest.sealed,
            on_done=on_done,
            lane=attrgetter("novel"),
        )


def reading_order(items: Sequence[NovelQuestion]) -> list[NovelQuestion]:
    """Questions novel by novel, novels as they come, and within a novel as the contexts grow."""
    novels = {novel: n for n, novel in enumerate(dict.fromkeys(item.novel for item in items))}
    return sorted(items, key=lambda item: (novels[item.novel], item.answer_position))


def condition(setting: NovelSetting, *, limit: int | None, first: int | None, brought: bool = False) -> str:
    """Name what was varied. `limit` stands in it only where novels had to be cut to it: else the prompts are equal."""
    parts = [*(["brought"] if brought else []), f"setting={setting}"]
    if limit is not None:
        parts.append(f"truncate=front@{limit}")
    return ";".join([*parts, *([f"first={first}"] if first is not None else [])])


def look_up(
    items: Sequence[NovelQuestion],
    fetch: Fetch,
    *,
    model: Model,
    setting: NovelSetting,
    limit: int | None,
    truncate: bool,
    prompt: Prompt,
) -> dict[str, NovelRecord]:
    """Count tokens and settle what every question is shown, one novel in memory at a time; by item.

    Args:
        items: The questions.
        fetch: Loads a novel.
        model: Whose tokenizer counts, and whose reply needs room.
        setting: What is shown.
        limit: Most input tokens of a call; None: unknown, and nothing is refused.
        truncate: Cut from the front what does not fit, in place of refusing it.
        prompt: The solver's.

    Raises:
        ModelError: If prompts are too long for the model; the message names every question.
    """
    empty = count_tokens(model, [Message(role="user", text="")])
    free = model.decoding.max_tokens or REPLY
    found: dict[str, NovelRecord] = {}
    too_long: list[tuple[str, int]] = []
    for novel, group in groupby(reading_order(items), key=attrgetter("novel")):
        paragraphs = fetch(novel) if setting != "question-only" else ()
        size = sizes(paragraphs, lambda line: count_tokens(model, [Message(role="user", text=line)]) - empty)
        for item in group:
            around = count_tokens(model, solver_messages(item, "", setting=setting, prompt=prompt))
            room = None if limit is None else limit - free - around
            cut = fit(item, size, room=room) if setting == "context" and truncate else 0
            found[item.id] = shown = record(item, size, setting=setting, cut=cut)
            if room is not None and (shown.tokens * SLACK > room or (cut and not shown.paragraphs)):
                too_long.append((item.id, around + round(shown.tokens * SLACK) + free))
    if too_long:
        _refuse_long(too_long, model, limit or 0, asked=len(items), truncate=truncate)
    return found


def _refuse_long(too_long: Sequence[tuple[str, int]], model: Model, limit: int, *, asked: int, truncate: bool) -> None:
    listed = ", ".join(f"{name} ({tokens:,})" for name, tokens in too_long)
    remedy = "raise --max-context" if truncate else "--truncate front cuts them (a condition of its own)"
    raise ModelError(
        f"{len(too_long)} of {asked} questions need more tokens, with room for the reply, than the {limit:,} that "
        f"{model.name!r} takes; nothing was sent. {remedy}, or take a model with a longer context. They are: {listed}"
    )


def open_questions(table: Table, refuse: Callable[[str], NoReturn]) -> NovelPlay:
    """Open the questions of a split: every novel is read once here to count its tokens.

    Raises:
        PromptError, PredictionError, SplitError: If prompts, a brought file or the novels cannot be used.
        ModelError: If prompts are too long for the model.
    """
    options, split = table.options, table.split
    setting: NovelSetting = options.setting or "context"
    if options.truncate and setting != "context":
        refuse(f"--truncate is for --setting context; {setting!r} shows no novel that could be too long")
    limit = options.max_context or input_limit(table.model)
    if options.truncate and limit is None:
        refuse(f"litellm does not say how many tokens {table.model.name!r} takes: say it with --max-context")
    items = tuple(item for item in split.items if isinstance(item, NovelQuestion))[: options.limit]
    language = "zh" if split.manifest.language == "zh" else "en"
    solver, marking = (Prompt(f"novel/{language}/{part}", home=options.prompts) for part in ("solver", "judge"))
    fetch: Fetch = _none
    shown: dict[str, NovelRecord] = {}
    if not options.predictions:
        if setting != "question-only":
            # The shelf keeps the novels in flight; a second copy is not needed.
            fetch = open_novels(split, root=options.splits, ref=options.split, in_flight=1).paragraphs
        cutting = options.truncate is not None
        shown = look_up(items, fetch, model=table.model, setting=setting, limit=limit, truncate=cutting, prompt=solver)
    return NovelPlay(
        table, items, setting=setting, shown=shown, limit=limit, fetch=fetch, solver=solver, marking=marking
    )


def _none(_: str) -> tuple[()]:
    return ()
