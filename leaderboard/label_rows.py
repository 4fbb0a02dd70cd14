"""Answers with every judge's verdict and every label, one row an answer, in the columns of layton-eval's PPI release.

The columns are generalised: `item_id` and `condition` stand in every row, and riddles have `riddle_id` and `n_hints`
beside them, so that whoever reads the release reads this. `human_...` columns hold labels of people and nothing else;
what an item's author labelled stands in `author_...`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from builders import CANARIES
from evaluators.answered import Answered, answered
from evaluators.scores import METRICS

if TYPE_CHECKING:
    import pyarrow as pa

    from evaluators.store import Store

# Marks of a riddle's answer that the release has columns for; graded protocols have shares instead.
MARKS: Mapping[str, tuple[str, ...]] = MappingProxyType({"riddle": ("is_answer_correct", "is_justification_correct")})
# Verdicts of a jury that the submitter chose and ran are not ours to publish as calibration data.
TIERS = ("released", "scored-here", "rejudged")


class LabelRows(NamedTuple):
    """The rows of one split as they will be published."""

    split: str
    table: "pa.Table"
    digests: Mapping[str, str]  # of each row, by submission, item and repeat
    labelled: int  # rows that people labelled
    authored: int  # rows that only the item's author labelled

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)


def label_rows(store: "Store", split: str, protocol: str) -> LabelRows | None:
    """Put answers, verdicts and labels of a split side by side; None where the store holds no judged answer of it.

    Args:
        store: The results store.
        split: Name of the split; every version in the store, named in its row.
        protocol: Protocol of the split, which says what a verdict's parts are.
    """
    judged = [a for a in answered(store, split) if a.tier in TIERS and a.verdicts]
    if not judged:
        return None
    judges = sorted({v.judge for a in judged for v in a.verdicts if v.kind == "model"})
    kinds = _columns(protocol, judges)
    rows = [_row(a, protocol, judges) for a in judged]
    digests = {_name(row): row_sha256(row) for row in rows}
    shown = METRICS[protocol][0]
    return LabelRows(
        split,
        _table(rows, kinds, split),
        digests,
        sum(row[f"human_{shown}"] is not None for row in rows),
        sum(row[f"human_{shown}"] is None and row[f"author_{shown}"] is not None for row in rows),
    )


def row_sha256(row: Mapping[str, Any]) -> str:
    """Digest a row whatever stores it; null columns do not count, so that a new judge changes no other row."""
    kept = {name: value for name, value in row.items() if value is not None}
    return sha256(json.dumps(kept, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_digests(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Digests of rows that were published before, by the same names."""
    return {_name(row): row_sha256(row) for row in rows}


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['submission_id']}/{row['item_id']}/{row['epoch']}"


def _columns(protocol: str, judges: Sequence[str]) -> dict[str, str]:
    """Column names with their Arrow types, in order."""
    texts = ("item_id", "provider", "model", "condition", "answer", "justification", "failure")
    kinds = dict.fromkeys(("submission_id", "split_version", "tier", "jury", *texts), "string")
    kinds |= {"epoch": "int64", "no_answer": "bool"}
    marks = MARKS.get(protocol, ())
    if protocol == "riddle":
        kinds |= {"riddle_id": "string", "n_hints": "int64"}
    for metric in (*marks, *METRICS[protocol]):
        kind = "bool" if protocol == "riddle" else "double"
        kinds |= {f"{metric}_{judge}": kind for judge in judges}
        kinds |= {f"{who}_{metric.removeprefix('is_')}": kind for who in ("human", "author")}
    return kinds | {"human_labels": "int64"}


def _row(a: Answered, protocol: str, judges: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: getattr(a, name)
        for name in (
            *("submission_id", "split_version", "tier", "jury", "item_id", "provider", "model", "condition"),
            *("answer", "justification", "failure", "epoch", "no_answer"),
        )
    }
    riddle = protocol == "riddle"
    if riddle:
        row |= {"riddle_id": a.item_id, "n_hints": _hints(a.condition)}
    said = {v.judge: v for v in a.verdicts if v.kind == "model"}
    votes = {metric: dict(found) for metric, found in a.votes.items()}
    headline = METRICS[protocol][0]
    for judge in judges:
        verdict = said.get(judge)
        for mark in MARKS.get(protocol, ()):
            row[f"{mark}_{judge}"] = verdict.marks.get(mark) if verdict else None
        for metric in METRICS[protocol]:
            score = (verdict.score if verdict else None) if metric == headline else votes.get(metric, {}).get(judge)
            row[f"{metric}_{judge}"] = score if score is None or not riddle else bool(score)
    for who in ("human", "author"):
        people = [v for v in a.verdicts if v.kind == who and v.score is not None]
        for mark in MARKS.get(protocol, ()):
            given = [float(v.marks[mark]) for v in people if mark in v.marks]
            row[f"{who}_{mark.removeprefix('is_')}"] = _agreed(given)
        scores = [v.score for v in people if v.score is not None]
        row[f"{who}_{headline}"] = _agreed(scores) if riddle else (fmean(scores) if scores else None)
    row["human_labels"] = sum(v.kind == "human" and v.score is not None for v in a.verdicts)
    return row


def _agreed(given: Sequence[float]) -> bool | None:
    """What most people said; None where nobody did or they are split evenly."""
    share = fmean(given) if given else 0.5
    return None if share == 0.5 else share > 0.5


def _hints(condition: str) -> int | None:
    """Hints that were shown, from `hints=N;...`."""
    text = condition.partition(";")[0].removeprefix("hints=")
    return int(text) if text.isdigit() else None


def _table(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str], split: str) -> "pa.Table":
    import pyarrow as pa

    spelled = {"string": "string", "int64": "int64", "bool": "bool", "double": "float64"}
    features = {name: {"dtype": spelled[kind], "_type": "Value"} for name, kind in kinds.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}}), "canary": CANARIES[split]}
    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in kinds.items()]
    return pa.Table.from_pylist(list(rows), schema=pa.schema(fields, metadata=metadata))
