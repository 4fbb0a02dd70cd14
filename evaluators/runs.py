"""Runs below a folder: python -m evaluators.runs list | show NAME | resume NAME | gc [--delete]"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from evaluators.record import RunRecord
    from evaluators.run_report import State

DONE, REFUSED, USAGE, OUTSIDE = 0, 1, 2, 3


class RunsError(ValueError):
    """A run is not there, or cannot be taken up again."""


class Found(NamedTuple):
    """A run on disk."""

    path: Path
    record: "RunRecord"
    state: "State"

    @property
    def journal(self) -> Path:
        """Where its replies are; runs of one model on one split share it."""
        return self.path.parent / "journal.jsonl"


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(
        prog="python -m evaluators.runs",
        description="See runs, go on with them, and make room.",
        epilog="Exit code: 0 done, 1 input refused, 2 usage, 3 an outside service failed (what was paid for is kept).",
    )
    p.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs are (default: runs)")
    commands = p.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="every run: state, calls, price and age")
    show = commands.add_parser("show", help="the report of one run")
    show.add_argument("name", help="its name, the beginning of it, or the path of its .run.json")
    show.add_argument("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    show.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    resume = commands.add_parser("resume", help="give the same command again, in the folder where it was given")
    resume.add_argument("name", help="its name, the beginning of it, or the path of its .run.json")
    gc = commands.add_parser(
        "gc",
        help="remove journals of runs that are finished and bundled",
        description="Remove journals of runs that are finished and bundled. Their bundles and reports stay; making "
        "such a run again pays again. Without --delete nothing is removed.",
    )
    gc.add_argument("--older-than", type=float, default=30, metavar="DAYS", help="since they ended (default 30)")
    gc.add_argument("--delete", action="store_true", help="do it")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    options = parser().parse_args(argv)
    commands: dict[str, Any] = {"list": _list, "show": _show, "resume": _resume, "gc": _gc}
    from evaluators.record import RecordError

    try:
        return int(commands[options.command](options))
    except (RunsError, RecordError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return OUTSIDE


def find_runs(root: Path) -> tuple[Found, ...]:
    """Every run below a folder, by path.

    Raises:
        RecordError: If a record cannot be read.
    """
    from evaluators.record import SUFFIX

    return tuple(_found(path) for path in sorted(root.rglob(f"*{SUFFIX}")))


def _found(path: Path) -> Found:
    from evaluators.record import read_record

    record = read_record(path)
    return Found(path, record, _state(path, record))


def _state(path: Path, record: "RunRecord") -> "State":
    from evaluators.journal import in_use

    last = record.sessions[-1] if record.sessions else None
    if last is None or last.state == "running":
        return "running" if in_use(path.parent / "journal.jsonl") else "killed"
    if last.state == "finished" and not (Path(record.folder) / record.bundle / "submission.yaml").is_file():
        return "bundle gone"
    return last.state


def _one(options: argparse.Namespace) -> Found:
    if Path(options.name).is_file():
        return _found(Path(options.name))
    runs = find_runs(options.runs)
    named = [r for r in runs if r.record.submission_id.startswith(options.name)]
    exact = [r for r in named if r.record.submission_id == options.name]
    if len(exact or named) != 1:
        known = ", ".join(r.record.submission_id for r in (named or runs)) or "none"
        what = "several runs begin with" if named else "no run is named"
        raise RunsError(f"{what} {options.name!r} below {options.runs}; there are: {known}")
    return (exact or named)[0]


def _list(options: argparse.Namespace) -> int:
    from evaluators.run_report import overview

    runs = find_runs(options.runs)
    if not runs:
        print(f"no runs below {options.runs}; another folder: --runs DIR")
        return DONE
    print(overview([(r.record, r.state) for r in runs], now=datetime.now(UTC)))
    return DONE


def _show(options: argparse.Namespace) -> int:
    from evaluators.run_report import html, markdown, sections

    run = _one(options)
    parts = sections(run.record, run.state)
    for path, text in ((options.markdown, markdown), (options.html, html)):
        if path is not None:
            path.write_text(text(run.record.submission_id, parts), encoding="utf-8")
            print(f"written: {path}")
    if options.markdown is None and options.html is None:
        print(markdown(run.record.submission_id, parts), end="")
    return DONE


def _resume(options: argparse.Namespace) -> int:
    from evaluators.submit import main as submit

    run = _one(options)
    if not run.record.argv:
        raise RunsError(f"{run.path} does not say how the run was started; give its command again")
    if run.state == "running":
        raise RunsError(f"{run.record.submission_id} is running")
    if not Path(run.record.folder).is_dir():
        raise RunsError(f"the folder where the run was started is gone: {run.record.folder}")
    with contextlib.chdir(run.record.folder):
        return submit(list(run.record.argv))


def _gc(options: argparse.Namespace) -> int:
    before = datetime.now(UTC) - timedelta(days=options.older_than)
    folders: dict[Path, list[Found]] = {}
    for run in find_runs(options.runs):
        folders.setdefault(run.path.parent, []).append(run)
    freed = 0
    for runs in folders.values():
        journal = runs[0].journal
        # A journal serves every run of its folder, so it goes only when all of them are done with it.
        if not journal.is_file() or not all(_over(run, before) for run in runs):
            continue
        size = journal.stat().st_size
        freed += size
        print(f"{'removed' if options.delete else 'would remove'} {journal} ({size:,} bytes)")
        if options.delete:
            journal.unlink()
    print(f"{freed:,} bytes" if options.delete else f"{freed:,} bytes; nothing is removed without --delete")
    return DONE


def _over(run: Found, before: datetime) -> bool:
    ended = run.record.sessions[-1].ended if run.record.sessions else None
    return run.state == "finished" and ended is not None and ended < before


if __name__ == "__main__":
    sys.exit(main())
