"""How far judges and people agree, and what a maintainer reads before a board is published."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, Ints, check_shares
from evaluators.ppi import Interval, betabin
from evaluators.rows import Rows

_HALF = 0.5  # a mean of votes above it is a majority for "right"


class Agreement(NamedTuple):
    """How one rater's 0/1 verdicts relate to human labels on the rows both rated."""

    rows: int
    exact: float  # share of rows on which both say the same
    kappa: float  # Cohen's kappa: 1 perfect, 0 as by chance; NaN where both always said one and the same thing
    right_right: int  # rater says right, human says right
    right_wrong: int  # rater says right, human says wrong: the rater is lenient
    wrong_right: int
    wrong_wrong: int

    @property
    def sensitivity(self) -> float:
        """Share of truly right rows the rater called right; NaN where there are none."""
        return _share(self.right_right, self.wrong_right)

    @property
    def specificity(self) -> float:
        """Share of truly wrong rows the rater called wrong; NaN where there are none."""
        return _share(self.wrong_wrong, self.right_wrong)


class LeftOut(NamedTuple):
    """What the other providers' labels predict for a provider whose own labels are held back."""

    provider: str
    labels: int
    right: float  # its labels' share of right answers
    predicted: Interval  # the same share as the rest predicts it
    bias: float  # predicted minus right, as a fraction; positive: the rest flatters this provider


def agreement(rater: Floats, human: Floats) -> Agreement:
    """Compare a rater with human labels, row by row.

    Args:
        rater: Verdicts in [0, 1], shape (n,), NaN where it gave none; above one half means right.
        human: Human labels likewise; rows without either are left out, and so are labels of exactly one half.

    Raises:
        ValueError: If shapes differ, a value is out of range, or no row has both.
    """
    rater, human = check_shares("rater", rater, missing=True), check_shares("human", human, missing=True)
    if rater.shape != human.shape:
        raise ValueError(f"rater has shape {rater.shape!r} and human {human.shape!r}; pass the same rows in one order")
    both = ~np.isnan(rater) & ~np.isnan(human) & (human != _HALF) & (rater != _HALF)
    if not both.any():
        raise ValueError("no row has a verdict and a label; label rows this rater has judged")
    says, truth = rater[both] > _HALF, human[both] > _HALF
    counts = [int((a & b).sum()) for a in (says, ~says) for b in (truth, ~truth)]
    return Agreement(len(says), float((says == truth).mean()), kappa(np.array(counts).reshape(2, 2)), *counts)


def kappa(confusion: NDArray[np.int64]) -> float:
    """Cohen's kappa of a square confusion matrix of counts; NaN where chance alone gives full agreement.

    Source: Cohen 1960, Educational and Psychological Measurement 20(1).
    """
    total = confusion.sum()
    observed = np.trace(confusion) / total
    chance = float((confusion.sum(0) * confusion.sum(1)).sum() / total**2)
    return float("nan") if chance >= 1 else float((observed - chance) / (1 - chance))


def by_group(rater: Floats, human: Floats, group: NDArray[np.str_]) -> dict[str, Agreement]:
    """Compare rater and human within each group (judge, provider, model, ...); groups without labels are left out."""
    found = {}
    for name in np.unique(group).tolist():
        inside = (group == name) & ~np.isnan(rater) & ~np.isnan(human) & (human != _HALF) & (rater != _HALF)
        if inside.any():
            found[name] = agreement(rater[inside], human[inside])
    return found


def mean_labels(row: Ints, label: Floats, rows: int) -> Floats:
    """Reduce several human labels on one row to their mean, shape (rows,), NaN where a row has none.

    A row on which people disagree stays between right and wrong, and every estimator counts it so.

    Args:
        row: Row each label belongs to, shape (k,).
        label: Labels in [0, 1], shape (k,).
        rows: Rows in all.
    """
    label = check_shares("label", label)
    seen = np.bincount(row, minlength=rows)
    total = np.bincount(row, label, rows)
    return np.where(seen > 0, total / np.maximum(seen, 1), np.nan)


def effective_labels(these: Interval, rows: int, *, quantile: float = 1.96) -> float:
    """How many labels drawn at random, without a jury, would give an interval as narrow as this one.

    Wilson's approximation with finite-population correction, solved for n: between 0 and `rows`.

    Args:
        these: Interval for these items, as fractions.
        rows: Rows of the model.
        quantile: Normal quantile of the interval's level.
    """
    half = (these.high - these.low) / 2
    if half <= 0:
        return float(rows)
    # The point may be 0 or 1, where labels would not be free of error either: one pseudo-row of each kind.
    share = (these.point * rows + 1) / (rows + 2)
    unlimited = quantile**2 * share * (1 - share) / half**2
    return float(unlimited / (1 + unlimited / rows))


def leave_one_provider_out(rows: Rows, provider: NDArray[np.str_]) -> list[LeftOut]:
    """Predict each provider's labels from the jury and the labels of all others, by jury score.

    Args:
        rows: Attempts of all models.
        provider: Provider of each model, shape (M,).

    Returns:
        One entry for each provider with labels. An interval that misses `right` says that the jury treats this
        provider's answers differently, or that its accuracy differs much from the rest's.
    """
    maker, known = provider[rows.model], ~np.isnan(rows.human)
    found = []
    for name in np.unique(maker[known]).tolist():
        own, rest = known & (maker == name), known & (maker != name)
        right = float(rows.human[own].mean())
        hidden = np.full(int(own.sum()), np.nan)
        predicted = betabin(rows.jury[own], hidden, rows.jury[rest], rows.human[rest]).these
        found.append(LeftOut(name, int(own.sum()), right, predicted, predicted.point - right))
    return found


def _share(hit: int, miss: int) -> float:
    return hit / (hit + miss) if hit + miss else float("nan")
