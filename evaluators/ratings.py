"""Every vote of a judge and label of a person on the attempts at a split, as columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.store import Store
from evaluators.units import MOST, UNIT, place_of

if TYPE_CHECKING:
    import pyarrow as pa

Part = Literal["grade", "mark"]
_QUERY = """WITH mine AS (SELECT submission_id, provider FROM submissions
    WHERE split = $split AND version = $version AND jury = $jury AND kind = 'model' {only}),
tried AS (SELECT t.*, mine.provider FROM transcripts t JOIN mine USING (submission_id) {labelled}),
graded AS (SELECT v.* FROM verdicts v SEMI JOIN tried USING (submission_id, transcript_id)
    WHERE v.score IS NOT NULL AND v.kind IN ('model', 'human')
        AND (v.unit = 'item' OR regexp_full_match(v.unit, $unit))),
said AS ({said})
SELECT t.submission_id, t.provider, t.transcript_id || v.part, t.item_id || v.part, coalesce(i.cluster, t.item_id),
    coalesce(i.category, ''), length(coalesce(t.answer, '') || coalesce(t.justification, ''))::BIGINT, v.judge, v.kind,
    v.score::DOUBLE
FROM tried t JOIN said v USING (submission_id, transcript_id)
LEFT JOIN items i ON i.split = $split AND i.version = $version AND i.item_id = t.item_id
ORDER BY t.submission_id, t.position, v.position, v.part"""
_LABELLED = "SEMI JOIN (FROM verdicts WHERE kind = 'human') USING (transcript_id)"
_GRADES = """SELECT submission_id, transcript_id, position, judge, kind, score,
    if(unit = 'item', '', '#' || unit) AS part FROM graded"""
_MARKS = """SELECT submission_id, transcript_id, position, judge, kind, mark.value AS score, '#' || mark.key AS part
    FROM (SELECT *, unnest(map_entries(marks::JSON::MAP(VARCHAR, DOUBLE))) AS mark FROM graded)"""

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
    query = _QUERY.format(
        only="AND list_contains($only, submission_id)" if only else "",
        labelled=_LABELLED if labelled else "",
        said=_MARKS if of == "mark" else _GRADES,
    )
    values: dict[str, str | Sequence[str]] = {"split": split, "version": version, "jury": jury, "unit": UNIT}
    table = store.table(query, values | ({"only": list(only)} if only else {}))
    return Ratings(*(_column(c) for c in table.columns))


def numbered(values: NDArray[np.str_]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Names in order and the number of each value among them: `np.unique` with its inverse, without sorting all."""
    import pyarrow as pa

    found = _encoded(pa.array(values, type=pa.string()))
    names = np.array(found.dictionary.to_pylist(), dtype=np.str_)
    order = np.argsort(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return names[order], rank[found.indices.to_numpy()]


def _column(values: "pa.ChunkedArray") -> Any:
    """A column as an array; of texts, each that occurs is turned into one of Python once."""
    import pyarrow as pa

    if not pa.types.is_string(values.type):
        return values.to_numpy()
    found = _encoded(values)
    return np.array(found.dictionary.to_pylist() or [""], dtype=np.str_)[found.indices.to_numpy()]


def _encoded(values: "pa.Array | pa.ChunkedArray") -> "pa.DictionaryArray":
    import pyarrow as pa

    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return whole.dictionary_encode()


def verdict_costs(store: Store, split: str, version: str, jury: str) -> dict[str, float]:
    """What a verdict of each judge cost on average, in USD, over those whose price is known; others are not named."""
    return {str(judge): float(usd) for judge, usd in store.query(_COSTS, [split, version, jury]).fetchall()}
