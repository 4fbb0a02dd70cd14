"""What a maintainer reads before a board is published: python -m leaderboard diagnose layton-llm

Is each model one that the pool can calibrate, how many labels is each interval worth, how well do judges and people
agree, would the others' labels have foretold each provider's, and what would more labels buy.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np

from evaluators.agreement import Agreement, by_group, effective_labels, leave_one_provider_out
from evaluators.estimate import RANKED, Rows, Split, pool_for, rows
from evaluators.exchange import exchangeability
from evaluators.fit import Board, ChoiceError, Fits, choose_jury, fit_split
from evaluators.plan_labels import plan, widths
from evaluators.store import Store
from evaluators.stored import Votes

MORE_LABELS = 30  # a model, for the question what more would buy
Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `diagnose`."""
    parser.add_argument("split", help="for example layton-llm")
    parser.add_argument("--jury", help="needed where several juries judged the split")


def main(arguments: argparse.Namespace) -> int:
    """Print the diagnostics of one split.

    Raises:
        ChoiceError: If the split has no rows, no labels, or several juries and none is named.
    """
    from evaluators.store import open_store, store_path

    with open_store(store_path(), read_only=True) as store:
        version, jury = choose_jury(store, arguments.split, arguments.jury)
        tables = diagnose(store, arguments.split, version, jury)
    for title, header, lines in tables:
        print_table(title, header, lines)
    return 0


def diagnose(
    store: Store, split: str, version: str, jury: str, *, fit: Callable[[Split], Fits | None] = fit_split
) -> list[Table]:
    """Work out the tables of a split under one jury.

    Raises:
        ChoiceError: If nothing is labelled.
    """
    data = rows(store, split, version, jury)
    fits = fit(data)
    if fits is None:
        raise ChoiceError(f"nothing of {split}@{version} under jury {jury!r} is labelled: label some answers first")
    votes = store.votes(split, version, jury)
    ranked = [r for r in data.rows if r.tier in RANKED]
    return [
        ("Models", MODELS, _models(ranked, fits)),
        ("Judges against people", JUDGES, _agreement(votes, votes.judge)),
        ("Judges against people, by the answering model's provider", JUDGES, _agreement(votes, votes.provider)),
        ("Each provider as the others' labels foretell it", LEFT_OUT, _left_out(ranked, fits.ranked)),
    ]


MODELS = ("model", "labels", "exchangeable", "p", "worth", f"+- now, {MORE_LABELS} more")


def _models(ranked: Sequence[Rows], fits: Fits) -> list[tuple[str, ...]]:
    columns = fits.ranked.rows
    bought = widths(columns, plan(columns, MORE_LABELS * len(ranked), rng=np.random.default_rng(0)))
    lines: list[tuple[str, ...]] = []
    for own, width in zip(ranked, bought, strict=True):
        if own.submission.kind != "model":
            continue
        these = fits.intervals[own.submission.submission_id].these
        worth = f"{effective_labels(these, len(own.jury)):.0f} of {len(own.jury)}"
        change = f"{100 * width.now:.1f}, {100 * width.then:.1f}"
        said, p = _exchangeable(own, ranked)
        lines.append((own.submission.model.name, str(width.labels), said, p, worth, change))
    return lines


def _exchangeable(own: Rows, ranked: Sequence[Rows]) -> tuple[str, str]:
    pool_jury, pool_label = pool_for(own, ranked)
    try:
        test = exchangeability(own.jury, own.label, pool_jury, pool_label, rng=np.random.default_rng(0))
    except ValueError:
        return "unknown", ""
    return ("NO" if test.flagged else "yes"), f"{test.p_value:.3f}"


JUDGES = ("", "votes", "agree", "kappa", "both right", "lenient", "strict", "both wrong")


def _agreement(votes: Votes, group: np.ndarray[tuple[int], np.dtype[np.str_]]) -> list[tuple[str, ...]]:
    def line(name: str, a: Agreement) -> tuple[str, ...]:
        counts = (a.right_right, a.right_wrong, a.wrong_right, a.wrong_wrong)
        return (name, str(a.rows), f"{100 * a.exact:.1f} %", f"{a.kappa:.3f}", *map(str, counts))

    return [line(name, a) for name, a in by_group(votes.vote, votes.human, group).items()]


LEFT_OUT = ("provider", "labels", "right", "foretold", "95 %", "bias")


def _left_out(ranked: Sequence[Rows], board: Board) -> list[tuple[str, ...]]:
    makers = np.array([r.submission.model.provider for r in ranked])
    lines: list[tuple[str, ...]] = []
    for e in leave_one_provider_out(board.rows, makers):
        low, high = 100 * e.predicted.low, 100 * e.predicted.high
        missed = "" if low <= 100 * e.right <= high else " missed"
        share = f"{100 * e.right:.1f}", f"{100 * e.predicted.point:.1f}"
        lines.append((e.provider, str(e.labels), *share, f"{low:.1f} to {high:.1f}{missed}", f"{100 * e.bias:+.1f}"))
    return lines


def print_table(title: str, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print one table to the terminal; cells are text, never markup."""
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=Text(title), title_justify="left")
    for n, name in enumerate(header):
        drawn.add_column(name, overflow="fold", justify="left" if n == 0 else "right")
    for line in lines:
        drawn.add_row(*map(Text, line))
    Console(width=None if sys.stdout.isatty() else 120).print(drawn)
