"""How answers to cases are graded again, by the very rubrics that they were graded by before."""

import re
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from builders.splits import Split
from builders.values import Case
from evaluators.answers import CaseAnswer, GraderMode
from evaluators.models import Complete
from evaluators.protocols import Marking
from evaluators.protocols.case.judge import judge, no_answer
from evaluators.protocols.case.texts import load_case_texts
from evaluators.protocols.soup.texts import Texts
from evaluators.rubrics import RubricError, RubricSet, rubrics_for
from evaluators.units import place_of
from evaluators.values import Seat, Transcript, Verdict

_CONDITION = re.compile(
    r"(?:player=human|scheme=(?P<scheme>[a-z]+));grader=(?P<grader>[1-5])"
    r"(?:;rubrics=(?P<rubrics>[0-9a-f]{8}))?(?:;first=[1-9]\d{0,5})?"
)


class CaseCondition(NamedTuple):
    """What a condition of cases says."""

    scheme: str | None  # None: a person played
    grader_mode: GraderMode
    rubrics: str | None  # first digits of their digest


def read_condition(text: str) -> CaseCondition | None:
    """Read a condition as `play.condition` writes it; None where it is none of cases."""
    said = _CONDITION.fullmatch(text)
    if said is None:
        return None
    modes: dict[str, GraderMode] = {str(mode): mode for mode in get_args(GraderMode)}
    return CaseCondition(said["scheme"], modes[said["grader"]], said["rubrics"])


def case_marking_of(split: Split, condition: str, *, root: Path, prompts: Path | None = None) -> Marking:
    """Grade as the condition says, one call for each text that a player gave as the answer to a question.

    Raises:
        RubricError: If the rubrics here are others than those of the condition, or it is no condition of cases.
        PromptError: If a prompt is missing.
        VaultError: If sealed rubrics cannot be opened.
    """
    said = read_condition(condition)
    if said is None:
        raise RubricError(f"{condition!r} is no condition of cases, so it does not say how they were graded")
    mode, rubrics = said.grader_mode, _rubrics(split, said, root)
    return case_marking(mode, load_case_texts(mode, home=prompts), rubrics)


def case_marking(mode: GraderMode, texts: Texts, rubrics: RubricSet | None) -> Marking:
    """Grade with these rubrics, one call for each text that a player gave as the answer to a question."""
    by_question = rubrics.by_question if rubrics else {}

    async def mark(item: Case, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        if item.practice:
            return ()
        return await judge(item, transcript, complete, seat=seat, mode=mode, texts=texts, rubrics=by_question)

    return Marking(mark, no_answer, lambda transcript: len(_asked(transcript)), only=_only)


def _rubrics(split: Split, said: CaseCondition, root: Path) -> RubricSet | None:
    if said.grader_mode not in (4, 5):
        return None
    mode: Literal[4, 5] = 4 if said.grader_mode == 4 else 5
    found = rubrics_for(split, mode=mode, root=root)
    if said.rubrics is None or not found.sha256.startswith(said.rubrics):
        raise RubricError(
            f"the answers were graded by other rubrics ({said.rubrics}) than those here ({found.sha256[:8]}); grades "
            "by another truth cannot be set beside them: put their file of rubrics beside the split, or ask for a run "
            "on these"
        )
    return found


def _asked(transcript: Transcript) -> set[tuple[int, str]]:
    # An answer that is given again word for word costs no second call, and one that says nothing costs none.
    answer = transcript.answer
    rows = answer.stages if isinstance(answer, CaseAnswer) else ()
    return {(question, text) for row in rows for question, text in enumerate(row) if text.strip()}


def _only(transcript: Transcript, unit: str) -> Transcript:
    """Leave the answer that a grade is about, where its words stand first: the same words make the same attempt."""
    answer, place = transcript.answer, place_of(unit)
    if not isinstance(answer, CaseAnswer) or place is None:
        return transcript
    stage, question = place
    text = answer.stages[stage][question]
    first = next(n for n, row in enumerate(answer.stages) if row[question] == text)
    left = tuple(
        tuple(said if (s, q) == (first, question) else "" for q, said in enumerate(row))
        for s, row in enumerate(answer.stages)
    )
    return transcript.model_copy(update={"answer": answer.model_copy(update={"stages": left})})
