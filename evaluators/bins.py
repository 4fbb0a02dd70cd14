"""Jury score bins and exact sums of (beta-)binomial counts over them."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MILLION = (
    1_000_000  # 1/3 computed as 1/3 and as 0.1 + 0.7/3 is one bin; two jury scores a millionth apart are one score
)


def check_shares(name: str, values: Floats, *, missing: bool = False) -> Floats:
    """Return `values` as a flat float array in [0, 1], or say which entry is not.

    Args:
        name: What the values are, for the message.
        values: Shares in [0, 1], shape (n,).
        missing: Whether NaN may stand for a value that does not exist.

    Raises:
        ValueError: If the array is not flat, or a value is outside [0, 1] or (without `missing`) NaN.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape!r}; pass one number a row, shape (n,)")
    wrong = ~((array >= 0) & (array <= 1))
    if missing:
        wrong &= ~np.isnan(array)
    if wrong.any():
        row = int(np.argmax(wrong))
        remedy = "drop the row" if np.isnan(array[row]) else "scale the metric to [0, 1]"
        raise ValueError(f"{name}[{row}] is {float(array[row])!r}, not a share in [0, 1]; {remedy}")
    return array


def check_level(level: float) -> float:
    """Return `level`, or refuse one outside (0, 1) such as 95."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; give the coverage as a fraction, for example 0.95")
    return level


def bin_of(jury: Floats) -> Ints:
    """Key of each row's bin, shape (n,): the jury score in millionths; -1 where no judge gave a verdict (NaN)."""
    filled = np.where(np.isnan(jury), -1.0, jury)
    keys: Ints = np.where(filled < 0, -1, np.rint(filled * _MILLION)).astype(np.int64)
    return keys


def score_of(key: int) -> float:
    """The jury score that a bin key (millionths) stands for."""
    return key / _MILLION


def binomial_pmf(trials: int, share: float) -> Floats:
    """P(K = 0..trials) for K ~ Binomial(trials, share), shape (trials + 1,)."""
    k = np.arange(trials + 1.0)
    log_ways = gammaln(trials + 1.0) - gammaln(k + 1) - gammaln(trials - k + 1)
    pmf: Floats = np.exp(log_ways + xlogy(k, share) + xlog1py(trials - k, -share))
    pmf /= pmf.sum()
    return pmf


def beta_binomial_pmf(trials: int, right: float, wrong: float) -> Floats:
    """P(K = 0..trials) for K ~ Binomial(trials, q), q ~ Beta(1/2 + right, 1/2 + wrong), shape (trials + 1,)."""
    k = np.arange(trials + 1.0)
    log_ways = gammaln(trials + 1.0) - gammaln(k + 1) - gammaln(trials - k + 1)
    a, b = right + 0.5, wrong + 0.5
    pmf: Floats = np.exp(log_ways + betaln(k + a, trials - k + b) - betaln(a, b))
    pmf /= pmf.sum()
    return pmf


def convolve(pmfs: list[Floats]) -> Floats:
    """Distribution of the sum of independent counts, each given as its pmf over 0, 1, 2, ..."""
    total = np.ones(1)
    for pmf in sorted(pmfs, key=len):
        total = np.convolve(total, pmf)
    return total


def lattice_quantile(pmf: Floats, probability: float) -> int:
    """Smallest count whose cumulative probability reaches `probability`."""
    reached = np.cumsum(pmf) >= probability - 1e-12
    return int(np.argmax(reached)) if reached.any() else len(pmf) - 1
