"""The simulated world of the coverage study: models that answer items, judges that err, people who label some answers.

Replications run side by side: every array begins with (R replications, 6 models, N items); the last model is the one
that is evaluated, the first five are the pool.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evaluators.bins import Floats

Bools = NDArray[np.bool_]
DIFFICULTY = 2.5  # standard deviation of item difficulty, in logits


@dataclass(frozen=True)
class Scenario:
    """One cell of the study."""

    name: str
    mu: tuple[float, float]  # a judge's leaning on a wrong and on a right answer, in probits
    rho: tuple[float, float]  # share of its variance that judges have in common, on wrong and on right answers
    abilities: tuple[float, ...]  # of the pool, then of the evaluated model, in logits
    leniency_sd: float = 0.0  # judges' leniency differs between models, in probits
    shift: tuple[float, float] = (0.0, 0.0)  # added to mu for the evaluated model alone
    hard: bool = False  # judges err more on hard items
    noise: float = 0.0  # chance that a human label is flipped
    own_labels: int = 60
    items: int = 186


_REGIMES = {
    "llm": Scenario("llm", (-1.873, 2.293), (0.794, 0.572), (4.2, 3.9, 3.4, 2.6, -0.1, 3.0)),
    "vlm": Scenario("vlm", (-1.830, 1.374), (0.763, 0.633), (-0.3, -0.4, -1.8, -2.6, -4.3, -2.2)),
    "weak": Scenario("weak", (-0.842, 0.842), (0.4, 0.4), (1.5, 0.8, 0.0, -0.8, -1.5, 0.3)),
}
CONDITIONS = ("EX", "LOW", "RE", "SHIFT", "FPR", "HARD", "NOISE")


def scenario(regime: str, condition: str, *, own_labels: int = 60) -> Scenario:
    """Build a cell from a regime (`llm`, `vlm`, `weak`) and a condition of `CONDITIONS`.

    Raises:
        ValueError: If either name is unknown.
    """
    if regime not in _REGIMES:
        raise ValueError(f"unknown regime {regime!r}; known: {', '.join(_REGIMES)}")
    if condition not in CONDITIONS:
        raise ValueError(f"unknown condition {condition!r}; known: {', '.join(CONDITIONS)}")
    cell = replace(_REGIMES[regime], name=f"{regime} {condition}", own_labels=own_labels)
    *pool, own = cell.abilities
    changes: dict[str, dict[str, Any]] = {
        "LOW": {"abilities": (*pool, own - 2)},
        "RE": {"leniency_sd": 0.3},
        "SHIFT": {"shift": (0.7, 0.7)},
        "FPR": {"shift": (0.7, 0.0)},
        "HARD": {"hard": True},
        "NOISE": {"noise": 0.01},
    }
    return replace(cell, **changes.get(condition, {}))


class World(NamedTuple):
    """What happened, and what people and judges saw of it."""

    votes: NDArray[np.int8]  # (R, M, N, 3): each judge's verdict
    truth: Bools  # (R, M, N): what a careful human would say
    human: Floats  # (R, M, N): human label 0 or 1, NaN where nobody labelled
    audit: Floats  # (R, N): as many labels of the evaluated model, drawn at random from its rows
    these: Floats  # (R,): true score of the evaluated model on these items
    like: float  # its expected score on items like these

    @property
    def bins(self) -> NDArray[np.int64]:
        """Judges who said "right", shape (R, M, N)."""
        bins: NDArray[np.int64] = self.votes.sum(-1, dtype=np.int64)
        return bins


def simulate(cell: Scenario, replications: int, rng: np.random.Generator) -> World:
    """Draw replications of a cell."""
    models, items = len(cell.abilities), cell.items
    shape = (replications, models, items)
    difficulty = rng.normal(0, DIFFICULTY, (replications, 1, items))
    ability = np.array(cell.abilities)[:, None]
    truth = rng.random(shape) < expit(ability - difficulty)
    votes = _votes(cell, truth, difficulty, rng)
    wanted = _pool_labels(shape, rng)
    wanted[:, -1] = _own_labels(votes[:, -1].sum(-1), cell.own_labels, rng)
    said = truth ^ (rng.random(shape) < cell.noise)
    audit = _smallest(rng.random((replications, items)), cell.own_labels)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    like = float(weights @ expit(cell.abilities[-1] - DIFFICULTY * nodes) / weights.sum())
    return World(
        votes=votes,
        truth=truth,
        human=np.where(wanted, said, np.nan),
        audit=np.where(audit, said[:, -1], np.nan),
        these=truth[:, -1].mean(-1),
        like=like,
    )


def _votes(cell: Scenario, truth: Bools, difficulty: Floats, rng: np.random.Generator) -> NDArray[np.int8]:
    replications, models, items = truth.shape
    leaning = np.broadcast_to(np.array(cell.mu), (models, 2)).copy()
    leaning[-1] += cell.shift
    mu = np.where(truth, leaning[:, 1, None], leaning[:, 0, None])
    if cell.hard:
        mu = mu * np.clip(1.25 - 0.12 * difficulty, 0.6, 1.8)
    mu = mu + rng.normal(0, 1, (replications, models, 1)) * cell.leniency_sd
    rho = np.where(truth, cell.rho[1], cell.rho[0])
    tricky = np.sqrt(0.4) * rng.standard_normal((replications, 1, items))
    common = tricky + np.sqrt(0.6) * rng.standard_normal(truth.shape)
    alone = rng.standard_normal((*truth.shape, 3))
    heard = (mu + np.sqrt(rho) * common)[..., None] + np.sqrt(1 - rho)[..., None] * alone
    votes: NDArray[np.int8] = (heard > 0).astype(np.int8)
    return votes


def _pool_labels(shape: tuple[int, int, int], rng: np.random.Generator) -> Bools:
    """Three labels an item, four on 23 % of items, on distinct models of the pool."""
    replications, models, items = shape
    order = rng.random((replications, models - 1, items)).argsort(1).argsort(1)
    labels = 3 + (rng.random((replications, 1, items)) < 0.23)
    return np.concatenate([order < labels, np.zeros((replications, 1, items), dtype=bool)], axis=1)


def _own_labels(right: NDArray[np.int64], budget: int, rng: np.random.Generator) -> Bools:
    """Two thirds of the budget on split verdicts (all of them if fewer), the rest at random on unanimous rows."""
    noise = rng.random(right.shape)
    split = (right > 0) & (right < 3)
    bought = _smallest(np.where(split, noise, np.inf), np.minimum(split.sum(-1), 2 * budget // 3))
    return bought | _smallest(np.where(split, np.inf, noise), budget - bought.sum(-1))


def _smallest(keys: Floats, count: int | NDArray[np.int64]) -> Bools:
    """Mark the `count` smallest keys of each row."""
    chosen: Bools = keys.argsort(-1).argsort(-1) < np.asarray(count)[..., None]
    return chosen
