"""Parts of a board that a reader may choose: one category or genre of its items, or another language of its benchmark.

A page holds the figures of all items; those of a part are fetched when it is chosen, and stand whole on a page of their
own for those who have no JavaScript.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from evaluators.estimate import LIKE, RANKED
from evaluators.values import Estimate, Submission
from leaderboard.boards import section_key
from leaderboard.charts import Axis, axis
from leaderboard.evidence import page_of
from leaderboard.settled import stands_apart

Kind = Literal["category", "genre"]
LANGUAGES = {"en": "English", "zh": "Chinese"}
FOLDER = "api/v1/parts"


class AnyLine(Protocol):
    """What parts need of a row on a board of any protocol."""

    @property
    def like(self) -> Estimate:
        """Its headline."""

    @property
    def rank(self) -> tuple[int, int] | None:
        """Its place, or None where it is not ranked."""

    @property
    def submission(self) -> Submission:
        """The run behind it."""


class AnySection(Protocol):
    """What parts need of a section of a board of any protocol."""

    @property
    def version(self) -> str:
        """Version of the split."""

    @property
    def jury(self) -> str:
        """Name of the panel."""

    @property
    def condition(self) -> str:
        """What was varied."""

    @property
    def ranked(self) -> Sequence[AnyLine]:
        """Rows with a rank, the best first."""

    @property
    def self_reported(self) -> Sequence[AnyLine]:
        """Rows without."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """Its numbers."""


class AnyBoardOf(Protocol):
    """What parts need of a board of any protocol."""

    @property
    def split(self) -> str:
        """Name of the split and of the page."""

    @property
    def benchmark(self) -> str:
        """What is measured."""

    @property
    def sections(self) -> Sequence[AnySection]:
        """Rows that were measured alike."""


class Row(NamedTuple):
    """One model on a part of the items; its ranks are those among the models of that part."""

    like: Estimate
    rank: tuple[int, int] | None


class Part(NamedTuple):
    """The rows of a section on some of its items only, the best first."""

    name: str
    rows: tuple[Row, ...]

    @property
    def page(self) -> str:
        """Its name in addresses."""
        return page_of(self.name)

    @property
    def scale(self) -> Axis:
        """A scale for its intervals, in points."""
        return axis([100 * x for row in self.rows for x in (row.like.low, row.like.high)])

    @property
    def by_run(self) -> Mapping[str, Row]:
        """Its rows by submission_id; a run may have none."""
        return {row.like.submission_id: row for row in self.rows}


class Language(NamedTuple):
    """A language of a benchmark, and where its rows that were measured alike stand."""

    name: str
    href: str  # empty: here
    carry: bool  # whether a view of the first table here means the same there


class Parts(NamedTuple):
    """All that can be chosen of a section."""

    key: str  # of the section, in addresses
    kind: Kind
    parts: tuple[Part, ...]
    languages: tuple[Language, ...]

    @property
    def folder(self) -> str:
        """Where its documents stand."""
        return f"{FOLDER}/{self.key}"


def parts_of(board: AnyBoardOf, boards: Sequence[AnyBoardOf]) -> tuple[Parts, ...]:
    """What can be chosen of each section of a board.

    Args:
        board: A board.
        boards: All boards, among which those of the other languages are.
    """
    kind: Kind = "genre" if any(s.submission.protocol == "soup" for s in _lines(board)) else "category"
    return tuple(
        Parts(
            section_key(board.split, section.version, section.jury, section.condition),
            kind,
            _parts(section),
            _languages(board, n, boards),
        )
        for n, section in enumerate(board.sections)
    )


def _lines(board: AnyBoardOf) -> list[AnyLine]:
    return [line for section in board.sections for line in (*section.ranked, *section.self_reported)]


def _parts(section: AnySection) -> tuple[Part, ...]:
    """Parts by name; a section whose items are all of one kind has none."""
    lines = {line.like.submission_id: line for line in (*section.ranked, *section.self_reported)}
    found: dict[str, list[Estimate]] = {}
    for e in section.estimates:
        headline, _, name = e.metric.partition("/")
        own = lines.get(e.submission_id)
        if name and own is not None and e.estimand == LIKE and headline == own.like.metric:
            found.setdefault(name, []).append(e)
    if len(found) < 2:
        return ()
    placed = {name for name, line in lines.items() if line.rank is not None}
    return tuple(Part(name, _ranked(found[name], placed)) for name in sorted(found))


def _ranked(estimates: Sequence[Estimate], placed: set[str]) -> tuple[Row, ...]:
    """Rows with the ranks they were given, or else with those that their intervals leave open."""
    rows = sorted(estimates, key=lambda e: (-e.value, e.model, e.submission_id))
    ranked = [e for e in rows if e.tier in RANKED and e.submission_id in placed]
    found: Mapping[str, tuple[int, int]]
    if all(e.best_rank and e.worst_rank for e in ranked):
        found = {e.submission_id: (e.best_rank or 0, e.worst_rank or 0) for e in ranked}
    else:
        found = {name: stand.rank for name, stand in stands_apart([e] for e in ranked).items()}
    return tuple(Row(e, found.get(e.submission_id)) for e in rows)


def _languages(board: AnyBoardOf, place: int, boards: Sequence[AnyBoardOf]) -> tuple[Language, ...]:
    """The languages in which models were run as in this section; empty where there is one only."""
    stem, _, code = board.split.rpartition("-")
    if code not in LANGUAGES:
        return ()
    alike = _alike(board.sections[place])
    found = {code: Language(LANGUAGES[code], "", carry=False)}
    for other in boards:
        theirs = other.split.rpartition("-")
        if other is board or (other.benchmark, theirs[0]) != (board.benchmark, stem) or theirs[2] not in LANGUAGES:
            continue
        same = [n for n, section in enumerate(other.sections) if _alike(section) == alike]
        if same:
            href = f"{other.split}.html#s{same[0] + 1}"
            found[theirs[2]] = Language(LANGUAGES[theirs[2]], href, carry=same[0] == place == 0)
    return tuple(found[name] for name in sorted(found)) if len(found) > 1 else ()


def _alike(section: AnySection) -> tuple[str, str, str]:
    """Version, jury and condition, but for the reference points, which each language has of its own."""
    rest = [p for p in section.condition.split(";") if not p.startswith("points=")]
    return section.version, section.jury, ";".join(rest)
