"""Has the jury drifted? python -m evaluators.recheck BUNDLE ... --jury layton --sample 200 --spend-cap USD

A sample of stored verdicts is asked for twice more of today's judges. Exit code 1 where one of them has moved:
`python -m leaderboard raise-jury` asks the same, retires such a jury and seats it under a new name. With --prompts DIR
it measures instead what another prompt does to the same answers: `evaluators/prompts/answer_first` shows judges the
answer before the official one.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.submit import DONE, OUTSIDE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.values import Item
    from evaluators.bundle import Bundle
    from evaluators.drift import Drift
    from evaluators.protocols import Marking
    from evaluators.runner import Runner
    from evaluators.values import Panel, Seat, Transcript, Verdict

    Asked = tuple[Seat, Item, Transcript, Verdict, Marking]


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.recheck", description=__doc__)
    add_options(p)
    p.add_argument("--prompts", type=Path, metavar="DIR", help="judges' prompts to compare with those of then")
    p.add_argument("--date", help="day of the recheck, YYYY-MM-DD (default: today, UTC)")
    return p


def add_options(p: argparse.ArgumentParser) -> None:
    """Describe what is asked again, of whom, and for how much."""
    from evaluators.rejudge import _usd, _usd_or_none

    p.add_argument("bundles", type=Path, nargs="+", metavar="BUNDLE", help="bundles whose verdicts are of this jury")
    p.add_argument("--jury", default="layton", help="name of the panel, or its YAML file")
    p.add_argument("--judge-api-base", metavar="URL", help="endpoint of all judges")
    p.add_argument("--sample", type=int, default=200, metavar="N", help="verdicts of each judge (default 200)")
    p.add_argument("--seed", type=int, default=0, help="the same seed samples the same verdicts")
    p.add_argument("--spend-cap", type=_usd, required=True, metavar="USD", help="most that may be spent")
    p.add_argument("--usd-per-unpriced-call", type=_usd_or_none, metavar="USD", help="what an unpriced call counts")
    p.add_argument("--most-calls", type=int, default=10_000, metavar="N", help="most calls (default: %(default)s)")
    p.add_argument("--journal", type=Path, default=Path("build/recheck"), metavar="DIR", help="kept, never published")
    p.add_argument(
        "--rechecks", type=Path, metavar="FILE", help="append what came of each judge, for the page Calibration"
    )
    p.add_argument("--round", default="1", metavar="NAME", help="a new name asks again what the journal holds")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")


def main(argv: Sequence[str] | None = None) -> int:
    """Recheck; 0 no judge moved, 1 one did or something is refused, 3 a service failed."""
    from evaluators.rejudge import CapError

    options = parser().parse_args(argv)
    try:
        return guarded(lambda: _recheck(options))
    except CapError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def _recheck(options: argparse.Namespace) -> int:
    panel, found = checked(options)
    moved = [d.judge for d in found if d.detected]
    if moved and options.prompts is None:
        print(
            f"error: {', '.join(moved)} moved: python -m leaderboard raise-jury with the same options retires "
            f"{panel.name} and seats it under a new name (MAINTAINING.md, Retire a jury)",
            file=sys.stderr,
        )
        return REFUSED
    return DONE if found else OUTSIDE


def checked(options: argparse.Namespace) -> "tuple[Panel, list[Drift]]":
    """Recheck the panel that the options name, and print what came of each judge.

    Raises:
        JuryError, BundleError, CapError: As for `recheck`.
    """
    from evaluators.bundle import read_bundle
    from evaluators.jury import JuryError, at_endpoint, load_panel
    from evaluators.rechecks import append, read

    panel = load_panel(options.jury)
    if options.rechecks is not None:
        if options.prompts is not None:
            raise JuryError("--rechecks is for judges asked as they were then; leave it out with --prompts")
        read(options.rechecks)  # before anything is paid for
    seats = at_endpoint(panel, options.judge_api_base).seats
    bundles = [read_bundle(b) for b in options.bundles]
    found, lost = recheck(bundles, seats, options)
    for d in found:
        print(_said(d))
    if options.rechecks is not None:
        splits = sorted({b.submission.ref for b in bundles})
        append(
            options.rechecks,
            found,
            date=options.date or datetime.now(UTC).date().isoformat(),
            jury=panel.name,
            splits=splits,
        )
    if lost:
        print(f"{lost} verdicts could not be had again; they are left out", file=sys.stderr)
    return panel, found


def _said(d: "Drift") -> str:
    changed, low, high = (100 * x for x in d.changed)
    verdict = "MOVED" if d.detected else "has not moved"
    return (
        f"{d.judge}: {verdict} (p {d.p_value:.4f}); {changed:.1f} % [{low:.1f}, {high:.1f}] of {d.compared} verdicts "
        f"changed, by {100 * d.moved:+.1f} points on average; today it differs from itself on {100 * d.noise:.1f} %; "
        f"of {d.odd} verdicts that stand apart {d.odd_then} are of then"
    )


def recheck(
    bundles: "Sequence[Bundle]", seats: "Sequence[Seat]", options: argparse.Namespace
) -> "tuple[list[Drift], int]":
    """Ask a sample of stored verdicts of each judge twice more.

    Returns:
        What came of it by judge, and how many verdicts could not be had.

    Raises:
        JuryError, ModelError, PointsError, RubricError, SplitError: Before anything is sent.
        CapError: Before a call that the caps do not allow.
        JournalError, ServiceDownError, ServiceRefusedError, OSError: What was paid for is in the journal.
    """
    import numpy as np

    from evaluators.drift import drift, sampled
    from evaluators.journal import Journal
    from evaluators.jury import JuryError
    from evaluators.models import prepare
    from evaluators.rejudge import _cap, _check_priced
    from evaluators.run import run_calls
    from evaluators.runner import Runner
    from evaluators.scores import FULL_MARKS

    by_judge = stored(bundles, seats, options)
    rng = np.random.default_rng(options.seed)
    chosen = [
        one for asked in by_judge.values() for one in (asked[n] for n in sampled(len(asked), options.sample, rng=rng))
    ]
    if not chosen:
        raise JuryError(f"no stored verdict is of a judge of {options.jury!r}; name the panel that sat")
    needed = 2 * sum(how.calls(t) for _, _, t, _, how in chosen)
    if needed > options.most_calls:
        from evaluators.rejudge import CapError

        raise CapError(f"{needed} calls are needed, --most-calls allows {options.most_calls}")
    for seat in {seat.judge: seat for seat, *_ in chosen}.values():
        prepare(seat.model)
        _check_priced(seat.model, options)
    options.journal.mkdir(parents=True, exist_ok=True)
    with Journal(options.journal / f"{options.round}.jsonl") as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        _cap(runner, options)
        again = run_calls(_ask(chosen, runner))
    found = []
    for judge in sorted(by_judge):
        # Shares of full marks: a bundle of cases is graded from 0 to 3.
        mine = [
            tuple(None if x is None else x / FULL_MARKS.get(t.protocol, 1.0) for x in (v.score, *new))
            for (s, _, t, v, _), new in zip(chosen, again, strict=True)
            if s.judge == judge
        ]
        whole = np.array([row for row in mine if None not in row], dtype=np.float64).reshape(-1, 3)
        if len(whole):
            found.append(drift(judge, *whole.T))
    return found, sum(None in new for new in again)


def stored(
    bundles: "Sequence[Bundle]", seats: "Sequence[Seat]", options: argparse.Namespace
) -> "dict[str, list[Asked]]":
    """The readable verdicts of a panel's judges, by judge, with what is needed to ask again."""
    from builders.splits import load_split
    from evaluators.jury import JuryError
    from evaluators.protocols import marking

    known = {seat.judge: seat for seat in seats}
    found: dict[str, list[Asked]] = {}
    seen: set[tuple[object, ...]] = set()
    for bundle in bundles:
        s = bundle.submission
        split = load_split(s.ref, root=options.splits)
        how = marking(split, s, root=options.splits, prompts=options.prompts)
        if how is None:
            raise JuryError(f"{s.submission_id!r} is of protocol {s.protocol!r}, which this checkout cannot judge")
        items = {item.id: item for item in split.items}
        attempts = {t.transcript_id: t for t in bundle.transcripts}
        for v in bundle.verdicts:
            if v.kind == "model" and v.score is not None and v.judge in known:
                t = how.only(attempts[v.transcript_id], v.unit)
                if v.unit != "item":
                    if (said := (v.judge, t.transcript_id, t.answer)) in seen:
                        continue  # the same words at a later stage were never asked by themselves
                    seen.add(said)
                found.setdefault(v.judge, []).append((known[v.judge], items[t.item_id], t, v, how))
    return found


async def _ask(chosen: "Sequence[Asked]", runner: "Runner") -> "list[tuple[float | None, float | None]]":
    from evaluators.run import together

    scores: dict[tuple[int, int], float | None] = {}
    todo = iter([(n, again) for n in range(len(chosen)) for again in (0, 1)])

    async def work() -> None:
        for n, again in todo:
            seat, item, transcript, _, how = chosen[n]
            # The number of the repeat makes it a call of its own.
            (verdict,) = await how.mark(item, transcript, runner.complete(seat.model, epoch=again), seat)
            scores[n, again] = verdict.score

    await together(work, min(runner.concurrency, 2 * len(chosen)))
    return [(scores[n, 0], scores[n, 1]) for n in range(len(chosen))]


if __name__ == "__main__":
    sys.exit(main())
