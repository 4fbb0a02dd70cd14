"""What the boards of questions about novels show: three settings side by side, and what the difference says."""

from collections.abc import Sequence
from typing import NamedTuple

from builders import BENCHMARKS
from evaluators.estimate import RANKED
from evaluators.estimate_means import estimate_means
from evaluators.protocols.novel.settings import Known
from evaluators.readings import Reading, questions, readings
from evaluators.store import Store
from evaluators.stored import Stored
from evaluators.values import Estimate, PublishedScore, Submission
from leaderboard.charts import Axis, Bar, axis, bar, place
from leaderboard.novel_views import (
    Asked,
    Heat,
    Stack,
    asked,
    bottleneck,
    contaminated,
    heat,
    known_novels,
    pair,
    wins,
)
from leaderboard.soup_boards import Printed, lay_out

SAMPLES = "novel-samples"
SETTINGS = ("context", "evidence", "question-only")
METRICS = ("accuracy", "reasoning", "gm")
ABOUT = {
    "detectiveqa-en": ("DetectiveQA, English", "Questions about detective novels of up to 363,000 tokens."),
    "detectiveqa-zh": ("DetectiveQA, Chinese", "Questions about detective novels, in Chinese."),
    "sample-novel": (
        "Sample, a novella",
        "Questions about a novella that this project wrote to try its own machinery.",
    ),
}


class Figure(NamedTuple):
    """One figure of a line, in points with one decimal."""

    value: str
    interval: str


class Setting(NamedTuple):
    """One model in one setting."""

    name: str
    figures: tuple[Figure, ...]  # accuracy, reasoning, G.M.
    bar: Bar
    point: str
    like: Estimate
    submission: Submission


class NovelLine(NamedTuple):
    """One model on a board; a setting it was not run in is None."""

    model: str
    like: Estimate  # accuracy in the setting that comes first
    rank: tuple[int, int] | None
    settings: tuple[Setting | None, ...]  # in the order of SETTINGS
    cut: str | None  # to how many tokens contexts were cut
    win: Figure | None  # context against question only
    submission: Submission

    @property
    def score(self) -> str:
        """Accuracy in the setting that comes first, in points."""
        return f"{100 * self.like.value:.1f}"

    @property
    def interval(self) -> tuple[str, str]:
        """Its interval, in points."""
        return f"{100 * self.like.low:.1f}", f"{100 * self.like.high:.1f}"

    @property
    def named(self) -> str:
        """The model, and to how many tokens its contexts were cut."""
        return f"{self.model}, cut to {self.cut}" if self.cut else self.model


class NovelSection(NamedTuple):
    """The models that were measured alike: one version and jury, and the same part of the split."""

    version: str
    jury: str
    condition: str  # what the settings have in common; empty: the whole split
    scale: Axis
    ticks: tuple[tuple[int, str], ...]
    ranked: tuple[NovelLine, ...]
    self_reported: tuple[NovelLine, ...]
    contamination: tuple[Stack, ...]
    bottlenecks: tuple[Stack, ...]
    heats: tuple[Heat, ...]
    known: tuple[Known, ...]
    asked: tuple[Asked, ...]
    estimates: tuple[Estimate, ...]


class ByLanguage(NamedTuple):
    """One model with the context in one of the languages it was run in."""

    model: str
    language: str
    figures: tuple[Figure, ...]


class NovelBoard(NamedTuple):
    """All that the page of a split of questions about novels shows."""

    split: str
    benchmark: str
    title: str
    about: str
    sections: tuple[NovelSection, ...]
    languages: tuple[ByLanguage, ...]
    published: tuple[PublishedScore, ...]

    @property
    def reread(self) -> tuple[()]:
        """Published rows whose released evidence was read again: the paper released none."""
        return ()

    @property
    def printed(self) -> tuple[Printed, ...]:
        """The published scores, laid out as tables."""
        return tuple(lay_out(table, self.published) for table in dict.fromkeys(p.table for p in self.published))

    @property
    def sample(self) -> bool:
        """Whether the split only proves that the machinery runs."""
        return self.benchmark == SAMPLES

    @property
    def asked(self) -> tuple[Asked, ...]:
        """Questions for the page of questions."""
        return tuple(a for section in self.sections for a in section.asked)

    @property
    def template(self) -> str:
        """Template of the page."""
        return "novel.md.jinja"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every number of the page, in its order."""
        return tuple(e for section in self.sections for e in section.estimates)


def novel_boards(store: Store) -> tuple[NovelBoard, ...]:
    """Work out one board for every split of questions about novels that has models or published scores, by name."""
    stored = [s for s in store.submissions() if s.submission.protocol == "novel" and s.submission.kind == "model"]
    benchmarks = {b.name: b for b in BENCHMARKS if b.protocol == "novel"}
    published = [p for p in store.published_scores() if p.benchmark in benchmarks]
    # The paper pools its languages, so each of its splits shows the figures of both.
    printed = {split: p.benchmark for p in published for split in benchmarks[p.benchmark].splits}
    splits = printed | {s.submission.split: s.submission.benchmark for s in stored}
    found = [_board(store, split, splits[split], stored, published) for split in sorted(splits)]
    return tuple(board._replace(languages=_languages(board, found)) for board in found)


def _board(
    store: Store, split: str, benchmark: str, stored: Sequence[Stored], published: Sequence[PublishedScore]
) -> NovelBoard:
    mine = [s for s in stored if s.submission.split == split]
    keys = sorted({_alike(s.submission) for s in mine}, key=lambda key: key[1:])
    keys.sort(key=lambda key: tuple(int(part) for part in key[0].split(".")), reverse=True)
    sections = (_section(store, split, key, [s for s in mine if _belongs(s.submission, key)]) for key in keys)
    title, about = ABOUT.get(split, (split, ""))
    printed = tuple(p for p in published if p.benchmark == benchmark)
    return NovelBoard(split, benchmark, title, about, tuple(s for s in sections if s.estimates), (), printed)


def _alike(submission: Submission) -> tuple[str, str, str]:
    """Version, jury, and the condition but for the setting: what models that are ranked together have in common."""
    rest = [p for p in submission.condition.split(";") if not p.startswith(("setting=", "brought"))]
    return submission.version, submission.jury, ";".join(rest)


def _belongs(submission: Submission, key: tuple[str, str, str]) -> bool:
    """Whether a run has a place in a section; runs without a context stand beside contexts of any length."""
    own = _alike(submission)
    whole = (*key[:2], ";".join(p for p in key[2].split(";") if not p.startswith("truncate=")))
    return own == key or (own == whole and _said(submission, "setting") != SETTINGS[0])


def _said(submission: Submission, name: str) -> str | None:
    found = [p.partition("=")[2] for p in submission.condition.split(";") if p.startswith(f"{name}=")]
    return found[0] if found else None


def _section(store: Store, split: str, key: tuple[str, str, str], stored: Sequence[Stored]) -> NovelSection:
    version, jury, condition = key
    conditions = sorted({s.submission.condition for s in stored})
    estimates = [e for c in conditions for e in estimate_means(store, split, version, jury, c)]
    scale = axis([100 * x for e in estimates if e.metric == "accuracy" for x in (e.low, e.high)])
    rows: dict[str, list[Reading]] = {}
    for reading in readings(store, split, version, jury):
        rows.setdefault(reading.submission_id, []).append(reading)
    # Where contexts are cut, a model without one has nothing to be put beside.
    groups = [g for g in _groups([s.submission for s in stored]) if g[0] or "truncate=" not in condition]
    lines = [line for group in groups if (line := _line(group, estimates, rows, scale)) is not None]
    lines.sort(key=lambda line: (line.settings[0] is None, -line.like.value, line.model, line.like.submission_id))
    # Runs that stand beside contexts of several lengths are in the data files once.
    own = {s.submission.condition for s in stored if _alike(s.submission) == key}
    estimates = [e for e in estimates if e.condition in own]
    estimates += [e for line in lines if (e := _win(line, rows)) is not None]
    shown = [line for line in lines if line.like.tier in RANKED]
    stacks = [(line.model, _ids(line)) for line in shown]
    alone = [i for line in shown if (i := _ids(line)[2]) is not None]
    return NovelSection(
        version,
        jury,
        condition,
        scale,
        tuple((tick, place(scale, tick)) for tick in scale.ticks),
        tuple(shown),
        tuple(line for line in lines if line.like.tier not in RANKED),
        tuple(contaminated(name, pair(rows[i[0]], rows[i[2]])) for name, i in stacks if i[0] and i[2]),
        tuple(bottleneck(name, pair(rows[i[0]], rows[i[1]])) for name, i in stacks if i[0] and i[1]),
        tuple(h for name, i in stacks if i[0] and (h := heat(name, rows[i[0]])) is not None),
        known_novels(r for i in dict.fromkeys(alone) for r in rows[i]),
        _asked(store, split, version, lines, rows),
        tuple(estimates),
    )


def _groups(submissions: Sequence[Submission]) -> list[tuple[Submission | None, ...]]:
    """Submissions of one model in the order of SETTINGS; contexts cut to another length make lines of their own."""
    models: dict[str, dict[str, list[Submission]]] = {}
    for s in sorted(submissions, key=lambda s: (s.date, s.submission_id), reverse=True):
        models.setdefault(s.model.model_dump_json(), {}).setdefault(_said(s, "setting") or "", []).append(s)
    found = []
    for settings in models.values():
        others = [next(iter(settings.get(name, [])), None) for name in SETTINGS[1:]]
        found += [(context, *others) for context in settings.get(SETTINGS[0], [None])]
    return found


def _line(
    group: tuple[Submission | None, ...],
    estimates: Sequence[Estimate],
    rows: dict[str, list[Reading]],
    scale: Axis,
) -> NovelLine | None:
    settings = tuple(_setting(name, s, estimates, scale) for name, s in zip(SETTINGS, group, strict=True))
    main = next((s for s in settings if s is not None), None)
    if main is None:
        return None
    own = main.like
    cut = _said(main.submission, "truncate")
    context, _, alone = settings
    interval = None
    if context and alone:
        interval = wins(pair(rows[context.submission.submission_id], rows[alone.submission.submission_id]))
    return NovelLine(
        own.model,
        own,
        (own.best_rank, own.worst_rank) if context and own.best_rank and own.worst_rank else None,
        settings,
        cut.rpartition("@")[2] if cut else None,
        _figure(interval.point, interval.low, interval.high) if interval else None,
        main.submission,
    )


def _setting(name: str, submission: Submission | None, estimates: Sequence[Estimate], scale: Axis) -> Setting | None:
    if submission is None:
        return None
    own = {e.metric: e for e in estimates if e.submission_id == submission.submission_id}
    if "accuracy" not in own:
        return None
    e = own["accuracy"]
    figures = tuple(_figure(own[m].value, own[m].low, own[m].high) if m in own else Figure("–", "–") for m in METRICS)
    return Setting(name, figures, bar(scale, 100 * e.low, 100 * e.high), place(scale, 100 * e.value), e, submission)


def _win(line: NovelLine, rows: dict[str, list[Reading]]) -> Estimate | None:
    """The win rate as a row of the data files; it stands under the condition of the context."""
    context, _, alone = line.settings
    if not (context and alone):
        return None
    both = pair(rows[context.submission.submission_id], rows[alone.submission.submission_id])
    interval = wins(both)
    if interval is None:
        return None
    update = {"metric": "win_rate", "value": interval.point, "low": interval.low, "high": interval.high}
    note = f"against setting=question-only ({alone.submission.submission_id}); questions that both have wrong left out"
    placed = {"n": len(both.clusters), "notes": (note,), "best_rank": None, "worst_rank": None}
    return context.like.model_copy(update=update | placed)


def _ids(line: NovelLine) -> tuple[str | None, ...]:
    return tuple(s.submission.submission_id if s else None for s in line.settings)


def _asked(
    store: Store, split: str, version: str, lines: Sequence[NovelLine], rows: dict[str, list[Reading]]
) -> tuple[Asked, ...]:
    texts = {q.id: q for q in questions(store, split, version)}
    names = {}
    for line in lines:
        for setting in line.settings:
            # Where texts may not be shown there are numbers only, and of many questions: the context says enough.
            if setting is not None and (texts or setting.name == SETTINGS[0]):
                model = line.named if setting.name == SETTINGS[0] else line.model
                names[setting.submission.submission_id] = f"{model}, {setting.name}"
    return asked((r for i in names for r in rows[i]), names, texts)


def _languages(board: NovelBoard, boards: Sequence[NovelBoard]) -> tuple[ByLanguage, ...]:
    """Models that were run with the context, alike, in several languages of a benchmark."""
    rows: dict[tuple[str, ...], list[ByLanguage]] = {}
    for other in (b for b in boards if b.benchmark == board.benchmark):
        for section in other.sections:
            for line in section.ranked:
                if line.settings[0] is not None:
                    key = (section.version, section.jury, section.condition, line.model, line.cut or "")
                    language = other.split.rpartition("-")[2]
                    rows.setdefault(key, []).append(ByLanguage(line.model, language, line.settings[0].figures))
    return tuple(row for group in rows.values() if len({r.language for r in group}) > 1 for row in group)


def _figure(value: float, low: float, high: float) -> Figure:
    return Figure(f"{100 * value:.1f}", f"{100 * low:.1f}–{100 * high:.1f}")
