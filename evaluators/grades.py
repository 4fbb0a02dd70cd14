"""From the grades of single answers to the scores of a case: instantaneous, progressive, final and overall.

Source: Leelawat & Griffin, "Watson & Holmes", section 3.2.1. A stage is the introduction (0) or a location read.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.units import MOST, unit_of
from evaluators.values import Transcript, Verdict

Floats = NDArray[np.float64]
METRICS = ("overall", "progressive", "final")


class Scores(NamedTuple):
    """The scores of one attempt, grades from 0 to 3; NaN where a grade that is needed is not known."""

    instantaneous: Floats  # (stages,) mean over questions
    progressive: Floats  # (questions,) mean over stages
    final: Floats  # (questions,) at the last stage
    overall: Floats  # (questions,) mean of progressive and final


def grades(transcript: Transcript, verdicts: Sequence[Verdict], *, seats: int | None, kind: str = "model") -> Floats:
    """Lay out the grades of one attempt.

    An answer that says nothing is graded 0 by rule, whether or not a verdict says so. Every other grade is the mean
    vote of a complete jury: a verdict that is missing or could not be read makes the grade unknown, never 0.

    Args:
        transcript: An attempt at a case with answers.
        verdicts: Everything that was said about it.
        seats: How many judges must have voted; None takes what there is.
        kind: `model` for the jury, `human` for people, of whom one is enough.

    Returns:
        Shape (stages, questions), 0 to 3; NaN where unknown.

    Raises:
        ValueError: If the transcript holds no answers of a case.
    """
    said = transcript.answer
    if said is None or said.kind != "case":
        raise ValueError(f"transcript {transcript.transcript_id} holds no answers of a case")
    votes: dict[str, dict[str, float]] = defaultdict(dict)
    for v in verdicts:
        if v.kind == kind and v.score is not None:
            votes[v.unit][v.judge] = v.score
    wanted = None if kind == "human" else seats

    def grade(stage: int, question: int, text: str) -> float:
        if not text.strip():
            return 0.0
        given = votes.get(unit_of(stage, question + 1), {})
        enough = bool(given) and (wanted is None or len(given) == wanted)
        return fmean(given[judge] for judge in sorted(given)) if enough else np.nan

    return np.array([[grade(s, q, text) for q, text in enumerate(row)] for s, row in enumerate(said.stages)])


def scores(table: Floats) -> Scores:
    """Score a table of grades.

    Args:
        table: Grades in [0, 3] or NaN, shape (stages, questions).

    Raises:
        ValueError: If the table is empty or a grade is out of range.
    """
    if table.ndim != 2 or not table.size:
        raise ValueError(f"grades have shape {table.shape}; one row a stage, one column a question")
    known = table[np.isfinite(table)]
    if ((known < 0) | (known > MOST)).any():
        raise ValueError(f"a grade lies outside of 0 to {MOST}")
    progressive, final = table.mean(axis=0), table[-1]
    return Scores(table.mean(axis=1), progressive, final, (progressive + final) / 2)


def complete(transcript: Transcript, verdicts: Sequence[Verdict], *, seats: int) -> bool:
    """Whether every answer of an attempt at a case has its grade."""
    return bool(np.isfinite(grades(transcript, verdicts, seats=seats)).all())
