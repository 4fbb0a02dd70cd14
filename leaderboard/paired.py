"""Draws of all models' scores that share their items, so that what is common to two models cancels between them."""

from typing import NamedTuple

import numpy as np

from evaluators.bins import Floats, Ints
from evaluators.lsre import Fit, imputed
from evaluators.rows import Rows


class Paired(NamedTuple):
    """Joint draws of the scores of M models on I items; rows of `these` and `like` belong together."""

    these: Floats  # (D, M) mean score on these items
    like: Floats  # (D, M) mean score on items like these: one random weighting of items (or clusters) for all models
    items: int


def paired_draws(fit: Fit, rows: Rows, *, rng: np.random.Generator) -> Paired:
    """Draw every model's score on one and the same set of items.

    An attempt that is missing is imputed from the model's own share of grades. Weights are Dirichlet(1, ..., 1) over
    clusters where items share a story, else over items.

    Source: Rubin 1981, The Bayesian bootstrap.
    """
    these, like = [], []
    for scores in imputed(fit, rows, rng):
        these.append(scores.mean(0))
        like.append(item_weights(rows.cluster, len(scores), rng) @ scores)
    return Paired(np.array(these), np.array(like), int(rows.item.max()) + 1)


def item_weights(cluster: Ints | None, items: int, rng: np.random.Generator) -> Floats:
    """One random weighting of items, shape (items,), adding up to 1; items of a cluster rise and fall together."""
    if cluster is None:
        weights: Floats = rng.standard_exponential(items)
    else:
        group = cluster[:items]
        weights = rng.standard_exponential(int(group.max()) + 1)[group]
    weights /= weights.sum()
    return weights
