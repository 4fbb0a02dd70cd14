"""Draws of all models' scores that share their items, so that what is common to two models cancels between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, Ints
from evaluators.lsre import Fit, imputed
from evaluators.rows import Rows


class Paired(NamedTuple):
    """Joint draws of the scores of M models on I items; rows of `these` and `like` belong together."""

    these: Floats  # (D, M) mean score on these items
    like: Floats  # (D, M) mean score on items like these: one random weighting of items (or clusters) for all models
    items: int
    parts: NDArray[np.float32]  # (D, P, M) mean score on items like those of each part; P = 0 unless asked for


def paired_draws(fit: Fit, rows: Rows, *, rng: np.random.Generator, part: Ints | None = None) -> Paired:
    """Draw every model's score on one and the same set of items.

    An attempt that is missing is imputed from the model's own share of grades. Weights are Dirichlet(1, ..., 1) over
    clusters where items share a story, else over items. A part of few items gets half a right and half a wrong item
    on top, so that two items answered alike are no proof.

    Args:
        fit: From `lsre`.
        rows: What it was fitted to.
        rng: Source of randomness.
        part: Part of each item, for example its category, numbered from 0; -1: none. Shape (items,).

    Source: Rubin 1981, The Bayesian bootstrap.
    """
    these, like, parts = [], [], []
    inside = np.zeros((0, 0)) if part is None else part == np.arange(part.max() + 1)[:, None]
    own = np.random.default_rng(0)  # draws of its own, so that ranks are the same with parts and without
    for scores in imputed(fit, rows, rng):
        these.append(scores.mean(0))
        weights = item_weights(rows.cluster, len(scores), rng)
        like.append(weights @ scores)
        if part is not None:
            within = inside * weights
            mean = within @ scores / within.sum(1, keepdims=True)
            mass = own.standard_gamma(np.maximum(inside.sum(1), 1))[:, None]
            right, wrong = own.standard_gamma(0.5, (2, len(inside), scores.shape[1]))
            parts.append(((mass * mean + right) / (mass + right + wrong)).astype(np.float32))
    models = fit.these.shape[1]
    whole = np.array(parts) if parts else np.zeros((0, 0, models), np.float32)
    return Paired(np.array(these), np.array(like), int(rows.item.max()) + 1, whole)


def item_weights(cluster: Ints | None, items: int, rng: np.random.Generator) -> Floats:
    """One random weighting of items, shape (items,), adding up to 1; items of a cluster rise and fall together."""
    if cluster is None:
        weights: Floats = rng.standard_exponential(items)
    else:
        group = cluster[:items]
        weights = rng.standard_exponential(int(group.max()) + 1)[group]
    weights /= weights.sum()
    return weights
