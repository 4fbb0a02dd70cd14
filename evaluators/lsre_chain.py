"""The Markov chains behind `evaluators.lsre`: moves on cut points, leniencies and grade shares, all chains at once.

Arrays carry the grade t, the jury bin b and the stratum s of the item in front and end in (M models, C chains); C may
hold several data sets side by side, each with its own chains: so the coverage study runs hundreds of replications in
one go.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats

Reals = NDArray[np.floating[Any]]
Singles = NDArray[np.float32]

_FLOOR = 1e-12  # of a cell's probability: an impossible cell must not turn a difference of logs into NaN
_TAU_SCALE = 0.3  # log density of tau, in probits: 2 log(tau) - tau^2 / (2 * 0.3^2), a Maxwell distribution, mode 0.42
# A model's leniencies ~ tau times a multivariate t: one odd model among many alike must be free to be odd, and what
# the jury likes about its right answers it mostly likes about its wrong ones. tau stays off 0: five models that look
# alike do not prove that the sixth does. Against independent normals and a half-normal tau, the worst simulated cells
# (one model shifted, weak judges) gain 2 to 4 points of coverage at no more width.
_FREEDOM = 4.0
_ALIKE = 0.6  # correlation between the leniencies of two grades
_CUT_SCALE = 3.0  # cut points ~ N(0, 3^2), in probits
_LIFT_SCALE = 0.5  # judges' leaning on hard and on easy items against the middle, in probits
_EASE_SCALE = 3.0  # log odds of the best grade on hard and on easy items against the middle


class Data(NamedTuple):
    """Counts of one or many boards, spread over the chains that fit them."""

    labels: Singles  # (T, B, S, M, C): labelled rows of grade t in jury bin b and stratum s
    totals: Singles  # (T, S, M, C): labelled rows of grade t, those without a jury score included
    unlabelled: Singles  # (B, S, M, C): unlabelled rows in bin b
    worth: Floats  # (T,) the grades, from 0 to 1


class State(NamedTuple):
    """Where the chains are."""

    cuts: Floats  # (T, B - 1, C): P(bin > k | grade t) of an average model, on the probit scale, decreasing in k
    strata: (
        Floats  # (T + 1, S, C): added to the cuts of grade t, then to the log odds of the best grade; 0 in the middle
    )
    theta: Floats  # (2T - 1, M, C): log odds of grades 1..T-1 against grade 0, then leniencies beta of grades 0..T-1
    tau: Floats  # (T, C): spread of leniencies over models
    fit: Floats  # (M, C): log posterior of each model given the rest


class Steps(NamedTuple):
    """Proposal scales, learned while warming up: Cholesky factors."""

    theta: Floats  # (2T - 1, 2T - 1, M, C)
    shared: Floats  # (k, k, C), k = T(B - 1) + (T + 1)(S - 1): cut points, then strata but the middle one


def link(x: Reals) -> Reals:
    """Normal distribution function within 1.5e-4, at a tenth of the cost of `scipy.special.ndtr`."""
    with np.errstate(over="ignore"):  # a chain far out while warming up: 1 / inf is the right 0
        odds: Reals = np.exp(-x * (1.5976 + 0.07056 * x * x))
    odds += 1
    return np.reciprocal(odds, out=odds)


def cells(cuts: Reals, beta: Reals, lift: Reals) -> Reals:
    """P(jury bin | grade, stratum, model), shape (T, B, S, M, C).

    Args:
        cuts: Cut points of an average model in the middle stratum, shape (T, B - 1, C).
        beta: Leniencies, shape (T, M, C).
        lift: What a stratum adds, shape (T, S, C).
    """
    above = link((cuts[:, :, None] + lift[:, None])[:, :, :, None, :] + beta[:, None, None])
    out = np.empty((above.shape[0], above.shape[1] + 1, *above.shape[2:]), dtype=above.dtype)
    np.subtract(1, above[:, 0], out=out[:, 0])
    np.subtract(above[:, :-1], above[:, 1:], out=out[:, 1:-1])
    out[:, -1] = above[:, -1]
    return np.maximum(out, _FLOOR, out=out)


def shares(theta: Reals, ease: Reals, worth: Floats) -> Reals:
    """Share of each grade, shape (T, S, M, C).

    Args:
        theta: As in `State`; log odds against grade 0 are its first T - 1 rows.
        ease: What a stratum adds to the log odds of the best grade, shape (S, C); to other grades by their worth.
        worth: The grades, shape (T,).
    """
    grades = len(worth)
    added = worth[1:, None, None].astype(theta.dtype) * ease
    odds = np.exp(np.clip(theta[: grades - 1, None] + added[:, :, None], -20, 20))
    whole = 1 + odds.sum(0)
    return np.concatenate([(1 / whole)[None], odds / whole])


def fit_of(data: Data, state: State) -> Floats:
    """Log posterior of each model's theta, the true grades of unlabelled rows summed out, shape (M, C)."""
    grades = len(data.worth)
    # Single precision is an error of 1e-4 in a log posterior of hundreds, at half the time.
    cuts, strata, theta = (x.astype(np.float32) for x in (state.cuts, state.strata, state.theta))
    pi = shares(theta, strata[-1], data.worth)
    cell = cells(cuts, theta[grades - 1 :], strata[:-1])
    fit: Floats = (data.unlabelled * np.log((pi[:, None] * cell).sum(0))).sum((0, 1)).astype(np.float64)
    fit += (data.labels * np.log(cell)).sum((0, 1, 2))
    # 1/2: a Dirichlet(1/2) prior on the shares in the middle stratum, with the Jacobian of the log odds.
    middle = np.log(pi)
    fit += (data.totals * middle).sum((0, 1)) + 0.5 * middle[:, strata.shape[1] // 2].sum(0)
    fit += _leniency_prior(state.theta[grades - 1 :], state.tau)
    return fit


def _leniency_prior(beta: Floats, tau: Floats) -> Floats:
    """Log prior of each model's leniencies, shape (M, C), up to a constant: multivariate t, grades correlated alike."""
    scaled = beta / tau[:, None]
    grades = len(scaled)
    joint = _ALIKE / (1 + (grades - 1) * _ALIKE) * scaled.sum(0) ** 2
    distance = ((scaled**2).sum(0) - joint) / (1 - _ALIKE)
    prior: Floats = -(_FREEDOM + grades) / 2 * np.log1p(distance / _FREEDOM) - np.log(tau).sum(0)
    return prior


def _cut_prior(cuts: Floats) -> Floats:
    """Log prior of the cut points, shape (C,): cells of an average model ~ Dirichlet(1/2), cuts ~ N(0, 3^2)."""
    none = np.zeros((cuts.shape[0], 1, cuts.shape[2]))
    cell = cells(cuts, none, none)
    jacobian = -0.5 * (cuts**2).sum((0, 1))
    prior = -0.5 * np.log(cell).sum((0, 1, 2, 3)) + jacobian - 0.5 * ((cuts / _CUT_SCALE) ** 2).sum((0, 1))
    ordered = (np.diff(cuts, axis=1) < 0).all((0, 1))
    return np.where(ordered, prior, -np.inf)


def _strata_prior(strata: Floats) -> Floats:
    """Log prior of what strata add, shape (C,)."""
    prior: Floats = -0.5 * ((strata[:-1] / _LIFT_SCALE) ** 2).sum((0, 1)) - 0.5 * ((strata[-1] / _EASE_SCALE) ** 2).sum(
        0
    )
    return prior


def start(data: Data, rng: np.random.Generator) -> State:
    """Begin near the pooled label table, each chain somewhere else."""
    grades, bins, levels, models, chains = data.labels.shape
    nearest = [round(b * (grades - 1) / (bins - 1)) for b in range(bins)]
    table = data.labels.sum((2, 3)) + 0.5 + 2.0 * np.eye(grades)[:, nearest][..., None]
    above = np.cumsum((table / table.sum(1, keepdims=True))[:, ::-1], 1)[:, ::-1][:, 1:]
    cuts = np.log(above / (1 - above)) / 1.7 + rng.normal(0, 0.1, (grades, 1, chains))
    posterior = table / table.sum(0)
    expected = data.totals.sum(1) + np.einsum("tbc,bmc->tmc", posterior, data.unlabelled.sum(1)) + 1
    odds = np.log(expected[1:] / expected[0]) + rng.normal(0, 0.3, (grades - 1, models, chains))
    theta = np.concatenate([odds, rng.normal(0, 0.2, (grades, models, chains))])
    strata = np.zeros((grades + 1, levels, chains))
    strata[-1] = (np.arange(levels) - levels // 2)[:, None]
    state = State(cuts, strata, theta, rng.uniform(0.1, 0.6, (grades, chains)), np.zeros((models, chains)))
    return state._replace(fit=fit_of(data, state))


def first_steps(data: Data) -> Steps:
    """Proposals before anything is learned."""
    grades, bins, levels, models, chains = data.labels.shape
    theta, shared = 2 * grades - 1, grades * (bins - 1) + (grades + 1) * (levels - 1)
    return Steps(
        np.broadcast_to(0.3 * np.eye(theta)[..., None, None], (theta, theta, models, chains)),
        np.broadcast_to(0.1 / np.sqrt(models / 6) * np.eye(shared)[..., None], (shared, shared, chains)),
    )


def advance(data: Data, state: State, steps: Steps, rng: np.random.Generator) -> State:
    """One sweep: every model's theta, what models share, cuts against leniencies, and the spread of leniencies."""
    state = _move_theta(data, state, steps.theta, rng)
    state = _move_shared(data, state, steps.shared, rng)
    if rng.random() < 0.3:
        state = _stretch(data, state, rng)
    return _move_spread(state, rng)


def _scale(size: int, rng: np.random.Generator) -> float:
    """Length of a jump in `size` dimensions: short, middling or long by chance."""
    return float(rng.choice([0.4, 1.0, 2.0])) * 1.7 / float(np.sqrt(size))


def _move_theta(data: Data, state: State, step: Floats, rng: np.random.Generator) -> State:
    size, models, chains = state.theta.shape
    jump = np.einsum("ijmc,jmc->imc", step, rng.standard_normal((size, models, chains)))
    moved = state._replace(theta=state.theta + _scale(size, rng) * jump)
    fit = fit_of(data, moved)
    taken = -rng.standard_exponential((models, chains)) < fit - state.fit
    return state._replace(theta=np.where(taken, moved.theta, state.theta), fit=np.where(taken, fit, state.fit))


def _move_shared(data: Data, state: State, step: Floats, rng: np.random.Generator) -> State:
    """Move cut points and strata together: they are strongly correlated where the middle stratum is small."""
    jump = _scale(len(step), rng) * np.einsum("ijc,jc->ic", step, rng.standard_normal(step.shape[1:]))
    size = state.cuts.shape[0] * state.cuts.shape[1]
    cuts, strata = state.cuts + jump[:size].reshape(state.cuts.shape), state.strata.copy()
    strata[:, _outer(state)] += jump[size:].reshape(len(strata), -1, jump.shape[-1])
    # A model's log odds give way to what strata add, so that its overall share of right answers stays where it is.
    rows = data.unlabelled.sum((0, 2)) + data.totals.sum((0, 2))
    added = ((strata[-1] - state.strata[-1]) * rows / rows.sum(0)).sum(0)
    theta = state.theta.copy()
    theta[: len(data.worth) - 1] -= data.worth[1:, None, None] * added
    fit = fit_of(data, state._replace(cuts=cuts, strata=strata, theta=theta))
    gain = (fit - state.fit).sum(0) + _cut_prior(cuts) - _cut_prior(state.cuts)
    gain += _strata_prior(strata) - _strata_prior(state.strata)
    taken = -rng.standard_exponential(len(gain)) < gain
    return state._replace(
        cuts=np.where(taken, cuts, state.cuts),
        strata=np.where(taken, strata, state.strata),
        theta=np.where(taken, theta, state.theta),
        fit=np.where(taken, fit, state.fit),
    )


def _stretch(data: Data, state: State, rng: np.random.Generator) -> State:
    """Scale tau and all leniencies by one factor, which gets out of the corner where both are near 0."""
    grades, models = len(data.worth), state.theta.shape[1]
    factor = rng.choice([0.05, 0.2, 0.8]) * rng.standard_normal(state.tau.shape)
    tau, theta = state.tau * np.exp(factor), state.theta.copy()
    theta[grades - 1 :] *= np.exp(factor)[:, None]
    fit = fit_of(data, state._replace(theta=theta, tau=tau))
    gain = (fit - state.fit).sum(0) + (models * factor + _log_tau(tau) - _log_tau(state.tau)).sum(0)
    taken = -rng.standard_exponential(len(gain)) < gain
    return state._replace(
        theta=np.where(taken, theta, state.theta),
        tau=np.where(taken, tau, state.tau),
        fit=np.where(taken, fit, state.fit),
    )


def _log_tau(tau: Floats) -> Floats:
    """Log density of log tau."""
    return 3 * np.log(tau) - tau**2 / (2 * _TAU_SCALE**2)


def _outer(state: State) -> list[int]:
    """All strata but the middle one, which is the measure of the others."""
    levels = state.strata.shape[1]
    return [s for s in range(levels) if s != levels // 2]


def _move_spread(state: State, rng: np.random.Generator) -> State:
    """Shift cuts against leniencies, which leaves the likelihood alone, then move tau given the leniencies."""
    grades, _, chains = state.cuts.shape
    odds, beta = state.theta[: grades - 1], state.theta[grades - 1 :]
    before = _leniency_prior(beta, state.tau)
    for t in range(grades):
        shift = np.zeros((grades, chains))
        shift[t] = 2.0 * state.tau[t] / np.sqrt(beta.shape[1]) * rng.standard_normal(chains)
        cuts = state.cuts + shift[:, None]
        prior = _leniency_prior(beta - shift[:, None], state.tau)
        gain = _cut_prior(cuts) - _cut_prior(state.cuts) + (prior - before).sum(0)
        taken = -rng.standard_exponential(chains) < gain
        state = state._replace(
            cuts=np.where(taken, cuts, state.cuts), fit=np.where(taken, state.fit + prior - before, state.fit)
        )
        beta = np.where(taken, beta - shift[:, None], beta)
        before = np.where(taken, prior, before)
    tau = state.tau * np.exp(rng.choice([0.3, 1.0]) * rng.standard_normal(state.tau.shape))
    prior = _leniency_prior(beta, tau)
    gain = (prior - before).sum(0) + (_log_tau(tau) - _log_tau(state.tau)).sum(0)
    taken = -rng.standard_exponential(chains) < gain
    return state._replace(
        theta=np.concatenate([odds, beta]),
        tau=np.where(taken, tau, state.tau),
        fit=np.where(taken, state.fit + prior - before, state.fit),
    )


def learn(kept: list[State], boards: int) -> Steps:
    """Proposals shaped like the draws so far, pooled over the chains of each board (chains of a board are adjacent)."""
    theta = np.stack([s.theta for s in kept])  # (n, d, M, C)
    chains = theta.shape[-1]
    shared = [np.concatenate([s.cuts.reshape(-1, chains), s.strata[:, _outer(s)].reshape(-1, chains)]) for s in kept]
    return Steps(_factors(theta, boards), _factors(np.stack(shared)[:, :, None], boards)[:, :, 0])


def _factors(draws: Floats, boards: int) -> Floats:
    n, size, models, chains = draws.shape
    each = chains // boards
    own = draws.reshape(n, size, models, boards, each)
    # Centred chain by chain: chains that have not met yet must not inflate the step.
    own = own - own.mean(0)
    cov = np.einsum("nimrq,njmrq->mrij", own, own) / (n * each)
    factors = np.linalg.cholesky(cov + 1e-4 * np.eye(size))
    return np.repeat(np.moveaxis(factors, (2, 3), (0, 1)), each, axis=3)
