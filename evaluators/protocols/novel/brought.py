"""A letter and its reasoning in a reply that another harness logged, whatever its prompt asked for."""

import re
from contextlib import suppress

from pydantic import field_validator

from builders.values import Value
from evaluators.answers import Letter, NovelAnswer
from evaluators.protocols.novel.forms import SolverReply, Step, bare_letter
from evaluators.replies import MOST_CHARACTERS, UnreadableError, read

# As Inspect's multiple choice and most prompts with reasoning before the answer end: a line of its own. Marks around it
# are bounded, or a reply of line breaks alone would be searched for minutes.
MARKS = r"[^a-z0-9\n]{0,20}"
MARKED = re.compile(
    rf"^{MARKS}answer[ \t]{{0,5}}(?:is)?[ \t]{{0,5}}:{MARKS}([A-D]){MARKS}$", re.IGNORECASE | re.MULTILINE
)
BARE = re.compile(r"\s*\(?([A-D])[.:)]{0,2}\s*")


class _ProseReply(Value):
    reasoning: Step
    answer: Letter

    @field_validator("answer", mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return bare_letter(value)


def read_choice(text: str) -> NovelAnswer | None:
    """Read a whole reply; None where nobody can say which letter it chose.

    Understood are our own form, the same with its reasoning in one piece, a line `ANSWER: B`, and a letter alone. What
    is no list of steps is one step; a letter alone has no reasoning but itself.
    """
    with suppress(UnreadableError):
        listed = read(text, SolverReply)
        return NovelAnswer(kind="novel", letter=listed.answer, steps=listed.reasoning)
    with suppress(UnreadableError):
        prose = read(text, _ProseReply)
        return NovelAnswer(kind="novel", letter=prose.answer, steps=(prose.reasoning,))
    if len(text) > MOST_CHARACTERS:
        return None
    bare = BARE.fullmatch(text)
    letters = {bare[1]} if bare else {found.upper() for found in MARKED.findall(text)}
    if len(letters) != 1:
        return None
    reasoning = MARKED.sub("", text).strip() or text.strip()
    return NovelAnswer.model_validate({"kind": "novel", "letter": letters.pop(), "steps": (reasoning,)})
