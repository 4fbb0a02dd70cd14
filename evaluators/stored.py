"""What the store gives back: submissions, attempts and votes as it holds them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.values import Estimate, Submission, Tier


class Stored(NamedTuple):
    """A submission as the store holds it."""

    submission: Submission
    tier: Tier


class Sealed(NamedTuple):
    """A run on a sealed split, as a whole."""

    submission: Submission
    tier: Tier
    estimates: tuple[Estimate, ...]


class Attempts(NamedTuple):
    """The attempts of one submission, in the order of item and epoch; every array has shape (attempts,)."""

    item: NDArray[np.str_]  # identifier of the item
    jury: NDArray[np.float64]  # jury score; NaN where fewer verdicts than seats could be read
    human: NDArray[np.float64]  # mean of the human labels; NaN where there is none
    author: NDArray[np.float64]  # mean of the item author's labels; NaN where there is none
    by_rule: NDArray[np.bool_]  # the model gave no answer: known to be 0
    failed: NDArray[np.bool_]  # the call failed: neither right nor wrong


class Measured(NamedTuple):
    """The attempts of one submission with every metric that is a share or a count, in the order of item and epoch."""

    clusters: tuple[str, ...]  # story of each attempt; its item where the split is not stored
    categories: tuple[str, ...]  # empty where the split is not stored
    values: dict[str, NDArray[np.float64]]  # by metric, shape (attempts,); NaN where it is unknown


class Votes(NamedTuple):
    """Votes of single judges on labelled attempts; every array has shape (votes,)."""

    provider: NDArray[np.str_]  # maker of the model that answered
    judge: NDArray[np.str_]
    vote: NDArray[np.float64]
    human: NDArray[np.float64]
