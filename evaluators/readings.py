"""Answers to questions about novels as the store holds them, beside what was shown and what the jury found."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from builders.values import NovelQuestion
from evaluators.answers import NovelRecord
from evaluators.store import Store


class Reading(NamedTuple):
    """One answer; a score is None where it is unknown (the call failed, or the jury is incomplete)."""

    submission_id: str
    item_id: str
    epoch: int
    cluster: str  # the novel
    letter: str | None
    steps: str | None  # one a line
    failure: str | None
    accuracy: float | None
    reasoning: float | None
    shown: NovelRecord | None  # None: the answer was brought
    marks: tuple[dict[str, bool], ...]  # by judge, `step_1` and on; only judges that could be read

    def found(self, step: int) -> float | None:
        """Share of the judges that found a reference step, counted from 1; None where the reasoning has no score."""
        if self.reasoning is None:
            return None
        # An answer that was not given holds no step, and no judge was asked.
        return sum(m.get(f"step_{step}", False) for m in self.marks) / max(1, len(self.marks))


def readings(
    store: Store, split: str, version: str, jury: str, *, only: Sequence[str] | None = None
) -> tuple[Reading, ...]:
    """Answers to the questions of a split under one jury, by submission, item and repeat; None: of all submissions."""
    query = """SELECT t.submission_id, t.item_id, t.epoch, coalesce(i.cluster, t.item_id), t.answer,
            t.justification, t.failure, a.value, r.value, n.reading, coalesce(m.marks, [])
        FROM transcripts t JOIN submissions s USING (submission_id)
        LEFT JOIN items i ON i.split = s.split AND i.version = s.version AND i.item_id = t.item_id
        LEFT JOIN (FROM scores WHERE metric = 'accuracy') a USING (submission_id, transcript_id)
        LEFT JOIN (FROM scores WHERE metric = 'reasoning') r USING (submission_id, transcript_id)
        LEFT JOIN readings n USING (submission_id, transcript_id)
        LEFT JOIN (SELECT submission_id, transcript_id, list(marks ORDER BY position) AS marks FROM verdicts
            WHERE kind = 'model' AND unit = 'item' AND score IS NOT NULL GROUP BY submission_id, transcript_id) m
            USING (submission_id, transcript_id)
        WHERE s.split = $1 AND s.version = $2 AND s.jury = $3
            AND ($4::VARCHAR[] IS NULL OR list_contains($4::VARCHAR[], s.submission_id))
        ORDER BY t.submission_id, t.item_id, t.epoch"""
    return tuple(_reading(*row) for row in store.query(query, [split, version, jury, only]).fetchall())


def letters(store: Store, names: Sequence[str]) -> tuple[tuple[str, str, float], ...]:
    """Novel, question and accuracy of every answer of these submissions that has one."""
    query = """SELECT coalesce(i.cluster, t.item_id), t.item_id, c.value
        FROM transcripts t JOIN submissions s USING (submission_id)
        JOIN (FROM scores WHERE metric = 'accuracy') c USING (submission_id, transcript_id)
        LEFT JOIN items i ON i.split = s.split AND i.version = s.version AND i.item_id = t.item_id
        WHERE list_contains(?, t.submission_id) ORDER BY ALL"""
    return tuple((str(novel), str(item), float(value)) for novel, item, value in store.query(query, [names]).fetchall())


def questions(store: Store, split: str, version: str) -> tuple[NovelQuestion, ...]:
    """The questions of a split that may be shown, in its order; none of a release whose licence is not open."""
    query = "SELECT item FROM puzzles WHERE split = ? AND version = ? ORDER BY rowid"
    return tuple(
        NovelQuestion.model_validate_json(str(text)) for (text,) in store.query(query, [split, version]).fetchall()
    )


def _reading(*row: Any) -> Reading:
    *head, shown, marks = row
    record = NovelRecord.model_validate_json(shown) if shown else None
    return Reading._make((*head, record, tuple(json.loads(text) for text in marks)))
