"""Hand in a bundle: check it as CI does, pack it for the repository, open a pull request with it.

python -m evaluators.submit --check DIR      all findings at once; nothing is written, fetched or executed
python -m evaluators.submit --pack DIR       put a run's bundle where the repository keeps it
python -m evaluators.submit --open-pr DIR    push a packed bundle and open the pull request, or say how
python -m evaluators.submit --schema         print the JSON schema of a bundle's rows
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluators.check import Checked
    from evaluators.values import Submission

SWITCHES = ("--check", "--pack", "--open-pr", "--schema")
DONE, REFUSED, OUTSIDE = 0, 1, 3
BOARD = Path("leaderboard/submissions")


def asked(argv: Sequence[str]) -> bool:
    """Whether a command line is for this module and not for a run."""
    return any(word.split("=")[0] in SWITCHES for word in argv)


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.submit", description="Hand in a submission bundle.")
    add_switches(p.add_mutually_exclusive_group(required=True))
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--board", type=Path, default=BOARD, metavar="DIR", help="bundles that stand already")
    p.add_argument("--remote", default="origin", help="git remote that --open-pr pushes to (default: %(default)s)")
    return p


def add_switches(group: "argparse._ActionsContainer") -> None:
    """Describe the four switches; the command that runs a model lists them, too."""
    group.add_argument("--check", type=Path, metavar="DIR", help="check a bundle; the same code as CI's")
    group.add_argument("--pack", type=Path, metavar="DIR", help="put a run's bundle below leaderboard/submissions")
    group.add_argument("--open-pr", type=Path, metavar="DIR", help="push a packed bundle and open the pull request")
    group.add_argument("--schema", action="store_true", help="print the JSON schema of a bundle")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the four; exit code 0 done, 1 refused, 2 usage, 3 git or the service failed."""
    options = parser().parse_args(argv)
    if options.schema:
        print(json.dumps(schema(), indent=1))
        return DONE
    if options.check:
        return _check(options)
    return _pack(options) if options.pack else _open(options)


def schema() -> dict[str, Any]:
    """The JSON schema of submission.yaml and of one line of each evidence file."""
    from pydantic.json_schema import models_json_schema

    from evaluators.values import Submission, Transcript, Verdict

    models = [(kind, "validation") for kind in (Submission, Transcript, Verdict)]
    _, made = models_json_schema(models, title="Deerstalker submission bundle")  # type: ignore[arg-type]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "description": "submission.yaml is a Submission, a line of transcripts.jsonl.zst a Transcript, a line of "
        "verdicts.jsonl.zst a Verdict.",
        "anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind, _ in models],
    }


def say(checked: "Checked") -> int:
    """Print all findings and what they come to; the exit code."""
    refused, reported = checked.findings.refused, checked.findings.reported
    for finding in (*refused, *reported):
        print(finding, file=sys.stderr if finding.severity == "refused" else sys.stdout)
    if refused:
        print(f"refused: {len(refused)} to mend, {len(reported)} reported", file=sys.stderr)
        return REFUSED
    name = checked.submission.submission_id if checked.submission else ""
    print(f"accepted: {name}, {len(reported)} reported for a maintainer to read")
    return DONE


def _check(options: argparse.Namespace) -> int:
    from evaluators.check import check_bundle

    folder: Path = options.check
    if any(folder.glob("*.age")):
        return _check_sealed(options)
    placed = options.board.resolve() in folder.resolve().parents
    return say(check_bundle(folder, splits=options.splits, board=options.board, placed=placed))


def _check_sealed(options: argparse.Namespace) -> int:
    from builders.splits import SplitError
    from builders.vault import VaultError
    from evaluators.check.sealed import check_sealed_bundle

    try:
        return say(check_sealed_bundle(options.check, splits=options.splits))
    except (SplitError, VaultError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def _pack(options: argparse.Namespace) -> int:
    from evaluators.bundle import BundleError, read_bundle, write_bundle
    from evaluators.check import check_bundle
    from evaluators.check.findings import visible

    try:
        bundle = read_bundle(options.pack)
    except (BundleError, OSError) as error:
        print(visible(f"error: {error}; give the bundle folder that a run ended with", 500), file=sys.stderr)
        return REFUSED
    s = bundle.submission
    target: Path = options.board / s.benchmark / s.submission_id
    if target.exists():
        print(f"error: {target} stands already; a bundle is never replaced in place", file=sys.stderr)
        return REFUSED
    code = say(check_bundle(options.pack, splits=options.splits, board=options.board))
    if code == DONE:
        write_bundle(target, *bundle)
        print(f"packed: {target}\nnext: python -m evaluators.submit --open-pr {target}")
    return code


def _open(options: argparse.Namespace) -> int:
    from evaluators.check import check_bundle
    from evaluators.commits import GitError, open_request

    checked = check_bundle(options.open_pr, splits=options.splits, board=options.board, placed=True)
    if (code := say(checked)) != DONE or checked.submission is None:
        return code or REFUSED
    s = checked.submission
    try:
        print(open_request(options.open_pr, f"submit/{s.submission_id}", _title(s), _body(s), remote=options.remote))
    except GitError as error:
        print(f"error: {error}\n{_by_hand(options.open_pr, s)}", file=sys.stderr)
        return OUTSIDE
    return DONE


def _title(s: "Submission") -> str:
    return f"Submit {s.model.name} on {s.ref}"


def _body(s: "Submission") -> str:
    return (
        f"Bundle `{s.submission_id}`: {s.condition}, jury {s.jury}, {s.counts.expected} attempts.\n\n"
        f"In training data: {s.contamination or 'not stated'}\n"
    )


def _by_hand(folder: Path, s: "Submission") -> str:
    branch = f"submit/{s.submission_id}"
    return (
        "Nothing is lost. By hand, with a fork of the repository as remote `fork`:\n"
        f"  git switch -c {branch}\n  git add {folder}\n  git commit -m {_title(s)!r}\n  git push fork {branch}\n"
        "and open a pull request from that branch on the repository's page. Without git: zip the folder and attach it "
        "to an issue with the form `Submit a model`."
    )
