"""The mean of scores in [0, 1] with an interval for items like these; items of one story stand or fall together."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluators.ppi import Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Bounded(NamedTuple):
    """One model's score on each item, mean of its repeats, in [0, 1]; every array has shape (n,)."""

    point: Floats  # mean of the repeats that are known; NaN where none is
    low: Floats  # with unknown repeats at 0
    high: Floats  # with unknown repeats at 1


def cluster_mean(values: Floats, clusters: Sequence[str] | Ints, *, level: float = 0.95) -> Interval:
    """Estimate the mean score on items like these.

    The variance is that of sums over clusters (the linearised ratio estimator, with G/(G-1)), the quantile Student's t
    with G - 1 degrees of freedom. The standard error is at least 0.5/G: equal scores of a few stories are no proof
    that all stories score so. Limits are cut to [0, 1]; with fewer than two clusters they are 0 and 1.

    A score that is unknown (NaN: the call failed, the jury is incomplete, the attempt is missing) is left out of the
    mean. The interval reaches from the low end with each of them at 0 to the high end with each at 1, so that nobody
    gains by failing where it is hard.

    Args:
        values: Scores in [0, 1] or NaN, shape (n,).
        clusters: Story of each value, length n.
        level: Coverage of the two-sided interval, in (0, 1).

    Raises:
        ValueError: If lengths differ or no score is known.

    Source: Cameron & Miller 2015, "A Practitioner's Guide to Cluster-Robust Inference", section II.
    """
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values with {len(clusters)} clusters; one cluster a value is expected")
    known = np.isfinite(values)
    if not known.any():
        raise ValueError("no score is known; there is nothing to estimate")
    point = float(values[known].mean())
    low, high = _limits(_filled(values, 0.0), clusters, level)
    if not known.all():
        _, high = _limits(_filled(values, 1.0), clusters, level)
    return Interval(point, low, high)


def paired_mean(first: Bounded, second: Bounded, clusters: Sequence[str], *, level: float = 0.95) -> Interval:
    """Estimate how far the first model's mean score lies above the second's on items like these.

    The differences on the items are treated as `cluster_mean` treats scores, on a scale of twice the length: what both
    models find easy or hard cancels, limits are cut to [-1, 1], and the standard error is at least 1/G. The point is
    the mean over the items of which both scores are known; the interval's ends take unknown scores at their worst and
    best for the first model.

    Args:
        first: Scores of the model whose lead is positive, shape (n,).
        second: Scores of the other on the same items in the same order.
        clusters: Story of each item, length n.
        level: Coverage of the two-sided interval, in (0, 1).

    Raises:
        ValueError: If lengths differ or no item has both scores.
    """
    if not len(first.point) == len(second.point) == len(clusters):
        raise ValueError(f"{len(first.point)} and {len(second.point)} scores with {len(clusters)} clusters")
    lead = first.point - second.point
    if not np.isfinite(lead).any():
        raise ValueError("no item has a score of both; there is nothing to compare")
    low, _ = _limits((1 + first.low - second.high) / 2, clusters, level)
    _, high = _limits((1 + first.high - second.low) / 2, clusters, level)
    return Interval(float(np.nanmean(lead)), 2 * low - 1, 2 * high - 1)


def reach(clusters: int, *, level: float = 0.95) -> float | None:
    """Quantile of Student's t that the intervals of this file reach out by; None with fewer than two clusters."""
    return None if clusters < 2 else float(stdtrit(clusters - 1, (1 + level) / 2))


def cluster_geometric_mean(first: Floats, second: Floats, clusters: Sequence[str], *, level: float = 0.95) -> Interval:
    """Estimate sqrt(mean of `first` x mean of `second`) on items like these.

    The root of a product is linearised: item i counts as (g / 2) (x_i / mean x + y_i / mean y), whose mean is g, and
    `cluster_mean` tells the rest. Where one of the means is 0, and the slope endless, the upper end is the root of the
    product of the two upper ends. Unknown scores widen the interval as they do there.

    Args:
        first: Scores in [0, 1] or NaN, shape (n,).
        second: Scores of the same items in the same order, shape (n,).
        clusters: Story of each item, length n.
        level: Coverage of the two-sided interval, in (0, 1).

    Raises:
        ValueError: If lengths differ, or of one of the scores none is known.

    Source: the metric is G.M. of Xu et al. 2024, Table 6; the interval is the delta method.
    """
    point = float(np.sqrt(cluster_mean(first, clusters).point * cluster_mean(second, clusters).point))
    low, _ = _root_limits(_filled(first, 0.0), _filled(second, 0.0), clusters, level)
    _, high = _root_limits(_filled(first, 1.0), _filled(second, 1.0), clusters, level)
    return Interval(point, low, high)


def _filled(values: Floats, value: float) -> Floats:
    return np.where(np.isfinite(values), values, value)


def _root_limits(first: Floats, second: Floats, clusters: Sequence[str], level: float) -> tuple[float, float]:
    mean_first, mean_second = float(first.mean()), float(second.mean())
    root = float(np.sqrt(mean_first * mean_second))
    if root == 0:
        highs = [_limits(values, clusters, level)[1] for values in (first, second)]
        return 0.0, float(np.sqrt(highs[0] * highs[1]))
    return _limits(root / 2 * (first / mean_first + second / mean_second), clusters, level)


def cluster_ppi(human: Floats, jury: Floats, clusters: Sequence[str], *, level: float = 0.95) -> Interval:
    """Estimate the mean human score on items like these from a model's own labels and all its jury scores.

    The labels' mean is moved by `lam` times the difference between the jury's mean on everything and on the labelled
    part; a constant jury bias cancels, and a useless jury gets lam = 0. Which answers people labelled must be chance,
    given the jury. The variance is that of influences summed over clusters, the quantile Student's t with as many
    degrees of freedom as clusters hold labels, less one; the standard error is at least that of `cluster_mean`. Never
    pool models: a tuned `lam` pulls each of them to the pool's mean.

    Args:
        human: Human scores in [0, 1], NaN where nobody labelled, shape (n,).
        jury: Jury scores in [0, 1] of the same rows, NaN where unknown: such rows are left out.
        clusters: Story of each row, length n.
        level: Coverage of the two-sided interval, in (0, 1).

    Raises:
        ValueError: If lengths differ, or fewer than two clusters hold a label.

    Source: Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453, with the variance of Cameron & Miller 2015.
    """
    if not len(human) == len(jury) == len(clusters):
        raise ValueError(f"{len(human)} human and {len(jury)} jury scores with {len(clusters)} clusters")
    seen = np.isfinite(jury)
    human, jury = human[seen], jury[seen]
    _, place = np.unique(np.array(clusters)[seen], return_inverse=True)
    known = np.isfinite(human)
    labelled = len(np.unique(place[known]))
    if labelled < 2:
        raise ValueError(f"labels in {labelled} cluster(s); two or more are needed")
    off, spread = jury - jury.mean(), float(jury[known].var())
    covariance = float(np.mean((human[known] - human[known].mean()) * (jury[known] - jury[known].mean())))
    lam = 0.0 if spread <= 1e-18 else float(np.clip(covariance / spread, 0, 1))
    rectified = human[known] - lam * jury[known]
    point = float(rectified.mean() + lam * jury.mean())
    influence = lam * off / len(jury)
    influence[known] += (rectified - rectified.mean()) / known.sum()
    sums = np.bincount(place, weights=influence)
    error = max(float(np.sqrt(labelled / (labelled - 1) * (sums**2).sum())), 0.5 / labelled)
    reach = float(stdtrit(labelled - 1, (1 + level) / 2)) * error
    return Interval(point, max(0.0, point - reach), min(1.0, point + reach))


def _limits(values: Floats, clusters: Sequence[str] | Ints, level: float) -> tuple[float, float]:
    names, place = np.unique(np.array(clusters), return_inverse=True)
    count, mean = len(names), float(values.mean())
    if count < 2:
        return 0.0, 1.0
    sums = np.bincount(place, weights=values - mean)
    error = max(float(np.sqrt(count / (count - 1) * (sums**2).sum())) / len(values), 0.5 / count)
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * error
    return max(0.0, mean - reach), min(1.0, mean + reach)
