"""The check of a submission bundle: the same code for a submitter's preflight, for CI and before a row is recorded.

It reads files as what they are, somebody's data: nothing heavy is imported, nothing is fetched, written or executed.
"""

from pathlib import Path
from typing import NamedTuple

from evaluators.check.content import check_content
from evaluators.check.detect import detect
from evaluators.check.files import LIMITS, Deadline, DeadlineError, Limits, read_tree
from evaluators.check.findings import Findings
from evaluators.check.form import read_form
from evaluators.check.indexes import SplitIndex, find_index, gold_texts, novel_questions
from evaluators.check.novels import check_novels
from evaluators.check.others import check_others
from evaluators.values import Submission

__all__ = ["LIMITS", "Checked", "Limits", "SplitIndex", "check_bundle", "find_index"]


class Checked(NamedTuple):
    """What the check of one bundle found; `submission` is None where submission.yaml could not be read."""

    submission: Submission | None
    findings: Findings

    @property
    def accepted(self) -> bool:
        """Whether nothing is refused; what is only reported is for a maintainer to read."""
        return not self.findings.refused


def check_bundle(
    folder: Path,
    *,
    splits: Path = Path("splits"),
    board: Path | None = None,
    placed: bool = False,
    limits: Limits = LIMITS,
) -> Checked:
    """Check a bundle; all findings at once, each with file, line and remedy.

    Args:
        folder: submission.yaml and the two files of evidence, nothing else.
        splits: Built splits; a split that is not built there is known by its index only.
        board: Bundles that stand already; None: not compared with.
        placed: Whether the folder must bear the submission's name, as it does below `leaderboard/submissions`.
        limits: Sizes and counts that no bundle may exceed.
    """
    found = Findings()
    submission = None
    try:
        with Deadline(limits.seconds) as deadline:
            tree = read_tree(folder, found, limits)
            form = read_form(tree, found, limits, deadline)
            submission = form.submission
            if submission is None:
                return Checked(None, found)
            if placed:
                _check_place(folder, submission, found)
            index = find_index(submission.ref, splits)
            check_content(form, index, found, deadline)
            if submission.protocol == "novel":
                check_novels(form, submission, novel_questions(submission.ref, splits), found)
            if not found.refused:  # reading answers is dear: first the bundle must be sound
                detect(form, gold_texts(submission.ref, splits), found, deadline)
            if board is not None:
                check_others(form, folder, board, found, deadline)
    except DeadlineError:
        found.refuse("time", str(folder), f"checking takes more than {limits.seconds:g} s", "send a smaller bundle")
    return Checked(submission, found)


def _check_place(folder: Path, submission: Submission, found: Findings) -> None:
    is_there, belongs = folder.parts[-2:], (submission.benchmark, submission.submission_id)
    if is_there != belongs:
        found.refuse(
            "place",
            str(folder / "submission.yaml"),
            f"the bundle stands in {'/'.join(is_there)!r} and names itself {'/'.join(belongs)!r}",
            "move it with python -m evaluators.submit --pack DIR",
        )
