"""What the boards of situation puzzles show: scores by language and genre, the course of the games, ablations."""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple, get_args

import numpy as np

from builders import BENCHMARKS
from builders.values import Genre
from evaluators.estimate import RANKED
from evaluators.estimate_means import estimate_means
from evaluators.responders import ResponderCheck
from evaluators.store import Store
from evaluators.stored import Measured
from evaluators.values import Estimate, PublishedScore, Submission
from leaderboard.charts import Axis, Bar, axis, bar, place

SAMPLES = "soup-samples"
GENRES: tuple[str, ...] = get_args(Genre)
LEAST_SCALE = (0.0, 100.0)
PARTS = ("logic", "details", "conclusion")
COURSE = ("game turns", "game clues_per_turn", "game unknown", "game repeated")
ABOUT = {
    "turtlesoup-en": ("TurtleSoup-Bench, English", "400 situation puzzles, solved by asking yes/no questions."),
    "turtlesoup-zh": (
        "TurtleSoup-Bench, Chinese",
        "400 situation puzzles in Chinese, solved by asking yes/no questions.",
    ),
    "sample-soup-en": ("Sample, situation puzzles", "Twelve puzzles that this project wrote to try its own machinery."),
    "sample-soup-zh": (
        "Sample, situation puzzles in Chinese",
        "Twelve puzzles that this project wrote to try its own machinery.",
    ),
}


class SoupLine(NamedTuple):
    """One player on a board; numbers are points with one decimal, or a dash."""

    like: Estimate
    rank: tuple[int, int] | None
    score: str
    interval: tuple[str, str]
    bar: Bar
    point: str
    parts: tuple[str, ...]  # logic, details, conclusion
    genres: tuple[str, ...]  # in the order of the section's
    reductions: tuple[str, ...]  # from the human baseline: overall, then by genre
    course: tuple[str, ...]  # turns, key clues a turn, unknown, repeated
    submission: Submission


class SoupSection(NamedTuple):
    """The players that were measured alike: one version, jury and condition."""

    version: str
    jury: str
    condition: str
    scale: Axis
    ticks: tuple[tuple[int, str], ...]
    genres: tuple[str, ...]
    ranked: tuple[SoupLine, ...]
    self_reported: tuple[SoupLine, ...]
    human: bool  # whether a human baseline was measured alike
    labelled: int  # games whose reconstruction people marked too; 0: nothing ties the jury to people
    estimates: tuple[Estimate, ...]


class Ablated(NamedTuple):
    """One configuration of the agent in the ablation chart."""

    model: str
    agent: str
    score: str
    bar: Bar | None  # None: printed without an interval
    point: str
    source: str


class ByLanguage(NamedTuple):
    """One player and configuration in one of the languages it was run in."""

    model: str
    configuration: str  # without the reference points, which each language has of its own
    language: str
    overall: str
    genres: tuple[str, ...]


class Printed(NamedTuple):
    """A published table: its columns, and for each player and configuration a cell a column."""

    table: str
    columns: tuple[str, ...]  # genres, or metrics where the table has one genre
    rows: tuple[tuple[str, str, tuple[PublishedScore | None, ...]], ...]  # player, configuration, cells


class SoupBoard(NamedTuple):
    """All that the page of a split of situation puzzles shows."""

    split: str
    benchmark: str
    title: str
    about: str
    sections: tuple[SoupSection, ...]
    checks: tuple[ResponderCheck, ...]
    ablations: tuple[Ablated, ...]
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
    def template(self) -> str:
        """Template of the page."""
        return "soup.md.jinja"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every number of the page, in its order."""
        return tuple(e for section in self.sections for e in section.estimates)


def soup_boards(store: Store) -> tuple[SoupBoard, ...]:
    """Work out one board for every split of puzzles that has players or published scores, by name."""
    stored = [s.submission for s in store.submissions() if s.submission.protocol == "soup"]
    soups = {b.name for b in BENCHMARKS if b.protocol == "soup"}
    published = tuple(p for p in store.published_scores() if p.benchmark in soups)
    benchmark = {s.split: s.benchmark for s in stored} | {p.split: p.benchmark for p in published}
    found = [_board(store, split, benchmark[split], stored, published) for split in sorted(benchmark)]
    return tuple(board._replace(languages=_languages(board, found)) for board in found)


def _board(
    store: Store, split: str, benchmark: str, stored: Sequence[Submission], published: Sequence[PublishedScore]
) -> SoupBoard:
    mine = [s for s in stored if s.split == split and s.kind == "model"]
    keys = sorted({(s.version, s.jury, s.condition) for s in mine}, key=lambda key: key[1:])
    keys.sort(key=lambda key: tuple(int(part) for part in key[0].split(".")), reverse=True)
    sections = tuple(s for s in (_section(store, split, key, mine) for key in keys) if s.estimates)
    title, about = ABOUT.get(split, (split, ""))
    printed = tuple(p for p in published if p.split == split)
    return SoupBoard(
        split,
        benchmark,
        title,
        about,
        sections,
        store.responder_checks(split.rpartition("-")[2]),
        _ablations(sections, printed),
        (),
        printed,
    )


def _section(store: Store, split: str, key: tuple[str, str, str], submissions: Sequence[Submission]) -> SoupSection:
    version, jury, condition = key
    estimates = estimate_means(store, split, version, jury, condition)
    measured = store.measured(split, version, jury)
    by_id = {s.submission_id: s for s in submissions}
    human = _baseline(store, split, key)
    genres = tuple(sorted({e.metric.partition("/")[2] for e in estimates if "/" in e.metric}))
    scale = axis([100 * x for e in estimates if e.metric == "overall" for x in (e.low, e.high)])
    lines = []
    for own in (e for e in estimates if e.metric == "overall"):
        by_metric = {e.metric: e for e in estimates if e.submission_id == own.submission_id}
        lines.append(
            _line(
                own,
                by_metric,
                measured[own.submission_id],
                scale=scale,
                genres=genres,
                human=human,
                submission=by_id[own.submission_id],
            )
        )
    return SoupSection(
        version,
        jury,
        condition,
        scale,
        tuple((tick, place(scale, tick)) for tick in scale.ticks),
        genres,
        tuple(line for line in lines if line.like.tier in RANKED),
        tuple(line for line in lines if line.like.tier not in RANKED),
        bool(human) and not condition.startswith("player=human"),
        _labelled(store, split, key, submissions),
        estimates,
    )


def _labelled(store: Store, split: str, key: tuple[str, str, str], submissions: Sequence[Submission]) -> int:
    version, jury, _ = key
    alike = {s.submission_id for s in submissions if (s.version, s.jury, s.condition) == key}
    attempts = store.attempts(split, version, jury)
    return sum(int(np.isfinite(attempts[name].human).sum()) for name in sorted(alike & set(attempts)))


def _line(
    own: Estimate,
    by_metric: dict[str, Estimate],
    measured: Measured,
    *,
    scale: Axis,
    genres: tuple[str, ...],
    human: dict[str, float],
    submission: Submission,
) -> SoupLine:
    metrics = ("overall", *(f"overall/{genre}" for genre in genres))
    return SoupLine(
        own,
        (own.best_rank, own.worst_rank) if own.best_rank and own.worst_rank else None,
        _points(own.value),
        (_points(own.low), _points(own.high)),
        bar(scale, 100 * own.low, 100 * own.high),
        place(scale, 100 * own.value),
        tuple(_points(by_metric[m].value) if m in by_metric else "–" for m in PARTS),
        tuple(_points(by_metric[m].value) if m in by_metric else "–" for m in metrics[1:]),
        tuple(
            f"{100 * (by_metric[m].value - human[m]):+.1f}" if m in by_metric and m in human else "–" for m in metrics
        ),
        _course(measured),
        submission,
    )


def _course(measured: Measured) -> tuple[str, ...]:
    found = []
    for metric in COURSE:
        known = [float(x) for x in measured.values.get(metric, ()) if isfinite(x)]
        share = metric in COURSE[2:]
        mean = sum(known) / len(known) if known else None
        found.append("–" if mean is None else f"{100 * mean:.0f} %" if share else f"{mean:.2f}")
    return tuple(found)


def _baseline(store: Store, split: str, key: tuple[str, str, str]) -> dict[str, float]:
    """Mean scores of people on this split, version and jury and against the same points, by metric; empty: none."""
    version, jury, condition = key
    points = [part for part in condition.split(";") if part.startswith("points=")]
    people = {
        s.submission.condition
        for s in store.submissions(split, version)
        if s.submission.jury == jury and s.submission.model.provider == "human" and set(points) <= _parts(s.submission)
    }
    rows: dict[str, list[float]] = {}
    for theirs in sorted(people):
        for e in estimate_means(store, split, version, jury, theirs):
            if e.provider == "human" and e.tier in RANKED:
                rows.setdefault(e.metric, []).append(e.value)
    return {metric: sum(values) / len(values) for metric, values in rows.items()}


def _parts(submission: Submission) -> set[str]:
    return set(submission.condition.split(";"))


def _ablations(sections: Sequence[SoupSection], printed: Sequence[PublishedScore]) -> tuple[Ablated, ...]:
    """Models that were run in several configurations of the agent, and the paper's own."""
    scale = axis(LEAST_SCALE)
    found: list[tuple[tuple[str, ...], Ablated]] = []
    for section in sections:
        head, _, rest = section.condition.partition(";")
        kind, _, agent = head.partition("=")
        for line in section.ranked if kind == "agent" else ():
            group = (section.version, section.jury, rest, line.like.model)
            own = Ablated(
                line.like.model,
                agent,
                line.score,
                bar(scale, 100 * line.like.low, 100 * line.like.high),
                place(scale, 100 * line.like.value),
                f"computed here, {rest}",
            )
            found.append((group, own))
    sizes = [sum(group == other for other, _ in found) for group, _ in found]
    several = [row for (_, row), size in zip(found, sizes, strict=True) if size > 1]
    paper = [
        Ablated(
            p.model,
            p.condition.partition(";")[0].partition("=")[2],
            f"{p.score:.2f}",
            None,
            place(scale, p.score),
            f"published, {p.table}",
        )
        for p in printed
        if p.table == "Table 3" and p.metric == "overall"
    ]
    return (*several, *paper)


def _languages(board: SoupBoard, boards: Sequence[SoupBoard]) -> tuple[ByLanguage, ...]:
    """Genre by language for the players that were run alike in several languages."""
    rows: dict[tuple[str, ...], list[ByLanguage]] = {}
    for other in (b for b in boards if b.split.rpartition("-")[0] == board.split.rpartition("-")[0]):
        for section in other.sections:
            alike = ";".join(p for p in section.condition.split(";") if not p.startswith("points="))
            for line in section.ranked:
                values = dict(zip(section.genres, line.genres, strict=True))
                cells = tuple(values.get(genre, "–") for genre in GENRES)
                row = ByLanguage(line.like.model, alike, other.split.rpartition("-")[2], line.score, cells)
                rows.setdefault((section.version, section.jury, alike, line.like.model), []).append(row)
    return tuple(row for group in rows.values() if len({r.language for r in group}) > 1 for row in group)


def lay_out(table: str, published: Sequence[PublishedScore]) -> Printed:
    """Lay the published scores of one table out in its rows and columns."""
    scores = [p for p in published if p.table == table]
    by_genre = len({p.category for p in scores}) > 1
    cells = {(p.model, p.condition, p.category if by_genre else p.metric): p for p in scores}
    columns = tuple(dict.fromkeys(column for _, _, column in cells))
    players = dict.fromkeys((model, condition) for model, condition, _ in cells)
    return Printed(table, columns, tuple((m, c, tuple(cells.get((m, c, x)) for x in columns)) for m, c in players))


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
