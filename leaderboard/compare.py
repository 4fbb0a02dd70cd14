"""Two models side by side on the items they share, and groups of models that a board cannot tell apart."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, check_level
from evaluators.lsre import Fit, imputed
from evaluators.ppi import Interval
from evaluators.rows import Rows
from leaderboard.paired import item_weights


class Difference(NamedTuple):
    """First model minus second, as fractions."""

    interval: Interval
    p_value: float  # two-sided, of no difference
    undecided: bool  # the interval holds both signs


class Comparison(NamedTuple):
    """A pair of models; wins, losses and ties are expected counts over the items they share and add up to `items`."""

    these: Difference
    like: Difference
    wins: float
    losses: float
    ties: float
    items: int


def compare(
    fit: Fit, rows: Rows, first: int, second: int, *, rng: np.random.Generator, level: float = 0.95
) -> Comparison:
    """Compare two models on the items both attempted.

    Unlabelled answers draw their grade from the fit; labelled ones keep their label. For items like these, items (or
    clusters) are reweighted at random, with half an item of either sign added: that no item parted two models does
    not prove that none would.

    Args:
        fit: Fit of the board.
        rows: The attempts it was fitted to.
        first: Index of the model whose lead is positive.
        second: Index of the other.
        rng: Source of randomness.
        level: Coverage of the intervals, in (0, 1).

    Raises:
        ValueError: If a model is unknown, the two are one, or they share no item.
    """
    models = fit.these.shape[1]
    for model in (first, second):
        if not 0 <= model < models:
            raise ValueError(f"unknown model {model!r}; known: 0 to {models - 1}")
    if first == second:
        raise ValueError(f"model {first!r} cannot be compared with itself; name two models")
    part, part_rows = _restrict(fit, rows, first, second)
    lead = np.stack([scores[:, 0] - scores[:, 1] for scores in imputed(part, part_rows, rng)])
    return compare_items(lead, cluster=part_rows.cluster, rng=rng, level=level)


def compare_items(
    lead: Floats, *, cluster: NDArray[np.int64] | None = None, rng: np.random.Generator, level: float = 0.95
) -> Comparison:
    """Compare two models whose scores on shared items are known or drawn.

    Args:
        lead: First model's score minus second's, shape (D draws, I items), in [-1, 1]; D equal rows where scores are
            known. D of 1000 or more: the p-value cannot fall below 2 / (D + 1).
        cluster: Story, novel or case of each item, shape (I,); None where every item stands alone.
        rng: Source of randomness.
        level: Coverage of the intervals, in (0, 1).
    """
    draws, items = lead.shape
    like = np.empty(draws)
    for d in range(draws):
        sign = rng.standard_gamma(0.5, 2)
        mass = rng.standard_gamma(float(items if cluster is None else len(np.unique(cluster))))
        like[d] = (mass * (item_weights(cluster, items, rng) @ lead[d]) + sign[0] - sign[1]) / (mass + sign.sum())
    return Comparison(
        these=_difference(lead.mean(1), level),
        like=_difference(like, level),
        wins=float((lead > 1e-9).sum(1).mean()),
        losses=float((lead < -1e-9).sum(1).mean()),
        ties=float((np.abs(lead) <= 1e-9).sum(1).mean()),
        items=items,
    )


def tie_groups(point: Floats, beats: NDArray[np.bool_]) -> list[int]:
    """Number the groups of a board from 1: a group begins with the first model that its leader beats.

    Args:
        point: Scores of M models, shape (M,), in any unit.
        beats: beats[i, j]: model i is shown to be better than model j, shape (M, M), as `ranks.claims` returns it.

    Returns:
        The group of each model. Models of one group need not be equal; the board cannot tell them from its leader.
    """
    groups, leader, number = [0] * len(point), -1, 0
    for model in np.argsort(-np.asarray(point), kind="stable").tolist():
        if number == 0 or beats[leader, model]:
            leader, number = model, number + 1
        groups[model] = number
    return groups


def _restrict(fit: Fit, rows: Rows, first: int, second: int) -> tuple[Fit, Rows]:
    pair = [first, second]
    shared = np.intersect1d(*(rows.item[rows.model == m] for m in pair))
    if len(shared) == 0:
        raise ValueError(f"models {first!r} and {second!r} share no item; compare models of one split")
    kept = np.isin(rows.model, pair) & np.isin(rows.item, shared)
    part = Rows(
        model=(rows.model[kept] == second).astype(np.int64),
        item=np.searchsorted(shared, rows.item[kept]).astype(np.int64),
        jury=rows.jury[kept],
        human=rows.human[kept],
        cluster=None if rows.cluster is None else rows.cluster[shared],
    )
    these, like, odds = fit.these[:, pair], fit.like[:, pair], fit.odds[..., pair]
    return fit._replace(
        these=these, like=like, odds=odds, bins=fit.bins[kept], stratum=fit.stratum[np.ix_(shared, pair)]
    ), part


def _difference(draws: Floats, level: float) -> Difference:
    tail = (1 - check_level(level)) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], method="inverted_cdf")
    beyond = min(int((draws <= 1e-12).sum()), int((draws >= -1e-12).sum()))
    p_value = min(1.0, 2 * (beyond + 1) / (len(draws) + 1))
    return Difference(
        Interval(float(draws.mean()), float(low), float(high)), p_value, bool(low <= 1e-12 and high >= -1e-12)
    )
