"""Scores of rows on everything that is scored by itself, where the jury's scores are the scores."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluators.means import Bounded
from evaluators.scores import FULL_MARKS, METRICS
from evaluators.store import Store


class Unit(NamedTuple):
    """What is scored by itself: an item or, of a case, one of its questions."""

    item_id: str
    question: int | None  # from 1; None: the item is the unit
    cluster: str

    @property
    def label(self) -> str:
        """How it is called."""
        return self.item_id if self.question is None else f"{self.item_id}, question {self.question}"


def unit_scores(
    store: Store, split: str, version: str, protocol: str, names: Sequence[str]
) -> tuple[tuple[Unit, ...], dict[str, Bounded]]:
    """Scores of submissions to one split on everything that any of them attempted, as shares of full marks.

    Returns:
        The units in the order of the split, and for each submission its scores in that order. A unit that a submission
        did not attempt is unknown: 0 in `low`, 1 in `high`.
    """
    headline, most = METRICS[protocol][0], FULL_MARKS.get(protocol, 1.0)
    # A case's own mean is no unit, as cases differ in how many questions they have.
    wanted = rf"{headline} q\d+" if protocol == "case" else headline
    rows = store.query(_SCORES, [list(names), wanted]).fetchall()
    clusters = store.clusters(split, version)
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
