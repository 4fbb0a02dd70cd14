"""A pull request read as data: which files it brings, whether they are one sound bundle, and what to tell its author.

python -m leaderboard review --pull N --head SHA [--into DIR] [--summary FILE]

Git's objects are fetched and read; nothing of the request is checked out, imported, installed or run.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leaderboard.changes import add_places

if TYPE_CHECKING:
    from evaluators.check import Checked
    from evaluators.check.findings import Findings
    from evaluators.commits import Entry

BELOW = ("leaderboard", "submissions")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MOST_FILES = 16


class Reviewed(NamedTuple):
    """What came of reading a request; `bundle` is None where something is refused."""

    checked: "Checked"
    bundle: Path | None

    @property
    def findings(self) -> "Findings":
        """What was found."""
        return self.checked.findings


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m leaderboard review", description="Read a pull request as data.")
    p.add_argument("--pull", type=pull_number, required=True, metavar="N", help="number of the pull request")
    p.add_argument("--head", type=commit, required=True, metavar="SHA", help="its commit, 40 hex digits")
    p.add_argument("--remote", default="origin", help="where to fetch it from (default: %(default)s)")
    p.add_argument("--into", type=Path, metavar="DIR", help="put an accepted bundle here, replaced whole")
    p.add_argument("--summary", type=Path, metavar="FILE", help="append what to do, as Markdown")
    add_places(p)
    return p


def pull_number(text: str) -> int:
    """A number of a pull request, or a usage error."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a pull request")
    return int(text)


def commit(text: str) -> str:
    """A whole commit id, or a usage error."""
    if not re.fullmatch(r"[0-9a-f]{40}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no commit of 40 hex digits")
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Read, check and report; 0 accepted, 1 the submission is refused, 3 the pipeline failed."""
    from evaluators.commits import GitError, fetch_head
    from evaluators.hand_in import say

    options = parser().parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fetch_head(options.pull, options.head, remote=options.remote)
            reviewed = read_request(options, Path(scratch))
        except (GitError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            tell(options.summary, OURS.format(why=_plain(str(error))))
            return 3
        code = say(reviewed.checked)
        tell(options.summary, summary(reviewed.findings))
        if code == 0 and reviewed.bundle is not None and options.into is not None:
            _keep(reviewed.bundle, options.into)
    return code


def read_request(options: argparse.Namespace, scratch: Path) -> Reviewed:
    """Check which files a request brings, write them below `scratch` and check them as a bundle.

    Raises:
        GitError: If the objects cannot be read.
    """
    from evaluators.check import Checked, check_bundle
    from evaluators.check.findings import Findings
    from evaluators.commits import changes, read_blob

    found = Findings()
    entries = changes("HEAD", options.head)
    folders = _check_entries(entries, found)
    if found.refused or len(folders) != 1:
        return Reviewed(Checked(None, found), None)
    folder = scratch / "leaderboard" / "submissions" / "/".join(folders.pop())
    folder.mkdir(parents=True)
    for entry in entries:
        if entry.sha is not None:
            (folder / Path(entry.path).name).write_bytes(read_blob(entry.sha))
    checked = check_bundle(folder, splits=options.splits, board=options.submissions, placed=True)
    checked.findings.below(str(scratch))
    return Reviewed(checked, folder if checked.accepted else None)


def _check_entries(entries: "Sequence[Entry]", found: "Findings") -> set[tuple[str, str]]:
    """Refuse all but a few new plain files in one folder of a bundle; nothing is read before that."""
    from evaluators.check.files import LIMITS
    from evaluators.commits import size_of

    remedy = "a submission adds one folder leaderboard/submissions/<benchmark>/<id>/ and touches nothing else"
    folders: set[tuple[str, str]] = set()
    if not entries or len(entries) > MOST_FILES:
        found.refuse("files", "the request", f"changes {len(entries)} files", remedy)
        return folders
    for entry in entries:
        parts = tuple(entry.path.split("/"))
        inside = len(parts) == 5 and parts[:2] == BELOW and all(_PART.fullmatch(p) for p in parts[2:])
        if inside and entry.path.endswith(".age"):
            ours = "ask for a sealed run in the request: maintainers run it themselves"
            found.refuse("sealed", repr(entry.path), "nobody can check numbers of a sealed split that were sent", ours)
        elif not inside or not entry.added or entry.sha is None:
            found.refuse("outside", repr(entry.path), "is not a new file of the submission's own folder", remedy)
        elif entry.mode != "100644":
            found.refuse("mode", repr(entry.path), f"has mode {entry.mode}", "send plain files: no link, no script")
        elif (size := size_of(entry.sha)) > LIMITS.packed_bytes:
            problem = f"has {size:,} bytes, at most {LIMITS.packed_bytes:,}"
            found.refuse("too-large", repr(entry.path), problem, "leave out what is no evidence")
        else:
            folders.add((parts[2], parts[3]))
    if len(folders) > 1:
        found.refuse("files", "the request", f"brings {len(folders)} bundles", "send one bundle a request")
    return folders


OURS = """## Our pipeline failed

Nothing was found wrong with your submission, and there is nothing you have to do: a maintainer starts this again.

    {why}
"""


def summary(found: "Findings") -> str:
    """What to tell the author, as Markdown; nothing of the bundle can become mark-up."""
    refused, reported = found.refused, found.reported
    verdict = "needs changes" if refused else "passes"
    lines = [f"## Your submission: {verdict}", ""]
    if refused:
        lines += ["Mend what is refused, check it with `python -m evaluators.submit --check DIR` and push again.", ""]
    else:
        lines += ["A maintainer reads it next. You need not do anything.", ""]
    lines += [f"    {_plain(str(f))}" for f in (*refused, *reported)]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    from evaluators.check.findings import visible

    return visible(text, 600)  # one line, so an indented block of code cannot be left


def tell(path: Path | None, text: str) -> None:
    """Append Markdown to the summary of a job, where there is one."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def _keep(bundle: Path, into: Path) -> None:
    from builders.folders import replace_folder

    with replace_folder(into) as new:
        for path in bundle.iterdir():
            (new / path.name).write_bytes(path.read_bytes())
