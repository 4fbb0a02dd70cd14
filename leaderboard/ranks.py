"""Which ranks a model may hold, given joint draws of all models' scores, and which leads are beyond doubt."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, check_level
from evaluators.ppi import layton_rank_spread, overlap_rank_spread

__all__ = [
    "Leads",
    "claims",
    "claims_of",
    "layton_rank_spread",
    "max_t_ranks",
    "overlap_rank_spread",
    "rank_sets",
    "ranks_each",
    "sets_of",
]

_DEEPEST = 10  # places from either end that decide: further in, more false leads would have to come together
_CHUNK = 50  # draws at a time, which bounds memory


class Leads(NamedTuple):
    """Pairwise leads of M models in standard errors, and the noise that they stand out from or do not."""

    t: Floats  # (M, M) lead of row over column, divided by its standard error
    se: NDArray[np.float32]  # (M, M) standard error of the lead, of the noise
    noise: NDArray[np.float32]  # (D, M) joint draws around the models' scores


def rank_sets(draws: Floats, *, items: int, rng: np.random.Generator, level: float = 0.95) -> list[tuple[int, int]]:
    """Find for each model the ranks it may hold, such that all models' true ranks are inside together.

    best = 1 + the models that lead it by more than c standard errors, worst likewise. One false lead does no harm to
    a rank set that allows for more: c is the quantile, over draws of the noise, of what a field of models needs that
    stand in a random order too tight to be told apart. Fields within the board need about as much (2 % more at 200
    models), models that are spread out less. `max_t_ranks`, which forbids any false lead, needs a larger c; use it
    where models may tie exactly and no order of the tied ones may be claimed.

    Args:
        draws: Joint draws of the scores of M models, shape (D, M), D >= 200.
        items: Items behind each score; the standard error of a lead is at least half an item.
        rng: Source of randomness for the orders.
        level: Simultaneous coverage, in (0, 1).

    Returns:
        (best, worst) of each model, 1 for the highest score.

    Raises:
        ValueError: If draws are not (D, M) with D >= 200, or not finite.
    """
    return sets_of(_leads(draws, items), rng=rng, level=level)


def sets_of(
    leads: Leads, *, rng: np.random.Generator, least: float = 0.0, level: float = 0.95
) -> list[tuple[int, int]]:
    """The rank sets of `rank_sets` from leads that are known by pairs.

    Args:
        leads: Of M models, with at least 200 draws of the noise.
        rng: Source of randomness for the orders.
        least: Standard errors that a lead must exceed, however little the draws ask for.
        level: Simultaneous coverage, in (0, 1).
    """
    if len(leads.t) == 1:
        return [(1, 1)]
    return _sets(leads.t, max(least, _upper(_needed(leads, rng), level)))


def max_t_ranks(draws: Floats, *, items: int, level: float = 0.95) -> list[tuple[int, int]]:
    """Find rank sets by leads none of which is false, with probability `level`. Arguments as for `rank_sets`.

    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1), with bootstrap max-t.
    """
    leads = _leads(draws, items)
    return _sets(leads.t, _upper(_largest(leads).max(1), level))


def ranks_each(draws: Floats, *, items: int, level: float = 0.95) -> list[tuple[int, int]]:
    """Find for each model by itself the ranks it may hold: narrower, but a board's sets do not hold together.

    The largest noise is taken over the leads that involve the model. Arguments as for `rank_sets`.
    """
    leads = _leads(draws, items)
    critical = np.array([_upper(column, level) for column in _largest(leads).T])
    best = 1 + (leads.t > critical).sum(0)
    worst = len(critical) - (leads.t > critical[:, None]).sum(1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def claims(draws: Floats, *, items: int, level: float = 0.95) -> NDArray[np.bool_]:
    """Tell which models are better than which: [i, j] is true where i leads j; all hold together at `level`.

    Arguments as for `rank_sets`; returns shape (M, M).
    """
    return claims_of(_leads(draws, items), level=level)


def claims_of(leads: Leads, *, least: float = 0.0, level: float = 0.95) -> NDArray[np.bool_]:
    """Tell as `claims` does which models are better than which, from leads by pairs; arguments as for `sets_of`."""
    proven: NDArray[np.bool_] = leads.t > max(least, _upper(_largest(leads).max(1), level))
    return proven


def _leads(draws: Floats, items: int) -> Leads:
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim != 2 or len(draws) < 200:
        raise ValueError(f"draws have shape {draws.shape!r}; pass (D, M) with at least 200 joint draws")
    if not np.isfinite(draws).all():
        model = int(np.argwhere(~np.isfinite(draws))[0, 1])
        raise ValueError(f"draws of model {model} are not all finite; leave models without scores out")
    point = draws.mean(0)
    noise = draws - point
    covariance = noise.T @ noise / len(draws)
    variance = np.diag(covariance)
    # Two models that agree on every item still have a lead of unknown sign: half an item at least.
    se = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, (0.5 / items) ** 2))
    return Leads((point[:, None] - point) / se, se.astype(np.float32), noise.astype(np.float32))


def _largest(leads: Leads) -> Floats:
    """Largest noise, in standard errors, among the leads that involve each model, shape (D, M)."""
    weight = 1 / leads.se
    out = np.empty(leads.noise.shape)
    buffer = np.empty_like(weight)
    for d, noise in enumerate(leads.noise):
        np.subtract(noise[:, None], noise, out=buffer)
        np.abs(buffer, out=buffer)
        np.multiply(buffer, weight, out=buffer)
        out[d] = buffer.max(1)
    return out


def _needed(leads: Leads, rng: np.random.Generator) -> Floats:
    """Smallest c, shape (D,), that covers all ranks of models in random true order with next to no true leads."""
    size = leads.noise.shape[1]
    deep = min(_DEEPEST, size - 1)
    place = np.arange(deep)
    needed = np.empty(len(leads.noise))
    for start in range(0, len(needed), _CHUNK):
        noise = leads.noise[start : start + _CHUNK]
        order = rng.random((len(noise), size)).argsort(1)
        there = np.take_along_axis(noise, order, axis=1)[:, None]
        found = []
        # The model in true place r may have r - 1 leads over it; the r-th largest must fall short. Then from below.
        for ends, self_, sign in ((order[:, :deep], place, 1), (order[:, ::-1][:, :deep], size - 1 - place, -1)):
            here = np.take_along_axis(noise, ends, axis=1)[:, :, None]
            t = sign * (there - here) / leads.se[ends[:, :, None], order[:, None]]
            t[:, place, self_] = -np.inf
            ranked = np.partition(t, size - 1 - place, axis=2)
            found.append(ranked[:, place, size - 1 - place].max(1))
        needed[start : start + _CHUNK] = np.maximum(*found)
    return needed


def _upper(needed: Floats, level: float) -> float:
    """Quantile that leaves at most 1 - level above it, counting the draws as a sample."""
    rank = int(np.ceil((len(needed) + 1) * check_level(level))) - 1
    return float(np.sort(needed)[min(rank, len(needed) - 1)])


def _sets(t: Floats, critical: float) -> list[tuple[int, int]]:
    ahead = t > critical
    best, worst = 1 + ahead.sum(0), len(t) - ahead.sum(1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))
