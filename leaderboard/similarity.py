"""How alike benchmarks are: correlations of the scores of models they share, and a map of them.

Source: Leelawat & Griffin, "Watson & Holmes", section 5.2, Table 10 and Figure 15. The map is classical scaling
(Torgerson 1952): an eigendecomposition of a small matrix, which needs no machine-learning package.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST = 3  # models shared by two benchmarks: a correlation of two is always 1 or -1


class Similarity(NamedTuple):
    """Correlations between benchmarks over the models that all of them scored."""

    names: tuple[str, ...]
    models: tuple[str, ...]
    r: Floats  # (benchmarks, benchmarks)


def similarity(scores: Mapping[str, Mapping[str, float]]) -> Similarity | None:
    """Correlate benchmarks over the models that all of them scored.

    A benchmark that would leave fewer than three shared models is left out, the one with the fewest models first.

    Args:
        scores: By benchmark, the score of each model by its name.

    Returns:
        None where no two benchmarks share three models with scores that differ.
    """
    kept = {name: rows for name, rows in scores.items() if len(set(rows.values())) > 1}
    while len(kept) > 1:
        shared = sorted(set.intersection(*(set(rows) for rows in kept.values())))
        table = np.array([[rows[model] for model in shared] for rows in kept.values()])
        if len(shared) >= FEWEST and (np.ptp(table, axis=1) > 0).all():
            return Similarity(tuple(kept), tuple(shared), np.corrcoef(table))
        fewest = min(kept, key=lambda name: (len(kept[name]), name))
        del kept[fewest]
    return None


def places(r: Floats) -> Floats:
    """Place benchmarks on a plane so that strongly correlated ones are close.

    The distance of two is sqrt(2 (1 - r)), that of standardised score vectors of length 1, so that it is a distance.
    The first axis is the longer one; each is turned so that its largest coordinate is positive.

    Args:
        r: Correlations, shape (n, n), n >= 2.

    Returns:
        Coordinates, shape (n, 2).

    Raises:
        ValueError: If `r` is not a symmetric table with ones on its diagonal.
    """
    if r.ndim != 2 or r.shape[0] != r.shape[1] or len(r) < 2:
        raise ValueError(f"correlations have shape {r.shape}; a square table of two or more is expected")
    if not np.allclose(r, r.T) or not np.allclose(np.diag(r), 1) or np.abs(r).max() > 1 + 1e-9:
        raise ValueError("correlations are symmetric, between -1 and 1, and 1 with themselves")
    n = len(r)
    squared = 2 * (1 - r)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ squared @ centre / 2)
    top = np.argsort(values)[::-1][:2]
    found = vectors[:, top] * np.sqrt(np.maximum(values[top], 0))
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=0)[None], axis=0)[0]
    turned: Floats = found * np.where(largest < 0, -1.0, 1.0)
    return turned


def matrix(rows: Sequence[tuple[str, str, float]]) -> tuple[tuple[str, ...], Floats]:
    """Put printed correlations, one a row, into a table; the names in the order in which they come.

    Raises:
        ValueError: If a pair is missing.
    """
    names = tuple(dict.fromkeys(name for name, _, _ in rows))
    found = {(a, b): r for a, b, r in rows}
    if missing := [(a, b) for a in names for b in names if (a, b) not in found]:
        raise ValueError(f"no correlation of {missing[0][0]!r} with {missing[0][1]!r}; every pair is expected")
    return names, np.array([[found[a, b] for b in names] for a in names])
