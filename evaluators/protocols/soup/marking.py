"""How reconstructions of puzzles are marked again, against the very points they were marked against before."""

from pathlib import Path
from typing import Literal

from builders.splits import Split
from builders.values import Soup
from evaluators.answers import SoupAnswer
from evaluators.models import Complete
from evaluators.points import PointsError, PointSet, points_for
from evaluators.prompts import language_of
from evaluators.protocols import Marking
from evaluators.protocols.soup.condition import read_condition
from evaluators.protocols.soup.judge import judge, no_answer
from evaluators.protocols.soup.texts import Texts, load_texts
from evaluators.values import Seat, Transcript, Verdict


def soup_marking_of(split: Split, condition: str, *, root: Path, prompts: Path | None = None) -> Marking:
    """Mark with the points that the condition names, one call a point and one for the conclusion.

    Raises:
        PointsError: If the points here are others than those of the condition.
        PromptError: If the prompt is missing.
    """
    said = read_condition(condition)
    points = points_for(split, root=root)
    if said is None or not points.sha256.startswith(said.points):
        raise PointsError(
            f"the reconstructions were marked against other points ({condition!r}) than those here "
            f"({points.sha256[:8]}); scores against another truth cannot be set beside them: put their file of points "
            "beside the split, or ask for a run on these"
        )
    texts = load_texts(language_of(split.manifest), home=prompts, names=("similarity",))
    return soup_marking(points, texts, compat="released" if said.released else None)


def soup_marking(points: PointSet, texts: Texts, *, compat: Literal["released"] | None) -> Marking:
    """Mark with these points, one call a point and one for the conclusion."""
    truth = {p.item_id: p for p in points.items}

    async def mark(item: Soup, transcript: Transcript, complete: Complete, seat: Seat) -> tuple[Verdict, ...]:
        own = truth[item.id]
        return (await judge(item, transcript, complete, seat=seat, texts=texts, points=own, compat=compat),)

    def calls(transcript: Transcript) -> int:
        own, answer = truth[transcript.item_id], transcript.answer
        if not isinstance(answer, SoupAnswer):
            return 0
        # A part with nothing in it costs no call.
        wanted = ((len(own.logic), answer.logic), (len(own.details), answer.details), (1, answer.conclusion.strip()))
        return sum(number for number, there in wanted if there)

    return Marking(mark, no_answer, calls)
