"""How answers to riddles are marked again."""

from builders.values import Riddle
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols import Marking, riddle
from evaluators.values import Seat, Transcript, Verdict


def riddle_marking(prompt: Prompt) -> Marking:
    """Mark with the judge's prompt, one call an answer."""

    async def mark(item: Riddle, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        return (await riddle.judge(item, transcript, complete, seat=seat, prompt=prompt),)

    return Marking(mark, riddle.no_answer, lambda _: 1)
