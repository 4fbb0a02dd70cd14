"""What the boards of situation puzzles show: scores by language and genre, the course of the games, ablations."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from builders import BENCHMARKS
from builders.values import Genre
from evaluators.estimate import RANKED
from evaluators.responders import ResponderCheck
from evaluators.store import Store
from evaluators.stored import Stored
from evaluators.values import Estimate, PublishedScore, Submission
from leaderboard.charts import Axis, Bar, axis, bar, place
from leaderboard.figures import COURSE, Figures, figures, keep_estimates
from leaderboard.published import Printed, lay_out
from leaderboard.sections import by_tier, drawn, interval, newest_first, points, rank_of, ticks_of
from leaderboard.settled import Stand, by_condition, in_order, stands

SAMPLES = "soup-samples"
GENRES: tuple[str, ...] = get_args(Genre)
LEAST_SCALE = (0.0, 100.0)
PARTS = ("logic", "details", "conclusion")
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
    place: Stand | None  # None: not ranked


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
        return lay_out(self.published)

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
    stored = [s for s in store.submissions() if s.submission.protocol == "soup"]
    soups = {b.name for b in BENCHMARKS if b.protocol == "soup"}
    published = tuple(p for p in store.published_scores() if p.benchmark in soups)
    benchmark = {s.submission.split: s.submission.benchmark for s in stored} | {p.split: p.benchmark for p in published}
    found = [_board(store, split, benchmark[split], stored, published) for split in sorted(benchmark)]
    return tuple(board._replace(languages=_languages(board, found)) for board in found)


def _board(
    store: Store, split: str, benchmark: str, stored: Sequence[Stored], published: Sequence[PublishedScore]
) -> SoupBoard:
    mine = [s for s in stored if s.submission.split == split and s.submission.kind == "model"]
    alike = [(s.submission.version, s.submission.jury, s.submission.condition) for s in mine]
    known = {key: figures(store, split, *key, mine) for key in {key[:2] for key in alike}}
    placed = {key: stands(store, (split, *key), "soup", by_condition(mine, own)) for key, own in known.items()}
    found = (_section(key, mine, known[key[:2]], placed[key[:2]]) for key in newest_first(set(alike)))
    sections = tuple(s for s in found if s.estimates)
    keep_estimates(store, [e for section in sections for e in section.estimates])
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


def _section(
    key: tuple[str, str, str], stored: Sequence[Stored], known: Mapping[str, Figures], placed: Mapping[str, Stand]
) -> SoupSection:
    version, jury, condition = key
    alike = [s.submission for s in stored if s.submission.submission_id in known]
    by_id = {s.submission_id: s for s in alike if s.condition == condition}
    groups = in_order((known[name].estimates for name in by_id), placed)
    estimates = tuple(e for group in groups for e in group)
    human = _baseline(stored, known, condition)
    genres = tuple(sorted({e.metric.partition("/")[2] for e in estimates if "/" in e.metric}))
    scale = axis([100 * x for e in estimates if e.metric == "overall" for x in (e.low, e.high)])
    by_metric: dict[str, dict[str, Estimate]] = {}
    for e in estimates:
        by_metric.setdefault(e.submission_id, {})[e.metric] = e
    lines = [
        _line(own, by_id[name], known[name], placed.get(name), scale=scale, genres=genres, human=human)
        for name, own in by_metric.items()
        if "overall" in own
    ]
    return SoupSection(
        version,
        jury,
        condition,
        scale,
        ticks_of(scale),
        genres,
        *by_tier(lines),
        bool(human) and not condition.startswith("player=human"),
        sum(known[name].labelled for name in by_id),
        estimates,
    )


def _line(
    by_metric: Mapping[str, Estimate],
    submission: Submission,
    known: Figures,
    place: Stand | None,
    *,
    scale: Axis,
    genres: tuple[str, ...],
    human: Mapping[str, float],
) -> SoupLine:
    own, metrics = by_metric["overall"], ("overall", *(f"overall/{genre}" for genre in genres))
    return SoupLine(
        own,
        rank_of(own),
        points(own.value),
        interval(own),
        *drawn(own, scale),
        tuple(points(by_metric[m].value) if m in by_metric else "–" for m in PARTS),
        tuple(points(by_metric[m].value) if m in by_metric else "–" for m in metrics[1:]),
        tuple(
            f"{100 * (by_metric[m].value - human[m]):+.1f}" if m in by_metric and m in human else "–" for m in metrics
        ),
        _course(known),
        submission,
        place,
    )


def _course(known: Figures) -> tuple[str, ...]:
    means = known.course or (None,) * len(COURSE)
    # The first two are counts, the others shares.
    return tuple(
        "–" if mean is None else f"{100 * mean:.0f} %" if n > 1 else f"{mean:.2f}" for n, mean in enumerate(means)
    )


def _baseline(stored: Sequence[Stored], known: Mapping[str, Figures], condition: str) -> dict[str, float]:
    """Mean scores of people under the same version and jury, against the same points, by metric; empty: none."""
    against = {part for part in condition.split(";") if part.startswith("points=")}
    rows: dict[str, list[float]] = {}
    for s in stored:
        own = known.get(s.submission.submission_id)
        alike = s.submission.model.provider == "human" and against <= set(s.submission.condition.split(";"))
        for e in own.estimates if own and alike and s.tier in RANKED else ():
            rows.setdefault(e.metric, []).append(e.value)
    return {metric: sum(values) / len(values) for metric, values in rows.items()}


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
