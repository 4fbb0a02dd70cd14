"""Attempts of all models at the items of a split as columns, and the counts that the estimators see of them."""

from typing import NamedTuple

import numpy as np

from evaluators.bins import Floats, Ints, bin_of, check_shares, score_of

_OTHERS = 3  # models that an item's stratum takes
_MAX_BINS = 8  # more distinct jury scores than this are grouped into bins of about equal size


class Rows(NamedTuple):
    """Attempts of all models at the items of one split, one attempt a row; repeats are rows of the same item."""

    model: Ints  # (n,) index of the model, 0..M-1
    item: Ints  # (n,) index of the item, 0..I-1
    jury: Floats  # (n,) jury score in [0, 1]; NaN where no judge gave a verdict
    human: Floats  # (n,) human label in [0, 1], the mean of several; NaN where unlabelled
    cluster: Ints | None = None  # (I,) story, novel or case of each item; None where every item stands alone


class Counts(NamedTuple):
    """What the sampler sees: rows by model, item stratum, jury bin and label. R boards may be fitted side by side."""

    labels: Floats  # (T, B + 1, S, M, R) labelled rows of grade t in bin b, stratum s; the last bin has no jury score
    unlabelled: Ints  # (B + 1, S, M, R)


def check_rows(rows: Rows) -> None:
    """Refuse rows whose columns disagree in length or leave their range."""
    check_shares("jury", rows.jury, missing=True)
    check_shares("human", rows.human, missing=True)
    shapes = {name: getattr(rows, name).shape for name in ("model", "item", "jury", "human")}
    if len(set(shapes.values())) != 1 or len(rows.model) == 0:
        raise ValueError(f"columns of rows have shapes {shapes!r}; pass one entry a row in each, at least one row")
    if rows.model.min() < 0 or rows.item.min() < 0:
        raise ValueError("model and item count from 0; pass the index of each row's model and item")
    unseen = np.setdiff1d(np.arange(rows.model.max() + 1), rows.model)
    if len(unseen):
        raise ValueError(f"model {int(unseen[0])} has no row; leave models without attempts out and renumber")
    if rows.cluster is not None and len(rows.cluster) <= rows.item.max():
        raise ValueError(f"cluster names {len(rows.cluster)} items, but an item {int(rows.item.max())} has rows")


def jury_bins(jury: Floats) -> tuple[Ints, tuple[float, ...]]:
    """Bin of each row in ascending order of jury score, and the score each bin stands for.

    There are as many bins as distinct scores, two at least and eight at most; rows without a score get the number
    after the last bin.
    """
    keys = bin_of(jury)
    distinct = np.unique(keys[keys >= 0])
    if len(distinct) > _MAX_BINS:
        cuts = np.unique(np.quantile(keys[keys >= 0], np.arange(1, _MAX_BINS) / _MAX_BINS, method="inverted_cdf"))
        grouped = np.searchsorted(cuts, keys, side="left")
        middles = [score_of(int(np.median(keys[(keys >= 0) & (grouped == g)]))) for g in range(grouped.max() + 1)]
        return np.where(keys < 0, len(middles), grouped), tuple(middles)
    # The model needs a cut point, so a jury that gives one score to everything gets an empty bin beside it.
    while len(distinct) < 2:
        distinct = np.union1d(distinct, [0 if 1_000_000 in distinct else 1_000_000])
    found = np.searchsorted(distinct, keys)
    return np.where(keys < 0, len(distinct), found), tuple(score_of(int(k)) for k in distinct)


def strata(rows: Rows) -> Ints:
    """How other models fare on each item by their mean jury score: 0 mostly wrong, 1 divided, 2 mostly right.

    Returns:
        Shape (I, M), one for every model, whose own answer is left out; 1 where fewer than three other models have a
        jury score on the item, since two say little about it.
    """
    items, models = int(rows.item.max()) + 1, int(rows.model.max()) + 1
    seen = ~np.isnan(rows.jury)
    cell = (rows.item * models + rows.model)[seen]
    count = np.bincount(cell, minlength=items * models).reshape(items, models)
    total = np.bincount(cell, rows.jury[seen], items * models).reshape(items, models)
    score, there = total / np.maximum(count, 1), count > 0
    others = there.sum(1, keepdims=True) - there
    mean = (score.sum(1, keepdims=True) - score) / np.maximum(others, 1)
    level = (mean > 1 / 3 - 1e-6).astype(np.int64) + (mean > 2 / 3 + 1e-6)
    return np.where(others < _OTHERS, 1, level)


def tally(rows: Rows, bins: Ints, n_bins: int, grades: tuple[float, ...], level: Ints) -> Counts:
    """Count rows by model, jury bin and label; a label between two grades is shared out between them.

    Args:
        rows: The attempts.
        bins: Bin of each row, of `jury_bins`, shape (n,).
        n_bins: Bins with a jury score.
        grades: True grades, ascending from 0 to 1.
        level: Stratum of each item for each model, of `strata`, shape (I, M).
    """
    models, known = int(rows.model.max()) + 1, ~np.isnan(rows.human)
    shape = (n_bins + 1, int(level.max()) + 1, models)
    labels, unlabelled = np.zeros((len(grades), *shape)), np.zeros(shape, dtype=np.int64)
    place = (bins, level[rows.item, rows.model], rows.model)
    np.add.at(unlabelled, tuple(x[~known] for x in place), 1)
    for t in range(len(grades)):
        weight = np.interp(rows.human[known], grades, np.eye(len(grades))[t])
        np.add.at(labels[t], tuple(x[known] for x in place), weight)
    return Counts(labels[..., None], unlabelled[..., None])


def design_effect(rows: Rows, bins: Ints) -> float:
    """How many rows carry the news of one independent item: 1 where every row is an item of its own.

    The variance of cluster totals over that of rows, pooled over models; a row stands for its label or, where it has
    none, the mean label of its jury bin.
    """
    group = rows.item if rows.cluster is None else rows.cluster[rows.item]
    pairs, place, sizes = np.unique(
        rows.model * (int(group.max()) + 1) + group, return_inverse=True, return_counts=True
    )
    if len(pairs) == len(rows.model):
        return 1.0
    known = ~np.isnan(rows.human)
    right, seen = (np.bincount(bins[known], w, bins.max() + 1) for w in (rows.human[known], np.ones(int(known.sum()))))
    expected = np.where(known, rows.human, ((right + 0.5) / (seen + 1))[bins])
    mean = np.bincount(rows.model, expected) / np.bincount(rows.model)
    off = expected - mean[rows.model]
    within = float((off**2).sum())
    largest = float((sizes**2).sum() / sizes.sum())
    if within < 1e-9:
        return largest
    return float(np.clip((np.bincount(place, off) ** 2).sum() / within, 1.0, largest))
