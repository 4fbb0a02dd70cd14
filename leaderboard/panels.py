"""Which jury to seat: python -m leaderboard panels layton-llm [--price JUDGE=USD ...]

Every panel of one, two or three of the judges whose votes are stored: how far it agrees with people, whom it favours,
how wide the intervals would be, and what that costs: as the bundles say, or as --price does. A judge never counts on
its own maker's models.
"""

import argparse
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.agreement import effective_labels
from evaluators.bins import Floats, Ints
from evaluators.fit import ChoiceError
from evaluators.lsre import estimands, lsre
from evaluators.means import cluster_mean
from evaluators.ppi import Estimands, Interval, betabin
from evaluators.raters import cohen
from evaluators.ratings import ratings, verdict_costs
from evaluators.rows import Rows
from leaderboard.agree import Rated, majority, rated, row_mean
from leaderboard.diagnose import print_table
from leaderboard.labelled import add_places, evidence

LARGEST = 3
LEAST = 10  # labelled answers of a maker, below which its bias is not shown
HEADER = ("panel", "no vote", "exact %", "kappa", "bias", "worst maker", "± these", "± like", "USD", "labels/USD")


class PanelScore(NamedTuple):
    """What a panel is worth on the stored votes; shares in [0, 1]."""

    judges: tuple[str, ...]
    silent: int  # attempts on which none of them has a vote
    exact: float  # majority against people, ties left out
    kappa: float
    bias: Interval  # mean vote minus mean label, with the interval for items like these
    worst: tuple[str, float]  # maker of the answering model on which the bias is largest, and that bias
    these: float  # mean half-width over the models
    like: float
    saved: float  # labels drawn at random that the jury stands for, all models together
    usd: float | None  # of all votes; None: a price is unknown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `panels`."""
    add_places(parser)
    parser.add_argument("--method", choices=("lsre", "betabin"), default="lsre", help="estimator (default lsre)")
    parser.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="JUDGE=USD",
        help="what a verdict of a judge costs, if not as stored",
    )
    parser.add_argument("--draws", type=int, default=1000, help="draws of each fit with lsre (default 1000)")


def main(arguments: argparse.Namespace) -> int:
    """Print the panels of one split, narrowest first, and the bias of each judge by maker.

    Raises:
        ChoiceError: If the split has no votes or labels, several juries and none is named, or a price is no price.
    """
    prices = _prices(arguments.price)
    with evidence(arguments) as (store, split, version, jury):
        found = rated(ratings(store, split, version, jury))
        stored = verdict_costs(store, split, version, jury)
    if unknown := sorted(set(prices) - set(found.judges)):
        raise ChoiceError(f"--price names {unknown[0]!r}, who has no vote here; {', '.join(found.judges)} have")
    panels = score_panels(found, method=arguments.method, prices=stored | prices, draws=arguments.draws)
    print_table(f"Panels on {split}@{version}, {arguments.method}, points", HEADER, [panel_line(p) for p in panels])
    makers, lines = favours(found)
    print_table("Bias of each judge by maker of the answering model, points", ("", *makers), lines)
    print("± is the mean half-width over the models; a bias that all models share cancels in `± these`, others do not.")
    return 0


def score_panels(
    r: Rated, *, method: str = "lsre", prices: Mapping[str, float] | None = None, draws: int = 1000
) -> list[PanelScore]:
    """Score every panel of one, two or three judges, narrowest intervals for these items first.

    Raises:
        ChoiceError: If nothing is labelled.
    """
    if np.isnan(r.human).all():
        raise ChoiceError("nothing is labelled: a panel without labels has no honest interval")
    sizes = range(1, min(LARGEST, len(r.judges)) + 1)
    chosen = [panel for size in sizes for panel in combinations(range(len(r.judges)), size)]
    found = [_score(r, panel, method, prices or {}, draws) for panel in chosen]
    return sorted(found, key=lambda p: (p.these, p.judges))


def _score(r: Rated, panel: Sequence[int], method: str, prices: Mapping[str, float], draws: int) -> PanelScore:
    votes = r.votes[:, list(panel)]
    jury, human = row_mean(votes) / r.most, r.human / r.most
    both = ~np.isnan(jury) & ~np.isnan(human)
    if not both.any():
        raise ChoiceError(f"no label on an answer that {', '.join(r.judges[n] for n in panel)} marked")
    # Grades of a case agree where the nearest grades do; all else where both stand on one side of a half.
    sides, truth = (np.rint(x[both] * r.most) if r.most > 1 else majority(x[both]) for x in (jury, human))
    told = ~np.isnan(sides) & ~np.isnan(truth)
    names = tuple(r.judges[n] for n in panel)
    intervals = intervals_of(r, jury, method, draws)
    _, sizes = np.unique(r.submission, return_counts=True)
    _, place = np.unique(r.submission, return_inverse=True)
    labels = np.bincount(place[~np.isnan(human)], minlength=len(sizes))
    worth = [effective_labels(e.these, int(n)) for e, n in zip(intervals, sizes, strict=True)]
    cast = [int((~np.isnan(votes[:, n])).sum()) for n in range(len(panel))]
    known = all(name in prices for name in names)
    return PanelScore(
        names,
        int(np.isnan(jury).sum()),
        float((sides[told] == truth[told]).mean()),
        cohen(sides[told], truth[told]),
        _bias(jury[both] - human[both], r.cluster[both]),
        _worst(jury - human, r.provider),
        float(np.mean([(e.these.high - e.these.low) / 2 for e in intervals])),
        float(np.mean([(e.like.high - e.like.low) / 2 for e in intervals])),
        float(np.sum(np.maximum(np.array(worth) - labels, 0.0))),
        sum(prices[name] * count for name, count in zip(names, cast, strict=True)) if known else None,
    )


def intervals_of(r: Rated, jury: Floats, method: str, draws: int) -> list[Estimands]:
    """Intervals of every model under one jury score, models by name.

    Args:
        r: The attempts.
        jury: Jury score of each attempt as a share of the most, NaN where there is none.
        method: `lsre` or `betabin`; the second takes other makers' labels only.
        draws: Draws of `lsre`.
    """
    human = r.human / r.most
    names, model = np.unique(r.submission, return_inverse=True)
    if method == "lsre":
        items, item = np.unique(r.item, return_inverse=True)
        _, cluster = np.unique([r.cluster[item == n][0] for n in range(len(items))], return_inverse=True)
        alone = len(np.unique(cluster)) == len(items)
        rows = Rows(model, item, jury, human, None if alone else cluster.astype(np.int64))
        return list(estimands(lsre(rows, rng=np.random.default_rng(0), draws=draws)))
    found = []
    for n in range(len(names)):
        own = model == n
        pool = (r.provider != r.provider[own][0]) & ~np.isnan(human)
        found.append(betabin(jury[own], human[own], jury[pool], human[pool]))
    return found


def _bias(difference: Floats, clusters: Ints) -> Interval:
    # Differences lie in [-1, 1]; the clustered mean takes shares.
    found = cluster_mean((difference + 1) / 2, clusters)
    return Interval(*(2 * x - 1 for x in found))


def _worst(difference: Floats, provider: NDArray[np.str_]) -> tuple[str, float]:
    known = ~np.isnan(difference)
    found = [(str(p), float(difference[known & (provider == p)].mean())) for p in np.unique(provider[known])]
    return max(found, key=lambda entry: abs(entry[1]))


def favours(r: Rated) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Bias of each judge on the answers of each maker's models, against its bias on the others.

    A judge that prefers its own maker's answers would show it here, if it were let near them; a panel that excludes
    own makers has a dash there.

    Returns:
        The makers, and a line a judge: `bias [low, high]` in points.
    """
    makers = tuple(str(p) for p in np.unique(r.provider))
    lines = []
    for n, judge in enumerate(r.judges):
        difference = (r.votes[:, n] - r.human) / r.most
        cells = []
        for maker in makers:
            own = (r.provider == maker) & ~np.isnan(difference)
            if own.sum() < LEAST:
                cells.append("–")
                continue
            found = _bias(difference[own], r.cluster[own])
            cells.append(f"{100 * found.point:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]")
        lines.append((judge, *cells))
    return makers, lines


def panel_line(p: PanelScore) -> tuple[str, ...]:
    """One panel under `HEADER`, shares in points."""
    bias = f"{100 * p.bias.point:+.1f} [{100 * p.bias.low:+.1f}, {100 * p.bias.high:+.1f}]"
    votes = f"{p.usd:.2f}" if p.usd is not None else "–"
    worth = f"{p.saved / p.usd:.1f}" if p.usd else "–"
    figures = (f"{100 * p.exact:.1f}", f"{p.kappa:.3f}", bias, f"{p.worst[0]} {100 * p.worst[1]:+.1f}")
    return ("\n".join(p.judges), str(p.silent), *figures, f"{100 * p.these:.2f}", f"{100 * p.like:.2f}", votes, worth)


def _prices(said: Sequence[str]) -> dict[str, float]:
    found = {}
    for text in said:
        name, _, amount = text.rpartition("=")
        try:
            value = float(amount)
        except ValueError:
            value = float("nan")
        if not name or not 0 <= value < 1e6:
            raise ChoiceError(f"--price {text!r} is no price; write JUDGE=USD, for example gpt-5.1-2025-11-13=0.004")
        found[name] = value
    return found
