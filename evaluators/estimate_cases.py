"""Published numbers of cases: mean grades over questions, 0 to 3, clustered by case, and percentiles of people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.estimate import FULL_LABELS, LEVEL, LIKE, RANKED, about
from evaluators.means import cluster_mean, cluster_ppi
from evaluators.people import percentile_interval
from evaluators.placed import placed
from evaluators.ppi import Interval
from evaluators.scores import FULL_MARKS, METRICS
from evaluators.store import Store
from evaluators.stored import Measured, Stored
from evaluators.values import Estimate

Floats = NDArray[np.float64]
Question = tuple[str, int]  # case, and place of the question in it, from 1
MOST = FULL_MARKS["case"]
LEAST_PEOPLE = 2
# Metrics of the grades along the way: `after 03`, after three locations; `left 03`, with three still unread.
ALONG = ("after ", "left ")


class Solved(NamedTuple):
    """What one player scored on each question, a row a repeat; grades, NaN where unknown."""

    stored: Stored
    questions: tuple[Question, ...]
    values: Mapping[str, Floats]  # by metric, shape (repeats, questions)
    stages: tuple[tuple[str, int, Floats], ...]  # an attempt: case, its questions, mean grade at each stage

    def scores(self, metric: str = "overall") -> dict[Question, Floats]:
        """Scores of each question over the repeats."""
        return {q: self.values[metric][:, n] for n, q in enumerate(self.questions)}


def solved(stored: Stored, own: Measured) -> Solved:
    """Lay out the stored scores of a submission by question. An attempt that failed has NaN on all its questions."""
    repeats: Counter[str] = Counter()
    rows: dict[Question, dict[int, int]] = {}
    count = own.values.get("game questions", np.zeros(len(own.clusters)))
    for attempt, case in enumerate(own.clusters):
        for n in range(1, int(np.nan_to_num(count[attempt])) + 1):
            rows.setdefault((case, n), {})[repeats[case]] = attempt
        repeats[case] += 1
    questions, epochs = tuple(rows), max(repeats.values(), default=0)
    found: dict[str, Floats] = {}
    for metric in (*METRICS["case"], *(f"human {m}" for m in METRICS["case"])):
        table = np.full((epochs, len(questions)), np.nan)
        for column, (question, places) in enumerate(rows.items()):
            known = own.values.get(f"{metric} q{question[1]}")
            if known is not None:
                table[list(places), column] = known[list(places.values())]
        found[metric] = table
    return Solved(stored, questions, found, _stages(own, count))


def _stages(own: Measured, questions: Floats) -> tuple[tuple[str, int, Floats], ...]:
    locations = own.values.get("game locations", np.zeros(len(own.clusters)))
    names = sorted(name for name in own.values if name.startswith("stage "))
    table = np.array([own.values[name] for name in names]).reshape(len(names), len(own.clusters))
    return tuple(
        (case, int(questions[n]), table[: int(locations[n]) + 1, n])
        for n, case in enumerate(own.clusters)
        if np.isfinite(questions[n]) and np.isfinite(locations[n])
    )


def solvers(
    store: Store, split: str, version: str, jury: str, *, only: Sequence[str] | None = None
) -> tuple[Solved, ...]:
    """Everyone (or `only` these submissions) whose answers to a split one jury graded, models and people, in order."""
    measured = store.measured(split, version, jury, only=only)
    stored = (s for s in store.submissions(split, version) if s.submission.jury == jury)
    return tuple(
        solved(s, measured[s.submission.submission_id]) for s in stored if s.submission.submission_id in measured
    )


def graded_alike(condition: str) -> str:
    """What of a condition decides how answers are graded: people and models are compared only where it is the same."""
    return ";".join(part for part in condition.split(";") if part.startswith(("grader=", "rubrics=")))


def people(everyone: Sequence[Solved], condition: str) -> tuple[Solved, ...]:
    """People whose answers were graded as those of a condition."""
    return tuple(
        one
        for one in everyone
        if one.stored.submission.model.provider == "human"
        and one.stored.tier in RANKED
        and graded_alike(one.stored.submission.condition) == graded_alike(condition)
    )


def estimate_cases(store: Store, split: str, version: str, jury: str, condition: str) -> tuple[Estimate, ...]:
    """Estimate every player on one split under one jury and condition, best first by `overall`.

    Each gets overall, progressive and final with intervals clustered by case, and its grades along the way; `ppi` for
    overall where people graded its answers in two cases or more; and its percentile, as a share, where two people or
    more played the same cases.
    The intervals of `overall` give the ranks. A submission of which no grade is known has no estimate.
    """
    everyone = solvers(store, split, version, jury)
    humans = people(everyone, condition)
    chosen = [s for s in everyone if (s.stored.submission.kind, s.stored.submission.condition) == ("model", condition)]
    return tuple(e for group in placed(estimate_player(one, humans) for one in chosen) for e in group)


def estimate_player(one: Solved, humans: Sequence[Solved]) -> tuple[Estimate, ...]:
    """Estimate one player by itself, without ranks, `overall` first; empty where no grade is known.

    Args:
        one: The player.
        humans: People whose answers were graded alike, for the percentile.
    """
    s = one.stored.submission
    attempts = s.counts.expected - s.counts.missing
    # A case that was never attempted is one of its own, with as many questions as the others have.
    each = max(1, round(one.values["overall"].size / max(attempts, 1)))
    clusters = tuple(case for case, _ in one.questions) * len(one.values["overall"])
    absent = tuple(f"missing {n // each}" for n in range(each * s.counts.missing))
    found = []
    for metric in METRICS["case"]:
        values = np.concatenate([one.values[metric].ravel(), np.full(len(absent), np.nan)])
        if np.isfinite(values).any():
            interval = _scaled(cluster_mean(values / MOST, (*clusters, *absent), level=LEVEL))
            found.append(_estimate(one, metric, interval, n=len(values), notes=_notes(one, values)))
    if not found:
        return ()
    human, jury = one.values["human overall"].ravel(), one.values["overall"].ravel()
    both = np.isfinite(human) & np.isfinite(jury)
    if len({case for case, take in zip(clusters, both, strict=True) if take}) > 1:
        interval = _scaled(cluster_ppi(human / MOST, jury / MOST, clusters, level=LEVEL))
        found.append(_estimate(one, "overall", interval, n=len(jury), method="ppi", n_human=int(both.sum())))
    return (*found, *_curves(one), *_percentile(one, humans))


def _curves(one: Solved) -> list[Estimate]:
    """Mean grade after n locations (`after 03`), and with n still unread (`left 03`), as questions go, by case.

    Cases differ in length, so that either end has more of them; an attempt's place n counts where it has one.
    """
    found = []
    longest = max((len(curve) for _, _, curve in one.stages), default=0)
    for name, step in (("after", 1), ("left", -1)):
        for n in range(longest):
            there = [(case, q, curve[::step][n]) for case, q, curve in one.stages if len(curve) > n]
            values = np.array([grade for _, q, grade in there for _ in range(q)])
            if np.isfinite(values).any():
                clusters = [case for case, q, _ in there for _ in range(q)]
                interval = _scaled(cluster_mean(values / MOST, clusters, level=LEVEL))
                found.append(_estimate(one, f"{name} {n:02}", interval, n=len(values)))
    return found


def _percentile(one: Solved, humans: Sequence[Solved]) -> list[Estimate]:
    """The percentile among people, on the questions that all of them have a score for."""
    s, others = one.stored.submission, [h for h in humans if h is not one]
    if len(others) < LEAST_PEOPLE or s.model.provider == "human":
        return []
    # On what is left after failures a player might stand too high: no percentile until everything is known.
    if s.counts.missing or not np.isfinite(one.values["overall"]).all():
        return []
    tables = [one.scores(), *(h.scores() for h in others)]
    shared = [q for q in one.questions if all(q in t and np.isfinite(t[q]).all() for t in tables)]
    if not shared:
        return []
    runs = np.column_stack([tables[0][q] for q in shared])
    rows = np.array([[t[q].mean() for q in shared] for t in tables[1:]])
    rng = np.random.default_rng(len(shared))  # the same store gives the same pages
    point, low, high = percentile_interval(runs, rows, rng=rng, level=LEVEL)
    notes = (f"among {len(others)} people, on {len(shared)} of {len(one.questions)} questions",)
    interval = Interval(point / 100, low / 100, high / 100)
    return [_estimate(one, "percentile", interval, n=runs.size, method="bootstrap", notes=notes)]


def _scaled(share: Interval) -> Interval:
    return Interval(*(MOST * x for x in share))


def _notes(one: Solved, values: Floats) -> tuple[str, ...]:
    s, unknown = one.stored.submission, int((~np.isfinite(values)).sum())
    counts = {
        f"of {s.counts.expected} cases without any answer, 0 by rule": s.counts.no_answer,
        f"of {len(values)} questions unknown (failed, ungraded, missing): not in the mean, at 0 in the low end and at "
        f"{MOST:g} in the high end": unknown,
    }
    return tuple(f"{count} {what}" for what, count in counts.items() if count)


def _estimate(one: Solved, metric: str, interval: Interval, *, n: int, **more: Any) -> Estimate:
    n_human = more.get("n_human", 0)
    made = {
        **about(one.stored.submission, one.stored.tier),
        "metric": metric,
        # The bootstrap of a percentile draws questions too.
        "estimand": LIKE,
        "method": "cluster-t",
        "value": interval.point,
        "low": interval.low,
        "high": interval.high,
        "level": LEVEL,
        "n": n,
        "n_human": 0,
        "n_pool": 0,
        "labels": "human" if n_human else "none",
        "provisional": n_human < FULL_LABELS,
    }
    return Estimate.model_validate({**made, **more})
