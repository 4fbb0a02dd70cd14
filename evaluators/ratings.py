"""Every vote of a judge and label of a person on the attempts at a split, as columns."""

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.store import Store
from evaluators.units import MOST, place_of

Part = Literal["grade", "mark"]
_QUERY = """SELECT s.submission_id, s.provider, v.transcript_id, t.item_id, coalesce(i.cluster, t.item_id),
    coalesce(i.category, ''), length(coalesce(t.answer, '') || coalesce(t.justification, '')), v.judge, v.kind, v.score,
    v.unit, v.marks
FROM submissions s JOIN transcripts t USING (submission_id) JOIN verdicts v USING (submission_id, transcript_id)
LEFT JOIN items i ON i.split = s.split AND i.version = s.version AND i.item_id = t.item_id
WHERE s.split = ? AND s.version = ? AND s.jury = ? AND v.score IS NOT NULL
    AND v.kind IN ('model', 'human') AND s.kind = 'model'
{more} ORDER BY s.submission_id, t.position, v.position"""
_LABELLED = "AND v.transcript_id IN (SELECT transcript_id FROM verdicts WHERE kind = 'human')"
_OF_MODELS = "AND list_contains(?, s.submission_id)"

_COSTS = """SELECT v.judge, avg(v.cost_usd) FROM submissions s JOIN verdicts v USING (submission_id)
WHERE s.split = ? AND s.version = ? AND s.jury = ? AND s.kind = 'model' AND v.kind = 'model' AND v.cost_usd IS NOT NULL
GROUP BY v.judge ORDER BY v.judge"""


class Ratings(NamedTuple):
    """Every readable vote and label on the attempts at a split under one jury; every array has shape (ratings,)."""

    submission: NDArray[np.str_]
    provider: NDArray[np.str_]  # maker of the model that answered
    transcript: NDArray[np.str_]
    item: NDArray[np.str_]
    cluster: NDArray[np.str_]  # story, novel or case; the item where the store does not know
    category: NDArray[np.str_]
    characters: NDArray[np.int64]  # of answer and justification together
    judge: NDArray[np.str_]
    kind: NDArray[np.str_]  # model | human
    score: NDArray[np.float64]

    @property
    def most(self) -> float:
        """The highest score there can be: 3 for the answers of a case, 1 for everything else."""
        graded = any(
            name.partition("#")[2] and place_of(name.partition("#")[2]) for name in self.transcript[:1].tolist()
        )
        return float(MOST) if graded else 1.0


def ratings(
    store: Store,
    split: str,
    version: str,
    jury: str,
    *,
    of: Part = "grade",
    labelled: bool = False,
    only: Sequence[str] = (),
) -> Ratings:
    """Read them in a fixed order.

    Args:
        store: Where they are.
        split: Name of the split.
        version: Its version.
        jury: Name of the jury.
        of: `grade`: what was said of an attempt, or of each answer of a case, in its own unit. `mark`: yes or no to
            each part of it, where a part was asked for (a step, a point, the justification).
        labelled: Only attempts that a person has labelled.
        only: Names of the submissions to read; none: all.

    Returns:
        Ratings whose `transcript` and `item` name behind a # the part that is rated, where it is one.
    """
    query = _QUERY.format(more=f"{_LABELLED if labelled else ''} {_OF_MODELS if only else ''}")
    values: list[str | Sequence[str]] = [split, version, jury, *([list(only)] if only else [])]
    rows = [row for row in store.query(query, values).fetchall() if row[10] == "item" or place_of(row[10])]
    if of == "mark":
        rows = [
            (*row[:2], f"{row[2]}#{name}", f"{row[3]}#{name}", *row[4:9], float(found), name, row[11])
            for row in rows
            for name, found in sorted(json.loads(row[11]).items())
        ]
    else:
        rows = [
            row if row[10] == "item" else (*row[:2], f"{row[2]}#{row[10]}", f"{row[3]}#{row[10]}", *row[4:])
            for row in rows
        ]
    columns = list(zip(*rows, strict=True)) or [()] * (len(Ratings._fields) + 2)
    said, provider, attempt, item, cluster, category, _, judge, kind = (np.array(c, dtype=np.str_) for c in columns[:9])
    characters, score = np.array(columns[6], dtype=np.int64), np.array(columns[9], dtype=np.float64)
    return Ratings(said, provider, attempt, item, cluster, category, characters, judge, kind, score)


def verdict_costs(store: Store, split: str, version: str, jury: str) -> dict[str, float]:
    """What a verdict of each judge cost on average, in USD, over those whose price is known; others are not named."""
    return {str(judge): float(usd) for judge, usd in store.query(_COSTS, [split, version, jury]).fetchall()}
