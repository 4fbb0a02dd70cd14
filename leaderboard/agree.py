"""How far people, judges and the jury agree on a split: python -m leaderboard agreement layton-llm

People among themselves, the jury's majority and each judge with people, by maker of the answering model, category and
length of the answer; intervals for items like these. A sealed split is read from its bundles:
`python -m leaderboard agreement watson-holmes --bundles runs`.
"""

import argparse
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats
from evaluators.fit import ChoiceError
from evaluators.ppi import Interval
from evaluators.raters import Compared, Scale, bootstrap, compare, counted, fleiss, krippendorff_alpha
from evaluators.ratings import Ratings, numbered, ratings
from evaluators.store import Store
from leaderboard.diagnose import Table, print_table
from leaderboard.labelled import add_places, evidence
from leaderboard.published import PublishedAgreement, read_published_agreements

LEAST = 10  # labelled answers of a group, below which no line is shown
LENGTHS = ("shortest third", "middle third", "longest third")
HEADER = ("", "n", "items", "exact %", "kappa", "alpha", "RMS", "r", "lenient")


class Rated(NamedTuple):
    """The attempts of a split with the mean label of people, and every rater's grade; NaN where there is none."""

    submission: NDArray[np.str_]
    item: NDArray[np.str_]
    judges: tuple[str, ...]
    people: tuple[str, ...]
    votes: Floats  # (attempts, judges)
    labels: Floats  # (attempts, people)
    provider: NDArray[np.str_]
    cluster: NDArray[np.int64]  # story, novel, case or item, by number
    category: NDArray[np.str_]
    length: NDArray[np.str_]  # third of the labelled answers by characters
    most: float  # the highest grade there can be: 3 for answers of a case, else 1

    @property
    def human(self) -> Floats:
        """Mean label of each attempt, shape (attempts,)."""
        return row_mean(self.labels)

    @property
    def jury(self) -> Floats:
        """Mean vote of each attempt, shape (attempts,)."""
        return row_mean(self.votes)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `agreement`."""
    add_places(parser)
    parser.add_argument("--resamples", type=int, default=400, metavar="N", help="draws of each bootstrap (default 400)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same intervals")


def main(arguments: argparse.Namespace) -> int:
    """Print the agreement of one split.

    Raises:
        ChoiceError: If the split has no rows, no labels, or several juries and none is named.
    """
    with evidence(arguments) as (store, split, version, jury):
        tables = agreements(store, split, version, jury, seed=arguments.seed, resamples=max(arguments.resamples, 1))
    for title, header, lines in tables:
        print_table(title, header, lines)
    print("On labelled answers only: where labels went to split verdicts first, agreement on all answers is higher.")
    return 0


def rated(found: Ratings) -> Rated:
    """Arrange votes and labels by attempt."""
    attempts, attempt = numbered(found.transcript)
    keys = numbered(found.submission)[1] * len(attempts) + attempt
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)

    def table(kind: str) -> tuple[tuple[str, ...], Floats]:
        mine = found.kind == kind
        raters, column = numbered(found.judge[mine])
        grades = np.full((len(first), len(raters)), np.nan)
        grades[place[mine], column] = found.score[mine]
        return tuple(raters.tolist()), grades

    (judges, votes), (people, labels) = table("model"), table("human")
    characters = found.characters[first].astype(np.float64)
    known = ~np.isnan(labels).all(1) if labels.shape[1] else np.zeros(len(first), dtype=bool)
    cuts = np.quantile(characters[known], [1 / 3, 2 / 3]) if known.any() else np.zeros(2)
    length = np.array(LENGTHS)[np.searchsorted(cuts, characters)]
    about = (found.provider[first], numbered(found.cluster[first])[1], found.category[first])
    return Rated(found.submission[first], found.item[first], judges, people, votes, labels, *about, length, found.most)


def agreements(
    store: Store, split: str, version: str, jury: str, *, seed: int = 0, resamples: int = 400
) -> list[Table]:
    """Work out the tables of a split under one jury.

    Raises:
        ChoiceError: If no person labelled anything of it.
    """
    r = rated(ratings(store, split, version, jury, labelled=True))
    if np.isnan(r.human).all():
        raise ChoiceError(f"nothing of {split}@{version} under jury {jury!r} is labelled: label some answers first")
    rng = np.random.default_rng(seed)
    tables = _of(r, rng, resamples)
    marks = rated(ratings(store, split, version, jury, of="mark", labelled=True))
    if marks.people and marks.judges:
        whole = _held(marks, "majority", settled(marks.jury, marks), rng=rng, resamples=resamples)
        tables.append(("Single marks, with people", HEADER, [*_raters(marks, rng, resamples), *whole]))
    printed = [_printed(p) for p in published_for(store, split)]
    tables.append(("As the paper prints it, of its own answers", (*HEADER, "source"), printed))
    return [(title, header, lines) for title, header, lines in tables if lines]


def _of(r: Rated, rng: np.random.Generator, resamples: int) -> list[Table]:
    """Tables of one kind of rating: people, jury, judges, and the jury by group."""
    held = partial(_held, r, rng=rng, resamples=resamples)
    verdict = settled(r.jury, r)

    def groups(by: NDArray[np.str_]) -> list[tuple[str, ...]]:
        names = np.unique(by)
        found = [held(str(g), verdict, mine=by == g) for g in names] if len(names) > 1 else []
        return [line for lines in found for line in lines]

    return [
        *_people(r, rng, scale_of(r), resamples),
        ("The jury with people", HEADER, held(jury_name(r), verdict)),
        ("Each judge with people", HEADER, _raters(r, rng, resamples)),
        ("The jury with people, by maker of the answering model", HEADER, groups(r.provider)),
        ("The jury with people, by category", HEADER, groups(r.category)),
        ("The jury with people, by length of the answer", HEADER, groups(r.length)),
    ]


def _raters(r: Rated, rng: np.random.Generator, resamples: int) -> list[tuple[str, ...]]:
    """Every judge with people."""
    every = zip(r.judges, r.votes.T, strict=True)
    return [line for name, votes in every for line in _held(r, name, votes, rng=rng, resamples=resamples)]


def _held(
    r: Rated,
    name: str,
    votes: Floats,
    *,
    rng: np.random.Generator,
    resamples: int,
    mine: NDArray[np.bool_] | None = None,
) -> list[tuple[str, ...]]:
    human = settled(r.human, r)
    both = ~np.isnan(votes) & ~np.isnan(human)
    both = both if mine is None else both & mine
    if both.sum() < LEAST:
        return []
    clusters = r.cluster[both]
    found = compare(votes[both], human[both], clusters, rng=rng, scale=scale_of(r), resamples=resamples)
    return [_line(name, found)]


def settled(means: Floats, r: Rated) -> Floats:
    """What several raters said together: the majority of marks, the nearest grade of grades, else the mean itself."""
    if binary(r):
        return majority(means)
    return np.rint(means) if r.most > 1 else means


def jury_name(r: Rated) -> str:
    """How `settled` is called."""
    return "majority" if binary(r) else "nearest grade" if r.most > 1 else "mean"


def scale_of(r: Rated) -> Scale:
    """Scale of the ratings, for Krippendorff's alpha."""
    return "nominal" if binary(r) else "interval"


def published_for(store: Store, split: str) -> tuple[PublishedAgreement, ...]:
    """What the paper of a split's benchmark prints of agreement."""
    benchmarks = {s.submission.benchmark for s in store.submissions() if s.submission.split == split}
    return tuple(p for p in read_published_agreements() if p.benchmark in benchmarks)


def _printed(p: PublishedAgreement) -> tuple[str, ...]:
    exact = "–" if p.exact is None else f"{100 * p.exact:.1f}"
    figures = ("–" if x is None else f"{x:.2f}" for x in (p.kappa, None, p.rms, p.r, None))
    return (p.raters, "–" if p.answers is None else str(p.answers), "–", exact, *figures, p.table)


def _people(r: Rated, rng: np.random.Generator, scale: Scale, resamples: int) -> list[Table]:
    """People among themselves: every pair, and all at once."""
    if len(r.people) < 2:
        return []
    lines = []
    for a, b in combinations(range(len(r.people)), 2):
        both = ~np.isnan(r.labels[:, [a, b]]).any(1)
        if both.sum() < LEAST:
            continue
        found = compare(
            r.labels[both, a], r.labels[both, b], r.cluster[both], rng=rng, scale=scale, resamples=resamples
        )
        lines.append(_line(f"{r.people[a]} and {r.people[b]}", found))
    shared = (~np.isnan(r.labels)).sum(1) >= 2
    tables: list[Table] = [("People among themselves", HEADER, lines)]
    if shared.sum() >= LEAST:
        table, clusters = r.labels[shared], r.cluster[shared]
        alpha = bootstrap(
            lambda rows: krippendorff_alpha(table[rows], scale=scale), clusters, rng=rng, resamples=resamples
        )
        whole = ~np.isnan(table).any(1)
        kappa = fleiss(counted(table)) if whole.sum() >= LEAST else float("nan")
        shown = (f"{len(r.people)} people", str(int(shared.sum())), _interval(alpha, 3), _number(kappa, 3))
        tables.append(("All people at once", ("", "n", "Krippendorff's alpha", "Fleiss' kappa"), [shown]))
    return tables


def _line(name: str, c: Compared) -> tuple[str, ...]:
    exact = _interval(Interval(*(100 * x for x in c.exact)), 1)
    rest = (_interval(c.kappa, 3), _interval(c.alpha, 3), _interval(c.rms, 3), _number(c.correlation.point, 3))
    return (name, str(c.units), str(c.items), exact, *rest, f"{c.bias:+.3f}")


def _interval(found: Interval, digits: int) -> str:
    if np.isnan(found.low):
        return _number(found.point, digits)
    return f"{found.point:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _number(value: float, digits: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def binary(r: Rated) -> bool:
    """Whether every rating is yes or no."""
    grades = np.concatenate([r.votes.ravel(), r.labels.ravel()])
    return bool(np.isin(grades[~np.isnan(grades)], (0.0, 1.0)).all()) and r.most == 1


def majority(means: Floats) -> Floats:
    """1 above one half, 0 below; NaN for a tie, which is no majority."""
    sides = np.where(means > 0.5, 1.0, 0.0)
    return np.where(np.isnan(means) | (means == 0.5), np.nan, sides)


def row_mean(table: Floats) -> Floats:
    """Mean of the grades there are in each row of a table; NaN where there is none."""
    there = (~np.isnan(table)).sum(1)
    total = np.nansum(table, axis=1)
    return np.where(there > 0, total / np.maximum(there, 1), np.nan)
