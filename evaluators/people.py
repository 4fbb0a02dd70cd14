"""Where a score stands among people: percentile of a normal population, and how unsure that is.

Source: Leelawat & Griffin, "Watson & Holmes", sections 3.3.3 and 4.2, Tables 4 and 5.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from evaluators.ppi import Interval

Floats = NDArray[np.float64]
Dimension = Literal["people", "questions", "runs"]
EVERY: tuple[Dimension, ...] = ("people", "questions", "runs")
DRAWS = 4000


def percentile(score: Floats | float, people: Floats) -> Floats:
    """Share of people, in percent, who would score lower, were their scores normal.

    The normal has the people's mean and their population standard deviation (ddof 0): this is what reproduces the
    paper's column. People who all score alike have everyone below, above or, at their very score, half of them.

    Args:
        score: Scores to place, any shape (...).
        people: Scores of people, shape (..., P), P >= 2; leading axes go with those of `score`.

    Returns:
        Percent, shape (...).

    Raises:
        ValueError: If there are fewer than two people.
    """
    if people.shape[-1] < 2:
        raise ValueError(f"{people.shape[-1]} person(s); a percentile needs the spread of two or more")
    off = np.asarray(score, dtype=np.float64) - people.mean(axis=-1)
    spread = people.std(axis=-1)
    alike = spread < 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(alike, np.where(np.abs(off) < 1e-9, 0.0, np.sign(off) * np.inf), off / spread)
    placed: Floats = 100 * ndtr(z)
    return placed


def percentile_interval(
    runs: Floats,
    people: Floats,
    *,
    over: Sequence[Dimension] = EVERY,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Interval:
    """Bootstrap a model's percentile over people, questions, runs, or several of these at once.

    A question is drawn for everyone who answered it, as questions are hard or easy for all. Ends are the quantiles of
    the draws.

    Args:
        runs: Overall score of each run on each question, shape (R, Q).
        people: Overall score of each person on the same questions in the same order, shape (P, Q), P >= 2.
        over: What is drawn with replacement; the rest stays as it is.
        rng: Source of randomness.
        level: Share of the draws between the ends, in (0, 1).
        draws: How many.

    Raises:
        ValueError: If the questions differ in number, a score is unknown, or there are fewer than two people.
    """
    if runs.ndim != 2 or people.ndim != 2 or runs.shape[1] != people.shape[1] or not runs.size:
        raise ValueError(
            f"runs have shape {runs.shape}, people {people.shape}; the same questions are expected in both"
        )
    if not (np.isfinite(runs).all() and np.isfinite(people).all()):
        raise ValueError("a score is unknown; leave its question out for everyone")

    def drawn(size: int, dimension: Dimension) -> NDArray[np.int64]:
        chosen = rng.integers(size, size=(draws, size)) if dimension in over else np.tile(np.arange(size), (draws, 1))
        return chosen.astype(np.int64)

    asked, played = drawn(runs.shape[1], "questions"), drawn(runs.shape[0], "runs")
    who = drawn(people.shape[0], "people")
    # Means over the drawn questions, then over the drawn runs and for the drawn people.
    by_run = runs[:, asked].mean(axis=2).T
    by_person = people[:, asked].mean(axis=2).T
    score = np.take_along_axis(by_run, played, axis=1).mean(axis=1)
    placed = percentile(score, np.take_along_axis(by_person, who, axis=1))
    point = float(percentile(runs.mean(), people.mean(axis=1)))
    low, high = np.quantile(placed, ((1 - level) / 2, (1 + level) / 2))
    return Interval(point, float(low), float(high))
