"""How people and models go about cases: python -m leaderboard cases --split sample-case@1.0 BUNDLES...

Everything is worked out from bundles in memory, so that a sealed split (with its key in the environment) is read like a
public one; what is printed are numbers over all cases, and nothing by item of a sealed split.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from builders.splits import Split
from builders.values import Case
from evaluators.answers import CaseAnswer, CaseGame
from evaluators.bundle import Bundle, BundleError
from evaluators.estimate_cases import graded_alike
from evaluators.grades import grades, scores
from evaluators.scores import seats_of
from evaluators.units import place_of
from evaluators.values import Verdict
from leaderboard.case_analysis import (
    Agreement,
    Order,
    achievable,
    grade_agreement,
    order_agreement,
    outliers,
    regress,
)

Question = tuple[str, int]  # case, and place of the question in it, from 1
KINDS = ("induction", "deduction", "abduction")
SEED = 0


class Solver(NamedTuple):
    """What one player did: order of visits by case, one mapping a repeat, and scores by question."""

    name: str
    human: bool
    orders: tuple[Mapping[str, Order], ...]
    runs: tuple[Mapping[Question, float], ...]  # overall score, one mapping a repeat
    first: Mapping[Question, float]  # grade right after the introduction, mean over repeats

    @property
    def overall(self) -> dict[Question, float]:
        """Overall score of each question, mean over the repeats."""
        every = dict.fromkeys(q for run in self.runs for q in run)
        return {q: float(np.mean([run[q] for run in self.runs if q in run])) for q in every}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `cases`."""
    parser.add_argument("bundles", type=Path, nargs="+", metavar="BUNDLE", help="folders of bundles, or of runs")
    parser.add_argument("--split", required=True, help="for example sample-case@1.0")
    parser.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")


def main(arguments: argparse.Namespace) -> int:
    """Print the report.

    Raises:
        ValueError: If a bundle is refused, is of another split, or was graded otherwise than the others.
    """
    from builders.splits import load_split
    from evaluators.sealing import SealedRunError, discreet

    split = load_split(arguments.split, root=arguments.splits, sealed=True)
    try:
        with discreet(split.manifest):
            print(report(split, _read(arguments.bundles, split)))
    except SealedRunError as error:
        raise BundleError(str(error)) from None
    return 0


def bundles_of(roots: Sequence[Path], split: Split) -> list[Bundle]:
    """Read the bundles of models' and people's runs on a split below some folders; sealed ones with an identity.

    Raises:
        BundleError: If one is refused, a folder holds none, or none is of the split.
    """
    from evaluators.bundle import read_bundle, read_submission
    from evaluators.sealed_bundle import is_sealed, open_bundle

    found = []
    for root in roots:
        folders = sorted(path.parent for path in root.rglob("submission.yaml"))
        if not folders:
            raise BundleError(f"{root}: holds no bundle; name folders that python -m evaluators.submit wrote")
        for folder in folders:
            said = read_submission(folder)
            if said.ref == split.manifest.ref and said.kind == "model":
                found.append(open_bundle(folder) if is_sealed(said) else read_bundle(folder))
    if not found:
        raise BundleError(f"none of these bundles is of {split.manifest.ref}")
    return found


def _read(roots: Sequence[Path], split: Split) -> list[Bundle]:
    found = bundles_of(roots, split)
    ways = {(b.submission.jury, graded_alike(b.submission.condition)) for b in found}
    if len(ways) > 1:
        listed = "; ".join(f"{jury}, {grading}" for jury, grading in sorted(ways))
        raise BundleError(f"these bundles were graded in {len(ways)} ways ({listed}); name those of one")
    return found


def report(split: Split, bundles: Sequence[Bundle]) -> str:
    """Say how people and models of these bundles differ, in lines for a terminal."""
    solvers = [solver(bundle) for bundle in bundles]
    people, models = ([s for s in solvers if s.human is human] for human in (True, False))
    lines = [f"{split.manifest.ref}, bundles: {len(models)} of models, {len(people)} of people"]
    every = {q for s in solvers for q in s.overall}
    best = [{q: run.get(q, np.nan) for q in sorted(every)} for s in solvers for run in s.runs]
    if every:
        top = achievable(np.array([list(row.values()) for row in best]))
        lines.append(
            f"  highest achievable, at least   {top:.2f} of 3, the best that anyone reached, question by question"
        )
    lines += _orders(people, models)
    lines += _graders(bundles)
    for model in models if people else ():
        lines += _against_people(model, people, split)
    if not people:
        lines.append("  nobody has played these cases yet: --player human; models are not compared with people")
    return "\n".join(lines)


def solver(bundle: Bundle) -> Solver:
    """Read what one player did out of a bundle; a question whose grades are not all known has no score."""
    s = bundle.submission
    verdicts: dict[str, list[Verdict]] = {}
    for v in bundle.verdicts:
        verdicts.setdefault(v.transcript_id, []).append(v)
    orders: dict[int, dict[str, Order]] = {}
    runs: dict[int, dict[Question, float]] = {}
    first: dict[Question, list[float]] = {}
    for t in bundle.transcripts:
        if not isinstance(t.answer, CaseAnswer) or not isinstance(t.game, CaseGame):
            continue
        orders.setdefault(t.epoch, {})[t.item_id] = [v.location for v in t.game.visits]
        table = grades(t, verdicts.get(t.transcript_id, ()), seats=seats_of(s))
        for n, (value, start) in enumerate(zip(scores(table).overall, table[0], strict=True), start=1):
            if np.isfinite(value):
                runs.setdefault(t.epoch, {})[t.item_id, n] = float(value)
                first.setdefault((t.item_id, n), []).append(float(start))
    means = {q: float(np.mean(values)) for q, values in first.items()}
    by_epoch = tuple(tuple(found[epoch] for epoch in sorted(found)) for found in (orders, runs))
    return Solver(s.model.name, s.model.provider == "human", by_epoch[0], by_epoch[1], means)  # type: ignore[arg-type]


def _orders(people: Sequence[Solver], models: Sequence[Solver]) -> list[str]:
    humans = [order for s in people for order in s.orders]
    rows: list[tuple[str, Agreement | None]] = [("people among themselves", order_agreement(humans))]
    rows += [(f"{s.name} and people", order_agreement(s.orders, humans)) for s in models]
    return [
        f"  order of visits, {what:30.30} r = {found.mean:.2f} (sd {found.sd:.2f}, {found.pairs} pairs)"
        for what, found in rows
        if found is not None
    ]


def _graders(bundles: Sequence[Bundle]) -> list[str]:
    """How each judge agrees with people, answer by answer."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for bundle in bundles:
        given: dict[tuple[str, str], list[Verdict]] = {}
        for v in bundle.verdicts:
            if v.score is not None and place_of(v.unit):
                given.setdefault((v.transcript_id, v.unit), []).append(v)
        for said in given.values():
            humans = [v for v in said if v.kind == "human"]
            for v in said:
                others = [h for h in humans if h.judge != v.judge]
                who = "people among themselves" if v.kind == "human" else v.judge
                pairs.setdefault(who, []).extend((v.score or 0.0, h.score or 0.0) for h in others)
    lines = []
    for who, both in sorted(pairs.items()):
        if both:
            share, rms = grade_agreement(*np.array(both).T)
            lines.append(f"  grades, {who:38.38} {100 * share:.1f} % as people, RMS {rms:.2f} ({len(both)} pairs)")
    return lines


def _against_people(model: Solver, people: Sequence[Solver], split: Split) -> list[str]:
    questions = {
        (case.id, n): (case, q)
        for case in split.items
        if isinstance(case, Case)
        for n, q in enumerate(case.questions, start=1)
    }
    shared = [q for q in questions if q in model.overall and all(q in s.overall for s in people)]
    lines = [f"  {model.name} less the average person, {len(shared)} questions"]
    own = np.array([model.overall[q] for q in shared])
    theirs = np.array([[s.overall[q] for q in shared] for s in people]).reshape(len(people), -1).mean(axis=0)
    words = np.array([_words(questions[q][0]) / 1000 for q in shared])
    rated = [q for q in shared if questions[q][1].rating]
    if len(rated) == len(shared):
        features = {"thousand words": words} | _ratings([questions[q][1].rating for q in shared])
        lines += _regression("overall", own - theirs, features, level=0.95)
    start = np.array([model.first[q] - float(np.mean([s.first[q] for s in people])) for q in shared])
    intro = [questions[q][1].intro_rating for q in shared]
    if all(intro):
        lines += _regression("after the introduction", start, _ratings(intro), level=0.90)
    try:
        odd = outliers(theirs, own).found
    except ValueError:
        return [*lines, "    outliers: nothing to tell them by, people score alike or the questions are few"]
    # By item nothing is said of a sealed split.
    which = "" if split.manifest.sealed or not odd else ": " + ", ".join(f"{shared[n][0]} q{shared[n][1]}" for n in odd)
    return [*lines, f"    outliers among the questions: {len(odd)}{which}"]


def _regression(
    what: str, difference: NDArray[np.float64], features: Mapping[str, NDArray[np.float64]], *, level: float
) -> list[str]:
    try:
        found = regress(difference, features, rng=np.random.default_rng(SEED), level=level)
    except ValueError as error:
        return [f"    {what}: {error}"]
    return [
        f"    {what:24} {c.feature:16} {c.value:+.2f} [{c.low:+.2f}, {c.high:+.2f}] {100 * level:.0f} %" for c in found
    ]


def _ratings(found: Sequence[object]) -> dict[str, NDArray[np.float64]]:
    return {kind: np.array([float(getattr(rating, kind)) for rating in found]) for kind in KINDS}


def _words(case: Case) -> int:
    return sum(len(text.split()) for text in (case.introduction, *(place.text for place in case.locations)))
