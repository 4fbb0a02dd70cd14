"""Rows of a board that can be compared in pairs where the jury's scores are the scores: puzzles, novels and cases.

Nothing is drawn here: the score of every item is known, so a difference is the mean over the items with an interval
clustered by story. Riddles, whose scores are estimated from labels, are compared by joint draws (`compare.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluators.means import Bounded, paired_mean
from evaluators.ppi import Interval
from evaluators.scores import FULL_MARKS, METRICS
from evaluators.store import Store
from evaluators.values import Estimate
from leaderboard.boards import section_key
from leaderboard.case_boards import CaseBoard, CaseSection
from leaderboard.evidence import OpenSplit, open_splits
from leaderboard.novel_boards import NovelBoard, NovelSection
from leaderboard.soup_boards import SoupBoard, SoupSection


class Unit(NamedTuple):
    """What is scored by itself: an item or, of a case, one of its questions."""

    item_id: str
    question: int | None  # from 1; None: the item is the unit
    cluster: str

    @property
    def label(self) -> str:
        """How it is called."""
        return self.item_id if self.question is None else f"{self.item_id}, question {self.question}"


class Contender(NamedTuple):
    """A row with its score on each unit."""

    like: Estimate
    scores: Bounded
    lead: Interval  # over the first row, as a share; of the first row 0


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
            for condition, heads in _alike(section).items() if split else ():
                if len(heads) > 1 and split:
                    contest = _contest(store, board.title, split, (section.jury, condition), heads)
                    found.setdefault(contest.key, contest)
    return tuple(found.values())


def contests_of(
    found: Sequence[Contest], split: str, section: SoupSection | NovelSection | CaseSection
) -> tuple[Contest, ...]:
    """Those of one section of a board."""
    wanted = {(split, section.version, section.jury, condition) for condition in _alike(section)}
    return tuple(c for c in found if (c.split, c.version, c.jury, c.condition) in wanted)


def _alike(section: SoupSection | NovelSection | CaseSection) -> dict[str, list[Estimate]]:
    """Ranked rows by condition; of novels every setting is a condition of its own."""
    found: dict[str, list[Estimate]] = {}
    if isinstance(section, NovelSection):
        for own in (s.like for line in section.ranked for s in line.settings if s is not None):
            found.setdefault(own.condition, []).append(own)
    else:
        found[section.condition] = [line.like for line in section.ranked]
    return found


def _contest(store: Store, title: str, split: OpenSplit, about: tuple[str, str], heads: Sequence[Estimate]) -> Contest:
    most = FULL_MARKS.get(split.protocol, 1.0)
    units, scores = unit_scores(store, split, [e.submission_id for e in heads])
    order = sorted(heads, key=lambda e: (-e.value, e.model, e.submission_id))
    first, clusters = scores[order[0].submission_id], [unit.cluster for unit in units]
    rows = []
    for e in order:
        own = scores[e.submission_id]
        both = np.isfinite(own.point - first.point).any()
        lead = paired_mean(own, first, clusters) if both else Interval(0.0, -1.0, 1.0)
        rows.append(Contender(e, own, Interval(0.0, 0.0, 0.0) if own is first else lead))
    return Contest(title, split.split, split.version, *about, split.folder, most, units, tuple(rows))


def unit_scores(store: Store, split: OpenSplit, names: Sequence[str]) -> tuple[tuple[Unit, ...], dict[str, Bounded]]:
    """Scores of submissions to one split on everything that any of them attempted, as shares of full marks.

    Returns:
        The units in the order of the split, and for each submission its scores in that order. A unit that a submission
        did not attempt is unknown: 0 in `low`, 1 in `high`.
    """
    headline, most = METRICS[split.protocol][0], FULL_MARKS.get(split.protocol, 1.0)
    # A case's own mean is no unit, as cases differ in how many questions they have.
    wanted = rf"{headline} q\d+" if split.protocol == "case" else headline
    rows = store.query(_SCORES, [list(names), wanted]).fetchall()
    clusters = store.clusters(split.split, split.version)
    order = {item: n for n, item in enumerate(clusters)}
    keys = {(item, _question(metric)) for _, item, metric, *_ in rows if metric is not None}
    graded = {item for item, _ in keys}
    # Of an item that nobody has a score on, the number of its questions is not known here: it counts once.
    keys |= {(item, None) for _, item, *_ in rows if item not in graded}
    listed = sorted(keys, key=lambda key: (order.get(key[0], len(order)), key[0], key[1] or 0))
    units = tuple(Unit(item, question, clusters.get(item, item)) for item, question in listed)
    place = {key: n for n, key in enumerate(listed)}
    table = {name: np.full((3, len(units)), np.nan) for name in names}
    for own in table.values():
        own[1:] = np.array([[0.0], [1.0]])
    for name, item, metric, total, known, attempts in rows:
        if metric is not None:
            column, unknown = place[item, _question(metric)], attempts - known
            points = total / most
            table[name][:, column] = (points / known, points / attempts, (points + unknown) / attempts)
    return units, {name: Bounded(own[0], own[1], own[2]) for name, own in table.items()}


def _question(metric: str) -> int | None:
    number = metric.rpartition(" q")[2]
    return int(number) if number != metric else None


_SCORES = """
    WITH tried AS (SELECT submission_id, item_id, count(*) AS attempts FROM transcripts
            WHERE list_contains($1, submission_id) GROUP BY ALL),
    scored AS (SELECT submission_id, item_id, metric, sum(value) AS total, count(*) AS known
        FROM transcripts JOIN scores USING (submission_id, transcript_id)
        WHERE list_contains($1, submission_id) AND regexp_full_match(metric, $2) GROUP BY ALL)
    SELECT submission_id, item_id, metric, total, known, attempts
    FROM tried LEFT JOIN scored USING (submission_id, item_id) ORDER BY ALL"""
