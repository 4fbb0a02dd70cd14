"""A check on every model-based interval: own labels with the pool-calibrated jury as a proxy, valid by design alone."""

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, check_level, check_shares
from evaluators.ppi import Estimands, Interval
from evaluators.rows import jury_bins

Bools = NDArray[np.bool_]


def calibrated_ppi(
    jury: Floats, human: Floats, pool_jury: Floats, pool_human: Floats, *, level: float = 0.95
) -> Estimands:
    """Estimate a model's score from its own labels, with the jury score translated by the pool as a proxy.

    The proxy of a row is the pool's mean label at its jury score. The mean proxy of all rows is corrected by the mean
    of label minus proxy on the labelled ones, split verdicts and unanimous rows apart, as they are labelled at
    different rates. Whatever the pool says, the estimate is unbiased where labels were drawn at random within the two;
    a bad proxy only widens it. Any score in [0, 1] will do, continuous ones too. Limits may leave [0, 1].

    Args:
        jury: The model's jury scores in [0, 1], shape (N,); NaN rows count as split verdicts.
        human: Its labels in [0, 1], shape (N,); NaN where unlabelled; at least 2.
        pool_jury: Jury scores of labelled rows of other providers, shape (m,); NaN where no judge gave a verdict.
        pool_human: Their labels in [0, 1], shape (m,); m may be 0.
        level: Coverage of the two-sided intervals, in (0, 1), by Student's t.

    Raises:
        ValueError: If shapes differ, a value is out of range, or the model has fewer than 2 labels.

    Source: Cochran 1977, chapters 5 and 7 (difference estimator, stratified); Angelopoulos et al. 2023.
    """
    jury, human = check_shares("jury", jury, missing=True), check_shares("human", human, missing=True)
    pool_jury, pool_human = check_shares("pool_jury", pool_jury, missing=True), check_shares("pool_human", pool_human)
    if jury.shape != human.shape or pool_jury.shape != pool_human.shape:
        raise ValueError("jury and human, and pool_jury and pool_human, need one entry a row; pass NaN for no label")
    known = ~np.isnan(human)
    if known.sum() < 2:
        raise ValueError(f"the model has {int(known.sum())} labels of its own and needs at least 2; label more answers")
    proxy = _proxy(jury, pool_jury, pool_human)
    residual = np.where(known, human, proxy) - proxy
    strata = _strata(jury, known)
    point, variance = float(proxy.mean()), 0.0
    for inside in strata:
        n, rows = int((inside & known).sum()), int(inside.sum())
        own = residual[inside & known]
        point += rows / len(jury) * float(own.mean())
        # Labels that all agree with the proxy do not prove the rest does: half a row in n + 1 is taken to differ.
        rare = 0.5 / (n + 1)
        spread = max(float(own.var(ddof=1)), rare * (1 - rare))
        variance += (rows / len(jury)) ** 2 * (1 - n / rows) * spread / n
    from scipy.stats import t

    quantile = float(t.ppf((1 + check_level(level)) / 2, int(known.sum()) - len(strata)))
    share = float(np.clip(point, 1 / (len(jury) + 2), 1 - 1 / (len(jury) + 2)))
    population = variance + share * (1 - share) / len(jury)
    these, like = (quantile * float(np.sqrt(v)) for v in (variance, population))
    return Estimands(Interval(point, point - these, point + these), Interval(point, point - like, point + like), ())


def _proxy(jury: Floats, pool_jury: Floats, pool_human: Floats) -> Floats:
    """Mean pool label at each row's jury score, drawn towards the overall mean by one pseudo-label."""
    bins, scores = jury_bins(np.concatenate([jury, pool_jury]))
    mine, pool = bins[: len(jury)], bins[len(jury) :]
    overall = float(pool_human.mean()) if len(pool_human) else 0.5
    total = np.bincount(pool, pool_human, len(scores) + 1)
    count = np.bincount(pool, minlength=len(scores) + 1)
    return ((total + overall) / (count + 1))[mine]


def _strata(jury: Floats, known: Bools) -> list[Bools]:
    """Split verdicts and unanimous rows, or all rows together where one of the two has too few labels."""
    unanimous = (jury == 0) | (jury == 1)
    parts = [part for part in (unanimous, ~unanimous) if part.any()]
    if all((part & known).sum() >= 2 for part in parts):
        return parts
    return [np.ones_like(known)]
