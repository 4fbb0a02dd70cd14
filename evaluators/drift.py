"""Has a judge moved? Verdicts of then against two of today, a test that knows no noise level."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats
from evaluators.ppi import Interval

LEAST_GRADE = 1e-9


class Drift(NamedTuple):
    """How a judge's verdicts of today stand to its stored ones."""

    judge: str
    compared: int
    changed: Interval  # share of the stored verdicts that the first of today differs from, Wilson
    moved: float  # mean of today minus stored, in the score's unit: above 0 the judge has become more lenient
    noise: float  # share of answers on which today's two verdicts differ from each other
    odd: int  # answers of whose three verdicts just one stands apart
    odd_then: int  # of these, how often it is the stored one
    p_value: float  # of so many or more, were the three exchangeable: one in three

    @property
    def detected(self) -> bool:
        """Whether the judge moved; an unmoved one is told so in at most one test of twenty."""
        return self.p_value <= 0.05


def drift(judge: str, then: Floats, first: Floats, second: Floats, *, level: float = 0.95) -> Drift:
    """Test whether stored verdicts are of the same judge as two fresh ones of each answer.

    Were nothing changed, the three verdicts on an answer would be exchangeable, so where one of them stands apart it
    is the stored one in a third of the cases, however noisy the judge is. The share of these is tested one-sided and
    exactly; ties (all equal, or two equally far) say nothing and are left out.

    Args:
        judge: Its name.
        then: Stored scores, shape (n,).
        first: Scores of today.
        second: Scores of today, once more.
        level: Coverage of the interval.

    Raises:
        ValueError: If shapes differ, nothing is compared or a score is missing.
    """
    table = np.stack([then, first, second])
    if table.ndim != 2 or not table.shape[1] or np.isnan(table).any():
        raise ValueError("three verdicts on each of one answer or more are needed, none of them missing")
    from scipy.stats import binomtest

    odd = stands_apart(table)
    count, own = int((odd >= 0).sum()), int((odd == 0).sum())
    differs = np.abs(then - first) > LEAST_GRADE
    wilson = binomtest(int(differs.sum()), len(then)).proportion_ci(level, method="wilson")
    p_value = float(binomtest(own, count, 1 / 3, alternative="greater").pvalue) if count else 1.0
    return Drift(
        judge,
        len(then),
        Interval(float(differs.mean()), float(wilson.low), float(wilson.high)),
        float(((first + second) / 2 - then).mean()),
        float((np.abs(first - second) > LEAST_GRADE).mean()),
        count,
        own,
        p_value,
    )


def stands_apart(table: Floats) -> NDArray[np.int64]:
    """Which of three scores lies farthest from the other two; -1 where none does alone.

    Args:
        table: Shape (3, n).
    """
    far = np.abs(table - (table.sum(0) - table) / 2)
    order = np.sort(far, axis=0)
    alone = order[2] - order[1] > LEAST_GRADE
    return np.where(alone, far.argmax(0), -1)


def sampled(verdicts: int, wanted: int, *, rng: np.random.Generator) -> Sequence[int]:
    """Choose which stored verdicts are asked for again, at random and without repeats."""
    return sorted(int(n) for n in rng.permutation(verdicts)[:wanted])
