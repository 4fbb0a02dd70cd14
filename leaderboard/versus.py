"""Is one model better than another, on the items both answered: python -m leaderboard compare SPLIT FIRST SECOND"""

import argparse
from collections.abc import Callable

import numpy as np

from evaluators.estimate import RANKED, Split, rows
from evaluators.fit import ChoiceError, Fits, choose_jury, fit_split
from evaluators.store import Store
from leaderboard.compare import Comparison, Difference, compare


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `compare`."""
    parser.add_argument("split", help="for example layton-llm")
    parser.add_argument("first", help="name of a model, or a submission_id")
    parser.add_argument("second", help="the other one")
    parser.add_argument("--jury", help="needed where several juries judged the split")
    parser.add_argument("--condition", default="hints=0", help="default: hints=0")


def main(arguments: argparse.Namespace) -> int:
    """Print the comparison.

    Raises:
        ChoiceError: If a model is unknown, or nothing is labelled.
    """
    from evaluators.store import open_store, store_path

    with open_store(store_path(), read_only=True) as store:
        version, jury = choose_jury(store, arguments.split, arguments.jury)
        key = (arguments.split, version, jury)
        found = versus(store, key, arguments.condition, arguments.first, arguments.second)
    print(
        f"{arguments.first} minus {arguments.second}, {found.items} items of {arguments.split}@{version}, jury {jury}"
    )
    print(f"  {'items like these':20} {_said(found.like)}")
    print(f"  {'these items':20} {_said(found.these)}")
    print(f"  {'expected':20} {found.wins:.1f} won, {found.losses:.1f} lost, {found.ties:.1f} tied")
    return 0


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
    pair = [_find(name, known) for name in (first, second)]
    if pair[0] == pair[1]:
        raise ChoiceError(f"{first!r} and {second!r} are one submission; name two")
    fits = fit(data)
    if fits is None:
        raise ChoiceError(f"nothing of {key[0]}@{key[1]} under jury {key[2]!r} is labelled: label some answers first")
    board = fits.ranked
    numbers = [board.names.index(name) for name in pair]
    return compare(board.fit, board.rows, *numbers, rng=np.random.default_rng(0))


def _find(name: str, known: dict[str, str]) -> str:
    found = [key for key, model in known.items() if name in (key, model)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ChoiceError(f"{name!r} is the name of {len(found)} submissions; say which: {', '.join(found)}")
    raise ChoiceError(f"no ranked model {name!r} under this condition; known: {', '.join(sorted(known.values()))}")


def _said(d: Difference) -> str:
    low, point, high = (100 * x for x in (d.interval.low, d.interval.point, d.interval.high))
    verdict = "cannot be told apart" if d.undecided else "beyond doubt at 95 %"
    return f"{point:+5.1f}  [{low:+.1f}, {high:+.1f}]  p {d.p_value:.4f}  {verdict}"
