"""Rows of a board that can be compared in pairs where the jury's scores are the scores: puzzles, novels and cases.

Nothing is drawn here: the score of every item is known, so a difference is the mean over the items with an interval
clustered by story. Riddles, whose scores are estimated from labels, are compared by joint draws (`compare.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from evaluators.means import Bounded
from evaluators.ppi import Interval
from evaluators.scores import FULL_MARKS
from evaluators.store import Store
from evaluators.values import Estimate
from leaderboard.boards import section_key
from leaderboard.case_boards import CaseBoard, CaseSection
from leaderboard.evidence import OpenSplit, open_splits
from leaderboard.novel_boards import NovelBoard, NovelSection
from leaderboard.settled import Ranked, leads_over_first
from leaderboard.soup_boards import SoupBoard, SoupSection
from leaderboard.unit_scores import Unit, unit_scores


class Contender(NamedTuple):
    """A row with its score on each unit."""

    like: Estimate
    scores: Bounded
    lead: Interval | None  # over the first row, as a share; of the first row 0; None: no item has a score of both
    group: int | None  # rows of one group cannot be told from its first; None: nothing is known of that


class Contest(NamedTuple):
    """Rows that were measured alike, best first, with their scores on the same units."""

    board: str  # title
    split: str
    version: str
    jury: str
    condition: str
    folder: str  # of the items' pages
    most: float  # the score that is a share of 1: 3 for grades
    units: tuple[Unit, ...]
    rows: tuple[Contender, ...]

    @property
    def key(self) -> str:
        """Name of the contest in addresses."""
        return section_key(self.split, self.version, self.jury, self.condition)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Story of each unit."""
        return tuple(unit.cluster for unit in self.units)


def contests(store: Store, boards: Sequence[object]) -> tuple[Contest, ...]:
    """Every group of two rows or more that can be compared, by board; of splits whose items may be shown."""
    opened = {(s.split, s.version): s for s in open_splits(store)}
    found: dict[str, Contest] = {}
    for board in boards:
        if not isinstance(board, SoupBoard | NovelBoard | CaseBoard):
            continue
        for section in board.sections:
            split = opened.get((board.split, section.version))
            for condition, rows in _alike(section).items() if split else ():
                if len(rows) > 1 and split:
                    contest = _contest(store, board.title, split, (section.jury, condition), rows)
                    found.setdefault(contest.key, contest)
    return tuple(found.values())


def contests_of(
    found: Sequence[Contest], split: str, section: SoupSection | NovelSection | CaseSection
) -> tuple[Contest, ...]:
    """Those of one section of a board."""
    wanted = {(split, section.version, section.jury, condition) for condition in _alike(section)}
    return tuple(c for c in found if (c.split, c.version, c.jury, c.condition) in wanted)


def _alike(section: SoupSection | NovelSection | CaseSection) -> dict[str, list[Ranked]]:
    """Ranked rows by condition; of novels every setting is a condition of its own."""
    if not isinstance(section, NovelSection):
        return {section.condition: list(section.ranked)}
    found: dict[str, list[Ranked]] = {}
    for own in (s for line in section.ranked for s in line.settings if s is not None):
        found.setdefault(own.like.condition, []).append(own)
    return found


def _contest(store: Store, title: str, split: OpenSplit, about: tuple[str, str], rows: Sequence[Ranked]) -> Contest:
    most = FULL_MARKS.get(split.protocol, 1.0)
    units, scores = unit_scores(
        store, split.split, split.version, split.protocol, [row.like.submission_id for row in rows]
    )
    order = sorted(rows, key=lambda row: (-row.like.value, row.like.model, row.like.submission_id))
    own = [scores[row.like.submission_id] for row in order]
    leads = leads_over_first(own, [unit.cluster for unit in units])
    found = (
        Contender(row.like, score, lead, row.place.group if row.place else None)
        for row, score, lead in zip(order, own, leads, strict=True)
    )
    return Contest(title, split.split, split.version, *about, split.folder, most, units, tuple(found))
