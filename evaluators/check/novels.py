"""What answers to questions about novels say against their condition, and verdicts on them against their parts."""

from collections.abc import Mapping
from math import isclose

from builders.values import NovelQuestion
from evaluators.answers import NovelAnswer, NovelRecord
from evaluators.bundle import TRANSCRIPTS, VERDICTS
from evaluators.check.findings import Findings
from evaluators.check.form import Form
from evaluators.protocols.novel.judge import LETTER, LETTER_UNIT
from evaluators.values import Submission, Transcript, Verdict

REPACK = "write the bundle with python -m evaluators.submit and change nothing in it by hand"


def is_letter(v: Verdict) -> bool:
    """Whether a verdict is the rule's on a letter, which stands beside those of the jury."""
    return v.kind == "rule" and (v.judge, v.unit) == (LETTER, LETTER_UNIT) and v.score in (0, 1)


def check_novels(form: Form, s: Submission, key: Mapping[str, NovelQuestion], found: Findings) -> None:
    """Refuse letters that the key contradicts, and records and scores that cannot be.

    Args:
        form: The bundle.
        s: Its description.
        key: The questions by item; empty where the split is not built here, and letters cannot be looked up.
        found: Where faults are put down.
    """
    attempts = {t.transcript_id: t for _, t in form.transcripts}
    lettered = {v.transcript_id for _, v in form.verdicts if is_letter(v)}
    for line, t in form.transcripts:
        if problem := _odd_record(t, s, key.get(t.item_id)):
            found.refuse("novel", form.at(TRANSCRIPTS, line), problem, REPACK)
        if (t.answer is not None or t.no_answer) and t.transcript_id not in lettered:
            found.refuse("letter", form.at(TRANSCRIPTS, line), "no rule's verdict on the letter", REPACK)
    for line, v in form.verdicts:
        attempt = attempts.get(v.transcript_id)
        if attempt is not None and (problem := _odd_verdict(v, attempt, key.get(attempt.item_id))):
            found.refuse("score", form.at(VERDICTS, line), problem, REPACK)
    if not key:
        remedy = "build the split here, or judge the answers again, which works every letter out anew"
        found.report("letters", form.at(VERDICTS), "letters could not be held against the key", remedy)


def _odd_record(t: Transcript, s: Submission, question: NovelQuestion | None) -> str | None:
    parts = s.condition.split(";")
    shown = t.novel
    if t.answer is not None and not isinstance(t.answer, NovelAnswer):
        return f"an answer of kind {t.answer.kind!r} to a question about a novel"
    if ("brought" in parts) != (shown is None):
        return "what was shown of the novel is recorded for answers made here, and for none that were brought"
    if shown is None:
        return None
    if f"setting={shown.setting}" not in parts:
        return f"setting {shown.setting!r} is not that of the condition"
    if shown.cut and not any(p.startswith("truncate=front@") for p in parts):
        return "a context was cut and the condition does not say so"
    return _odd_place(shown, question) if question is not None else None


def _odd_place(shown: NovelRecord, question: NovelQuestion) -> str | None:
    if shown.novel != question.novel or (shown.last or 0) >= question.answer_position:
        return "another novel, or the paragraph of the answer, was shown"
    if shown.setting == "context" and len(shown.depths) != len(question.reasoning):
        return f"{len(shown.depths)} depths for {len(question.reasoning)} reference steps"
    return None


def _odd_verdict(v: Verdict, t: Transcript, question: NovelQuestion | None) -> str | None:
    if is_letter(v):
        said = t.answer.letter if isinstance(t.answer, NovelAnswer) else None
        if (said is None and v.score != 0) or (question and v.score != float(said == question.answer)):
            return f"score {v.score} is not what the rule says of the letter {said}"
        return None
    if v.kind != "model" or v.score is None:
        return None
    steps = len(question.reasoning) if question else len(v.marks)
    if set(v.marks) != {f"step_{n}" for n in range(1, steps + 1)}:
        return "marks are not those of the reference steps"
    share = sum(v.marks.values()) / max(1, len(v.marks))
    if not isclose(v.score, share, abs_tol=1e-9) or v.parts != {"reasoning": v.score}:
        return f"score {v.score} is not the share of the steps that are marked"
    return None
