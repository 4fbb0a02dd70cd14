"""Every vote of a judge and label of a person on the attempts at a split, as columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.store import Store

_QUERY = """SELECT s.submission_id, s.provider, v.transcript_id, t.item_id, coalesce(i.cluster, t.item_id),
    coalesce(i.category, ''), length(coalesce(t.answer, '') || coalesce(t.justification, '')), v.judge, v.kind, v.score
FROM submissions s JOIN transcripts t USING (submission_id) JOIN verdicts v USING (submission_id, transcript_id)
LEFT JOIN items i ON i.split = s.split AND i.version = s.version AND i.item_id = t.item_id
WHERE s.split = ? AND s.version = ? AND s.jury = ? AND v.unit = 'item' AND v.score IS NOT NULL
    AND v.kind IN ('model', 'human') AND s.kind = 'model'
ORDER BY s.submission_id, t.position, v.position"""


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


def ratings(store: Store, split: str, version: str, jury: str) -> Ratings:
    """Read them in a fixed order; verdicts on parts of an attempt are left aside."""
    columns = list(zip(*store.query(_QUERY, [split, version, jury]).fetchall(), strict=True)) or [()] * len(
        Ratings._fields
    )
    said, provider, attempt, item, cluster, category, _, judge, kind, _ = (np.array(c, dtype=np.str_) for c in columns)
    characters, score = np.array(columns[6], dtype=np.int64), np.array(columns[9], dtype=np.float64)
    return Ratings(said, provider, attempt, item, cluster, category, characters, judge, kind, score)
