"""Where every row of a split stands: estimates, ranks, ties and leads, worked out once and kept in the store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from evaluators.bins import Floats, Ints
from evaluators.estimate import LIKE, RANKED, Split, estimate_split, rows
from evaluators.fit import Board, Fits, fit_split
from evaluators.kept import FULL, Place, Standing, evidence_digest, keep_standings, read_standings
from evaluators.scores import HEADLINE
from evaluators.store import Store
from evaluators.values import Estimate
from leaderboard.compare import tie_groups
from leaderboard.paired import Paired, paired_draws
from leaderboard.ranks import claims, rank_sets

KEPT_DRAWS = 1000
_ROOT = Path(__file__).resolve().parent.parent
_READ = ("answers", "kept", "scores", "store", "stored", "values")  # what comes out of the store, and what it means
FITTED = ("bins", "estimate", "fit", "lsre", "lsre_chain", "ppi", "rows", *_READ)
# A change to any of these makes kept estimates out of date.
CODE = tuple(
    _ROOT / name
    for name in (
        *(f"evaluators/{n}.py" for n in FITTED),
        *(f"leaderboard/{n}.py" for n in ("compare", "paired", "ranks", "standings")),
    )
)


def standings(
    store: Store,
    split: str,
    version: str,
    jury: str,
    conditions: Iterable[str],
    *,
    fit: Callable[[Split], Fits | None] = fit_split,
) -> Mapping[str, Standing]:
    """Where the rows of a split under one jury stand, by condition.

    What the store keeps is taken where it was made from these very rows by this very code; else it is worked out, and
    kept unless the store is open for reading only. All rows are fitted together, so one new row lets this split and
    jury be estimated again, and no other.

    Args:
        store: What to read, and where to keep it.
        split: Split.
        version: Its version.
        jury: Name of the panel.
        conditions: The conditions to work out.
        fit: Fits all models; anything but its default is neither kept nor taken from what is kept.
    """
    ours = fit is fit_split
    digest = evidence_digest(store, split, version, jury, code=CODE)
    if ours and (kept := read_standings(store, split, version, jury, digest)) is not None:
        return kept
    data = rows(store, split, version, jury)
    fits = fit(data)
    found = {c: _standing(store, (split, version, jury), c, data, fits) for c in sorted(set(conditions))}
    if ours and not store.read_only:
        keep_standings(store, split, version, jury, digest=digest, found=found)
    return found


def _standing(store: Store, key: tuple[str, str, str], condition: str, data: Split, fits: Fits | None) -> Standing:
    estimates = estimate_split(store, *key, condition, fits=fits)
    ranked = [e for e in estimates if (e.method, e.estimand) == ("lsre", LIKE) and e.tier in RANKED]
    if fits is None or not ranked:
        return Standing(tuple(estimates), {})
    items = int(fits.ranked.rows.item.max()) + 1
    names, part = _categories(store.categories(*key[:2]), data, items=items)
    rng = np.random.default_rng(len(ranked))  # the same store gives the same pages
    column = [fits.ranked.names.index(e.submission_id) for e in ranked]
    draws = paired_draws(fits.ranked.fit, fits.ranked.rows, rng=rng, part=part)
    like = draws.like[:, column]
    sets = dict(zip((e.submission_id for e in ranked), rank_sets(like, items=draws.items, rng=rng), strict=True))
    groups = tie_groups(np.array([e.value for e in ranked]), claims(like, items=draws.items))
    return Standing(
        (*(_placed(e, sets) for e in estimates), *_by_category(ranked, fits.ranked, draws, names, part)),
        dict(zip((e.submission_id for e in ranked), _places(like, draws.these[:, column], groups), strict=True)),
    )


def _placed(estimate: Estimate, sets: Mapping[str, tuple[int, int]]) -> Estimate:
    """Ranks of paired draws in place of those of overlapping intervals: they hold for a whole board at once."""
    if (estimate.method, estimate.estimand) != ("lsre", LIKE) or estimate.submission_id not in sets:
        return estimate
    best, worst = sets[estimate.submission_id]
    return estimate.model_copy(update={"best_rank": best, "worst_rank": worst})


def _places(like: Floats, these: Floats, groups: Sequence[int]) -> list[Place]:
    """Leads over the first model, and the draws that pages compare any two models by."""
    lead = like - like[:, :1]
    low, high = np.quantile(lead, [0.025, 0.975], axis=0, method="inverted_cdf")
    step = max(1, len(like) // KEPT_DRAWS)
    short = [np.round(np.clip(x[::step].T, 0, 1) * FULL).astype("<u2") for x in (like, these)]
    numbers = zip(groups, lead.mean(0).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Place(*n, short[0][m].tobytes(), short[1][m].tobytes()) for m, n in enumerate(numbers)]


def _categories(of_item: Mapping[str, str], data: Split, *, items: int) -> tuple[list[str], Ints | None]:
    """Names of the categories, and that of each item in the order of `evaluators.fit.columns_of`.

    Args:
        of_item: Category of each item of the split.
        data: All rows.
        items: How many items the fit knows: those at the end of the order may have been attempted by nobody.
    """
    ids = sorted({str(i) for r in data.rows for i in r.item if i} | set(data.clusters))[:items]
    own = [of_item.get(i, "") for i in ids] + [""] * (items - len(ids))
    names = sorted(set(own) - {""})
    if len(names) < 2:
        return [], None
    return names, np.array([names.index(name) if name else -1 for name in own])


def _by_category(
    ranked: Sequence[Estimate], board: Board, draws: Paired, names: Sequence[str], part: Ints | None
) -> list[Estimate]:
    """Estimates for items like those of each category, with ranks; the metric is `<headline>/<category>`."""
    if part is None:
        return []
    low, high = np.quantile(draws.parts, [0.025, 0.975], axis=0, method="inverted_cdf")
    mean, model = draws.parts.mean(0), board.rows.model
    column = [board.names.index(e.submission_id) for e in ranked]
    rng = np.random.default_rng(len(ranked))
    sets = [
        rank_sets(draws.parts[:, c, column].astype(np.float64), items=max(1, int((part == c).sum())), rng=rng)
        for c in range(len(names))
    ]
    cells = np.zeros((len(names), len(board.names)), dtype=np.int64)
    inside = part[board.rows.item]
    np.add.at(cells, (inside[inside >= 0], model[inside >= 0]), 1)
    found = []
    for row, (e, m) in enumerate(zip(ranked, column, strict=True)):
        for c, name in enumerate(names):
            best, worst = sets[c][row]
            numbers = {"value": float(mean[c, m]), "low": float(low[c, m]), "high": float(high[c, m])}
            about = {"metric": f"{HEADLINE}/{name}", "n": int(cells[c, m]), "best_rank": best, "worst_rank": worst}
            found.append(e.model_copy(update={**numbers, **about, "notes": ()}))
    return found
