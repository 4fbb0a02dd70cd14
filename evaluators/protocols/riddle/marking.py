"""How answers to riddles are marked again."""

from pathlib import Path

from builders.values import Riddle
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols import Marking, riddle
from evaluators.values import Seat, Transcript, Verdict


def riddle_marking(*, prompts: Path | None = None) -> Marking:
    """Mark with the judge's prompt, one call an answer.

    Raises:
        PromptError: If the prompt is missing.
    """
    prompt = Prompt("riddle/judge", home=prompts)

    async def mark(item: Riddle, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        return (await riddle.judge(item, transcript, complete, seat=seat, prompt=prompt),)

    return Marking(mark, riddle.no_answer, lambda _: 1)
