"""What a person reads at the end of a run: score, interval, provisional rank spread, and what to make of them."""

from collections.abc import Sequence

from evaluators.estimate import LIKE, RANKED, THESE, estimate_split, half_width
from evaluators.estimate_means import estimate_means
from evaluators.store import Store
from evaluators.values import Estimate, Submission


def report(store: Store, submission: Submission) -> str:
    """Estimate a submission beside what the store holds of its split, and say it in a few lines."""
    s = submission
    if s.protocol != "riddle":
        return _report_means(store, s)
    everyone = estimate_split(store, s.split, s.version, s.jury, s.condition)
    own = [e for e in everyone if e.submission_id == s.submission_id]
    lines = ["", f"{s.model.name} on {s.ref}, {s.condition}, jury {s.jury}", _counts(submission)]
    if not own:
        return "\n".join([*lines, "nothing to estimate: no attempt was made"])
    for estimand in (LIKE, THESE):
        lines += [_score(e) for e in own if e.method == "betabin" and e.estimand == estimand]
    lines += [_layton(e) for e in own if e.method == "layton"]
    lines += _rank(own, everyone)
    lines += _caveats(own)
    return "\n".join(lines)


def _report_means(store: Store, s: Submission) -> str:
    everyone = estimate_means(store, s.split, s.version, s.jury, s.condition)
    own = [e for e in everyone if e.submission_id == s.submission_id]
    lines = ["", f"{s.model.name} on {s.ref}, {s.condition}, jury {s.jury}", _counts(s)]
    if not own:
        return "\n".join([*lines, "nothing to estimate: no attempt has a score"])
    lines += [
        f"  {e.metric.partition('/')[2] or e.metric:20} {100 * e.value:5.1f}  [{100 * e.low:.1f}, {100 * e.high:.1f}]"
        f"  n {e.n}"
        for e in own
    ]
    lines.append("  (means in points, 95 % for items like these, clustered by story)")
    lines += _place(own[0], len({e.submission_id for e in everyone if e.tier in RANKED}))
    return "\n".join([*lines, *(f"  note: {note}" for note in own[0].notes)])


def _counts(submission: Submission) -> str:
    c = submission.counts
    parts = [f"{c.expected} attempts: {c.scored} judged"]
    for count, what in (
        (c.no_answer, "without an answer (wrong by rule)"),
        (c.unjudged, "with an incomplete jury"),
        (c.failed, "failed in the call"),
        (c.missing, "missing"),
    ):
        if count:
            parts.append(f"{count} {what}")
    return ", ".join(parts)


def _score(e: Estimate) -> str:
    return f"  {e.estimand:20} {100 * e.value:5.1f}  [{100 * e.low:.1f}, {100 * e.high:.1f}]  95 %, {e.method}"


def _layton(e: Estimate) -> str:
    return f"  {'layton definition':20} {100 * e.value:5.1f}  +-{half_width(e):.1f}"


def _rank(own: Sequence[Estimate], everyone: Sequence[Estimate]) -> list[str]:
    ranked = {e.submission_id for e in everyone if e.tier in RANKED}
    placed = [e for e in own if e.method == "betabin" and e.estimand == LIKE and e.best_rank is not None]
    if not placed:
        return []
    return _place(placed[0], len(ranked))


def _place(place: Estimate, ranked: int) -> list[str]:
    if ranked == 1:
        return ["  provisional rank        none yet: the store holds no other row of this split, condition and jury"]
    return [f"  provisional rank       {place.best_rank} to {place.worst_rank} of {ranked} in this store"]


def _caveats(own: Sequence[Estimate]) -> list[str]:
    main = own[0]
    notes = [f"  note: {note}" for note in dict.fromkeys(n for e in own for n in e.notes)]
    if main.labels == "none":
        notes.append(
            "  note: the store holds no labels of other providers for this split and jury, so nothing ties the jury to "
            "people; bring them in with python -m leaderboard import-layton, or python -m evaluators.calibrate"
        )
    elif main.labels == "author":
        notes.append(
            f"  note: {main.n_pool} labels by the items' authors calibrate the jury; they are not human labels"
        )
    if main.provisional:
        notes.append(f"  note: provisional, {main.n_human} human labels of its own (30 are needed)")
    return notes
