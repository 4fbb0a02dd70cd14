"""What a model's true score is, from many jury scores and few human labels: point, interval and both estimands.

"These items" is the score that people would give the model's answers on the items of the split; "items like these"
is its expected score on the population the items come from. An interval for the one is wrong for the other.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, ndtri

from evaluators.bins import (
    Floats,
    Ints,
    beta_binomial_pmf,
    bin_of,
    binomial_pmf,
    check_level,
    check_shares,
    convolve,
    lattice_quantile,
    score_of,
)


class Interval(NamedTuple):
    """A number with its two-sided interval, as fractions."""

    point: float
    low: float
    high: float


class Layton(NamedTuple):
    """A score by the layton definition, in points as printed; `low` and `high` are the unrounded limits in points."""

    score: float
    half_width: float
    low: float
    high: float
    empty_bins: tuple[float, ...]


class Estimands(NamedTuple):
    """Both estimands of one model; `empty_bins` names jury scores no label calibrates."""

    these: Interval
    like: Interval
    empty_bins: tuple[float, ...]


class PpiResult(NamedTuple):
    """A prediction-powered mean: limits may leave [0, 1]."""

    point: float
    low: float
    high: float
    lam: float
    se: float


class _Labels(NamedTuple):
    """Right and wrong labels in one bin, and whether they were borrowed from all bins because it has none."""

    right: float
    wrong: float
    borrowed: bool


def _labels_in(key: int, bins: Ints, human: Floats) -> _Labels:
    chosen = human[bins == key] if key >= 0 else human[:0]
    borrowed = len(chosen) == 0
    used = human if borrowed else chosen
    return _Labels(float(used.sum()), float((1 - used).sum()), borrowed)


def layton(jury: Floats, pool_jury: Floats, pool_human: Floats, *, level: float = 0.95) -> Layton:
    """Score a model as layton-eval's released code does, exactly instead of by 10,000 resamples.

    Each of the model's rows draws a label from the pool rows of its own jury score, so the sum over rows is a sum of
    binomials, one a bin. The interval covers neither estimand at its nominal level: it carries
    P(right | jury score) from other models over to this one and leaves out the sampling of items. For comparison only.

    A bin without pool labels, and rows without a jury score, take a beta-binomial on all pool labels (Jeffreys).

    Args:
        jury: The model's jury scores in [0, 1], one a row, shape (N,); NaN where no judge gave a verdict.
        pool_jury: Jury scores of the labelled rows of all other providers, shape (m,); NaN as above.
        pool_human: Their human labels, 0 or 1, shape (m,).
        level: Nominal level of the interval, in (0, 1); the release uses 0.95.

    Returns:
        The printed score and half-width (points, one decimal, the half-width always rounded up) and the limits.

    Raises:
        ValueError: If there are no rows or no pool labels, shapes differ, or a value is out of range.

    Source: layton-eval, section 3.7 of its paper and its released scoring.
    """
    jury = check_shares("jury", jury, missing=True)
    pool_jury, pool_human = _check_pool(pool_jury, pool_human)
    rows = _at_least("jury", jury, 1)
    if len(pool_human) == 0:
        raise ValueError("the calibration pool is empty: label answers of other providers, or use `betabin`")
    if not np.isin(pool_human, (0.0, 1.0)).all():
        raise ValueError("the layton definition takes labels 0 and 1 only; use `betabin` or `ppi` for graded labels")
    tail = (1 - check_level(level)) / 2
    keys, counts = np.unique(bin_of(jury), return_counts=True)
    pool_bins = bin_of(pool_jury)
    pmfs, empty = [], []
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        labels = _labels_in(key, pool_bins, pool_human)
        if labels.borrowed:
            pmfs.append(beta_binomial_pmf(count, labels.right, labels.wrong))
            empty += [score_of(key)] if key >= 0 else []
        else:
            pmfs.append(binomial_pmf(count, labels.right / (labels.right + labels.wrong)))
    total = convolve(pmfs)
    low, high = lattice_quantile(total, tail), lattice_quantile(total, 1 - tail)
    return Layton(
        score=round(100 * (low + high) / (2 * rows), 1),
        half_width=(1000 * (high - low) // (2 * rows) + 1) / 10,
        low=100 * low / rows,
        high=100 * high / rows,
        empty_bins=tuple(empty),
    )


def layton_rank_spread(scores: Floats, half_widths: Floats) -> list[tuple[int, int]]:
    """Best and worst rank of each model by layton-eval's rule on printed numbers.

    Args:
        scores: Printed scores in points, one decimal, shape (M,).
        half_widths: Printed half-widths in points, one decimal, shape (M,).

    Returns:
        (best, worst) per model: best is 1 + the models wholly above it, worst counts all models that reach up to it.

    Source: layton-eval, section 3.7. Under-covers when models are close; `leaderboard.ranks` has sets that hold.
    """
    # In whole tenths: 83.3 - 0.1 and 82.1 + 1.1 are the same number on paper and not in binary.
    score, half = (np.rint(10 * np.asarray(x, dtype=np.float64)).astype(np.int64) for x in (scores, half_widths))
    lower, upper = score - half, score + half
    best = 1 + (lower[None, :] > upper[:, None]).sum(1)
    worst = (upper[None, :] >= lower[:, None]).sum(1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def overlap_rank_spread(low: Floats, high: Floats) -> list[tuple[int, int]]:
    """Best and worst rank of each model by overlap of intervals, limits of shape (M,) in any one unit.

    best = 1 + the models wholly above it; worst = M - the models wholly below it. Wider than it needs to be.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    best = 1 + (low[None, :] > high[:, None]).sum(1)
    worst = len(low) - (high[None, :] < low[:, None]).sum(1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def ppi(human: Floats, jury: Floats, jury_only: Floats, *, level: float = 0.95) -> PpiResult:
    """Estimate a model's mean human score from its own labels and all its jury scores, with a tuned weight.

    The jury's mean is weighted by `lam` and corrected by the mean of `human - lam * jury`; a constant jury bias
    cancels, a useless jury gets lam = 0. Never pool models: a tuned `lam` pulls each of them to the pool's mean.

    Args:
        human: Human scores in [0, 1], shape (n,), n >= 2.
        jury: Jury scores of the same rows in the same order, shape (n,).
        jury_only: Jury scores of the rows no human scored, shape (N,), N >= 2.
        level: Coverage of the two-sided interval for items like these, in (0, 1).

    Raises:
        ValueError: If `human` and `jury` differ in shape, a value is out of range, or an array has fewer than 2.

    Source: Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453; equal to ppi_py 0.2.3 `ppi_mean_*`.
    """
    human, jury = check_shares("human", human), check_shares("jury", jury)
    jury_only = check_shares("jury_only", jury_only)
    if human.shape != jury.shape:
        raise ValueError(f"human has shape {human.shape!r} and jury {jury.shape!r}; pass the same rows in one order")
    n, rest = _at_least("human", human, 2), _at_least("jury_only", jury_only, 2)
    quantile = float(ndtri((1 + check_level(level)) / 2))
    spread = float(np.var(np.concatenate([jury, jury_only]), ddof=1))
    covariance = float(np.mean((human - human.mean()) * (jury - jury.mean())))
    # A jury that gives one score to everything says nothing: its weight is 0, not 0/0.
    lam = 0.0 if spread <= 1e-18 else float(np.clip(covariance / ((1 + n / rest) * spread), 0, 1))
    rectified = human - lam * jury
    point = lam * float(jury_only.mean()) + float(rectified.mean())
    se = float(np.sqrt(lam**2 * np.var(jury_only) / rest + np.var(rectified) / n))
    return PpiResult(point, point - quantile * se, point + quantile * se, lam, se)


def betabin(
    jury: Floats,
    human: Floats,
    pool_jury: Floats,
    pool_human: Floats,
    *,
    repeats: int = 1,
    level: float = 0.95,
) -> Estimands:
    """Estimate both estimands of a model by one calibrated chance of being right per jury score, without sampling.

    In each bin q ~ Beta(1/2 + right, 1/2 + wrong) over the pool's labels and the model's own; the model's unlabelled
    rows there are right Binomial(rows, q) times. Sums are exact. Valid only among models of similar accuracy that the
    jury treats alike: P(right | jury score) moves with accuracy. Graded labels count as fractions, which is
    conservative. A bin without labels, and rows without a jury score, take the labels of all bins.

    Args:
        jury: The model's jury scores in [0, 1], one a row, shape (N,); NaN where no judge gave a verdict.
        human: Its human labels in [0, 1], shape (N,); NaN where unlabelled.
        pool_jury: Jury scores of labelled rows of other providers, shape (m,), m >= 0; NaN as above.
        pool_human: Their human labels in [0, 1], shape (m,).
        repeats: Epochs of each item: N rows are N / repeats items. Only items carry independent news about (b).
        level: Coverage of the two-sided intervals, in (0, 1).

    Returns:
        Posterior means with equal-tailed limits; limits for these items are sums of labels over N.

    Raises:
        ValueError: If shapes differ, a value is out of range, there are no rows, or `repeats` does not divide N.
    """
    jury, human = check_shares("jury", jury, missing=True), check_shares("human", human, missing=True)
    if jury.shape != human.shape:
        raise ValueError(f"jury has shape {jury.shape!r} and human {human.shape!r}; pass NaN where a row has no label")
    pool_jury, pool_human = _check_pool(pool_jury, pool_human)
    rows, tail = _at_least("jury", jury, 1), (1 - check_level(level)) / 2
    if repeats < 1 or rows % repeats:
        raise ValueError(f"repeats is {repeats!r}, which does not divide {rows} rows; complete or drop unequal repeats")
    own, known = bin_of(jury), ~np.isnan(human)
    bins = np.concatenate([bin_of(pool_jury), own[known]])
    labels = np.concatenate([pool_human, human[known]])
    pmfs, empty = [], []
    for key, count in zip(*(x.tolist() for x in np.unique(own[~known], return_counts=True)), strict=True):
        found = _labels_in(key, bins, labels)
        pmfs.append(beta_binomial_pmf(count, found.right, found.wrong))
        empty += [score_of(key)] if found.borrowed and key >= 0 else []
    total, sure = convolve(pmfs), float(human[known].sum())
    right = sure + np.arange(len(total))
    low, high = (sure + lattice_quantile(total, p) for p in (tail, 1 - tail))
    these = Interval(float(total @ right) / rows, low / rows, high / rows)
    return Estimands(these, _mixture(total, right / repeats, rows / repeats, tail), tuple(empty))


def wilson_fpc(human: Floats, total: int, *, level: float = 0.95) -> Interval:
    """Estimate a model's score on these items from its own labels alone, whatever the jury says.

    Wilson's score interval with n / (1 - n/total) in the place of n, cut to what the labels leave possible. Needs
    labels drawn at random from the model's rows, and nothing else.

    Args:
        human: Human labels in [0, 1] of the labelled rows, shape (n,), n >= 1.
        total: Rows of the model, labelled or not, total >= n.
        level: Coverage of the two-sided interval, in (0, 1).

    Raises:
        ValueError: If there are no labels, more labels than rows, or a value is out of range.

    Source: Wilson 1927; finite-population correction as in Cochran 1977, chapter 2.
    """
    human = check_shares("human", human)
    n, quantile = _at_least("human", human, 1), float(ndtri((1 + check_level(level)) / 2))
    if total < n:
        raise ValueError(f"total is {total!r}, fewer than the {n} labels; total counts all rows of the model")
    right, point = float(human.sum()), float(human.mean())
    if total == n:
        return Interval(point, point, point)
    effective = n / (1 - n / total)
    ratio = quantile**2 / effective
    centre = (point + ratio / 2) / (1 + ratio)
    half = np.sqrt(ratio * point * (1 - point) + ratio**2 / 4) / (1 + ratio)
    low, high = max(centre - half, right / total), min(centre + half, (right + total - n) / total)
    return Interval(point, float(min(low, point)), float(max(high, point)))


def _mixture(weights: Floats, right: Floats, items: float, tail: float) -> Interval:
    """Mean and equal-tailed limits of a mixture of Beta(right + 1/2, items - right + 1/2), by bisection."""
    keep = weights > 1e-12
    weight, a, b = weights[keep] / weights[keep].sum(), right[keep] + 0.5, items - right[keep] + 0.5
    target, low, high = np.array([tail, 1 - tail]), np.zeros(2), np.ones(2)
    for _ in range(48):
        middle = (low + high) / 2
        below = betainc(a, b, middle[:, None]) @ weight < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return Interval(float(weight @ (a / (a + b))), float(high[0]), float(high[1]))


def _check_pool(pool_jury: Floats, pool_human: Floats) -> tuple[Floats, Floats]:
    jury, human = check_shares("pool_jury", pool_jury, missing=True), check_shares("pool_human", pool_human)
    if jury.shape != human.shape:
        raise ValueError(f"pool_jury has shape {jury.shape!r} and pool_human {human.shape!r}; pass one of each a row")
    return jury, human


def _at_least(name: str, values: Floats, least: int) -> int:
    if len(values) < least:
        raise ValueError(f"{name} has {len(values)} values and needs at least {least}; score or label more rows")
    return len(values)
