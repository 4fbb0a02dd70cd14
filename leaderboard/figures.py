"""What a board of puzzles, novels or cases says of one submission by itself, worked out once and kept in the store."""

from collections.abc import Sequence
from hashlib import sha256
from math import isfinite
from pathlib import Path

import numpy as np
from pydantic import Field

from builders.values import Value
from evaluators.estimate_cases import estimate_player, people, solvers
from evaluators.estimate_means import estimate_run
from evaluators.kept import Standing, keep_figures, keep_standings
from evaluators.store import Store
from evaluators.stored import Measured, Stored
from evaluators.values import Estimate
from leaderboard.standings import FITTED

_ROOT = Path(__file__).resolve().parent.parent
_MEANS = ("estimate_cases", "estimate_means", "means", "people", "placed")
# A change to any of these makes kept figures out of date.
CODE = tuple(
    _ROOT / name
    for name in (
        *(f"evaluators/{n}.py" for n in (*FITTED, *_MEANS)),
        "leaderboard/figures.py",
    )
)
COURSE = ("game turns", "game clues_per_turn", "game unknown", "game repeated")


class Figures(Value):
    """Figures of one submission."""

    estimates: tuple[Estimate, ...] = Field(description="The headline first, without ranks; empty: nothing is known.")
    course: tuple[float | None, ...] = Field((), description="Means of what `COURSE` names, of a game of puzzles.")
    labelled: int = Field(0, ge=0, description="Attempts that people labelled too.")


def figures(store: Store, split: str, version: str, jury: str, runs: Sequence[Stored]) -> dict[str, Figures]:
    """Figures of every submission to a split under one jury.

    Only those of new or changed submissions are worked out; a case's percentiles also where the people beside it have
    changed.

    Args:
        store: What to read, and where to keep them.
        split: Split.
        version: Its version.
        jury: Name of the panel.
        runs: All submissions of models to it.
    """
    mine = {s.submission.submission_id: s for s in runs if (s.submission.version, s.submission.jury) == (version, jury)}
    if not mine:
        return {}
    cases = next(iter(mine.values())).submission.protocol == "case"
    humans = sorted(name for name, s in mine.items() if cases and s.submission.model.provider == "human")

    def make(names: Sequence[str]) -> dict[str, str]:
        found = _cases(store, (split, version, jury), names, humans) if cases else {}
        if not cases:
            measured = store.measured(split, version, jury, only=names)
            attempts = store.labelled(names)
            found = {n: _figures(mine[n], measured.get(n), attempts.get(n, 0)) for n in names}
        return {name: one.model_dump_json() for name, one in found.items()}

    subjects = {name: (name, *humans) for name in sorted(mine)}
    kept = keep_figures(store, (split, version, jury, "estimates"), subjects, make, code=CODE)
    return {name: Figures.model_validate_json(text) for name, text in kept.items()}


def _figures(stored: Stored, own: Measured | None, labelled: int) -> Figures:
    if own is None:
        return Figures(estimates=())
    return Figures(estimates=estimate_run(stored, own), course=_course(own), labelled=labelled)


def _cases(store: Store, key: tuple[str, str, str], names: Sequence[str], humans: Sequence[str]) -> dict[str, Figures]:
    everyone = solvers(store, *key, only=sorted({*names, *humans}))
    known = {one.stored.submission.submission_id: one for one in everyone}
    found = dict.fromkeys(names, Figures(estimates=()))
    for name in names:
        if name in known:
            one = known[name]
            beside = people(everyone, one.stored.submission.condition)
            found[name] = Figures(estimates=estimate_player(one, beside))
    return found


def _course(own: Measured) -> tuple[float | None, ...]:
    if "game turns" not in own.values:
        return ()
    columns = ([float(x) for x in own.values.get(metric, ()) if isfinite(x)] for metric in COURSE)
    return tuple(float(np.mean(known)) if known else None for known in columns)


def keep_estimates(store: Store, estimates: Sequence[Estimate]) -> None:
    """Put a board's estimates where those of riddles are kept, for everybody who reads the store."""
    by_key: dict[tuple[str, str, str], list[Estimate]] = {}
    for e in estimates:
        by_key.setdefault((e.split, e.version, e.jury), []).append(e)
    for key, own in by_key.items():
        digest = sha256("\n".join(e.model_dump_json() for e in own).encode()).hexdigest()
        held = store.query("SELECT digest FROM standings WHERE split = ? AND version = ? AND jury = ?", key).fetchall()
        if held != [(digest,)] and not store.read_only:
            by_condition: dict[str, list[Estimate]] = {}
            for e in own:
                by_condition.setdefault(e.condition, []).append(e)
            standing = {condition: Standing(tuple(rows), {}) for condition, rows in by_condition.items()}
            keep_standings(store, *key, digest=digest, found=standing)
