"""A bundle beside those that stand already: the same model again, an older version, somebody's answers once more."""

from pathlib import Path

from evaluators.bundle import TRANSCRIPTS, BundleError, read_bundle, read_submission
from evaluators.check.detect import same_words
from evaluators.check.files import Deadline
from evaluators.check.findings import Findings
from evaluators.check.form import Form

COPIED_SHARE = 0.5
LEAST_WORDS = 8


def check_others(form: Form, folder: Path, board: Path, found: Findings, deadline: Deadline) -> None:
    """Compare a bundle with the standing ones; bundles that cannot be read are not this submission's doing."""
    s = form.submission
    if s is None:
        return
    for path in sorted(board.glob("*/*/submission.yaml")):
        deadline.check()
        if path.parent.resolve() == folder.resolve():
            continue
        try:
            other = read_submission(path.parent)
        except (BundleError, OSError):
            continue
        if other.submission_id == s.submission_id:
            remedy = "nothing is replaced in place: say in the request that it corrects the standing one"
            found.refuse("name-taken", form.key("submission_id"), f"{s.submission_id!r} stands already", remedy)
        elif other.split != s.split or other.kind != "model":
            continue
        elif other.version != s.version:
            if _newer(other.version, s.version):
                problem = f"{other.ref} is on the board"
                found.report("older-version", form.key("version"), problem, "versions are never ranked together")
        else:
            _compare(form, path.parent, found)


def _newer(version: str, than: str) -> bool:
    # By length and digits: a stranger's version may have more digits than Python turns into a number.
    own, others = ([(len(n), n) for n in (part.lstrip("0") for part in v.split("."))] for v in (version, than))
    return own > others


def _compare(form: Form, folder: Path, found: Findings) -> None:
    s = form.submission
    try:
        other = read_bundle(folder)
    except (BundleError, OSError):
        return
    if s is None:
        return
    theirs = other.submission
    if (theirs.model.name, theirs.condition) == (s.model.name, s.condition):
        problem = f"{s.model.name!r} stands already as {theirs.submission_id!r}"
        found.report("same-model", form.key("model.name"), problem, "both rows stand; a maintainer decides which ranks")
    said = {(t.item_id, t.epoch): t.answer.texts[1] for t in other.transcripts if t.answer}
    own = [(t, said[t.item_id, t.epoch]) for _, t in form.transcripts if t.answer and (t.item_id, t.epoch) in said]
    long = [(t, text) for t, text in own if t.answer and len(t.answer.texts[1].split()) >= LEAST_WORDS]
    equal = sum(same_words(t.answer.texts[1], text) for t, text in long if t.answer)
    if len(long) >= 3 and equal > COPIED_SHARE * len(long):
        problem = f"{equal} of {len(long)} justifications are word for word those of {theirs.submission_id!r}"
        found.report("copied-answers", form.at(TRANSCRIPTS), problem, "say why, or who sent them first")
