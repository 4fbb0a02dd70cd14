"""The default estimator: every model's score from jury scores and few labels, with a leniency of the jury per model.

P(jury score | true grade) carries over from model to model up to a leniency that each model has of its own, one for
each true grade; P(true grade | jury score), which `betabin` carries over, moves with a model's accuracy. How other
models fare on an item (by their jury scores) says how hard it is, which tells a lucky verdict from a likely one. Fitted
to all models of a split at once by Markov chains whose draws ranks and comparisons go on with.

A leniency moves all cut points of a grade alike. Where a model's answers change the shape of the votes instead (a
unanimous "right" for half of its answers whatever they are, the rest as before), intervals cover too rarely: 0.6 in a
trial, with 60 labels. The design-based checks, `calibrated_ppi` and `wilson_fpc`, hold there and belong beside it.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, Ints, check_level
from evaluators.lsre_chain import Data, Reals, State, Steps, advance, cells, first_steps, learn, shares, start
from evaluators.ppi import Estimands, Interval
from evaluators.rows import Counts, Rows, check_rows, design_effect, jury_bins, strata, tally

_AGREED = 1.01  # R-hat of nine series in ten; among thousands some exceed any bound by chance
_ROUNDS = 4  # R-hat is looked at after each quarter of max_sweeps
_Number = TypeVar("_Number", np.float64, np.float32)
_WARM_UP = (30, 30, 15)  # parts of max_sweeps between learning proposal scales anew: 400, 400 and 800 of 12000


class Draws(NamedTuple):
    """Posterior draws of R boards of M models, D draws each."""

    these: Floats  # (D, M, R) true score on these items
    like: Floats  # (D, M, R) expected score on items like these
    odds: NDArray[np.float32]  # (D, T, B + 1, S, M, R) P(grade | bin, stratum) of an unlabelled row; D = 0 unless asked
    rhat: float  # largest potential scale reduction over models and estimands, split chains


class Fit(NamedTuple):
    """One board, fitted."""

    these: Floats  # (D, M) draws of the true score on these items
    like: Floats  # (D, M) draws of the expected score on items like these
    odds: NDArray[np.float32]  # (D, T, B + 1, S, M) P(grade | bin, stratum) of an unlabelled row
    bins: Ints  # (n,) bin of each row; B where it has no jury score
    stratum: Ints  # (I, M) how other models fare on each item
    grades: tuple[float, ...]
    empty_bins: tuple[float, ...]  # jury scores that no label calibrates
    rhat: float  # below 1.01: the chains agree


def lsre(
    rows: Rows,
    *,
    rng: np.random.Generator,
    grades: tuple[float, ...] = (0.0, 1.0),
    draws: int = 2000,
    chains: int = 4,
    max_sweeps: int = 12000,
) -> Fit:
    """Fit all models of a split.

    Labels between two grades count as a fraction of a row of each. Items that share a cluster, and repeats of an
    item, lessen the news about items like these by their design effect. Without any label of its own, a model's
    leniency is a guess from the other models': mark it provisional.

    Args:
        rows: All attempts; models without labels and models that only calibrate (gold answers) included.
        rng: Source of randomness.
        grades: True grades, ascending from 0 to 1; (0, 1) for right and wrong.
        draws: Posterior draws to keep, over all chains.
        chains: Chains; 4 or more make R-hat mean something.
        max_sweeps: Sweeps of each chain after warming up; a quarter of them suffices where R-hat is below 1.01 by then.

    Raises:
        ValueError: If rows disagree in shape, a value is out of range, or nothing at all is labelled.

    Source: this project; label shift as in Lipton, Wang and Smola 2018, arXiv:1802.03916, with random leniency.
    """
    check_rows(rows)
    if not (np.diff(grades) > 0).all() or (grades[0], grades[-1]) != (0, 1):
        raise ValueError(f"grades are {grades!r}; give them ascending from 0 to 1, for example (0.0, 0.5, 1.0)")
    if np.isnan(rows.human).all():
        raise ValueError("no row has a label, so nothing ties the jury to the truth; label about 60 answers a model")
    bins, scores = jury_bins(rows.jury)
    level = strata(rows)
    if (level == 1).all():
        level = np.zeros_like(level)
    counts = tally(rows, bins, len(scores), grades, level)
    models = counts.unlabelled.shape[2]
    independent = np.full((models, 1), 1 / design_effect(rows, bins))
    drawn = sample(
        counts, grades, independent, rng=rng, draws=draws, chains=chains, max_sweeps=max_sweeps, keep_odds=True
    )
    seen = counts.labels[:, :-1].sum((0, 2, 3, 4)) > 0
    used = counts.unlabelled[:-1].sum((1, 2, 3)) > 0
    empty = tuple(score for score, ok in zip(scores, seen | ~used, strict=True) if not ok)
    return Fit(drawn.these[..., 0], drawn.like[..., 0], drawn.odds[..., 0], bins, level, grades, empty, drawn.rhat)


def estimands(fit: Fit, *, level: float = 0.95) -> list[Estimands]:
    """Posterior mean and equal-tailed interval of both estimands of each model."""
    tail = (1 - check_level(level)) / 2
    these, like = (_intervals(draws, tail) for draws in (fit.these, fit.like))
    return [Estimands(a, b, fit.empty_bins) for a, b in zip(these, like, strict=True)]


def imputed(fit: Fit, rows: Rows, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield, for each draw, a score for every item and model, shape (I, M): what ranks and comparisons are made of.

    A labelled row keeps its label, any other draws its grade; repeats of an item are averaged; an attempt that is
    missing draws from the model's own share of grades, as if it were missing by accident.
    """
    items, models = int(rows.item.max()) + 1, fit.these.shape[1]
    cell = rows.item * models + rows.model
    repeats = np.bincount(cell, minlength=items * models).reshape(items, models)
    missing = np.argwhere(repeats == 0)
    open_row = np.isnan(rows.human)
    model = np.concatenate([rows.model[open_row], missing[:, 1]])
    bins = np.concatenate([fit.bins[open_row], np.full(len(missing), fit.odds.shape[2] - 1)])
    place = fit.stratum[np.concatenate([rows.item[open_row], missing[:, 0]]), model]
    target = np.concatenate([cell[open_row], missing[:, 0] * models + missing[:, 1]])
    known = np.bincount(cell[~open_row], rows.human[~open_row], items * models)
    times = np.maximum(repeats, 1)
    steps = np.diff(fit.grades)
    for odds in fit.odds:
        above = np.cumsum(odds[::-1], axis=0)[::-1][1:]  # P(grade >= t | bin)
        chance = rng.random(len(model), dtype=np.float32)
        score = sum(step * (chance < level[bins, place, model]) for step, level in zip(steps, above, strict=True))
        total = known + np.bincount(target, score, items * models)
        yield total.reshape(items, models) / times


def sample(
    counts: Counts,
    grades: tuple[float, ...],
    independent: Floats,
    *,
    rng: np.random.Generator,
    draws: int = 2000,
    chains: int = 4,
    max_sweeps: int = 12000,
    keep_odds: bool = False,
) -> Draws:
    """Draw from the posterior of R boards side by side.

    Args:
        counts: Rows by model, jury bin and label.
        grades: True grades, ascending from 0 to 1, length T.
        independent: Independent items per row, shape (M, R); 1 where every row is an item of its own.
        rng: Source of randomness.
        draws: Draws of each board to keep.
        chains: Chains a board.
        max_sweeps: Sweeps of each chain at most; fewer where R-hat falls below 1.01 sooner.
        keep_odds: Whether to keep what `imputed` needs.
    """
    boards, each = counts.unlabelled.shape[-1], -(-draws // chains)
    data = Data(
        np.repeat(counts.labels[:, :-1].astype(np.float32), chains, axis=-1),
        np.repeat(counts.labels.sum(1).astype(np.float32), chains, axis=-1),
        np.repeat(counts.unlabelled[:-1].astype(np.float32), chains, axis=-1),
        np.array(grades),
    )
    state, steps = _warm_up(data, boards, max_sweeps, rng)
    spread, left = np.repeat(independent, chains, axis=-1), np.repeat(counts.unlabelled, chains, axis=-1)
    thin, kept = max(1, max_sweeps // _ROUNDS // each), list[_Kept]()
    rhat = np.full(1, 2 * _AGREED)
    while len(kept) < _ROUNDS * each and np.quantile(rhat, 0.9) > _AGREED:
        for sweep in range(each * thin):
            state = advance(data, state, steps, rng)
            if sweep % thin == thin - 1:
                kept.append(_keep(data, state, left=left, independent=spread, rng=rng))
        rhat = np.concatenate([_rhat(np.stack(series), chains) for series in zip(*(k[:2] for k in kept), strict=True)])
    kept = kept[:: len(kept) // each]
    these, like = (_by_board(np.stack(series), chains) for series in zip(*(k[:2] for k in kept), strict=True))
    odds = [_odds(data, k.state).astype(np.float32) for k in kept if keep_odds]
    shape = (0, *_odds(data, state).shape[:-1], boards)
    return Draws(
        these, like, _by_board(np.stack(odds), chains) if odds else np.zeros(shape, np.float32), float(rhat.max())
    )


def _warm_up(data: Data, boards: int, max_sweeps: int, rng: np.random.Generator) -> tuple[State, Steps]:
    """Let the chains find their place, and learn how far to jump."""
    state, steps = start(data, rng), first_steps(data)
    for part in _WARM_UP:
        trace, sweeps = [], max(60, max_sweeps // part)
        for sweep in range(sweeps):
            state = advance(data, state, steps, rng)
            if sweep >= sweeps // 3 and sweep % 3 == 0:
                trace.append(state)
        steps = learn(trace, boards)
    return state, steps


class _Kept(NamedTuple):
    these: Floats  # (M, C)
    like: Floats  # (M, C)
    state: State


def _odds(data: Data, state: State) -> Reals:
    """P(grade | bin, stratum) of an unlabelled row, shape (T, B + 1, S, M, C); the last bin has no jury score."""
    pi = shares(state.theta, state.strata[-1], data.worth)
    odds = pi[:, None] * cells(state.cuts, state.theta[len(data.worth) - 1 :], state.strata[:-1])
    odds /= odds.sum(0)
    return np.concatenate([odds, pi[:, None]], axis=1)


def _keep(data: Data, state: State, *, left: Ints, independent: Floats, rng: np.random.Generator) -> _Kept:
    """Draw the grades of unlabelled rows, `left` in each bin, and from all grades both estimands."""
    odds = _odds(data, state)
    total, rest = data.totals.sum(1, dtype=np.float64), np.ones_like(odds[0])
    for t in range(len(odds) - 1, 0, -1):
        drawn = rng.binomial(left, np.clip(odds[t] / np.maximum(rest, 1e-300), 0, 1))
        total[t] += drawn.sum((0, 1))
        left, rest = left - drawn, rest - odds[t]
    total[0] += left.sum((0, 1))
    worth = data.worth[:, None, None]
    gamma = rng.standard_gamma(total * independent + 0.5)
    return _Kept((worth * total).sum(0) / total.sum(0), (worth * gamma).sum(0) / gamma.sum(0), state)


def _by_board(draws: NDArray[_Number], chains: int) -> NDArray[_Number]:
    """(n, ..., R * chains) as (chains * n, ..., R): all draws of a board in one column."""
    n, *middle, last = draws.shape
    parted = np.moveaxis(draws.reshape(n, *middle, last // chains, chains), -1, 0)
    return parted.reshape(chains * n, *middle, last // chains)


def _rhat(draws: Floats, chains: int) -> Floats:
    """Split-chain R-hat of each model's draws (n, M, C). Source: Vehtari et al. 2021, arXiv:1903.08008."""
    half = len(draws) // 2
    parts = draws[: 2 * half].reshape(2, half, *draws.shape[1:-1], -1, chains)
    within = parts.var(1, ddof=1).mean((0, -1))
    between = np.moveaxis(parts.mean(1), 0, -1).reshape(*within.shape, 2 * chains).var(-1, ddof=1)
    # Draws that are all one and the same, of a model all of whose rows are labelled, agree.
    found: Floats = np.sqrt(np.where(within > 0, between / np.maximum(within, 1e-30), 0) + (half - 1) / half).ravel()
    return found


def _intervals(draws: Floats, tail: float) -> list[Interval]:
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return [Interval(float(m), float(a), float(b)) for m, a, b in zip(draws.mean(0), low, high, strict=True)]
