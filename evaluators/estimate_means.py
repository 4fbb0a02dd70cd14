"""Published numbers of protocols with scores in [0, 1]: means with intervals clustered by story, and ranks."""

import numpy as np
from numpy.typing import NDArray

from evaluators.estimate import LEVEL, LIKE, about
from evaluators.means import cluster_geometric_mean, cluster_mean
from evaluators.placed import placed
from evaluators.scores import COMPOSITES, METRICS
from evaluators.store import Store
from evaluators.stored import Measured, Stored
from evaluators.values import Estimate


def estimate_means(store: Store, split: str, version: str, jury: str, condition: str) -> tuple[Estimate, ...]:
    """Estimate every model on one split under one jury and condition: each metric, and the headline by category.

    A category's figure has the metric `<headline>/<category>`. Best first by the headline, whose intervals give the
    ranks. A submission of which no score is known has no estimate.
    """
    measured = store.measured(split, version, jury)
    stored = [s for s in store.submissions(split, version) if s.submission.jury == jury]
    chosen = [s for s in stored if (s.submission.kind, s.submission.condition) == ("model", condition)]
    known = [(s, measured[s.submission.submission_id]) for s in chosen if s.submission.submission_id in measured]
    return tuple(e for group in placed(estimate_run(s, own) for s, own in known) for e in group)


def estimate_run(stored: Stored, own: Measured) -> tuple[Estimate, ...]:
    """Estimate one submission by itself, without ranks: each metric, the headline first, and the headline by category.

    Args:
        stored: The submission.
        own: Its scores, from `Store.measured`.
    """
    metrics = METRICS[stored.submission.protocol]
    missing = max(stored.submission.counts.expected - len(own.clusters), 0)
    found = [_estimate(stored, own, metric, missing, own.values[metric]) for metric in metrics if metric in own.values]
    if stored.submission.protocol in COMPOSITES:
        composite, parts = COMPOSITES[stored.submission.protocol]
        if set(parts) <= own.values.keys():
            found.append(_estimate(stored, own, composite, missing, *(own.values[part] for part in parts)))
    headline = metrics[0]
    if headline in own.values:
        for category in sorted(set(own.categories) - {""}):
            inside = np.array([c == category for c in own.categories])
            inner = Measured(
                tuple(c for c, take in zip(own.clusters, inside, strict=True) if take),
                (category,) * int(inside.sum()),
                {},
            )
            found.append(_estimate(stored, inner, f"{headline}/{category}", 0, own.values[headline][inside]))
    return tuple(e for e in found if e is not None)


def _estimate(stored: Stored, own: Measured, metric: str, missing: int, *parts: NDArray[np.float64]) -> Estimate | None:
    if not all(np.isfinite(values).any() for values in parts):
        return None
    s = stored.submission
    # What was never attempted is about some story of its own.
    clusters = (*own.clusters, *(f"missing {n}" for n in range(missing)))
    padded = [np.concatenate([values, np.full(missing, np.nan)]) for values in parts]
    if len(padded) == 1:
        interval = cluster_mean(padded[0], clusters, level=LEVEL)
    else:
        interval = cluster_geometric_mean(padded[0], padded[1], clusters, level=LEVEL)
    unknown = int((~np.isfinite(np.array(padded)).all(axis=0)).sum())
    attempts, nothing = ("games", "a reconstruction") if s.protocol == "soup" else ("answers", "a letter")
    counts = {
        f"without {nothing}, 0 by rule": s.counts.no_answer if metric == METRICS[s.protocol][0] else 0,
        "unknown (failed, unjudged or missing): not in the mean, at 0 in the low end and at 1 in the high end": unknown,
    }
    return Estimate(
        **about(s, stored.tier),
        metric=metric,
        estimand=LIKE,
        method="cluster-t",
        value=interval.point,
        low=interval.low,
        high=interval.high,
        level=LEVEL,
        n=len(clusters),
        n_human=0,
        n_pool=0,
        labels="none",
        provisional=True,
        notes=tuple(f"{count} of {len(clusters)} {attempts} {what}" for what, count in counts.items() if count),
    )
