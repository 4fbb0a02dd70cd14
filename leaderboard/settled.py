"""Ranks, tie groups and leads where the jury's scores are the scores: puzzles, novels and cases.

Rows that were scored on the same items are drawn together: a draw gives every story a random weight, the same for all
rows, so that what is easy or hard for everybody cancels between two of them. Of runs on sealed splits only intervals
are known; those are taken for independent, and no lead is given.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from scipy.special import ndtri

from evaluators.estimate import LEVEL, RANKED
from evaluators.kept import keep_figures
from evaluators.means import Bounded, Floats, paired_mean, reach
from evaluators.ppi import Interval
from evaluators.store import Store
from evaluators.stored import Stored
from evaluators.values import Estimate
from leaderboard.compare import tie_groups
from leaderboard.figures import CODE as EACH
from leaderboard.figures import Figures
from leaderboard.ranks import Leads, claims_of, sets_of
from leaderboard.unit_scores import unit_scores

DRAWS = 2000
# A change to any of these makes what is kept of rows side by side out of date.
CODE = (
    *EACH,
    Path(__file__),
    *(Path(__file__).with_name(f"{name}.py") for name in ("compare", "paired", "ranks", "unit_scores")),
)
_LEAST_SE = 1e-6  # intervals without width: a difference that can be seen is a difference


class Stand(NamedTuple):
    """Where a ranked row stands among those beside it; the first four as in `evaluators.kept.Place`."""

    group: int  # rows of one group cannot be told from its first
    lead: float | None  # score minus the first row's on the same items, as a share of full marks; None: not known
    low: float | None
    high: float | None
    rank: tuple[int, int]
    parts: dict[str, tuple[int, int]]  # ranks on items of one part, by metric, for example `overall/Mind_Game`


class Ranked(Protocol):
    """A row of a board, or one of its settings."""

    @property
    def like(self) -> Estimate:
        """Its headline."""

    @property
    def place(self) -> Stand | None:
        """Where it stands among those that were measured alike."""


class Placed(Protocol):
    """A section of a board."""

    @property
    def ranked(self) -> Sequence[Ranked]:
        """Rows with a rank, the best first."""


_STANDS = TypeAdapter(dict[str, Stand])


def stands(
    store: Store, key: tuple[str, str, str], protocol: str, groups: Mapping[str, Sequence[Sequence[Estimate]]]
) -> dict[str, Stand]:
    """Where every ranked row stands, by submission_id; groups that have not changed are taken from the store.

    Args:
        store: What to read, and where to keep them.
        key: Split, version and jury.
        protocol: Of the split.
        groups: Rows that are ranked together, by a name of their own: of each its estimates, the headline first.
    """
    ranked = {name: _best_first(group for group in rows if group[0].tier in RANKED) for name, rows in groups.items()}

    def make(names: Sequence[str]) -> dict[str, str]:
        found = {name: _stands(store, key, protocol, ranked[name]) for name in names}
        return {name: _STANDS.dump_json(own).decode() for name, own in found.items()}

    subjects = {name: [rows[0].submission_id for rows in own] for name, own in ranked.items() if own}
    kept = keep_figures(store, (*key, "stands"), subjects, make, code=CODE) if subjects else {}
    return {run: stand for text in kept.values() for run, stand in _STANDS.validate_json(text).items()}


def by_condition(runs: Sequence[Stored], known: Mapping[str, Figures]) -> dict[str, list[Sequence[Estimate]]]:
    """The figures of those runs of models of which some are known, by condition: such runs are ranked together."""
    found: dict[str, list[Sequence[Estimate]]] = {}
    for s in (stored.submission for stored in runs):
        if s.submission_id in known and known[s.submission_id].estimates:
            found.setdefault(s.condition, []).append(known[s.submission_id].estimates)
    return found


def stands_apart(groups: Iterable[Sequence[Estimate]]) -> dict[str, Stand]:
    """Where rows stand of which nothing but intervals is known, by submission_id; there are no leads."""
    rows = [group[0] for group in _best_first(group for group in groups if group[0].tier in RANKED)]
    if not rows:
        return {}
    found = _placed(rows, _apart(rows), least=float(ndtri((1 + LEVEL) / 2)))
    return {e.submission_id: Stand(group, None, None, None, rank, {}) for e, group, rank in found}


def in_order(groups: Iterable[Sequence[Estimate]], stands: Mapping[str, Stand]) -> list[tuple[Estimate, ...]]:
    """Estimates of submissions, best first by their headlines, with the ranks that are known of them.

    Args:
        groups: Estimates of one submission each, the headline first; those without any are left out.
        stands: Where the ranked ones stand, by submission_id.
    """
    return [tuple(_ranked(e, stands.get(e.submission_id), e is own[0]) for e in own) for own in _best_first(groups)]


def is_paired(section: Placed) -> bool:
    """Whether the differences between rows of a section are known, and not their intervals alone."""
    return any(line.place is not None and line.place.lead is not None for line in section.ranked)


def leads_over_first(scores: Sequence[Bounded], clusters: Sequence[str]) -> list[Interval | None]:
    """How far each row lies above the first one on the items of both, as shares; None where no item has both scores."""
    first = scores[0]
    found: list[Interval | None] = [Interval(0.0, 0.0, 0.0)]
    for own in scores[1:]:
        both = np.isfinite(own.point - first.point).any()
        found.append(paired_mean(own, first, clusters) if both else None)
    return found


def joint_leads(
    scores: Sequence[Bounded], clusters: Sequence[str], *, rng: np.random.Generator, draws: int = DRAWS
) -> Leads:
    """Leads of all pairs of M rows on the same items, and joint draws of their noise.

    A lead is what `paired_mean` makes of the pair: unknown scores at their worst for the row that leads, the variance
    that of sums over G stories, the standard error at least 1/G. A draw multiplies every story's sum by one random
    number for all rows and divides by one root of chi-square, so that the noise of each pair has Student's t with
    G - 1 degrees of freedom, as that function takes it.

    Args:
        scores: Of each row on the same items in the same order, each of shape (n,).
        clusters: Story of each item, length n; two stories or more.
        rng: Source of randomness.
        draws: How many; 200 or more.

    Source: Chernozhukov, Chetverikov & Kato 2013, "Gaussian approximations and multiplier bootstrap for maxima of
    sums of high-dimensional random vectors", over clusters.
    """
    low, high = np.array([own.low for own in scores]), np.array([own.high for own in scores])
    names, place = np.unique(np.array(clusters), return_inverse=True)
    count = len(names)
    inside = (place == np.arange(count)[:, None]).astype(np.float64)
    # Sums over stories, shape (G, M), scaled so that the sum of their squares is the variance of the mean.
    scale = np.sqrt(count / (count - 1)) / len(clusters)
    sums = {
        name: scale * inside @ (side - side.mean(1, keepdims=True)).T
        for name, side in (("low", low), ("high", high), ("middle", (low + high) / 2))
    }
    se = _standard_errors(sums["low"], sums["high"], least=1 / count)
    weights = rng.standard_normal((draws, count)) / np.sqrt(rng.chisquare(count - 1, (draws, 1)) / (count - 1))
    return Leads(
        (low.mean(1)[:, None] - high.mean(1)) / se,
        _standard_errors(sums["middle"], sums["middle"], least=1 / count).astype(np.float32),
        (weights @ sums["middle"]).astype(np.float32),
    )


def _stands(
    store: Store, key: tuple[str, str, str], protocol: str, rows: Sequence[Sequence[Estimate]]
) -> dict[str, Stand]:
    heads = [group[0] for group in rows]
    units, scores = unit_scores(store, *key[:2], protocol, [e.submission_id for e in heads])
    own, clusters = [scores[e.submission_id] for e in heads], [unit.cluster for unit in units]
    leads = leads_over_first(own, clusters)
    parts: dict[str, dict[str, tuple[int, int]]] = {e.submission_id: {} for e in heads}
    category = store.categories(*key[:2])
    of_unit = np.array([category.get(unit.item_id, "") for unit in units])
    for metric in sorted({e.metric for group in rows for e in group if e.metric.startswith(f"{heads[0].metric}/")}):
        with_part = [n for n, group in enumerate(rows) if any(e.metric == metric for e in group)]
        estimates = [next(e for e in rows[n] if e.metric == metric) for n in with_part]
        inside = np.flatnonzero(of_unit == metric.partition("/")[2])
        narrowed = [Bounded(*(side[inside] for side in own[n])) for n in with_part]
        for e, _, rank in _together(estimates, narrowed, [clusters[u] for u in inside]):
            parts[e.submission_id][metric] = rank
    found = _together(heads, own, clusters)
    stands = {}
    for (e, group, rank), lead in zip(found, leads, strict=True):
        point, low, high = lead or (None, None, None)
        stands[e.submission_id] = Stand(group, point, low, high, rank, parts[e.submission_id])
    return stands


def _together(
    rows: Sequence[Estimate], scores: Sequence[Bounded], clusters: Sequence[str]
) -> list[tuple[Estimate, int, tuple[int, int]]]:
    """Each row with its tie group and ranks; with one story nothing can be told."""
    least = reach(len(set(clusters)), level=LEVEL)
    if least is None:
        return [(e, 1, (1, len(rows))) for e in rows]
    return _placed(rows, joint_leads(scores, clusters, rng=np.random.default_rng(len(rows))), least=least)


def _placed(rows: Sequence[Estimate], leads: Leads, *, least: float) -> list[tuple[Estimate, int, tuple[int, int]]]:
    """Each row with its tie group and ranks, neither of which claims a lead whose own interval holds 0.

    Args:
        rows: Best first.
        leads: Of all pairs of them.
        least: Standard errors that the interval of one lead reaches out by.
    """
    sets = sets_of(leads, rng=np.random.default_rng(len(rows)), least=least, level=LEVEL)
    groups = tie_groups(np.array([e.value for e in rows]), claims_of(leads, least=least, level=LEVEL))
    return list(zip(rows, groups, sets, strict=True))


def _apart(rows: Sequence[Estimate]) -> Leads:
    """Leads of rows of which only intervals are known, as if they were independent.

    Squares of the distances from the one's value to its low end and from the other's to its high end add up. Rows
    that answered the same items rise and fall together, so that this is wider than it needs to be.

    Source: Zou & Donner 2008, "Construction of confidence limits about effect measures".
    """
    quantile = float(ndtri((1 + LEVEL) / 2))
    value, low, high = (np.array([getattr(e, name) for e in rows]) for name in ("value", "low", "high"))
    se = np.maximum(np.sqrt((value - low)[:, None] ** 2 + (high - value) ** 2) / quantile, _LEAST_SE)
    spread = (high - low) / 2 / quantile
    noise = np.random.default_rng(len(rows)).standard_normal((DRAWS, len(rows))) * spread
    of_noise = np.maximum(np.sqrt(spread[:, None] ** 2 + spread**2), _LEAST_SE)
    return Leads((value[:, None] - value) / se, of_noise.astype(np.float32), noise.astype(np.float32))


def _standard_errors(first: Floats, second: Floats, *, least: float) -> Floats:
    """Of the difference of every pair, shape (M, M), from sums over stories, each of shape (G, M)."""
    squares = (first**2).sum(0)[:, None] + (second**2).sum(0) - 2 * first.T @ second
    found: NDArray[np.float64] = np.sqrt(np.maximum(squares, least**2))
    return found


def _best_first(groups: Iterable[Sequence[Estimate]]) -> list[Sequence[Estimate]]:
    return sorted((g for g in groups if g), key=lambda g: (-g[0].value, g[0].model, g[0].submission_id))


def _ranked(estimate: Estimate, stand: Stand | None, first: bool) -> Estimate:
    known = None if stand is None else stand.rank if first else stand.parts.get(estimate.metric)
    best, worst = known or (None, None)
    return estimate.model_copy(update={"best_rank": best, "worst_rank": worst})
