"""What a person reads at the end of a run: score, interval, provisional rank spread, and what to make of them."""

from collections.abc import Sequence

import numpy as np

from evaluators.estimate import LIKE, RANKED, as_judged, estimate_split, half_width, headline, rows
from evaluators.estimate_cases import ALONG, MOST, estimate_cases
from evaluators.estimate_means import estimate_means
from evaluators.fit import fit_split
from evaluators.ppi import overlap_rank_spread
from evaluators.store import Store
from evaluators.values import Estimate, Submission


def report(store: Store, submission: Submission) -> str:
    """Estimate a submission beside what the store holds of its split, and say it in a few lines."""
    s = submission
    if s.protocol == "case":
        return _report_cases(store, s)
    if s.protocol != "riddle":
        return _report_means(store, s)
    fits = fit_split(rows(store, s.split, s.version, s.jury))
    everyone = estimate_split(store, s.split, s.version, s.jury, s.condition, fits=fits)
    own = [e for e in everyone if e.submission_id == s.submission_id]
    lines = ["", f"{s.model.name} on {s.ref}, {s.condition}, jury {s.jury}", _counts(submission)]
    if not own:
        return "\n".join([*lines, "nothing to estimate: no attempt was made"])
    lines += [_score(e) for e in headline(own)]
    lines += [_layton(e) for e in own if e.method == "layton"]
    lines += _jury_alone(store, submission)
    lines += _rank(own, everyone)
    lines += _caveats(own)
    return "\n".join(lines)


def _report_cases(store: Store, s: Submission) -> str:
    everyone = estimate_cases(store, s.split, s.version, s.jury, s.condition)
    own = [e for e in everyone if e.submission_id == s.submission_id]
    lines = ["", f"{s.model.name} on {s.ref}, {s.condition}, jury {s.jury}", _counts(s)]
    if not own:
        return "\n".join([*lines, "nothing to estimate: no question has a score"])
    lines += _case_lines(own)
    lines += _place(own[0], everyone)
    return "\n".join([*lines, *(f"  note: {note}" for note in own[0].notes)])


def _case_lines(own: Sequence[Estimate]) -> list[str]:
    lines = []
    for e in (e for e in own if not e.metric.startswith(ALONG)):
        name = f"{e.metric}, tied to people's grades" if e.method == "ppi" else e.metric
        scale = 100.0 if e.metric == "percentile" else 1.0
        what = f"of people, 95 %, {e.notes[0]}" if e.metric == "percentile" else f"of {MOST:g}  n {e.n}"
        lines.append(f"  {name:20} {scale * e.value:5.2f}  [{scale * e.low:.2f}, {scale * e.high:.2f}]  {what}")
    return [*lines, "  (grades from 0 to 3, mean over questions, 95 % for items like these, clustered by case)"]


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
    lines += _place(own[0], everyone)
    lines.append("  note: the scores are the jury's own, no human label ties them to people")
    return "\n".join([*lines, *(f"  note: {note}" for note in own[0].notes)])


def report_sealed(submission: Submission, estimates: Sequence[Estimate]) -> str:
    """Say what may be said of a run on a sealed split: its numbers as a whole."""
    s = submission
    lines = ["", f"{s.model.name} on {s.ref} (sealed), {s.condition}, jury {s.jury}", _counts(s)]
    if not estimates:
        return "\n".join([*lines, "nothing to estimate: no attempt has a score"])
    if s.protocol == "case":
        lines += [*_case_lines(estimates), "  (the evidence is encrypted)"]
        return "\n".join([*lines, *(f"  note: {note}" for note in estimates[0].notes)])
    lines += [
        f"  {e.metric:20} {100 * e.value:5.1f}  [{100 * e.low:.1f}, {100 * e.high:.1f}]  n {e.n}" for e in estimates
    ]
    lines.append("  (means in points, 95 % for items like these, clustered; the evidence is encrypted)")
    return "\n".join([*lines, *(f"  note: {note}" for note in estimates[0].notes)])


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


def _jury_alone(store: Store, submission: Submission) -> list[str]:
    s = submission
    mine = [r for r in rows(store, s.split, s.version, s.jury).rows if r.submission.submission_id == s.submission_id]
    scores = [float(x) for r in mine for x in as_judged(r)]
    if not scores:
        return []
    return [f"  {'jury alone':20} {100 * sum(scores) / len(scores):5.1f}  mean of its scores, tied to no label"]


def _rank(own: Sequence[Estimate], everyone: Sequence[Estimate]) -> list[str]:
    return _place(next(e for e in headline(own) if e.estimand == LIKE), everyone)


def _place(mine: Estimate, everyone: Sequence[Estimate]) -> list[str]:
    what = (mine.metric, mine.method, LIKE)
    others = [
        e
        for e in everyone
        if (e.metric, e.method, e.estimand) == what and e.tier in RANKED and e.submission_id != mine.submission_id
    ]
    if not others:
        return [f"  {'provisional rank':20} none yet: the store has no other row of this split, condition and jury"]
    # One row more than the board ranks: a self-reported row is told where it would stand. The board compares rows item
    # by item, so that it can tell apart some whose intervals overlap.
    together = [mine, *others]
    spread = overlap_rank_spread(np.array([e.low for e in together]), np.array([e.high for e in together]))
    best, worst = spread[0]
    return [f"  {'provisional rank':20} {best} to {worst} of {len(together)} in this store"]


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
