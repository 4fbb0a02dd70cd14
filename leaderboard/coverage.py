"""How often do intervals hold what they promise? A simulation study: python -m leaderboard coverage [--fast].

Each cell of the study draws worlds in which the truth is known, hands the estimators what a board would see, and counts
how often their intervals cover. The same seed gives the same table whatever the number of processes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evaluators.bins import Floats
from evaluators.exchange import exchangeability
from evaluators.lsre import sample
from evaluators.ppi import betabin, layton, wilson_fpc
from evaluators.rows import Counts
from leaderboard.coverage_world import CONDITIONS, World, scenario, simulate

LEVEL = 0.95
_BATCH = 100  # replications fitted side by side; more only costs memory
TABLE = (
    *(("vlm", c) for c in ("EX", "LOW", "RE", "SHIFT", "FPR")),
    *(("weak", c) for c in ("EX", "LOW", "RE", "SHIFT")),
)
EVERY = tuple((regime, condition) for regime in ("llm", "vlm", "weak") for condition in CONDITIONS)
FAST = (("vlm", "EX"), ("vlm", "SHIFT"), ("weak", "LOW"))


class Task(NamedTuple):
    """One cell and how to run it."""

    regime: str
    condition: str
    replications: int
    own_labels: int
    sweeps: int
    seed: np.random.SeedSequence


class Cell(NamedTuple):
    """What one cell of the study found; shares and half-widths are fractions."""

    regime: str
    condition: str
    method: str
    estimand: str
    coverage: float
    half_width: float
    too_high: float  # share of replications whose interval lay wholly above the truth
    replications: int


def study(
    cells: Sequence[tuple[str, str]],
    *,
    replications: int,
    seed: int,
    own_labels: int = 60,
    sweeps: int = 4000,
    jobs: int = 1,
) -> dict[str, Any]:
    """Run cells and return the result file's content.

    Args:
        cells: (regime, condition) pairs of `coverage_world`.
        replications: Worlds a cell.
        seed: Seed of the whole study.
        own_labels: Human labels of the evaluated model; 0 for a provisional model.
        sweeps: Sweeps of each of the default estimator's chains.
        jobs: Processes.
    """
    from evaluators.submission import code_version

    seeds = np.random.SeedSequence(seed).spawn(len(cells))
    tasks = [Task(*cell, replications, own_labels, sweeps, s) for cell, s in zip(cells, seeds, strict=True)]
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(run_cell, tasks))
    else:
        found = [run_cell(task) for task in tasks]
    return {
        "seed": seed,
        "replications": replications,
        "own_labels": own_labels,
        "sweeps": sweeps,
        "level": LEVEL,
        "commit": code_version(),
        "cells": [cell._asdict() for cells_, _ in found for cell in cells_],
        "flagged": {f"{t.regime} {t.condition}": share for t, (_, share) in zip(tasks, found, strict=True)},
    }


def run_cell(task: Task) -> tuple[list[Cell], float | None]:
    """Run one cell: a row for each method and estimand, and how often the exchangeability test raised its flag."""
    rng = np.random.default_rng(task.seed)
    cell = scenario(task.regime, task.condition, own_labels=task.own_labels)
    limits: dict[tuple[str, str], list[Floats]] = {}
    truth: dict[str, list[Floats]] = {"these items": [], "items like these": []}
    flags: list[bool] = []
    for start in range(0, task.replications, _BATCH):
        world = simulate(cell, min(_BATCH, task.replications - start), rng)
        for key, found in _intervals(world, task.sweeps, rng).items():
            limits.setdefault(key, []).append(found)
        truth["these items"].append(world.these)
        truth["items like these"].append(np.full(len(world.these), world.like))
        if task.own_labels:
            flags += [_flag(world, r, rng) for r in range(len(world.these))]
    rows = []
    for (method, estimand), parts in limits.items():
        (low, high), true = np.concatenate(parts, axis=1), np.concatenate(truth[estimand])
        above, below = low > true + 1e-9, high < true - 1e-9
        rows.append(
            Cell(
                regime=task.regime,
                condition=task.condition,
                method=method,
                estimand=estimand,
                coverage=round(1 - float((above | below).mean()), 4),
                half_width=round(float((high - low).mean()) / 2, 5),
                too_high=round(float(above.mean()), 4),
                replications=len(true),
            )
        )
    return rows, round(float(np.mean(flags)), 4) if flags else None


def _intervals(world: World, sweeps: int, rng: np.random.Generator) -> dict[tuple[str, str], Floats]:
    """Limits of every method for the evaluated model, shape (2, R) each."""
    these, like = _lsre(world, sweeps, rng)
    found = {("lsre", "these items"): these, ("lsre", "items like these"): like}
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for r in range(len(world.these)):
        for key, pair in _one(world, r).items():
            rows.setdefault(key, []).append(pair)
    return found | {key: np.array(pairs).T for key, pairs in rows.items()}


def _lsre(world: World, sweeps: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    bins, open_row = world.bins, np.isnan(world.human)
    models = bins.shape[1]
    others = (bins.sum(1, keepdims=True) - bins) / (3 * (models - 1))
    level = (others > 1 / 3 - 1e-6).astype(np.int64) + (others > 2 / 3 + 1e-6)
    labels = np.zeros((2, 5, 3, models, len(world.these)))
    unlabelled = np.zeros(labels.shape[1:], dtype=np.int64)
    for b, s in product(range(4), range(3)):
        here = (bins == b) & (level == s)
        unlabelled[b, s] = (here & open_row).sum(-1).T
        for t in (0, 1):
            labels[t, b, s] = (here & (world.human == t)).sum(-1).T
    independent = np.ones(unlabelled.shape[2:])
    drawn = sample(Counts(labels, unlabelled), (0.0, 1.0), independent, rng=rng, draws=1000, max_sweeps=sweeps)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    these, like = (np.quantile(d[:, -1], tails, axis=0, method="inverted_cdf") for d in (drawn.these, drawn.like))
    return these, like


def _one(world: World, r: int) -> dict[tuple[str, str], tuple[float, float]]:
    jury, human = world.bins[r] / 3, world.human[r]
    known = ~np.isnan(human[:-1])
    pool_jury, pool_human = jury[:-1][known], human[:-1][known]
    old = layton(jury[-1], pool_jury, pool_human, level=LEVEL)
    flat = betabin(jury[-1], human[-1], pool_jury, pool_human, level=LEVEL)
    found = {
        ("betabin", "these items"): flat.these[1:],
        ("betabin", "items like these"): flat.like[1:],
    }
    # The definition names no estimand; it is held against both.
    for estimand in ("these items", "items like these"):
        found["layton", estimand] = ((old.score - old.half_width) / 100, (old.score + old.half_width) / 100)
    audit = world.audit[r][~np.isnan(world.audit[r])]
    if len(audit):
        found["wilson", "these items"] = wilson_fpc(audit, len(world.audit[r]), level=LEVEL)[1:]
    return found


def _flag(world: World, r: int, rng: np.random.Generator) -> bool:
    jury, human = world.bins[r] / 3, world.human[r]
    known = ~np.isnan(human[:-1])
    return exchangeability(jury[-1], human[-1], jury[:-1][known], human[:-1][known], rng=rng).flagged


def table(result: dict[str, Any]) -> str:
    """The study as a Markdown table: coverage in per cent and mean half-width in points, a row for each cell."""
    columns = list(dict.fromkeys((c["method"], c["estimand"]) for c in result["cells"]))
    short = {"these items": "these", "items like these": "like these"}
    lines = [
        "| cell | " + " | ".join(f"{m}, {short[e]}" for m, e in columns) + " | flagged |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for name, flagged in result["flagged"].items():
        found = {(c["method"], c["estimand"]): c for c in result["cells"] if f"{c['regime']} {c['condition']}" == name}
        shown = [f"{100 * found[k]['coverage']:.1f} / {100 * found[k]['half_width']:.1f}" for k in columns]
        lines.append(
            f"| {name} | " + " | ".join(shown) + f" | {'-' if flagged is None else f'{100 * flagged:.0f} %'} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study from the command line; returns the exit code."""
    p = argparse.ArgumentParser(prog="python -m leaderboard coverage", description=__doc__.splitlines()[0])
    p.add_argument("--fast", action="store_true", help="three cells of 40 replications, under a minute")
    p.add_argument("--all", action="store_true", help="every regime in every condition, not the published table's nine")
    p.add_argument("--seed", type=int, default=20261121)
    p.add_argument("--replications", type=int, metavar="N", help="worlds a cell (default 300; 40 with --fast)")
    p.add_argument("--own-labels", type=int, default=60, metavar="N", help="human labels of the evaluated model")
    p.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (the table does not depend on it)")
    p.add_argument("--out", type=Path, metavar="FILE", help="result file (JSON) to write")
    args = p.parse_args(argv)
    replications = args.replications or (40 if args.fast else 300)
    if replications < 1 or args.jobs < 1 or not 0 <= args.own_labels <= 186:
        p.error("--replications and --jobs are at least 1, --own-labels between 0 and the 186 items")
    cells = FAST if args.fast else EVERY if args.all else TABLE
    options = {"own_labels": args.own_labels, "sweeps": 1000 if args.fast else 4000, "jobs": args.jobs}
    result = study(cells, replications=replications, seed=args.seed, **options)
    print(table(result))
    if args.out:
        try:
            args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            print(f"error: cannot write {str(args.out)!r}: {error.strerror}; give --out another place", file=sys.stderr)
            return 1
    return 0
