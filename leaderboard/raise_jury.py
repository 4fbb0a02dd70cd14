"""Raise the version of a jury that moved: python -m leaderboard raise-jury BUNDLE ... --jury layton --spend-cap 5

Stored verdicts are asked for again, as `python -m evaluators.recheck` does. Where a judge has moved, the jury retires
in the results changelog, and the same judges are seated under a new name; where none has, nothing changes.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluators.drift import Drift
from leaderboard.changes import check_retirable, retire
from leaderboard.records import RECHECKS, RECORDS, Record, read_history


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `raise-jury`: those of a recheck, and where panels and records are."""
    from evaluators.jury import HOME
    from evaluators.recheck import add_options

    add_options(parser)
    parser.add_argument("--submissions", type=Path, default=Path("leaderboard/submissions"), metavar="DIR")
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="the results changelog")
    parser.add_argument("--juries", type=Path, default=HOME, metavar="DIR", help="where the new panel is written")
    parser.add_argument("--date", help="day of the change, YYYY-MM-DD (default: today, UTC)")
    parser.set_defaults(prompts=None, rechecks=RECHECKS)


def main(arguments: argparse.Namespace) -> int:
    """Recheck and, where a judge has moved, raise; 0 done, 1 refused, 3 a service failed.

    Raises:
        ValueError: If the jury has retired already, has no row, or the calls are more than may be made.
        OSError: If a file cannot be written; nothing is then changed.
    """
    from evaluators.jury import load_panel
    from evaluators.recheck import checked
    from evaluators.submit import OUTSIDE, guarded

    arguments.subject = load_panel(arguments.jury).name
    check_retirable(arguments)  # before anything is paid for

    def check() -> int:
        _, found = checked(arguments)
        moved = [d for d in found if d.detected]
        if not moved:
            print(f"no judge of {arguments.subject} has moved: nothing to raise", file=sys.stderr)
            return 0 if found else OUTSIDE
        print(raise_jury(arguments, moved).model_dump_json(exclude_none=True, indent=1))
        return 0

    return guarded(check)


def raise_jury(places: argparse.Namespace, moved: Sequence[Drift]) -> Record:
    """Seat the same judges under a new name, and retire the old one with what was measured as the reason.

    Raises:
        JuryError, RecordError: If that name is taken, or the jury cannot retire.
        OSError: If a file cannot be written; the other is then not written either.
    """
    from evaluators.jury import known_panels, load_panel, raised, write_panel

    old = load_panel(places.jury)
    retired = {r.subject for r in read_history(places.records).records if r.action == "jury-retired"}
    there = {path.stem for path in places.juries.glob("*.y*ml")}
    new = raised(old, {*known_panels(), *retired, *there})
    path = places.juries / f"{new.name}.yaml"
    write_panel(new, path)
    said = "; ".join(
        f"{d.judge}: {100 * d.changed.point:.1f} % [{100 * d.changed.low:.1f}, {100 * d.changed.high:.1f}] of "
        f"{d.compared} verdicts changed by {100 * d.moved:+.1f} points, p {d.p_value:.4f}"
        for d in moved
    )
    places.reason = f"judges moved, {new.name} sits from now on: {said}"[:1000]
    try:
        return retire(places)
    except BaseException:
        # A panel that nobody retired for would stand as one more choice.
        path.unlink()
        raise
