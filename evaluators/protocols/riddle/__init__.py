"""The riddle protocol of layton-eval: one question, one answer with its justification, three verdicts."""

from hashlib import sha256
from typing import Any, NamedTuple

from pydantic import ConfigDict, StrictBool

from builders.values import Riddle, Value
from evaluators.heading import Heading
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.replies import UnreadableError, ask, read
from evaluators.values import (
    Image,
    Message,
    RiddleAnswer,
    Seat,
    Transcript,
    Verdict,
)

METRIC = "both_correct"
MOST_HINTS = 4


class SolverReply(Value):
    """Form of a solver's reply; a bare number as an answer is read as its digits."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    answer: str
    justification: str


class JudgeReply(Value):
    """Form of a judge's reply; only true and false will do, never "yes", 1 or null."""

    is_answer_correct: StrictBool
    is_justification_correct: StrictBool


def condition(hints: int, *, first: int | None = None) -> str:
    """Name what was varied; `first` is the number of riddles where it is not the whole split."""
    return f"hints={hints}" if first is None else f"hints={hints};first={first}"


def _images(riddle: Riddle) -> tuple[Image, ...]:
    if riddle.image is None:
        return ()
    media_type = "image/png" if riddle.image.startswith(b"\x89PNG") else "image/jpeg"
    return (Image(sha256=sha256(riddle.image).hexdigest(), media_type=media_type, data=riddle.image),)


def _with_images(messages: tuple[Message, Message], riddle: Riddle) -> tuple[Message, Message]:
    system, user = messages
    return system, user.model_copy(update={"images": _images(riddle)})


def solver_messages(riddle: Riddle, *, hints: int, prompt: Prompt) -> tuple[Message, Message]:
    """Put a riddle to a model with its first `hints` hints, as far as there are any."""
    return _with_images(prompt.messages({"riddle": riddle, "hints": riddle.hints[:hints]}), riddle)


def judge_messages(riddle: Riddle, answer: RiddleAnswer, *, prompt: Prompt) -> tuple[Message, Message]:
    """Put an answer to a judge.

    The answer stands between tags whose name holds a digest of it: no answer can contain the digest of itself, so
    none can close its own tag and speak as someone else.
    """
    fence = sha256(f"{answer.answer}\0{answer.justification}".encode()).hexdigest()[:12]
    return _with_images(prompt.messages({"riddle": riddle, "answer": answer, "fence": fence}), riddle)


def read_answer(text: str) -> RiddleAnswer | None:
    """Read a solver's whole reply; None where nobody can."""
    try:
        return RiddleAnswer(**read(text, SolverReply).model_dump())
    except UnreadableError:
        return None


class Setup(NamedTuple):
    """What is the same for every riddle of a run."""

    run: Heading
    hints: int
    prompt: Prompt


async def solve(riddle: Riddle, complete: Complete, *, epoch: int, setup: Setup) -> Transcript:
    """Let a model answer one riddle once."""
    messages = solver_messages(riddle, hints=setup.hints, prompt=setup.prompt)
    asked = await ask(complete, messages, SolverReply, decoding=setup.run.model.decoding)
    return setup.run.transcript(
        riddle.id,
        epoch,
        messages=asked.messages,
        answer=RiddleAnswer(**asked.value.model_dump()) if asked.value else None,
        failure=asked.reply.failure,
        usage=asked.usage,
        cost_usd=asked.cost_usd,
        seconds=asked.reply.seconds,
    )


async def judge(riddle: Riddle, transcript: Transcript, complete: Complete, *, seat: Seat, prompt: Prompt) -> Verdict:
    """Let one judge mark one answer.

    Raises:
        ValueError: If the transcript holds no answer.
    """
    if not isinstance(transcript.answer, RiddleAnswer):
        raise ValueError(f"transcript {transcript.transcript_id} holds no answer to judge")  # noqa: TRY004
    messages = judge_messages(riddle, transcript.answer, prompt=prompt)
    asked = await ask(complete, messages, JudgeReply, decoding=seat.model.decoding)
    return asked.verdict(transcript, seat, prompt_sha256=prompt.sha256, marked=lambda said: marked(**said.model_dump()))


def marked(*, is_answer_correct: bool, is_justification_correct: bool) -> dict[str, Any]:
    """Marks and score of a verdict: an item is right where answer and justification both are."""
    return {
        "score": float(is_answer_correct and is_justification_correct),
        "marks": {"is_answer_correct": is_answer_correct, "is_justification_correct": is_justification_correct},
    }


def no_answer(transcript: Transcript) -> Verdict:
    """The rule that an attempt in which the model gave no answer is not right."""
    wrong = marked(is_answer_correct=False, is_justification_correct=False)
    return Verdict(transcript_id=transcript.transcript_id, judge="no-answer", provider=None, kind="rule", **wrong)
