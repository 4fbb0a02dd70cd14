"""From the verdicts on one attempt to the jury's score, and to the label that people gave it."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Literal

from evaluators.values import Score, Submission, Verdict

SEATS = 3
HEADLINE = "both_correct"
# What is scored in each protocol, the headline first.
METRICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "riddle": (HEADLINE,),
        "soup": ("overall", "logic", "details", "conclusion"),
        "novel": ("accuracy", "reasoning"),
        "case": ("overall", "progressive", "final"),
    }
)
# The geometric mean of two metrics, as their papers print it, by protocol.
COMPOSITES: Mapping[str, tuple[str, tuple[str, str]]] = MappingProxyType({"novel": ("gm", ("accuracy", "reasoning"))})
# Metrics that a rule settles while the jury marks something else: the unit of the rule's verdicts.
_UNITS: Mapping[str, str] = MappingProxyType({"accuracy": "answer"})
# The most a metric of a protocol can be, where it is not 1.
FULL_MARKS: Mapping[str, float] = MappingProxyType({"case": 3.0})
_HEADLINES = frozenset(metrics[0] for metrics in METRICS.values())


def seats_of(submission: Submission) -> int:
    """How many votes make a score: three, or one where a single grader marked cases."""
    return 1 if submission.protocol == "case" and len(submission.judges) == 1 else SEATS


def tally(verdicts: Sequence[Verdict], *, metric: str = HEADLINE, seats: int | None = SEATS) -> Score | None:
    """Take the mean vote of the jury on one attempt.

    A rule's verdict (an attempt without an answer scores 0) decides alone. Labels of people are no votes. The order
    of the verdicts does not matter.

    Args:
        verdicts: Everything that was said about one attempt; those on another unit than the metric's are left aside.
        metric: A protocol's headline takes each verdict's score, any other name the part or mark of that name.
        seats: How many judges must have voted; None takes a release with the jury it has, one judge or more.

    Returns:
        The score, or None where the number of readable votes is not the number of seats: an attempt that is not
        judged is neither right nor wrong.

    Raises:
        ValueError: If the verdicts are about several attempts.
    """
    attempts = {v.transcript_id for v in verdicts}
    if len(attempts) > 1:
        raise ValueError(f"verdicts of {len(attempts)} attempts ({sorted(attempts)[:3]}...): tally takes those of one")
    unit = _UNITS.get(metric, "item")
    rules = [v for v in verdicts if v.kind == "rule" and v.unit == unit and v.score is not None]
    voters = rules[:1] or [v for v in verdicts if v.kind == "model" and v.unit == unit]
    votes = sorted((v.judge, vote) for v in voters if (vote := _vote(v, metric)) is not None)
    enough = bool(votes) and len({judge for judge, _ in votes}) == len(votes) and (seats is None or len(votes) == seats)
    if not rules and not enough:
        return None
    return Score(
        transcript_id=voters[0].transcript_id, metric=metric, value=fmean(v for _, v in votes), votes=tuple(votes)
    )


def _vote(verdict: Verdict, metric: str) -> float | None:
    if verdict.score is None:
        return None
    if metric in _HEADLINES or verdict.kind == "rule":
        return verdict.score
    if metric in verdict.parts:
        return verdict.parts[metric]
    return float(verdict.marks[metric]) if metric in verdict.marks else None


def label(verdicts: Sequence[Verdict]) -> tuple[float, Literal["human", "author"]] | None:
    """Take what people said about one attempt: the mean of its human labels or, where there is none, of its author's.

    Returns:
        The label in the metric's unit and who made it; None for an attempt nobody labelled.
    """
    for kind in ("human", "author"):
        marks = [v.score for v in verdicts if v.kind == kind and v.unit == "item" and v.score is not None]
        if marks:
            # The literal is written out because a type checker widens the loop variable to str.
            return fmean(marks), "human" if kind == "human" else "author"
    return None
