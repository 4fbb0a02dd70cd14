"""Statistics, timed side by side: python -m tests.bench_stats [--ranks]."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from evaluators.lsre import estimands, lsre
from evaluators.ppi import layton
from evaluators.rows import Rows
from leaderboard.paired import paired_draws
from leaderboard.ranks import claims, layton_rank_spread, max_t_ranks, overlap_rank_spread, rank_sets, ranks_each

GOLDEN = Path(__file__).parent / "golden" / "layton_llm_counts.json"
STEPS = np.array([0, 1 / 3, 2 / 3, 1])


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it returned."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def inputs() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(jury, pool jury, pool human) of the nine released models."""
    models = json.loads(GOLDEN.read_text(encoding="utf-8"))["models"]
    found = []
    for model in models.values():
        rows = np.sum([model[k] for k in ("right", "wrong", "unlabelled")], axis=0)
        pool = [m for m in models.values() if m["provider"] != model["provider"]]
        right, wrong = (np.sum([m[k] for m in pool], axis=0) for k in ("right", "wrong"))
        jury = np.concatenate([np.repeat(STEPS, right), np.repeat(STEPS, wrong)])
        human = np.repeat([1.0, 0.0], [right.sum(), wrong.sum()])
        found.append((np.repeat(STEPS, rows), jury, human))
    return found


def resampled(jury: np.ndarray, pool_jury: np.ndarray, pool_human: np.ndarray, resamples: int) -> tuple[float, float]:
    """The released bootstrap, restated: match the pool to the model's jury scores, rectify with a tuned weight.

    Each resample draws, in every bin, as many pool rows as the model has, computes the tuned prediction-powered mean
    on them and keeps it; the limits are its percentiles.
    """
    rng = np.random.default_rng(0)
    places = [np.flatnonzero(pool_jury == s) for s in STEPS]
    counts = [int((jury == s).sum()) for s in STEPS]
    kept = np.empty(resamples)
    for i in range(resamples):
        drawn = np.concatenate([rng.choice(p, n) for p, n in zip(places, counts, strict=True)])
        human, judged = pool_human[drawn], pool_jury[drawn]
        spread = np.var(np.concatenate([judged, jury]), ddof=1)
        covariance = np.mean((human - human.mean()) * (judged - judged.mean()))
        lam = np.clip(covariance / ((1 + len(human) / len(jury)) * spread), 0, 1)
        kept[i] = lam * jury.mean() + (human - lam * judged).mean()
    low, high = np.quantile(kept, [0.025, 0.975])
    return float(low), float(high)


def bench_layton() -> None:
    """All nine models exactly against one model by resampling."""
    models = inputs()
    exact = min(timed(lambda: [layton(*m) for m in models])[0] for _ in range(5))
    slow, (low, high) = timed(lambda: resampled(*models[0], 10_000))
    ours = layton(*models[0])
    print(f"layton, nine models, exact convolution        {1000 * exact:10.1f} ms")
    print(f"layton, ONE model, 10,000 resamples in numpy  {1000 * slow:10.1f} ms")
    print(f"  ratio a model: {slow / (exact / 9):,.0f}; limits {ours.low:.2f} to {ours.high:.2f} exact, ", end="")
    print(f"{100 * low:.2f} to {100 * high:.2f} resampled")


def bench_board(models: int = 1000, items: int = 500) -> None:
    """A whole large board: estimates, paired draws, differences and rank sets."""
    rng = np.random.default_rng(1)
    ability = rng.normal(0, 1.5, models)
    truth = rng.random((models, items)) < expit(ability[:, None] - rng.normal(0, 2.5, items))
    votes = (rng.random((*truth.shape, 3)) < np.where(truth, 0.92, 0.08)[..., None]).mean(-1)
    human = np.where(rng.random(truth.shape) < 60 / items, truth, np.nan)
    model, item = (x.ravel() for x in np.indices(truth.shape))
    rows = Rows(model, item, votes.ravel(), human.ravel())
    fitted, fit = timed(lambda: lsre(rows, rng=rng, draws=1000))
    paired, draws = timed(lambda: paired_draws(fit, rows, rng=rng))
    ranked, sets = timed(lambda: rank_sets(draws.these, items=items, rng=rng))
    proven, leads = timed(lambda: claims(draws.these, items=items))
    true = truth.mean(1)
    covered = np.mean([e.these.low <= t <= e.these.high for e, t in zip(estimands(fit), true, strict=True)])
    width = np.mean([worst - best + 1 for best, worst in sets])
    print(
        f"{models} models x {items} items, CPU seconds: fit {fitted:.1f} (R-hat {fit.rhat:.3f}), paired draws ", end=""
    )
    print(f"{paired:.1f}, rank sets {ranked:.1f}, pairwise claims {proven:.1f}")
    print(
        f"  these items covered {100 * covered:.1f} %, mean rank set {width:.0f} ranks, {int(leads.sum())} proven leads"
    )


def bench_ranks(boards: int = 200) -> None:
    """Simultaneous coverage in per cent and mean width of rank sets, by rule."""
    rng = np.random.default_rng(2)
    for models, spread in ((10, 1.5), (10, 0.1), (50, 1.5), (50, 0.2), (200, 1.5), (200, 0.3)):
        held: dict[str, list[bool]] = {}
        width: dict[str, list[float]] = {}
        for _ in range(max(20, boards * 10 // models)):
            ability = rng.normal(0, spread, models)
            scores = (rng.random((186, models)) < expit(ability - rng.normal(0, 2.5, (186, 1)))).astype(float)
            draws = rng.dirichlet(np.ones(186), 1000) @ scores
            true = (-ability).argsort().argsort() + 1
            low, high = np.quantile(draws, [0.025, 0.975], axis=0)
            error = np.maximum(np.round(100 * (scores.std(0) / np.sqrt(186)), 1), 0.1)
            for name, sets in {
                "rank_sets": rank_sets(draws, items=186, rng=rng),
                "max-t": max_t_ranks(draws, items=186),
                "overlap": overlap_rank_spread(low, high),
                "each (not simultaneous)": ranks_each(draws, items=186),
                "layton rule on +-1 se": layton_rank_spread(np.round(100 * scores.mean(0), 1), error),
            }.items():
                best, worst = np.array(sets).T
                held.setdefault(name, []).append(bool(((best <= true) & (true <= worst)).all()))
                width.setdefault(name, []).append(float((worst - best + 1).mean()))
        found = ", ".join(f"{n} {100 * np.mean(held[n]):.0f}/{np.mean(width[n]):.1f}" for n in held)
        print(f"ranks, {models} models, ability sd {spread}, {len(held['max-t'])} boards: {found}", flush=True)


def run() -> None:
    """Print the figures that do not take minutes."""
    bench_layton()
    bench_board()


if __name__ == "__main__":
    run()
    if "--ranks" in sys.argv:
        bench_ranks()
