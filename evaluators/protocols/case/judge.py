"""One grader on the answers of one case: every answer at every stage gets a grade from 0 to 3.

Source: Leelawat & Griffin 2026, section 3.2.2. One departure: an answer that is given again word for word at a later
stage is the same question to the grader, and is put once.
"""

import asyncio
from collections.abc import Mapping

from builders.values import Case
from evaluators.answers import CaseAnswer, GraderMode
from evaluators.models import Complete
from evaluators.protocols.case.forms import GradeReply
from evaluators.protocols.case.texts import GRADING
from evaluators.protocols.soup.desk import fence
from evaluators.protocols.soup.texts import Texts
from evaluators.replies import Asked, ask
from evaluators.rubrics import Rubric
from evaluators.units import unit_of
from evaluators.values import Message, Seat, Transcript, Usage, Verdict

FREE = Usage(input_tokens=0, output_tokens=0)


def grade_messages(
    case: Case, question: int, answer: str, *, mode: GraderMode, texts: Texts, rubric: Rubric | None
) -> tuple[Message, Message]:
    """Put an answer to a grader.

    Args:
        case: The case.
        question: Its place, from 0.
        answer: What the player said.
        mode: What else the grader is shown.
        texts: The prompts.
        rubric: Of the question; None where the mode has none.
    """
    asked = case.questions[question]
    values = {
        "question": asked,
        "examples": asked.examples,
        "solution": case.solution,
        "rubric": rubric,
        "answer": answer,
        "fence": fence(answer),
    }
    return texts.prompts[GRADING[mode]].messages(values)


async def judge(
    case: Case,
    transcript: Transcript,
    complete: Complete,
    *,
    seat: Seat,
    mode: GraderMode,
    texts: Texts,
    rubrics: Mapping[tuple[str, int], Rubric],
) -> tuple[Verdict, ...]:
    """Let one grader mark every answer of a case that says something, by stage and question.

    Args:
        rubrics: By case and question, from 1; empty where the mode has none.

    Raises:
        ValueError: If the transcript holds no answers of a case.
    """
    said = transcript.answer
    if not isinstance(said, CaseAnswer):
        raise ValueError(f"transcript {transcript.transcript_id} holds no answers of a case")  # noqa: TRY004
    units = [(s, q, text) for s, row in enumerate(said.stages) for q, text in enumerate(row) if text.strip()]

    async def grade(question: int, text: str) -> Asked[GradeReply]:
        rubric = rubrics.get((case.id, question + 1))
        messages = grade_messages(case, question, text, mode=mode, texts=texts, rubric=rubric)
        return await ask(complete, messages, GradeReply, decoding=seat.model.decoding)

    async with asyncio.TaskGroup() as group:
        tasks = {(q, text): group.create_task(grade(q, text)) for q, text in dict.fromkeys((q, t) for _, q, t in units)}
    sha256, counted, found = texts.prompts[GRADING[mode]].sha256, set(), []
    for stage, question, text in units:
        asked, first = tasks[question, text].result(), (question, text) not in counted
        counted.add((question, text))
        unit = unit_of(stage, question + 1)
        paid = {} if first else {"usage": FREE, "cost_usd": 0.0}
        found.append(asked.verdict(transcript, seat, prompt_sha256=sha256, marked=_marked, unit=unit, **paid))
    return tuple(found)


def _marked(said: GradeReply) -> dict[str, float]:
    return {"score": float(said.score)}


def no_answer(transcript: Transcript) -> Verdict:
    """The rule that a case in which the player gave no answer at all scores 0."""
    return Verdict(transcript_id=transcript.transcript_id, judge="no-answer", provider=None, kind="rule", score=0)
