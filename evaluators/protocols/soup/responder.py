"""The Responder: knows the whole story, says yes, no or unknown, and flags questions that touch a key clue."""

from builders.values import Soup
from evaluators.answers import YesNo
from evaluators.protocols.soup.desk import Desk, fence
from evaluators.protocols.soup.forms import KeyClueReply
from evaluators.protocols.soup.yesno import YesNoReply, yes_or_no


async def answer(desk: Desk, soup: Soup, question: str) -> YesNo:
    """Answer one question.

    Raises:
        evaluators.protocols.soup.desk.GameEndedError: If the model gives no answer; an unreadable one is never guessed.
    """
    values = {"soup": soup, "question": question, "fence": fence(question)}
    return (await desk.need("answer", values, YesNoReply, reader=yes_or_no)).answer


async def touches_key_clue(desk: Desk, soup: Soup, question: str) -> bool:
    """Say whether a question touches one of the puzzle's key clues, by a call of its own as in the paper.

    Raises:
        evaluators.protocols.soup.desk.GameEndedError: If the model does not say.
    """
    values = {"soup": soup, "question": question, "fence": fence(question)}
    return (await desk.need("clue", values, KeyClueReply)).key_clue
