"""Let our jury judge answers that somebody sent: python -m evaluators.rejudge BUNDLE --out DIR --spend-cap USD

Never more than --spend-cap USD and --most-calls calls; the journal in --journal keeps what was paid for.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.submit import DONE, OUTSIDE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.bundle import Bundle
    from evaluators.run import Outcome
    from evaluators.runner import Runner
    from evaluators.values import Model, Submission


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.rejudge", description="Judge the answers of a bundle.")
    p.add_argument("bundle", type=Path, metavar="BUNDLE", help="a checked bundle")
    p.add_argument("--out", type=Path, required=True, metavar="DIR", help="the judged bundle, replaced whole")
    p.add_argument("--jury", default="layton", help="name of a panel that comes with the project")
    p.add_argument("--judge-api-base", metavar="URL", help="endpoint of all judges; empty: each provider's own")
    p.add_argument("--spend-cap", type=_usd, required=True, metavar="USD", help="most that may be spent")
    p.add_argument(
        "--usd-per-unpriced-call", type=_usd_or_none, metavar="USD", help="what a call counts whose price litellm lacks"
    )
    p.add_argument("--most-calls", type=int, default=10_000, metavar="N", help="most calls (default: %(default)s)")
    p.add_argument("--journal", type=Path, default=Path("build/rejudge"), metavar="DIR", help="kept, never published")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")
    return p


def _usd(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:  # NaN and infinity would be no cap
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of USD")
    return value


def _usd_or_none(text: str) -> float | None:
    return _usd(text) if text else None  # an empty variable of a workflow is none


class CapError(ValueError):
    """The judging would cost more than it may."""


def main(argv: Sequence[str] | None = None) -> int:
    """Judge; 0 done, 1 refused or over the cap, 3 a service failed."""
    options = parser().parse_args(argv)
    try:
        return guarded(lambda: _rejudge(options))
    except CapError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def _rejudge(options: argparse.Namespace) -> int:
    from builders.splits import load_split
    from evaluators.bundle import BundleError, read_bundle, write_bundle
    from evaluators.check import check_bundle
    from evaluators.check.indexes import ensure_built
    from evaluators.hand_in import say

    if say(check_bundle(options.bundle, splits=options.splits)) != DONE:
        return REFUSED
    sent = read_bundle(options.bundle)
    s = sent.submission
    ensure_built(s.ref, options.splits)
    split = load_split(s.ref, root=options.splits)
    if split.manifest.sha256 != s.split_sha256:
        raise BundleError(f"{options.bundle}: was made on another build of {s.ref} than the one here; build it again")
    described, outcome = judge_again(sent, split, options)
    write_bundle(options.out, described, *outcome)
    c = described.counts
    print(f"{c.scored} of {c.expected} attempts judged by {described.jury}; bundle: {options.out}")
    return OUTSIDE if any(v.failure not in (None, "unparsed", "refused") for v in outcome.verdicts) else DONE


def judge_again(sent: "Bundle", split: "Split", options: argparse.Namespace) -> "tuple[Submission, Outcome]":
    """Put every answer of a bundle to the panel; what the submitter's jury said is left aside.

    Raises:
        CapError: Before a call that the caps do not allow.
        JuryError, ModelError, PointsError, RubricError: Before anything is sent.
        JournalError, ServiceDownError, ServiceRefusedError, OSError: What was paid for is in the journal.
    """
    from evaluators.journal import Journal
    from evaluators.jury import JuryError, at_endpoint, judge_all, known_panels, load_panel, seats_for
    from evaluators.models import prepare
    from evaluators.protocols import marking
    from evaluators.replies import total_cost
    from evaluators.run import count, run_calls
    from evaluators.runner import Runner
    from evaluators.scores import SEATS

    s = sent.submission
    how = marking(split, s, root=options.splits)
    if how is None:
        raise JuryError(f"{s.submission_id!r} is of protocol {s.protocol!r}, which this checkout cannot judge")
    if options.jury not in known_panels():
        raise JuryError(f"no panel {options.jury!r} of the project; known are {', '.join(known_panels())}")
    panel = at_endpoint(load_panel(options.jury), options.judge_api_base or None)
    if panel.sitting != SEATS and s.protocol != "case":
        raise JuryError(f"panel {panel.name!r} is a single grader, which is for cases; three judges mark {s.ref}")
    seats = seats_for(panel, s.model.provider)
    answered = [t for t in sent.transcripts if t.answer is not None and not t.no_answer]
    needed = len(seats) * sum(how.calls(t) for t in answered)
    if needed > options.most_calls:
        raise CapError(f"{len(answered)} answers need {needed} calls or more, --most-calls allows {options.most_calls}")
    for seat in seats:
        prepare(seat.model)
        _check_priced(seat.model, options)
    options.journal.mkdir(parents=True, exist_ok=True)
    with Journal(options.journal / f"{s.submission_id}.jsonl") as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        _cap(runner, options)
        items = {item.id: item for item in split.items}
        work = judge_all(sent.transcripts, items, runner, seats=seats, how=how, sealed=split.manifest.sealed)
        outcome = run_calls(work)
    votes = [v for v in outcome.verdicts if v.kind == "model"]
    described = s.model_copy(
        update={
            "jury": panel.name,
            "judges": tuple(sorted({v.judge for v in votes})),
            "prompt_sha256": tuple(sorted({v.prompt_sha256 for v in votes if v.prompt_sha256})),
            "counts": count(outcome, expected=s.counts.expected, seats=panel.sitting),
            "jury_cost_usd": total_cost([v.cost_usd for v in votes]),
            # Their answers, our jury.
            "evidence": "answers brought",
            "files": (),
        }
    )
    return described, outcome


def _check_priced(model: "Model", options: argparse.Namespace) -> None:
    from evaluators import models
    from evaluators.values import Usage

    if options.usd_per_unpriced_call or models.is_loopback(model.api_base):
        return
    if models.price(model, Usage(input_tokens=1000, output_tokens=1000)):
        return
    raise CapError(
        f"judge {model.name!r} has no known price, so no cap on spending holds; say what a call costs at most with "
        "--usd-per-unpriced-call"
    )


def _cap(runner: "Runner", options: argparse.Namespace) -> None:
    """Hold a run to its caps: looked at after every finished call, so at most the calls in flight go beyond."""

    def check() -> None:
        tally = runner.tally
        spent = tally.cost_usd + tally.unpriced * (options.usd_per_unpriced_call or 0.0)
        if spent > options.spend_cap:
            raise CapError(f"{spent:.2f} USD spent, --spend-cap is {options.spend_cap:.2f}; it is all journalled")
        if tally.calls > options.most_calls:
            raise CapError(f"{tally.calls} calls made, --most-calls is {options.most_calls}; they are journalled")

    runner.on_change = check


if __name__ == "__main__":
    sys.exit(main())
