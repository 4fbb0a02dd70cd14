"""How far raters agree: several people among themselves, a jury or one judge with people; grades of any scale.

Ratings are a table of shape (units, raters), NaN where a rater gave none. Figures have intervals clustered by item.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, Ints
from evaluators.means import cluster_mean
from evaluators.ppi import Interval

Scale = Literal["nominal", "ordinal", "interval"]
RESAMPLES = 1000


class Compared(NamedTuple):
    """How two raters agree on the units both rated; NaN where a figure is not defined."""

    units: int
    items: int  # clusters
    exact: Interval  # share of units with equal grades
    kappa: Interval  # Cohen's
    alpha: Interval  # Krippendorff's, on the scale asked for
    rms: Interval  # root mean square of the difference, in the grades' unit
    correlation: Interval  # Pearson's
    rank_correlation: float  # Spearman's
    bias: float  # mean of first minus second: above 0 the first is more lenient


def cohen(first: Floats, second: Floats) -> float:
    """Cohen's kappa of two raters, unweighted; NaN where chance alone gives full agreement.

    Args:
        first: Grades, shape (n,), without NaN.
        second: Grades of the same units.

    Source: Cohen 1960, Educational and Psychological Measurement 20(1).
    """
    grades = np.unique(np.concatenate([first, second]))
    chance = float(sum((first == g).mean() * (second == g).mean() for g in grades))
    observed = float((first == second).mean())
    return float("nan") if chance >= 1 - 1e-12 else (observed - chance) / (1 - chance)


def fleiss(counts: NDArray[np.int64]) -> float:
    """Fleiss' kappa; NaN where chance alone gives full agreement.

    Args:
        counts: How many raters put each unit into each category, shape (units, categories); every unit has equally
            many raters, two or more.

    Raises:
        ValueError: If units have different numbers of raters, or fewer than two.

    Source: Fleiss 1971, Psychological Bulletin 76(5).
    """
    raters = counts.sum(1)
    if not len(counts) or raters.min() != raters.max() or raters[0] < 2:
        raise ValueError("Fleiss' kappa takes units with equally many raters, two or more; for gaps use krippendorff()")
    n = int(raters[0])
    observed = float((((counts**2).sum(1) - n) / (n * (n - 1))).mean())
    chance = float(((counts.sum(0) / counts.sum()) ** 2).sum())
    return float("nan") if chance >= 1 - 1e-12 else (observed - chance) / (1 - chance)


def counted(ratings: Floats) -> NDArray[np.int64]:
    """Count grades by unit for `fleiss`; units that a rater left out are left out.

    Args:
        ratings: Shape (units, raters), NaN where there is none.
    """
    whole = ratings[~np.isnan(ratings).any(1)]
    return np.stack([(whole == grade).sum(1) for grade in np.unique(whole)], axis=1).astype(np.int64)


def krippendorff_alpha(ratings: Floats, *, scale: Scale = "nominal") -> float:
    """Krippendorff's alpha; gaps are allowed. NaN where no unit has two grades or all grades are one.

    Args:
        ratings: Shape (units, raters), NaN where there is none.
        scale: How far apart two grades are: `nominal` marks, `ordinal` grades, `interval` similarities.

    Source: Krippendorff 2004, Content Analysis, chapter 11; computed by the package krippendorff.
    """
    import krippendorff

    paired = ratings[(~np.isnan(ratings)).sum(1) >= 2]
    if not len(paired) or len(np.unique(paired[~np.isnan(paired)])) < 2:
        return float("nan")
    return float(krippendorff.alpha(reliability_data=paired.T, level_of_measurement=scale))


def rms(first: Floats, second: Floats) -> float:
    """Root mean square of the difference of two raters' grades (Watson & Holmes, Table 2)."""
    return float(np.sqrt(np.mean((first - second) ** 2)))


def correlation(first: Floats, second: Floats) -> float:
    """Pearson's correlation (DetectiveQA, Table 5); NaN where a rater always gave one grade."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's correlation; NaN where a rater always gave one grade."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)


def compare(
    first: Floats,
    second: Floats,
    clusters: Sequence[str] | Ints,
    *,
    rng: np.random.Generator,
    scale: Scale = "nominal",
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Compared:
    """Compare two raters on the units both rated, with intervals for items like these.

    The share of equal grades has the interval of a clustered mean, which is honest where everything is equal; the
    other figures have percentile intervals of a bootstrap that draws whole items.

    Args:
        first: Grades, shape (n,), NaN where there is none.
        second: Grades of the same units.
        clusters: Item (or story) of each unit, length n.
        rng: Source of randomness for the bootstrap.
        scale: Scale of Krippendorff's alpha.
        level: Coverage of the intervals.
        resamples: Draws of the bootstrap.

    Raises:
        ValueError: If lengths differ or no unit has both grades.
    """
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"{len(first)} and {len(second)} grades with {len(clusters)} items; pass the same units")
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        raise ValueError("no unit has a grade of both raters; label answers that the other has rated")
    a, b = first[both], second[both]
    items = np.unique(np.asarray(clusters)[both], return_inverse=True)[1]

    def of(statistic: Callable[[Floats, Floats], float]) -> Interval:
        return bootstrap(lambda rows: statistic(a[rows], b[rows]), items, rng=rng, level=level, resamples=resamples)

    return Compared(
        len(a),
        int(items.max()) + 1,
        cluster_mean((a == b).astype(np.float64), items, level=level),
        of(cohen),
        of(lambda x, y: krippendorff_alpha(np.stack([x, y], axis=1), scale=scale)),
        of(rms),
        of(correlation),
        rank_correlation(a, b),
        float((a - b).mean()),
    )


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], float],
    clusters: NDArray[np.str_] | Ints,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile interval of a statistic of rows, drawing clusters with replacement.

    Resamples in which the statistic is not defined are left out; where more than half are, the limits are NaN.

    Args:
        statistic: Takes the numbers of the rows.
        clusters: Cluster of each row, shape (n,).
        rng: Source of randomness.
        level: Coverage of the interval.
        resamples: Draws.
    """
    point = statistic(np.arange(len(clusters)))
    if not resamples:
        return Interval(point, float("nan"), float("nan"))
    names, place = np.unique(clusters, return_inverse=True)
    members = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    drawn = []
    for _ in range(resamples if len(names) > 1 else 0):
        rows = np.concatenate([members[g] for g in rng.integers(0, len(names), len(names))])
        drawn.append(statistic(rows))
    known = np.array([x for x in drawn if not np.isnan(x)])
    if len(known) <= resamples / 2 or np.isnan(point):
        return Interval(point, float("nan"), float("nan"))
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(point, float(low), float(high))
