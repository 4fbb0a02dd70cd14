"""From similarities of points and predictions to a score: thresholds, matching, weights.

Source: Zhou et al. 2025, section 4.4 and appendix D.3. One departure: a prediction is matched to one point only, by the
assignment with the highest sum. The released code lets one prediction pay for every point it resembles.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VALID = 0.5  # below it a similarity counts nothing
FULL = 0.8  # from it on it counts as 1
WEIGHTS = {"logic": 0.3, "details": 0.3, "conclusion": 0.4}


def calibrate(similarities: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Apply both thresholds, entry by entry: below 0.5 is 0, from 0.8 on is 1, the rest stays."""
    import numpy as np

    return np.where(similarities >= FULL, 1.0, np.where(similarities >= VALID, similarities, 0.0))


def points_score(rows: Sequence[Sequence[float]], *, compat: Literal["released"] | None = None) -> float:
    """Score predictions against points: the mean over the points of what their matches are worth.

    Args:
        rows: One row a point, shape (points, predictions), similarities in [0, 1]; rows of length 0 are no predictions.
        compat: `released` gives each point its best prediction, whoever else has it.

    Raises:
        ValueError: If there is no point, rows differ in length, or a similarity lies outside of [0, 1].
    """
    import numpy as np

    table = np.array(rows, dtype=np.float64)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"similarities have shape {table.shape}; one row a point, all of one length")
    if not table.shape[1]:
        return 0.0
    if not ((table >= 0) & (table <= 1)).all():  # NaN is in no range
        raise ValueError("a similarity lies outside of [0, 1]")
    worth = calibrate(table)
    if compat == "released":
        return float(worth.max(axis=1).mean())
    from scipy.optimize import linear_sum_assignment

    points, predictions = linear_sum_assignment(worth, maximize=True)
    return float(worth[points, predictions].sum() / len(table))


def overall(parts: dict[str, float]) -> float:
    """Weigh logic, details and conclusion into the overall score in [0, 1]."""
    return float(sum(weight * parts[name] for name, weight in WEIGHTS.items()))
