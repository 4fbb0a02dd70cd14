"""What the scores of cases are looked at for: order of visits, features of questions, outliers, the highest achievable.

Pure functions of arrays. Source: Leelawat & Griffin, "Watson & Holmes", sections 4.6, 4.7 and 5.1. Regressions are
`numpy.linalg.lstsq`: five columns and a bootstrap need no statistics package.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Order = Sequence[int]  # places of the locations in the order in which they were visited
DRAWS = 4000


class Agreement(NamedTuple):
    """How alike pairs of players go about a case."""

    mean: float
    sd: float  # population standard deviation over the pairs
    pairs: int


class Coefficient(NamedTuple):
    """A regression coefficient with its bootstrap interval."""

    feature: str
    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


class Outliers(NamedTuple):
    """Residuals of a straight line through pairs of scores, and which of them are no chance."""

    residuals: Floats  # (questions,) in grades
    found: tuple[int, ...]  # places of the outliers


class Trend(NamedTuple):
    """A straight line: y = start + slope * x."""

    slope: float
    start: float
    r: float  # Pearson's correlation


def order_correlation(first: Order, second: Order) -> float:
    """Correlate the turns on which two players visited each location of one case.

    Args:
        first: A permutation of 0..L-1, L >= 2.
        second: Another of the same length.

    Raises:
        ValueError: If either is no permutation, or they differ in length.
    """
    wanted = list(range(len(first)))
    if len(first) < 2 or sorted(first) != wanted or sorted(second) != wanted:
        raise ValueError("both orders must hold every location of the case once")
    turns = np.array([np.argsort(order) for order in (first, second)], dtype=np.float64)
    table: Floats = np.atleast_2d(np.corrcoef(turns))
    return float(table[0, 1])


def order_agreement(
    players: Sequence[Mapping[str, Order]], others: Sequence[Mapping[str, Order]] | None = None
) -> Agreement | None:
    """Average order correlations over pairs of players; a pair's is the mean over the cases that both finished.

    Args:
        players: Order of visits by case, one mapping a player.
        others: Players of another kind, to pair with the first; None pairs the first among themselves.

    Returns:
        None where no two players share a case.
    """
    pairs = combinations(players, 2) if others is None else product(players, others)
    found = []
    for a, b in pairs:
        shared = [case for case in a if case in b and len(a[case]) == len(b[case])]
        if shared:
            found.append(float(np.mean([order_correlation(a[case], b[case]) for case in shared])))
    return Agreement(float(np.mean(found)), float(np.std(found)), len(found)) if found else None


def regress(
    difference: Floats,
    features: Mapping[str, Floats],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> tuple[Coefficient, ...]:
    """Regress score differences on features of the questions, intervals from a bootstrap over questions.

    The paper's features are the words of the case (here in thousands) and the ratings of induction, deduction and
    abduction (0 to 4); right after the introduction, the ratings alone and level 0.90.

    Args:
        difference: Score of a model less that of the average person, shape (questions,).
        features: Values of each feature, shape (questions,).
        rng: Source of randomness.
        level: Share of the draws between the ends, in (0, 1).
        draws: How many.

    Raises:
        ValueError: If lengths differ, there are too few questions, or the features say the same thing twice.
    """
    names = tuple(features)
    if any(len(features[name]) != len(difference) for name in names):
        raise ValueError(f"{len(difference)} differences; each feature needs as many values")
    design = np.column_stack([np.ones(len(difference)), *(features[name] for name in names)])
    if len(difference) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError(f"{len(difference)} questions do not tell {len(names)} features apart; take fewer features")
    point = np.linalg.lstsq(design, difference)[0]
    chosen = rng.integers(len(difference), size=(draws, len(difference)))
    # A draw that holds too few different questions has no coefficients of its own; the pseudo-inverse gives it the
    # smallest that fit, which is nearest to no effect.
    drawn = (np.linalg.pinv(design[chosen]) @ difference[chosen][..., None])[..., 0]
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return tuple(
        Coefficient(name, float(point[n]), float(low[n]), float(high[n])) for n, name in enumerate(names, start=1)
    )


def outliers(people: Floats, model: Floats, *, level: float = 0.95) -> Outliers:
    """Find questions on which a model is far off the line through its scores and people's.

    Residuals are studentised without their own question and held against Student's t at a level shared out over all
    questions (Bonferroni), so that one question in many is not called odd by chance.

    Args:
        people: Mean score of people on each question, shape (questions,).
        model: Score of the model on the same questions, shape (questions,).
        level: Chance that a set without outliers has none called so, in (0, 1).

    Raises:
        ValueError: If shapes differ, there are fewer than five questions, or people score the same on all.
    """
    if people.shape != model.shape or len(people) < 5 or np.ptp(people) == 0:
        raise ValueError("five questions or more are needed, on which people do not all score the same")
    from scipy.special import stdtrit

    design = np.column_stack([np.ones(len(people)), people])
    fitted = design @ np.linalg.lstsq(design, model)[0]
    residuals = model - fitted
    leverage = np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    free = len(people) - 3
    spread = np.sqrt(np.maximum((residuals**2).sum() - residuals**2 / (1 - leverage), 0) / free)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = residuals / (spread * np.sqrt(1 - leverage))
    limit = float(stdtrit(free, 1 - (1 - level) / (2 * len(people))))
    far = np.flatnonzero((np.abs(studentised) > limit) & (np.abs(residuals) > 1e-9))
    return Outliers(residuals, tuple(int(n) for n in far))


def achievable(scores: Floats) -> float:
    """A lower bound of the highest score there can be: the mean over questions of the best that anyone reached.

    Args:
        scores: Overall score of every attempt of everyone, shape (attempts, questions); NaN where unknown.

    Raises:
        ValueError: If a question has no known score.
    """
    if not np.isfinite(scores).any(axis=0).all():
        raise ValueError("a question has no known score; leave it out")
    return float(np.nanmax(scores, axis=0).mean())


def grade_agreement(first: Floats, second: Floats) -> tuple[float, float]:
    """How far two graders agree (the paper's Table 2).

    Args:
        first: Grades, shape (n,).
        second: Grades of the same answers in the same order.

    Returns:
        Share of answers with the very same grade, and the root mean square of the differences.

    Raises:
        ValueError: If shapes differ or there is no grade.
    """
    if first.shape != second.shape or not first.size:
        raise ValueError(f"grades have shapes {first.shape} and {second.shape}; the same answers are expected")
    return float((first == second).mean()), float(np.sqrt(((first - second) ** 2).mean()))


def trend(x: Floats, y: Floats) -> Trend | None:
    """Fit a straight line; None where there are fewer than three points or `x` is the same for all."""
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    slope, start = np.polyfit(x, y, 1)
    r = float(np.corrcoef(x, y)[0, 1]) if np.ptp(y) else 0.0
    return Trend(float(slope), float(start), r)
