"""What a board shows, worked out from the store: sections, rows and their text, still without markup."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from evaluators.estimate import LIKE, RANKED, THESE, Split, half_width, headline
from evaluators.fit import Fits, fit_split
from evaluators.kept import Place, Standing
from evaluators.scores import HEADLINE
from evaluators.store import Store
from evaluators.values import Estimate, Published, Submission
from leaderboard.charts import Axis, Bar, axis
from leaderboard.evidence import open_splits
from leaderboard.records import NO_HISTORY, History, Record
from leaderboard.sections import by_tier, drawn, interval, newest_first, points, rank_of, ticks_of
from leaderboard.standings import standings

SAMPLES = "samples"
TIERS = {
    "scored-here": "run and judged by this project",
    "rejudged": "the submitter's answers, judged by this project's jury",
    "released": "answers, verdicts and labels published by the benchmark's authors, recomputed here",
    "self-reported": "the submitter's answers and the submitter's jury; not ranked",
    "published": "a figure that a paper printed",
}
ABOUT = {
    "layton-llm": ("layton-eval, text riddles", "186 riddles in words, from the games about Professor Layton."),
    "layton-vlm": ("layton-eval, visual riddles", "317 riddles with a picture, from the games about Professor Layton."),
    "sample-llm": ("Sample, text riddles", "A small set of riddles that this project wrote to try its own machinery."),
    "sample-vlm": ("Sample, visual riddles", "Four drawn riddles that this project wrote to try its own machinery."),
}


class Line(NamedTuple):
    """One model on a board; numbers are points with one decimal."""

    like: Estimate
    rank: tuple[int, int] | None
    score: str
    interval: tuple[str, str]
    these: tuple[str, str]
    thin: Bar
    thick: Bar
    point: str
    spoken: str
    submission: Submission
    place: Place | None = None  # None: not ranked, or nothing could be fitted
    categories: tuple[Estimate, ...] = ()  # by name

    @property
    def group(self) -> int | None:
        """Models of one number cannot be told from the first of them."""
        return self.place.group if self.place else None


class LaytonLine(NamedTuple):
    """One model by the layton definition."""

    estimate: Estimate
    rank: tuple[int, int] | None
    score: str
    half_width: str


class Section(NamedTuple):
    """The models that were measured alike: one version, jury and condition."""

    version: str
    jury: str
    condition: str
    scale: Axis
    ticks: tuple[tuple[int, str], ...]
    ranked: tuple[Line, ...]
    self_reported: tuple[Line, ...]
    layton: tuple[LaytonLine, ...]
    labels: str
    method: str
    estimates: tuple[Estimate, ...]
    retired: Record | None = None

    @property
    def key(self) -> str:
        """Name of the section in addresses."""
        return section_key(self.estimates[0].split, self.version, self.jury, self.condition)

    @property
    def said(self) -> str:
        """The condition in words."""
        return describe(self.condition)


class Reread(NamedTuple):
    """A published figure beside what the same answers, verdicts and labels give here."""

    published: Published
    line: Line
    wider: str  # how many times the printed interval the one for items like these is


class Board(NamedTuple):
    """All that a split's page shows."""

    split: str
    benchmark: str
    title: str
    about: str
    sections: tuple[Section, ...]
    published: tuple[Published, ...]
    open: bool = False  # whether items, answers and votes may be shown one by one

    @property
    def template(self) -> str:
        """Template of the page."""
        return "board.md.jinja"

    @property
    def sample(self) -> bool:
        """Whether the split only proves that the machinery runs."""
        return self.benchmark == SAMPLES

    @property
    def reread(self) -> tuple[Reread, ...]:
        """Published figures whose evidence was released and computed again here, in the paper's order."""
        lines = {
            (line.submission.model.name, section.condition): line
            for section in self.sections
            for line in section.ranked
            if line.like.tier == "released"
        }
        pairs = [(p, lines[p.model, p.condition]) for p in self.published if (p.model, p.condition) in lines]
        return tuple(
            Reread(p, line, f"{50 * (line.like.high - line.like.low) / p.half_width:.0f}") for p, line in pairs
        )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every number of the page, in its order."""
        return tuple(e for section in self.sections for e in section.estimates)


def boards(
    store: Store, history: History = NO_HISTORY, *, fit: Callable[[Split], Fits | None] = fit_split
) -> tuple[Board, ...]:
    """Work out one board for every split of riddles that has models or published figures, by name.

    Args:
        store: What to show.
        history: Which juries have retired.
        fit: Fits all models of a split; where it gives None, the board shows `betabin` and overlapping intervals.
    """
    everyone = [s.submission for s in store.submissions() if s.submission.kind == "model"]
    stored = [s for s in everyone if s.protocol == "riddle"]
    published = store.published()
    benchmark = {s.split: s.benchmark for s in stored} | {p.split: p.benchmark for p in published}
    found = (_board(store, split, benchmark[split], stored, published, fit=fit) for split in sorted(benchmark))
    opened = {s.split for s in open_splits(store)}
    return tuple(_marked(board, history)._replace(open=board.split in opened) for board in found)


def _marked(board: Board, history: History) -> Board:
    return board._replace(sections=tuple(s._replace(retired=history.retired(s.jury)) for s in board.sections))


def _board(
    store: Store,
    split: str,
    benchmark: str,
    stored: Sequence[Submission],
    published: Sequence[Published],
    *,
    fit: Callable[[Split], Fits | None],
) -> Board:
    mine = [s for s in stored if s.split == split]
    keys = newest_first({(s.version, s.jury, s.condition) for s in mine})
    found = {
        (version, jury): standings(
            store, split, version, jury, [c for v, j, c in keys if (v, j) == (version, jury)], fit=fit
        )
        for version, jury in sorted({key[:2] for key in keys})
    }
    title, about = ABOUT.get(split, (split, ""))
    sections = (_section(key, mine, found[key[:2]].get(key[2], Standing((), {}))) for key in keys)
    return Board(
        split,
        benchmark,
        title,
        about,
        tuple(s for s in sections if s.estimates),
        tuple(p for p in published if p.split == split),
    )


def _section(key: tuple[str, str, str], submissions: Sequence[Submission], standing: Standing) -> Section:
    version, jury, condition = key
    estimates, places = standing
    parts: dict[str, list[Estimate]] = {}
    for e in (e for e in estimates if e.metric != HEADLINE):
        parts.setdefault(e.submission_id, []).append(e)
    by_id = {s.submission_id: s for s in submissions}
    board = headline([e for e in estimates if e.metric == HEADLINE])
    scale = axis([100 * x for e in board for x in (e.low, e.high)])
    these = {e.submission_id: e for e in board if e.estimand == THESE}
    lines = [
        _line(e, these[e.submission_id], scale, by_id[e.submission_id])._replace(
            place=places.get(e.submission_id), categories=tuple(parts.get(e.submission_id, ()))
        )
        for e in board
        if e.estimand == LIKE
    ]
    layton = [_layton_line(e) for e in estimates if e.method == "layton" and e.tier in RANKED]
    return Section(
        version,
        jury,
        condition,
        scale,
        ticks_of(scale),
        *by_tier(lines),
        tuple(sorted(layton, key=lambda line: (-line.estimate.value, line.estimate.model))),
        _who_labelled(lines),
        board[0].method if board else "",
        estimates,
    )


def _line(like: Estimate, these: Estimate, scale: Axis, submission: Submission) -> Line:
    (a, b), (c, d) = interval(like), interval(these)
    thin, point = drawn(like, scale)
    spoken = (
        f"{points(like.value)} points; 95 percent interval {a} to {b} on items like these, {c} to {d} on these items"
    )
    return Line(
        like,
        rank_of(like),
        points(like.value),
        (a, b),
        (c, d),
        thin,
        drawn(these, scale)[0],
        point,
        spoken,
        submission,
    )


def _layton_line(estimate: Estimate) -> LaytonLine:
    return LaytonLine(estimate, rank_of(estimate), points(estimate.value), f"{half_width(estimate):.1f}")


def section_key(split: str, version: str, jury: str, condition: str) -> str:
    """A name for addresses: readable, and with a digest so that no two sections share it."""
    mark = sha256(f"{split}\n{version}\n{jury}\n{condition}".encode()).hexdigest()[:6]
    return f"{split}-{version}-{mark}"


def describe(condition: str) -> str:
    """Say a condition in words: `hints=0;first=6` is "no hints, first 6 items"."""
    words = []
    for part in condition.split(";"):
        name, _, value = part.partition("=")
        match name:
            case "hints":
                words.append({"0": "no hints", "1": "1 hint"}.get(value, f"{value} hints"))
            case "first":
                words.append(f"first {value} items")
            case _:
                words.append(part)
    return ", ".join(words)


def _who_labelled(lines: Sequence[Line]) -> str:
    kinds = {line.like.labels for line in lines}
    if "human" in kinds:
        return "human"
    return "author" if "author" in kinds else "none"
