"""The page that says how far each jury may be trusted, and which other panel its stored votes could have made."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evaluators.fit import ChoiceError
from evaluators.ratings import ratings, verdict_costs
from evaluators.store import Store
from leaderboard.agree import agreements, published_for, rated
from leaderboard.diagnose import Table
from leaderboard.panels import HEADER, favours, panel_line, score_panels

# The board's own estimator would take minutes a panel board; this one tells panels apart and takes none.
METHOD = "betabin"
RESAMPLES = 200
MOST_PANELS = 30
MOST_MODELS = 25  # whose intervals are averaged: those with most labels; a thousand would take minutes
MOST_LABELS = 3_000  # beyond, a bootstrap would take most of a build: only shares that agree have intervals
MEANING = {
    "n": "ratings that both made",
    "exact %": "share on which both say the same",
    "kappa": "Cohen's kappa: 1 perfect, 0 as by chance",
    "alpha": "Krippendorff's alpha",
    "RMS": "root mean square of the difference, in the unit of the grade",
    "r": "Pearson's correlation",
    "lenient": "mean of rater minus person: above 0 the rater is more lenient",
    "no vote": "answers on which no judge of the panel may vote or could be read",
    "bias": "mean vote minus mean label",
    "worst maker": "maker of the answering model on which the bias is largest",
    "± these": "mean half-width for these items",
    "± like": "mean half-width for items like these",
    "labels/USD": "labels of people that a dollar of votes replaces",
}

_LABELS = """SELECT s.submission_id, count(*) FROM submissions s JOIN verdicts v USING (submission_id)
WHERE s.split = ? AND s.version = ? AND s.jury = ? AND s.kind = 'model' AND v.kind = 'human' AND v.score IS NOT NULL
GROUP BY s.submission_id ORDER BY count(*) DESC, s.submission_id"""


class JuryView(NamedTuple):
    """What is known of one jury on one split; `tables` is empty where no person labelled anything."""

    split: str
    version: str
    jury: str
    tables: tuple[Table, ...]
    without: str = ""  # why there are no panels, where there are none
    citations: tuple[str, ...] = ()  # of the papers whose figures stand beside ours


def jury_views(store: Store) -> tuple[JuryView, ...]:
    """One entry for each split, version and jury with rows, in their order."""
    keys = {
        (s.submission.split, s.submission.version, s.submission.jury)
        for s in store.submissions()
        if s.submission.kind == "model"
    }
    return tuple(_view(store, *key) for key in sorted(keys))


def _view(store: Store, split: str, version: str, jury: str) -> JuryView:
    try:
        _, labels = most_labelled(store, split, version, jury)
        found = agreements(store, split, version, jury, resamples=RESAMPLES if labels <= MOST_LABELS else 0)
    except ChoiceError:
        return JuryView(split, version, jury, ())
    panels, without = _panels(store, split, version, jury)
    printed = published_for(store, split)
    return JuryView(split, version, jury, (*found, *panels), without, tuple(dict.fromkeys(p.citation for p in printed)))


def _panels(store: Store, split: str, version: str, jury: str) -> tuple[Sequence[Table], str]:
    models, _ = most_labelled(store, split, version, jury)
    r = rated(ratings(store, split, version, jury, only=models))
    labelled = np.unique(r.provider[~np.isnan(r.human)])
    if not r.judges or len(labelled) < 2:
        return (), "Panels are compared where judges have voted and answers of two makers are labelled."
    prices = verdict_costs(store, split, version, jury)
    try:
        scored = score_panels(r, method=METHOD, prices=prices)
    except ValueError as error:
        return (), f"Panels cannot be compared yet: {error}."
    makers, lines = favours(r)
    panels: Table = (
        "Every panel of one, two or three judges, in points",
        HEADER,
        [panel_line(p) for p in scored[:MOST_PANELS]],
    )
    return (
        panels,
        ("Whom each judge favours: its bias by maker of the answering model, in points", ("", *makers), lines),
    ), ""


def most_labelled(store: Store, split: str, version: str, jury: str) -> tuple[tuple[str, ...], int]:
    """The submissions with most labels of people, `MOST_MODELS` of them at most, and how many labels there are."""
    rows = store.query(_LABELS, [split, version, jury]).fetchall()
    return tuple(str(name) for name, _ in rows[:MOST_MODELS]), sum(count for _, count in rows)
