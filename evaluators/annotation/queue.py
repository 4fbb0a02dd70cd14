"""Which answers one annotator is shown, in which order; two annotators share a part, so that agreement can be told."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from builders.splits import Split
from evaluators.annotation.labels import ADJUDICATOR, Label, LabelError, conflicts
from evaluators.bundle import read_bundle, read_submission
from evaluators.plan_labels import plan
from evaluators.rows import Rows
from evaluators.scores import METRICS, label, tally
from evaluators.sealed_bundle import is_sealed, open_bundle
from evaluators.values import Transcript, Verdict


class Attempt(NamedTuple):
    """An answer that can be labelled; `submission` and `verdicts` never reach the page."""

    transcript: Transcript
    submission: str
    verdicts: tuple[Verdict, ...]


def attempts(roots: Sequence[Path], split: Split) -> tuple[Attempt, ...]:
    """Find the answered attempts at a split in the bundles below some folders; those without an answer need no label.

    Bundles of a sealed split are opened in memory, with an identity of the environment.

    Raises:
        BundleError: If a bundle is damaged.
        LabelError: If there is none.
    """
    found: dict[str, Attempt] = {}
    for root in roots:
        for path in sorted(root.rglob("submission.yaml")):
            submission = read_submission(path.parent)
            if submission.ref != split.manifest.ref or submission.kind != "model":
                continue
            bundle = open_bundle(path.parent) if is_sealed(submission) else read_bundle(path.parent)
            by_attempt: dict[str, list[Verdict]] = {}
            for verdict in bundle.verdicts:
                by_attempt.setdefault(verdict.transcript_id, []).append(verdict)
            for t in bundle.transcripts:
                if t.answer is not None and not t.no_answer:
                    own = tuple(by_attempt.get(t.transcript_id, ()))
                    found.setdefault(t.transcript_id, Attempt(t, bundle.submission.submission_id, own))
    if not found:
        where = ", ".join(map(str, roots))
        raise LabelError(f"no answer to {split.manifest.ref} in the bundles below {where}; name a folder with --runs")
    return tuple(found[name] for name in sorted(found))


def queue(
    there: Sequence[Attempt],
    *,
    annotator: str,
    budget: int,
    overlap: float = 0.2,
    seed: int = 0,
    others: Sequence[Label] = (),
) -> tuple[Attempt, ...]:
    """Choose what an annotator labels, as `plan_labels` would, in an order that tells nothing.

    The first part of the plan is the same for everybody with the same seed: these answers get several labels. The
    rest is planned for each annotator apart, around what the others have or will have. An adjudicator gets the
    answers on which finished labels differ, and nothing else.

    Args:
        there: All answers.
        annotator: Who labels.
        budget: Labels to make, the shared ones included.
        overlap: Share of the budget that everybody labels.
        seed: The same seed makes the same plan.
        others: Labels there are already, of anybody.

    Raises:
        LabelError: If budget or overlap is out of range.
    """
    if budget < 1 or not 0 <= overlap <= 1:
        raise LabelError(f"budget {budget} and overlap {overlap} are not 1 or more, and a share from 0 to 1")
    if annotator == ADJUDICATOR:
        open_ones = {c.transcript_id for c in conflicts(others) if c.decided is None or c.decided.state != "done"}
        return tuple(a for a in there if a.transcript.transcript_id in open_ones)[:budget]
    shared_size = round(overlap * budget)
    shared = _planned(there, shared_size, frozenset(), f"{seed}") if shared_size else []
    taken = {x.transcript_id for x in others if x.annotator != annotator and x.state == "done"}
    taken |= {a.transcript.transcript_id for a in shared}
    own = _planned(there, budget - len(shared), frozenset(taken), f"{seed}/{annotator}")
    chosen = [*shared, *own]
    order = np.random.default_rng(_number(f"{seed}/{annotator}/order")).permutation(len(chosen))
    return tuple(chosen[n] for n in order)


def kept_queue(
    path: Path,
    there: Sequence[Attempt],
    others: Sequence[Label],
    *,
    annotator: str,
    budget: int,
    overlap: float,
    seed: int,
) -> tuple[Attempt, ...]:
    """The queue of an earlier start with the same options, else a new one, which is written down.

    What others label meanwhile would plan another queue, and a half-labelled one must not change. What an adjudicator
    decides is looked up anew each time.

    Raises:
        LabelError: If budget or overlap is out of range.
        OSError: If it cannot be written.
    """
    head = json.dumps({"budget": budget, "overlap": overlap, "seed": seed})
    by_id = {a.transcript.transcript_id: a for a in there}
    if path.exists() and annotator != ADJUDICATOR:
        first, *ids = path.read_text(encoding="utf-8").splitlines() or [""]
        if first == head and all(name in by_id for name in ids):
            return tuple(by_id[name] for name in ids)
    chosen = queue(there, annotator=annotator, budget=budget, overlap=overlap, seed=seed, others=others)
    if annotator != ADJUDICATOR:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [head, *(a.transcript.transcript_id for a in chosen)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return chosen


def _planned(there: Sequence[Attempt], budget: int, without: frozenset[str], name: str) -> list[Attempt]:
    """Plan labels among the answers that are not taken, whose labels count as there."""
    models = {submission: n for n, submission in enumerate(sorted({a.submission for a in there}))}
    items = {item: n for n, item in enumerate(sorted({a.transcript.item_id for a in there}))}
    metric = METRICS[there[0].transcript.protocol][0]
    jury, human = [], []
    for a in there:
        score, said = tally(a.verdicts, metric=metric, seats=None), label(a.verdicts)
        # An answer that no jury has marked yet is as open as a split verdict.
        jury.append(score.value if score else 0.5)
        known = said is not None and said[1] == "human"
        taken = a.transcript.transcript_id in without
        human.append(said[0] if said is not None and known else 0.5 if taken else np.nan)
    rows = Rows(
        np.array([models[a.submission] for a in there]),
        np.array([items[a.transcript.item_id] for a in there]),
        np.array(jury),
        np.array(human, dtype=np.float64),
    )
    if budget < 1:
        return []
    return [there[pick.row] for pick in plan(rows, budget, rng=np.random.default_rng(_number(name)))]


def _number(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:8], "big")
