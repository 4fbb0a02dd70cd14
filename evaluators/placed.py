"""Places among the rows of a store by intervals alone, for the terminal: rows whose intervals overlap share ranks.

Boards rank by joint draws of all rows (`leaderboard/settled.py`, `standings.py`) and are narrower.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from evaluators.estimate import RANKED
from evaluators.ppi import overlap_rank_spread
from evaluators.values import Estimate


def placed(groups: Iterable[Sequence[Estimate]]) -> list[tuple[Estimate, ...]]:
    """Put the estimates of submissions in order, best first, and give each headline its ranks.

    Args:
        groups: Estimates of one submission each, the headline first; those without any are left out.

    Returns:
        The groups in order. The intervals of the headlines give the ranks; self-reported rows have none.
    """
    order = sorted((g for g in groups if g), key=lambda g: (-g[0].value, g[0].model, g[0].submission_id))
    ranks = overlap_ranks([g[0] for g in order if g[0].tier in RANKED])
    return [(_ranked(first, ranks.get(first.submission_id)), *rest) for first, *rest in order]


def overlap_ranks(estimates: Sequence[Estimate]) -> dict[str, tuple[int, int]]:
    """The ranks among each other that overlapping intervals leave open, by submission_id; one estimate of each."""
    spread = overlap_rank_spread(np.array([e.low for e in estimates]), np.array([e.high for e in estimates]))
    return dict(zip((e.submission_id for e in estimates), spread, strict=True))


def _ranked(estimate: Estimate, rank: tuple[int, int] | None) -> Estimate:
    best, worst = rank or (None, None)
    return estimate.model_copy(update={"best_rank": best, "worst_rank": worst})
