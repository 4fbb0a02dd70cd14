"""Answers as the store holds them, each with its texts, every judge's verdict and every label."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from evaluators.store import Store

_QUERY = """SELECT s.submission_id, s.version, s.tier, s.jury, s.provider, s.model, s.condition, t.item_id, t.epoch,
    t.answer, t.justification, t.failure, t.no_answer, c.votes, v.said
FROM submissions s JOIN transcripts t USING (submission_id)
LEFT JOIN (SELECT submission_id, transcript_id,
        list(struct_pack(metric := metric, votes := votes) ORDER BY metric) AS votes
    FROM scores GROUP BY ALL) c USING (submission_id, transcript_id)
LEFT JOIN (SELECT submission_id, transcript_id,
        list(struct_pack(judge := judge, kind := kind, score := score, marks := marks) ORDER BY position) AS said
    FROM verdicts WHERE unit = 'item' GROUP BY ALL) v USING (submission_id, transcript_id)
WHERE s.split = ? ORDER BY s.submission_id, t.item_id, t.epoch, t.position"""


class Said(NamedTuple):
    """One verdict on an attempt, without its words."""

    judge: str
    kind: str  # model | human | author | rule
    score: float | None
    marks: dict[str, bool]


class Answered(NamedTuple):
    """An attempt with its texts and everything that was said about it."""

    submission_id: str
    split_version: str
    tier: str
    jury: str
    provider: str
    model: str
    condition: str
    item_id: str
    epoch: int
    answer: str | None
    justification: str | None
    failure: str | None
    no_answer: bool
    votes: dict[str, list[tuple[str, float]]]  # of each metric, (judge, score)
    verdicts: tuple[Said, ...]


def answered(store: Store, split: str) -> Iterator[Answered]:
    """Every attempt at any version of a split with its texts, votes and labels, in a fixed order."""
    for *fields, votes, said in store.query(_QUERY, [split]).fetchall():
        by_metric = {v["metric"]: [tuple(vote) for vote in json.loads(v["votes"])] for v in votes or ()}
        heard = tuple(Said(**(v | {"marks": json.loads(v["marks"])})) for v in said or ())
        yield Answered._make((*fields, by_metric, heard))
