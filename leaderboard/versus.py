"""Is one model better than another, on the items both answered: python -m leaderboard compare SPLIT FIRST SECOND"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evaluators.estimate import RANKED, Split, rows
from evaluators.fit import ChoiceError, Fits, choose_jury, fit_split
from evaluators.means import paired_mean
from evaluators.ppi import Interval
from evaluators.scores import FULL_MARKS
from evaluators.store import Store
from leaderboard.compare import Comparison, Difference, compare
from leaderboard.unit_scores import unit_scores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `compare`."""
    parser.add_argument("split", help="for example layton-llm")
    parser.add_argument("first", help="name of a model, or a submission_id")
    parser.add_argument("second", help="the other one")
    parser.add_argument("--jury", help="needed where several juries judged the split")
    parser.add_argument("--condition", help="default: hints=0 for riddles; else needed where a name stands for several")


def main(arguments: argparse.Namespace) -> int:
    """Print the comparison.

    Raises:
        ChoiceError: If a model is unknown, or nothing is labelled.
    """
    from evaluators.store import open_store, store_path

    with open_store(store_path(), read_only=True) as store:
        version, jury = choose_jury(store, arguments.split, arguments.jury)
        key, names = (arguments.split, version, jury), (arguments.first, arguments.second)
        (protocol,) = {s.submission.protocol for s in store.submissions(arguments.split, version)}
        if protocol == "riddle":
            found: Comparison | Settled = versus(store, key, arguments.condition or "hints=0", *names)
        else:
            found = settled(store, key, protocol, arguments.condition, names)
    print(f"{names[0]} minus {names[1]}, {found.items} items of {arguments.split}@{version}, jury {jury}")
    print(f"  {'items like these':20} {_said(found.like)}")
    print(f"  {'these items':20} {_said(found.these)}")
    expected = "expected" if isinstance(found, Comparison) else "by the jury"
    form = ".1f" if isinstance(found, Comparison) else "d"
    print(f"  {expected:20} {found.wins:{form}} won, {found.losses:{form}} lost, {found.ties:{form}} tied")
    return 0


class Settled(NamedTuple):
    """A pair of models whose scores the jury settled; of a case each question is an item."""

    like: Interval  # in points of 100, of a case in grades
    these: Interval  # its ends differ where scores are unknown
    wins: int
    losses: int
    ties: int
    items: int


def settled(
    store: Store, key: tuple[str, str, str], protocol: str, condition: str | None, names: tuple[str, str]
) -> Settled:
    """Compare two players of puzzles, novels or cases by name or submission_id.

    Args:
        key: Split, version and jury.

    Raises:
        ChoiceError: If a model is unknown or named twice, or no item has a score of both.
    """
    known = {
        s.submission.submission_id: s.submission.model.name
        for s in store.submissions(*key[:2])
        if (s.submission.kind, s.submission.jury) == ("model", key[2])
        and s.tier in RANKED
        and condition in (None, s.submission.condition)
    }
    first, second = _pair(names, known)
    units, scores = unit_scores(store, *key[:2], protocol, [first, second])
    own, other = scores[first], scores[second]
    lead = own.point - other.point
    both = np.isfinite(lead)
    if not both.any():
        raise ChoiceError(f"no item of {key[0]}@{key[1]} has a score of both; name two that were scored on the same")
    scale = FULL_MARKS.get(protocol, 100.0)
    like = paired_mean(own, other, [unit.cluster for unit in units])
    ends = (float((own.low - other.high).mean()), float((own.high - other.low).mean()))
    won, lost = int((lead[both] > 0).sum()), int((lead[both] < 0).sum())
    these = Interval(like.point, *ends)
    return Settled(
        Interval(*(scale * x for x in like)),
        Interval(*(scale * x for x in these)),
        *(won, lost, int(both.sum()) - won - lost, int(both.sum())),
    )


def versus(
    store: Store,
    key: tuple[str, str, str],
    condition: str,
    first: str,
    second: str,
    *,
    fit: Callable[[Split], Fits | None] = fit_split,
) -> Comparison:
    """Compare two models of a board by name or submission_id.

    Args:
        key: Split, version and jury.

    Raises:
        ChoiceError: If a model is unknown or named twice, or nothing is labelled.
    """
    data = rows(store, *key)
    known = {
        s.submission_id: s.model.name
        for s in (r.submission for r in data.rows if r.tier in RANKED)
        if s.kind == "model" and s.condition == condition
    }
    pair = _pair((first, second), known)
    fits = fit(data)
    if fits is None:
        raise ChoiceError(f"nothing of {key[0]}@{key[1]} under jury {key[2]!r} is labelled: label some answers first")
    board = fits.ranked
    numbers = [board.names.index(name) for name in pair]
    return compare(board.fit, board.rows, *numbers, rng=np.random.default_rng(0))


def _pair(names: tuple[str, str], known: dict[str, str]) -> tuple[str, str]:
    first, second = (_find(name, known) for name in names)
    if first == second:
        raise ChoiceError(f"{names[0]!r} and {names[1]!r} are one submission; name two")
    return first, second


def _find(name: str, known: dict[str, str]) -> str:
    found = [key for key, model in known.items() if name in (key, model)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ChoiceError(f"{name!r} is the name of {len(found)} submissions; say which: {', '.join(found)}")
    raise ChoiceError(f"no ranked model {name!r} under this condition; known: {', '.join(sorted(known.values()))}")


def _said(d: Difference | Interval) -> str:
    if isinstance(d, Interval):
        verdict = "cannot be told apart" if d.low <= 0 <= d.high else "beyond doubt at 95 %"
        return f"{d.point:+6.2f}  [{d.low:+.2f}, {d.high:+.2f}]  {verdict}"
    low, point, high = (100 * x for x in (d.interval.low, d.interval.point, d.interval.high))
    verdict = "cannot be told apart" if d.undecided else "beyond doubt at 95 %"
    return f"{point:+5.1f}  [{low:+.1f}, {high:+.1f}]  p {d.p_value:.4f}  {verdict}"
