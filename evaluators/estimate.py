"""From stored attempts to published numbers: the estimates of every model on one split, and their ranks.

What each method does with an attempt that has no jury score:

- The model gave no answer: wrong by rule. It counts, and calibrates nobody's jury.
- The call failed, the verdicts cannot be read, or the attempt is missing: unknown. `betabin` lets it be right with
  the chance that all labels together suggest; `layton`, `ppi` and `wilson` speak for the judged attempts only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evaluators.ppi import (
    Estimands,
    Interval,
    betabin,
    layton,
    layton_rank_spread,
    overlap_rank_spread,
    ppi,
    wilson_fpc,
)
from evaluators.scores import HEADLINE
from evaluators.store import Store
from evaluators.stored import Attempts, Stored
from evaluators.values import Estimate, Submission, Tier

if TYPE_CHECKING:
    from evaluators.fit import Fits

Floats = NDArray[np.float64]
Labels = Literal["human", "author", "none"]
Method = Literal["layton", "ppi", "betabin", "lsre", "wilson"]
Estimand = Literal["these items", "items like these"]

RANKED: frozenset[Tier] = frozenset({"scored-here", "rejudged", "released"})
THESE: Estimand = "these items"
LIKE: Estimand = "items like these"
FULL_LABELS = 30
LEVEL = 0.95
_NONE = Attempts(np.empty(0, str), *[np.empty(0)] * 3, *[np.empty(0, dtype=bool)] * 2)  # type: ignore[arg-type]


class Rows(NamedTuple):
    """The attempts of one submission; arrays have shape (N,), N = items times epochs."""

    submission: Submission
    tier: Tier
    item: NDArray[np.str_]  # identifier of the item; empty for a missing attempt
    jury: Floats  # in [0, 1]; NaN where there is no jury score
    label: Floats  # in [0, 1], by the people `labels` names; NaN where there is none
    no_answer: NDArray[np.bool_]  # wrong by rule, without a jury score
    failed: int
    missing: int


class Split(NamedTuple):
    """All submissions to one split under one jury, with the kind of label that calibrates it."""

    rows: tuple[Rows, ...]
    labels: Labels
    items: int | None  # of the split; None where no manifest is stored
    clusters: Mapping[str, str]  # story, novel or case of each item; empty where the split was never stored


class _Figure(NamedTuple):
    estimand: Estimand
    method: Method
    interval: Interval
    n: int
    n_pool: int
    notes: tuple[str, ...] = ()


def about(submission: Submission, tier: Tier) -> dict[str, Any]:
    """What every number of a submission says of it: whose it is, and of which split, condition and jury."""
    names = ("benchmark", "split", "version", "condition", "submission_id", "jury")
    whose = {"model": submission.model.name, "provider": submission.model.provider, "tier": tier}
    return {name: getattr(submission, name) for name in names} | whose


def rows(store: Store, split: str, version: str, jury: str) -> Split:
    """Read the attempts at a split under one jury, of all conditions, as arrays.

    Labels are human ones. Only where the split has none under this jury, the labels of the items' authors serve.
    """
    attempts = store.attempts(split, version, jury)
    stored = [s for s in store.submissions(split, version) if s.submission.jury == jury]
    human = any(np.isfinite(a.human).any() for a in attempts.values())
    author = any(np.isfinite(a.author).any() for a in attempts.values())
    labels: Labels = "human" if human else "author" if author else "none"
    manifests = [m for m in store.splits() if (m.split, m.version) == (split, version)]
    found = (_to_rows(s, attempts.get(s.submission.submission_id, _NONE), labels) for s in stored)
    items = manifests[0].items if manifests else None
    return Split(tuple(r for r in found if len(r.jury)), labels, items, store.clusters(split, version))


def _to_rows(stored: Stored, attempts: Attempts, labels: Labels) -> Rows:
    submission, tier = stored
    missing = max(submission.counts.expected - len(attempts.jury), 0)
    missing += -(len(attempts.jury) + missing) % submission.epochs
    unknown = np.full(missing, np.nan)
    label = attempts.human if labels == "human" else attempts.author
    return Rows(
        submission,
        tier,
        np.concatenate([attempts.item, np.full(missing, "")]),
        np.concatenate([np.where(attempts.by_rule, np.nan, attempts.jury), unknown]),
        np.concatenate([np.where(attempts.by_rule, np.nan, label), unknown]),
        np.concatenate([attempts.by_rule, np.zeros(missing, dtype=bool)]),
        int(attempts.failed.sum()),
        missing,
    )


def pool_for(own: Rows, everyone: Iterable[Rows]) -> tuple[Floats, Floats]:
    """Jury scores and labels, both of shape (m,), of the labelled attempts of all other providers.

    What a submitter labelled and judged alone (tier `self-reported`) calibrates nobody.
    """
    others = [r for r in everyone if r.tier in RANKED and r.submission.model.provider != own.submission.model.provider]
    jury = np.concatenate([np.empty(0), *(r.jury for r in others)])
    label = np.concatenate([np.empty(0), *(r.label for r in others)])
    usable = np.isfinite(jury) & np.isfinite(label)
    return jury[usable], label[usable]


def estimate_split(
    store: Store, split: str, version: str, jury: str, condition: str, *, fits: "Fits | None" = None
) -> tuple[Estimate, ...]:
    """Estimate every model on one split under one jury and condition, best first (by `items like these`).

    Each submission gets `lsre` where it was fitted, and `betabin`, each for both estimands; `layton` where other
    providers' labels calibrate it; `ppi` and `wilson` where it has at least two human labels of its own. Ranks are
    among the tiers that are ranked: those of `headline` by overlap of the intervals for items like these, `layton`
    by the layton rule.

    Args:
        fits: From `evaluators.fit.fit_split` of the same split and jury.
    """
    data = rows(store, split, version, jury)
    chosen = [r for r in data.rows if r.submission.kind == "model" and r.submission.condition == condition]
    return tuple(e for group in _ranked([_estimates(r, data, fits) for r in chosen]) for e in group)


def headline(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """The estimates a board shows, in their order: `lsre`, or `betabin` where nothing could be fitted."""
    method = "lsre" if any(e.method == "lsre" for e in estimates) else "betabin"
    return tuple(e for e in estimates if e.method == method)


def estimate_layton(store: Store, split: str, version: str, jury: str, condition: str) -> tuple[Estimate, ...]:
    """The estimates by the layton definition alone, best first; a model that no label calibrates has none."""
    data = rows(store, split, version, jury)
    chosen = [r for r in data.rows if r.submission.kind == "model" and r.submission.condition == condition]
    found = [[_estimate(r, data, f)] for r in chosen for f in _by_layton_rule(r, *pool_for(r, data.rows))]
    return tuple(e for group in _ranked(found) for e in group)


def half_width(estimate: Estimate) -> float:
    """Half-width of a `layton` estimate in points, as the release prints it: always up to the next tenth."""
    rights = round((estimate.high - estimate.low) * estimate.n)
    return (1000 * rights // (2 * estimate.n) + 1) / 10


def _estimates(own: Rows, data: Split, fits: "Fits | None") -> list[Estimate]:
    pool_jury, pool_label = pool_for(own, data.rows)
    pooled = len(pool_label)
    known = np.where(own.no_answer, 0.0, own.label)
    both = betabin(own.jury, known, pool_jury, pool_label, repeats=own.submission.epochs, level=LEVEL)
    labelled = pooled or np.isfinite(own.label).any()
    empty = _empty_note(both.empty_bins) if labelled else ("no label calibrates this jury",)
    fitted = fits.intervals.get(own.submission.submission_id) if fits else None
    found = _both("lsre", fitted, own, pooled, _empty_note(fitted.empty_bins)) if fitted else []
    found += _both("betabin", both, own, pooled, empty)
    found += _by_layton_rule(own, pool_jury, pool_label)
    if data.labels == "human":
        found += _by_own_labels(own, len(as_judged(own)))
    return [_estimate(own, data, figure) for figure in found]


def _both(method: Method, both: Estimands, own: Rows, pooled: int, notes: tuple[str, ...]) -> list[_Figure]:
    pairs: list[tuple[Estimand, Interval]] = [(LIKE, both.like), (THESE, both.these)]
    return [_Figure(estimand, method, interval, len(own.jury), pooled, notes) for estimand, interval in pairs]


def _by_layton_rule(own: Rows, pool_jury: Floats, pool_label: Floats) -> list[_Figure]:
    judged = as_judged(own)
    if not len(judged) or not len(pool_label) or not np.isin(pool_label, (0.0, 1.0)).all():
        return []
    line = layton(judged, pool_jury, pool_label, level=LEVEL)
    interval = Interval(line.score / 100, line.low / 100, line.high / 100)
    return [_Figure(THESE, "layton", interval, len(judged), len(pool_label), _empty_note(line.empty_bins))]


def as_judged(own: Rows) -> Floats:
    """Jury scores of the attempts that have one, with 0 for attempts without an answer, as the release has them."""
    jury = np.where(own.no_answer, 0.0, own.jury)
    return jury[np.isfinite(jury)]


def _by_own_labels(own: Rows, n: int) -> list[_Figure]:
    """`ppi` and `wilson` on the answered attempts, scaled down by the share of the `n` that gave no answer."""
    labelled = np.isfinite(own.label) & np.isfinite(own.jury)
    alone = np.isfinite(own.jury) & ~labelled
    human, answered = own.label[labelled], int(np.isfinite(own.jury).sum())
    if len(human) < 2:
        return []
    share = answered / n
    line = wilson_fpc(human, answered, level=LEVEL)
    found = [_Figure(THESE, "wilson", Interval(*(share * x for x in line)), n, 0)]
    if alone.sum() >= 2:
        rest = ppi(human, own.jury[labelled], own.jury[alone], level=LEVEL)
        # Delta method: the share that answers is itself a sample of n attempts.
        se = np.sqrt((share * rest.se) ** 2 + rest.point**2 * share * (1 - share) / n)
        point, reach = share * rest.point, float(ndtri((1 + LEVEL) / 2)) * float(se)
        found.append(_Figure(LIKE, "ppi", Interval(point, point - reach, point + reach), n, 0))
    return found


def _estimate(own: Rows, data: Split, figure: _Figure) -> Estimate:
    interval = figure.interval
    n_human = int(np.isfinite(own.label).sum()) if data.labels == "human" else 0
    return Estimate(
        **about(own.submission, own.tier),
        metric=HEADLINE,
        estimand=figure.estimand,
        method=figure.method,
        value=float(interval.point),
        low=float(interval.low),
        high=float(interval.high),
        level=LEVEL,
        n=figure.n,
        n_human=n_human,
        n_pool=figure.n_pool,
        labels=data.labels if figure.n_pool or n_human else "none",
        provisional=n_human < FULL_LABELS,
        notes=_notes(own, data) + figure.notes,
    )


def _notes(own: Rows, data: Split) -> tuple[str, ...]:
    unjudged = int((np.isnan(own.jury) & ~own.no_answer).sum()) - own.failed - own.missing
    counts = {
        "without an answer, wrong by rule": int(own.no_answer.sum()),
        "failed in the call, unknown": own.failed,
        "missing, unknown": own.missing,
        "with an incomplete jury, unknown": unjudged,
    }
    notes = [f"{count} of {len(own.jury)} attempts {what}" for what, count in counts.items() if count]
    attempted = len(own.jury) // own.submission.epochs
    if data.items is not None and attempted < data.items:
        notes.append(f"run on {attempted} of the split's {data.items} items")
    return tuple(notes)


def _empty_note(empty_bins: Sequence[float]) -> tuple[str, ...]:
    if not empty_bins:
        return ()
    return (f"no label calibrates jury score {', '.join(f'{b:.2f}' for b in empty_bins)}: all labels together do",)


def _ranked(groups: list[list[Estimate]]) -> list[list[Estimate]]:
    """The estimates of each submission with their ranks, best first, ties by name."""
    everything = [e for group in groups for e in group if e.tier in RANKED]
    places: dict[tuple[str, str, str], tuple[int, int]] = {}
    for method in ("lsre", "betabin"):
        like = [e for e in everything if (e.method, e.estimand) == (method, LIKE)]
        overlap = overlap_rank_spread(np.array([e.low for e in like]), np.array([e.high for e in like]))
        places |= dict(zip(map(_key, like), overlap, strict=True))
    lines = [e for e in everything if e.method == "layton"]
    printed = layton_rank_spread(np.array([100 * e.value for e in lines]), np.array([half_width(e) for e in lines]))
    places |= dict(zip(map(_key, lines), printed, strict=True))
    ordered = sorted(groups, key=lambda g: (-g[0].value, g[0].model, g[0].submission_id))
    return [[_placed(e, places.get(_key(e))) for e in group] for group in ordered]


def _key(estimate: Estimate) -> tuple[str, str, str]:
    return estimate.submission_id, estimate.method, estimate.estimand


def _placed(estimate: Estimate, places: tuple[int, int] | None) -> Estimate:
    if places is None:
        return estimate
    return estimate.model_copy(update={"best_rank": places[0], "worst_rank": places[1]})
