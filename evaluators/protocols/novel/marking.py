"""How answers to questions about novels are marked again: the jury on the reasoning, the rule on the letter."""

from pathlib import Path
from typing import TYPE_CHECKING

from builders.values import NovelQuestion
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols import Marking
from evaluators.protocols.novel.judge import judge, letter, no_answer
from evaluators.values import Seat, Transcript, Verdict

if TYPE_CHECKING:
    from builders.splits import Split


def novel_marking(split: "Split", *, prompts: Path | None = None) -> Marking:
    """Mark with the judge's prompt in the split's language, one call an answer; no novel is needed.

    Raises:
        PromptError: If the prompt is missing.
    """
    language = "zh" if split.manifest.language == "zh" else "en"
    prompt = Prompt(f"novel/{language}/judge", home=prompts)

    async def mark(item: NovelQuestion, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        return (await judge(item, transcript, complete, seat=seat, prompt=prompt),)

    def by_rule(item: NovelQuestion, transcript: Transcript) -> tuple[Verdict, ...]:
        failed = transcript.failure is not None and not transcript.no_answer
        return () if failed else (letter(item, transcript),)

    return Marking(mark, no_answer, lambda _: 1, by_rule)
