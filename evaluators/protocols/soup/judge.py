"""One judge on one reconstruction: similarities with the reference points, and the scores that follow."""

import asyncio
import json
from collections.abc import Sequence
from itertools import chain
from typing import Literal

from builders.values import Soup
from evaluators.models import Complete
from evaluators.points import ItemPoints
from evaluators.protocols.soup.desk import Desk, GameEndedError, fence
from evaluators.protocols.soup.forms import similarities
from evaluators.protocols.soup.matching import WEIGHTS, overall, points_score
from evaluators.protocols.soup.texts import Texts
from evaluators.replies import total_cost, total_usage, verdict_by
from evaluators.values import Failure, Seat, Transcript, Verdict


async def judge(
    soup: Soup,
    transcript: Transcript,
    complete: Complete,
    *,
    seat: Seat,
    texts: Texts,
    points: ItemPoints,
    compat: Literal["released"] | None = None,
) -> Verdict:
    """Let one judge compare a reconstruction with the truth.

    The judge is asked once a point, with all predictions of its kind, and once for the conclusion. The verdict's
    `reply` holds all similarities, so that anyone can score them again.

    Raises:
        ValueError: If the transcript holds no reconstruction.
    """
    said = transcript.answer
    if said is None or said.kind != "soup":
        raise ValueError(f"transcript {transcript.transcript_id} holds no reconstruction to judge")
    desk = Desk(complete, seat.model.decoding, texts)
    conclusion = (said.conclusion,) if said.conclusion.strip() else ()
    async with asyncio.TaskGroup() as group:
        asked = {
            "logic": [group.create_task(_compare(desk, p, said.logic)) for p in points.logic],
            "details": [group.create_task(_compare(desk, p, said.details)) for p in points.details],
            "conclusion": [group.create_task(_compare(desk, soup.bottom, conclusion))],
        }
    done = {name: [task.result() for task in tasks] for name, tasks in asked.items()}
    return verdict_by(
        seat,
        transcript,
        prompt_sha256=texts.prompts["similarity"].sha256,
        usage=total_usage(desk.usages),
        cost_usd=total_cost(desk.costs),
        **_marked(done, compat=compat),
    )


def _marked(
    done: dict[str, list[tuple[float, ...] | Failure]], *, compat: Literal["released"] | None
) -> dict[str, object]:
    # All comparisons are waited for, so that what a failed verdict says does not hang on which came first.
    for row in chain(*done.values()):
        if isinstance(row, str):
            return {"failure": row}
    rows = {name: [row for row in found if not isinstance(row, str)] for name, found in done.items()}
    parts = scored(rows, compat=compat)
    return {"score": overall(parts), "parts": parts, "reply": json.dumps(rows, sort_keys=True)}


def scored(rows: dict[str, list[tuple[float, ...]]], *, compat: Literal["released"] | None = None) -> dict[str, float]:
    """Turn a judge's similarities into the three parts of the score, each in [0, 1]."""
    (whole,) = rows["conclusion"]
    parts = {name: points_score(rows[name], compat=compat) for name in ("logic", "details")}
    return parts | {"conclusion": whole[0] if whole else 0.0}


def no_answer(transcript: Transcript) -> Verdict:
    """The rule that a game in which the player gave no reconstruction scores 0."""
    parts = dict.fromkeys(WEIGHTS, 0.0)
    return Verdict(
        transcript_id=transcript.transcript_id, judge="no-answer", provider=None, kind="rule", score=0, parts=parts
    )


async def _compare(desk: Desk, statement: str, texts: Sequence[str]) -> tuple[float, ...] | Failure:
    if not texts:
        return ()
    values = {"statement": statement, "texts": texts, "fence": fence(*texts)}
    try:
        reply = await desk.need("similarity", values, similarities(len(texts)))
    except GameEndedError as ended:
        return ended.failure
    found: tuple[float, ...] = reply.model_dump()["similarities"]
    return found
