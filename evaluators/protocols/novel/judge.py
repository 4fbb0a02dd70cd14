"""The letter by rule, and one judge on the reasoning: which of the reference steps are in it."""

from hashlib import sha256
from typing import Any

from builders.values import NovelQuestion
from evaluators.answers import NovelAnswer
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols.novel.forms import steps_found
from evaluators.replies import ask
from evaluators.values import Message, Seat, Transcript, Verdict

LETTER = "letter"  # name of the rule that compares letters
LETTER_UNIT = "answer"


def judge_messages(question: NovelQuestion, answer: NovelAnswer, *, prompt: Prompt) -> tuple[Message, Message]:
    """Put a model's reasoning to a judge, between tags that it cannot close: their name holds a digest of it."""
    fence = sha256("\0".join(answer.steps).encode()).hexdigest()[:12]
    return prompt.messages({"question": question, "answer": answer, "fence": fence})


async def judge(
    question: NovelQuestion, transcript: Transcript, complete: Complete, *, seat: Seat, prompt: Prompt
) -> Verdict:
    """Let one judge say which reference steps a reasoning holds; the score is their share.

    Indexes out of range and indexes given twice make a reply unreadable, as what is no JSON does.

    Raises:
        ValueError: If the transcript holds no answer to such a question.

    Source: Xu et al. 2024, section 4.1 and appendix B.
    """
    if not isinstance(transcript.answer, NovelAnswer):
        raise ValueError(f"transcript {transcript.transcript_id} holds no answer to judge")  # noqa: TRY004
    messages = judge_messages(question, transcript.answer, prompt=prompt)
    steps = len(question.reasoning)
    asked = await ask(complete, messages, steps_found(steps), decoding=seat.model.decoding)
    return asked.verdict(
        transcript,
        seat,
        prompt_sha256=prompt.sha256,
        marked=lambda said: marked(said.model_dump()["found"], steps=steps),
    )


def marked(found: tuple[int, ...], *, steps: int) -> dict[str, Any]:
    """Score, part and marks of a verdict: the share of the reference steps that were found, and which they are."""
    share = len(found) / steps
    marks = {f"step_{n}": n in found for n in range(1, steps + 1)}
    return {"score": share, "parts": {"reasoning": share}, "marks": marks}


def letter(question: NovelQuestion, transcript: Transcript) -> Verdict:
    """The rule that an answer is right where its letter is the key's; no answer is not right.

    It stands apart from the jury, which marks the reasoning, by its unit.
    """
    said = transcript.answer
    right = isinstance(said, NovelAnswer) and said.letter == question.answer
    return Verdict(
        transcript_id=transcript.transcript_id, judge=LETTER, kind="rule", unit=LETTER_UNIT, score=float(right)
    )


def no_answer(transcript: Transcript) -> Verdict:
    """The rule that an attempt in which the model gave no answer holds no step of reasoning."""
    return Verdict(transcript_id=transcript.transcript_id, judge="no-answer", kind="rule", score=0.0)
