"""Questions about novels in a run: what each is shown, settled before anything is sent, and the calls."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, product
from operator import attrgetter
from typing import NoReturn

from builders.novels import open_novels
from builders.values import NovelQuestion
from evaluators.answers import NovelAnswer, NovelRecord, NovelSetting
from evaluators.models import ModelError, count_tokens, input_limit
from evaluators.predictions import Brought, file_sha256, read_choices
from evaluators.prices import read_prices
from evaluators.pricing import totals
from evaluators.prompts import Prompt, language_of
from evaluators.protocols import Table
from evaluators.protocols.item_play import ItemPlay, first
from evaluators.protocols.novel.excerpt import SLACK, fit, record, sizes
from evaluators.protocols.novel.marking import novel_marking
from evaluators.protocols.novel.quote import quote
from evaluators.protocols.novel.quotes import flat, steps_without
from evaluators.protocols.novel.shelf import Fetch, Novel, Shelf
from evaluators.protocols.novel.solve import Setup, solve, solver_messages
from evaluators.run import Outcome
from evaluators.runner import Runner
from evaluators.values import Message, Model, Transcript

REPLY = 1_000  # tokens left free for a reply where no --max-tokens says how many it may take


class NovelPlay(ItemPlay[NovelQuestion]):
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
        files = [file_sha256(options.predictions)] if options.predictions else []
        super().__init__(
            table,
            items,
            condition=condition(
                setting,
                limit=limit if any(r.cut for r in shown.values()) else None,
                first=first(items, table),
                brought=bool(files),
            ),
            marking=novel_marking(marking),
            reader=read_choices,
        )
        self._shown, self._fetch, self._solver, self._judge = shown, fetch, solver, marking
        self.parts = (solver.sha256, marking.sha256, files)
        self.models = (*(() if files else (table.model,)), *(seat.model for seat in table.seats))
        self.shelf = Shelf(fetch, ())

    def quote(self) -> str:
        """Say what the run would cost, from the real prompts."""
        options = self._table.options
        brought = bool(options.predictions)
        rows, note = quote(
            self.items,
            None if brought else self._shown,
            model=self._table.model,
            seats=self._table.seats,
            epochs=self._table.options.epochs,
            solver=self._solver,
            judge=self._judge,
        )
        return totals(rows, note, read_prices(options.price or (), batch=options.batch))

    def read(self, key: str) -> Outcome | None:
        """Read answers that were brought; where they repeat the novel at length, as in a run, a note takes its place.

        Raises:
            PredictionError: If the file is refused.
            SplitError: If a novel is damaged.
        """
        super().read(key)
        if self._brought is not None:
            self._brought = _without_passages(self._brought, self.items, self._table.options.epochs, self._fetch)
        return None

    async def run(self, runner: Runner, *, key: str, on_done: Callable[[], None]) -> Outcome:
        """Solve and judge."""
        # As in the store: what states no open licence is repeated nowhere.
        quotable = not self._table.split.manifest.licence.startswith("LicenseRef-")
        setup = Setup(self._heading(key), self._solver, self._shown, quotable)
        ordered = reading_order(self.items)
        self.shelf = shelf = Shelf(
            self._fetch, (item.novel for item in ordered for _ in range(self._table.options.epochs))
        )

        async def answer(item: NovelQuestion, epoch: int) -> Transcript:
            asked = runner.complete(setup.run.model, epoch=epoch)
            needed = setup.shown[item.id].setting != "question-only"
            try:
                novel = shelf.take(item.novel) if needed else Novel()
                return await solve(item, asked, novel=novel, epoch=epoch, setup=setup)
            finally:
                shelf.put_back(item.novel)

        return await self._attempts(ordered, runner, answer, on_done=on_done, lane=attrgetter("novel"))


def _without_passages(brought: Brought, items: Sequence[NovelQuestion], epochs: int, fetch: Fetch) -> Brought:
    found = dict(brought)
    for novel, group in groupby(reading_order(items), key=attrgetter("novel")):
        words = flat(fetch(novel))
        for item, epoch in product(group, range(epochs)):
            attempt = brought.get((item.id, epoch))
            if attempt is not None and isinstance(attempt.answer, NovelAnswer):
                steps = steps_without(attempt.answer.steps, words, language=item.language)
                answer = attempt.answer.model_copy(update={"steps": steps})
                found[item.id, epoch] = attempt.model_copy(update={"answer": answer})
    return found


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
    spoken = language_of(split.manifest)
    solver, marking = (Prompt(f"novel/{spoken}/{part}", home=options.prompts) for part in ("solver", "judge"))
    fetch: Fetch = _none
    shown: dict[str, NovelRecord] = {}
    if setting != "question-only":
        # The shelf keeps the novels in flight; a second copy is not needed.
        fetch = open_novels(split, root=options.splits, ref=options.split, in_flight=1).paragraphs
    if not options.predictions:
        cutting = options.truncate is not None
        shown = look_up(items, fetch, model=table.model, setting=setting, limit=limit, truncate=cutting, prompt=solver)
    return NovelPlay(
        table, items, setting=setting, shown=shown, limit=limit, fetch=fetch, solver=solver, marking=marking
    )


def _none(_: str) -> tuple[()]:
    return ()
