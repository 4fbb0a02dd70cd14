"""How much better models do on a public split than on a sealed one of the same kind.

    python -m leaderboard gap PUBLIC[@VERSION] SEALED[@VERSION] [--json]

A model that does well only where the items are public has seen them, or the two splits differ in difficulty: look at
the gap of one model beside that of the others. Needs no key.
"""

import argparse
import json
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from evaluators.estimate import LEVEL
from evaluators.estimate_cases import estimate_cases
from evaluators.estimate_means import estimate_means
from evaluators.scores import FULL_MARKS
from evaluators.store import Store, open_store, store_path
from evaluators.stored import Sealed
from evaluators.values import Estimate, Submission

# Parts of a condition that name a file of the split itself, so that they differ between any two splits.
_OF_THE_SPLIT = ("points=", "rubrics=")


class GapError(ValueError):
    """Splits that cannot be compared; the message says why."""


class Gap(NamedTuple):
    """One model on both splits: public minus sealed, with its interval, in the unit of the metric."""

    model: str
    provider: str
    jury: str
    public: Estimate
    sealed: Estimate
    value: float
    low: float
    high: float
    full: float = 1.0  # the most the metric can be

    @property
    def undecided(self) -> bool:
        """Whether the interval holds 0."""
        return self.low <= 0 <= self.high


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `gap`."""
    parser.add_argument("public", metavar="PUBLIC", help="public split, for example sample-case or layton-llm@1.0.0")
    parser.add_argument("sealed", metavar="SEALED", help="sealed split of the same protocol")
    parser.add_argument("--json", action="store_true", help="one JSON object a model")


def main(arguments: argparse.Namespace) -> int:
    """Print the gap of every model that was measured alike on both.

    Raises:
        GapError: If there is none.
        StoreError: If the store cannot be read.
    """
    with open_store(store_path(), read_only=True) as store:
        found = gaps(store, arguments.public, arguments.sealed)
    if not found:
        raise GapError(
            f"no model was run on {arguments.public} and {arguments.sealed} with one jury and condition; run one, and "
            "python -m leaderboard build"
        )
    for gap in found:
        print(json.dumps(_plain(gap)) if arguments.json else _line(gap))
    if not arguments.json:
        print(f"in points, {100 * LEVEL:.0f} %; the two runs are taken as independent, each for items like its own")
    return 0


def gaps(store: Store, public: str, sealed: str) -> tuple[Gap, ...]:
    """The gap of every model that the store holds on both splits, largest first.

    Both sides are means of the jury's scores with intervals clustered alike; a public board's own, corrected figures
    may differ. Of several runs of a model the newest counts.
    """
    closed = {_key(run.submission): run.estimates[0] for run in _ordered_sealed(store, sealed) if run.estimates}
    found = []
    for submission in _ordered_public(store, public):
        theirs = closed.get(_key(submission))
        mine = _headline(store, submission)
        if theirs is not None and mine is not None and mine.metric == theirs.metric:
            low, high = _difference(mine, theirs)
            value = mine.value - theirs.value
            name = (submission.model.name, submission.model.provider, submission.jury)
            full = FULL_MARKS.get(submission.protocol, 1.0)
            found.append((_key(submission), Gap(*name, mine, theirs, value, low, high, full)))
    return tuple(sorted(dict(found).values(), key=lambda gap: (-gap.value, gap.model)))


def _ordered_public(store: Store, ref: str) -> list[Submission]:
    name, _, version = ref.partition("@")
    stored = (s.submission for s in store.submissions(name, version or None) if s.submission.kind == "model")
    return sorted(stored, key=lambda s: s.date)


def _ordered_sealed(store: Store, ref: str) -> Sequence[Sealed]:
    name, _, version = ref.partition("@")
    runs = (r for r in store.sealed() if r.submission.split == name and version in {"", r.submission.version})
    return sorted(runs, key=lambda run: run.submission.date)


def _key(submission: Submission) -> tuple[str, ...]:
    s = submission
    varied = [part for part in s.condition.split(";") if not part.startswith(_OF_THE_SPLIT)]
    return s.protocol, s.model.name, s.model.provider, s.model.decoding.model_dump_json(), s.jury, ";".join(varied)


def _headline(store: Store, submission: Submission) -> Estimate | None:
    s = submission
    estimate = estimate_cases if s.protocol == "case" else estimate_means
    estimates = estimate(store, s.split, s.version, s.jury, s.condition)
    return next((e for e in estimates if e.submission_id == s.submission_id), None)


def _difference(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Limits of first minus second from the limits of each.

    Source: Zou & Donner 2008, "Construction of confidence limits about effect measures" (MOVER), for independent means.
    """
    value = first.value - second.value
    below = sqrt((first.value - first.low) ** 2 + (second.high - second.value) ** 2)
    above = sqrt((first.high - first.value) ** 2 + (second.value - second.low) ** 2)
    return value - below, value + above


def _line(gap: Gap) -> str:
    verdict = "undecided" if gap.undecided else "better in public" if gap.value > 0 else "better where sealed"
    point = 100 / gap.full
    scores = f"public {point * gap.public.value:5.1f}, sealed {point * gap.sealed.value:5.1f}"
    limits = f"[{point * gap.low:+.1f}, {point * gap.high:+.1f}]"
    return f"{gap.model}: {scores}, gap {point * gap.value:+5.1f} {limits}, {verdict}"


def _plain(gap: Gap) -> dict[str, object]:
    return gap._asdict() | {
        "public": gap.public.model_dump(mode="json"),
        "sealed": gap.sealed.model_dump(mode="json"),
        "undecided": gap.undecided,
    }
