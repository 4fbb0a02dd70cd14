"""May a model be scored by a jury that other models' labels calibrate? A test with its own labels."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from evaluators.bins import Floats, Ints, bin_of, check_shares

_FLAG = 0.03  # simulated exchangeable models fall below a p-value of 0.05 in up to 7 % of cases, not in 5 %
_DRAWS = 200  # of the pool's uncertainty; its share of the variance is small
_STEPS = 60  # of the EM for the model's accuracy, which converges in far fewer


class Exchangeability(NamedTuple):
    """Whether a model's own labels are what the pool predicts for it."""

    p_value: float  # two-sided, in normal approximation
    excess: float  # labels right beyond the pool's prediction; negative: the jury flatters the model
    z: float
    labels: int

    @property
    def flagged(self) -> bool:
        """Whether not to lean on the pool alone; at most one exchangeable model in twenty is flagged."""
        return self.p_value < _FLAG


def exchangeability(
    jury: Floats, human: Floats, pool_jury: Floats, pool_human: Floats, *, rng: np.random.Generator
) -> Exchangeability:
    """Test whether the jury treats a model as it treats the calibration pool.

    The pool says how jury scores spread over right and over wrong answers; with the model's jury scores that predicts
    its accuracy and how many of its labelled rows are right. The test compares this with the labels. A model that is
    merely stronger or weaker than the pool passes; one whose answers look better or worse to the jury does not.
    Which rows were labelled may depend on the jury score.

    Args:
        jury: The model's jury scores in [0, 1], shape (N,); NaN rows are left out.
        human: Its labels in [0, 1], shape (N,), NaN where unlabelled.
        pool_jury: Jury scores of labelled rows of other models, shape (m,).
        pool_human: Their labels, shape (m,).
        rng: Source of randomness for the pool's uncertainty.

    Raises:
        ValueError: If the model has no labels, the pool lacks right or wrong labels, or a value is out of range.
    """
    jury, human = check_shares("jury", jury, missing=True), check_shares("human", human, missing=True)
    pool_jury, pool_human = check_shares("pool_jury", pool_jury, missing=True), check_shares("pool_human", pool_human)
    known = ~np.isnan(human) & ~np.isnan(jury)
    if not known.any():
        raise ValueError("the model has no labels of its own to test with; label some of its answers")
    if not 0 < pool_human.sum() < len(pool_human):
        raise ValueError("the pool needs right and wrong labels; label answers with low and with high jury scores")
    keys = bin_of(jury)
    levels: Ints = np.union1d(keys[keys >= 0], bin_of(pool_jury[~np.isnan(pool_jury)])).astype(np.int64)
    rows, mine = (_spread(keys[chosen], levels) for chosen in (keys >= 0, known))
    pool_keys = bin_of(pool_jury)
    counts = np.stack([_spread(pool_keys, levels, weight) for weight in (1 - pool_human, pool_human)])
    share = counts + 0.5
    predicted, variance = _predict(share / share.sum(-1, keepdims=True), rows, mine)
    drawn = rng.standard_gamma(np.broadcast_to(share, (_DRAWS, *share.shape)))
    spread = np.var(_predict(drawn / drawn.sum(-1, keepdims=True), rows, mine)[0])
    excess = float(human[known].sum() - predicted)
    z = excess / float(np.sqrt(variance + spread + 1e-9))
    return Exchangeability(float(2 * ndtr(-abs(z))), excess, z, int(known.sum()))


def _spread(keys: Ints, levels: Ints, weight: Floats | None = None) -> Floats:
    inside = keys >= 0
    place = np.searchsorted(levels, keys[inside])
    return np.bincount(place, None if weight is None else weight[inside], len(levels)).astype(np.float64)


def _predict(cell: Floats, rows: Floats, mine: Floats) -> tuple[Floats, Floats]:
    """Expected right labels and their variance, from P(bin | wrong or right), shape (..., 2, B)."""
    pi = np.full((*cell.shape[:-2], 1), 0.5)
    for _ in range(_STEPS):
        right = pi * cell[..., 1, :] / (pi * cell[..., 1, :] + (1 - pi) * cell[..., 0, :])
        pi = np.clip((right @ rows)[..., None] / rows.sum(), 1e-4, 1 - 1e-4)
    return right @ mine, (right * (1 - right)) @ mine
