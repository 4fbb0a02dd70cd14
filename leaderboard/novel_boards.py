"""What the boards of questions about novels show: three settings side by side, and what the difference says."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from builders import BENCHMARKS
from evaluators.estimate import RANKED
from evaluators.ppi import Interval
from evaluators.protocols.novel.settings import Known
from evaluators.readings import Reading, letters, questions, readings
from evaluators.store import Store
from evaluators.stored import Stored
from evaluators.values import Estimate, PublishedScore, Submission
from leaderboard.charts import Axis, Bar, axis
from leaderboard.figures import keep_estimates
from leaderboard.novel_runs import SETTINGS, Group, Kept, belongs, groups_of, kept_runs, name_of, said, section_of
from leaderboard.novel_views import Asked, Heat, Side, Stack, asked, known_novels
from leaderboard.published import Printed, lay_out
from leaderboard.sections import by_tier, drawn, newest_first, points, rank_of, ticks_of
from leaderboard.settled import Stand, in_order

SAMPLES = "novel-samples"
METRICS = ("accuracy", "reasoning", "gm")
BESIDE = 8  # models whose answers stand side by side on the page of questions; the pages of items have them all
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
    place: Stand | None  # among the runs of this setting


class NovelLine(NamedTuple):
    """One model on a board; a setting it was not run in is None."""

    model: str
    like: Estimate  # accuracy in the setting that comes first
    rank: tuple[int, int] | None
    settings: tuple[Setting | None, ...]  # in the order of SETTINGS
    cut: str | None  # to how many tokens contexts were cut
    win: Figure | None  # context against question only
    submission: Submission
    place: Stand | None  # with the context; None: not ranked

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
        return lay_out(self.published)

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
    keys = newest_first({section_of(s.submission) for s in mine})
    known = {key: kept_runs(store, split, key, mine) for key in {key[:2] for key in keys}}
    found = (_section(store, split, key, [s for s in mine if belongs(s.submission, key)], known) for key in keys)
    sections = tuple(s for s in found if s.estimates)
    keep_estimates(store, [e for section in sections for e in section.estimates])
    title, about = ABOUT.get(split, (split, ""))
    printed = tuple(p for p in published if p.benchmark == benchmark)
    return NovelBoard(split, benchmark, title, about, sections, (), printed)


def _section(
    store: Store,
    split: str,
    key: tuple[str, str, str],
    stored: Sequence[Stored],
    everything: Mapping[tuple[str, str], Kept],
) -> NovelSection:
    version, jury, condition = key
    known = everything[version, jury]
    alike: dict[str, list[str]] = {}
    for s in stored:
        alike.setdefault(s.submission.condition, []).append(s.submission.submission_id)
    beside = [(known.figures[name].estimates for name in alike[c] if name in known.figures) for c in sorted(alike)]
    estimates = [e for rows in beside for group in in_order(rows, known.stands) for e in group]
    scale = axis([100 * x for e in estimates if e.metric == "accuracy" for x in (e.low, e.high)])
    groups = groups_of([s.submission for s in stored], condition)
    own: dict[str, dict[str, Estimate]] = {}
    for e in estimates:
        own.setdefault(e.submission_id, {})[e.metric] = e
    pairs = [(line, known.sides[name_of(g)]) for g in groups if (line := _line(g, own, known, scale)) is not None]
    pairs.sort(key=lambda p: (p[0].settings[0] is None, -p[0].like.value, p[0].model, p[0].like.submission_id))
    lines = [line for line, _ in pairs]
    # Runs that stand beside contexts of several lengths are in the data files once.
    mine = {s.submission.condition for s in stored if section_of(s.submission) == key}
    estimates = [e for e in estimates if e.condition in mine]
    estimates += [win for line, side in pairs if (win := _win(line, side)) is not None]
    shown = [(line, side) for line, side in pairs if line.like.tier in RANKED]
    alone = [x.submission.submission_id for line, _ in shown if (x := line.settings[2]) is not None]
    return NovelSection(
        version,
        jury,
        condition,
        scale,
        ticks_of(scale),
        *by_tier(lines),
        tuple(side.contaminated for _, side in shown if side.contaminated),
        tuple(side.bottleneck for _, side in shown if side.bottleneck),
        tuple(side.heat for _, side in shown if side.heat),
        known_novels(letters(store, list(dict.fromkeys(alone)))),
        _asked(store, split, key[:2], lines[:BESIDE]),
        tuple(estimates),
    )


def _line(group: Group, estimates: Mapping[str, Mapping[str, Estimate]], known: Kept, scale: Axis) -> NovelLine | None:
    settings = tuple(_setting(name, s, estimates, known.stands, scale) for name, s in zip(SETTINGS, group, strict=True))
    main = next((s for s in settings if s is not None), None)
    if main is None:
        return None
    own = main.like
    cut = said(main.submission, "truncate")
    win = known.sides[name_of(group)].win if settings[0] and settings[2] else None
    return NovelLine(
        own.model,
        own,
        rank_of(own) if settings[0] else None,
        settings,
        cut.rpartition("@")[2] if cut else None,
        _figure(win) if win else None,
        main.submission,
        main.place if settings[0] else None,
    )


def _setting(
    name: str,
    submission: Submission | None,
    estimates: Mapping[str, Mapping[str, Estimate]],
    placed: Mapping[str, Stand],
    scale: Axis,
) -> Setting | None:
    if submission is None:
        return None
    own = estimates.get(submission.submission_id, {})
    if "accuracy" not in own:
        return None
    figures = tuple(_figure(own[m]) if m in own else Figure("–", "–") for m in METRICS)
    place = placed.get(submission.submission_id)
    return Setting(name, figures, *drawn(own["accuracy"], scale), own["accuracy"], submission, place)


def _win(line: NovelLine, side: Side) -> Estimate | None:
    """The win rate as a row of the data files; it stands under the condition of the context."""
    context, _, alone = line.settings
    win = side.win
    if not (context and alone) or win is None:
        return None
    update = {"metric": "win_rate", "value": win.point, "low": win.low, "high": win.high}
    note = f"against setting=question-only ({alone.submission.submission_id}); questions that both have wrong left out"
    placed = {"n": side.questions, "notes": (note,), "best_rank": None, "worst_rank": None}
    return context.like.model_copy(update=update | placed)


def _asked(store: Store, split: str, key: tuple[str, str], lines: Sequence[NovelLine]) -> tuple[Asked, ...]:
    texts = {q.id: q for q in questions(store, split, key[0])}
    names = {}
    for line in lines:
        for setting in line.settings:
            # Where texts may not be shown there are numbers only, and of many questions: the context says enough.
            if setting is not None and (texts or setting.name == SETTINGS[0]):
                model = line.named if setting.name == SETTINGS[0] else line.model
                names[setting.submission.submission_id] = f"{model}, {setting.name}"
    rows: dict[str, list[Reading]] = {}
    for reading in readings(store, split, *key, only=list(names)):
        rows.setdefault(reading.submission_id, []).append(reading)
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


def _figure(found: Estimate | Interval) -> Figure:
    value = found.value if isinstance(found, Estimate) else found.point
    return Figure(points(value), f"{points(found.low)}–{points(found.high)}")
