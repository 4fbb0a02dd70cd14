"""Write down what a maintainer's run brought: the sent bundle, the jury's verdicts on it and a line of the changelog.

python -m leaderboard record --sent DIR --judged DIR --pull N --head SHA [--push REMOTE]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leaderboard.changes import add_places, supersede
from leaderboard.records import Record
from leaderboard.review import commit, pull_number, tell


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m leaderboard record", description="Record a judged submission.")
    p.add_argument("--sent", type=Path, required=True, metavar="DIR", help="the bundle as it was sent")
    p.add_argument("--judged", type=Path, required=True, metavar="DIR", help="the bundle with our jury's verdicts")
    p.add_argument("--pull", type=pull_number, required=True, metavar="N", help="number of the pull request")
    p.add_argument("--head", type=commit, required=True, metavar="SHA", help="its commit that was read")
    p.add_argument(
        "--sealed", type=Path, metavar="DIR", help="our run of the model on a sealed split, where there is one"
    )
    p.add_argument(
        "--sealed-splits", type=Path, default=Path("sealed"), metavar="DIR", help="manifests of sealed splits"
    )
    p.add_argument("--summary", type=Path, metavar="FILE", help="append the gap, as Markdown")
    p.add_argument("--push", metavar="REMOTE", help="push a branch record/<id> with all of it to this remote")
    add_places(p)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Check again, write, and push; 0 done, 1 refused, 3 git failed."""
    from evaluators.commits import GitError

    options = parser().parse_args(argv)
    try:
        return _record(options)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except GitError as error:
        print(f"error: {error}; the files are written, push them as a branch of their own", file=sys.stderr)
        return 3


def _record(options: argparse.Namespace) -> int:
    from evaluators.bundle import read_bundle, write_bundle
    from evaluators.check import check_bundle
    from evaluators.commits import push_files
    from evaluators.hand_in import say
    from leaderboard import sealed_rows

    # An artifact crosses from job to job: it is checked as if it had come from anybody.
    for folder in (options.sent, options.judged):
        if (code := say(check_bundle(folder, splits=options.splits))) != 0:
            return code
    sent = read_bundle(options.sent)
    s = sent.submission
    home: Path = options.submissions / s.benchmark / s.submission_id
    if home.exists() and read_bundle(home) != sent:
        raise ValueError(f"{home} holds another bundle of that name; nothing is replaced in place")
    write_bundle(home, *sent)
    jury = read_bundle(options.judged).submission.jury
    reason = f"the jury {jury} of the maintainers judged the answers that were sent"
    record = supersede(
        options, s.submission_id, options.judged, "rejudged", reason=reason, pull=options.pull, head=options.head
    )
    print(record.model_dump_json(exclude_none=True, indent=1))
    homes = [home, home.with_name(record.becomes or "")]
    if options.sealed is not None and options.sealed.exists():
        beside = sealed_rows.place(options, s, options.sealed, pull=options.pull, head=options.head)
        print(beside.model_dump_json(exclude_none=True, indent=1))
        homes.append(_home(options, beside))
        tell(options.summary, _said(beside))
    if options.push:
        files = [*(path for folder in homes for path in folder.iterdir()), options.records]
        message = f"Record {s.submission_id}: {record.action} (pull request {options.pull} at {options.head})\n"
        branch = f"record/{s.submission_id}"
        commit_id = push_files(sorted(files), branch, message, remote=options.push)
        print(f"pushed {commit_id} as {branch}; a maintainer merges it, and the site shows the row")
    return 0


def _home(options: argparse.Namespace, record: Record) -> Path:
    from builders import benchmark_of

    folder: Path = options.submissions / benchmark_of((record.split or "").partition("@")[0]).name
    return folder / (record.becomes or "")


def _said(record: Record) -> str:
    if record.gap is None:
        return f"## Sealed run on {record.split}\n\nNo gap: the public run was asked or judged in another way.\n"
    value, low, high = (100 * x for x in record.gap)
    verdict = "undecided" if low <= 0 <= high else "better in public" if value > 0 else "better where sealed"
    return f"## Sealed run on {record.split}\n\nGap {value:+.1f} [{low:+.1f}, {high:+.1f}] points: {verdict}.\n"
