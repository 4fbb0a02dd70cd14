"""The mean of scores in [0, 1] with an interval for items like these; items of one story stand or fall together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluators.ppi import Interval

Floats = NDArray[np.float64]


def cluster_mean(values: Floats, clusters: Sequence[str], *, level: float = 0.95) -> Interval:
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
    low, _ = _limits(_filled(values, 0.0), clusters, level)
    _, high = _limits(_filled(values, 1.0), clusters, level)
    return Interval(point, low, high)


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


def _limits(values: Floats, clusters: Sequence[str], level: float) -> tuple[float, float]:
    names, place = np.unique(np.array(clusters), return_inverse=True)
    count, mean = len(names), float(values.mean())
    if count < 2:
        return 0.0, 1.0
    sums = np.bincount(place, weights=values - mean)
    error = max(float(np.sqrt(count / (count - 1) * (sums**2).sum())) / len(values), 0.5 / count)
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * error
    return max(0.0, mean - reach), min(1.0, mean + reach)
