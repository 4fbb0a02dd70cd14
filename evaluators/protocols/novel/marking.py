"""How answers to questions about novels are marked again: the jury on the reasoning, the rule on the letter."""

from builders.values import NovelQuestion
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols import Marking
from evaluators.protocols.novel.judge import judge, letter, no_answer
from evaluators.values import Seat, Transcript, Verdict


def novel_marking(prompt: Prompt) -> Marking:
    """Mark with the judge's prompt in the split's language, one call an answer; no novel is needed."""

    async def mark(item: NovelQuestion, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        return (await judge(item, transcript, complete, seat=seat, prompt=prompt),)

    def by_rule(item: NovelQuestion, transcript: Transcript) -> tuple[Verdict, ...]:
        failed = transcript.failure is not None and not transcript.no_answer
        return () if failed else (letter(item, transcript),)

    return Marking(mark, no_answer, lambda _: 1, by_rule)
