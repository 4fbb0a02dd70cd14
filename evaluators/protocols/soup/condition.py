"""What a condition of situation puzzles says: who asked, who answered, and against which points it was marked."""

import re
from typing import NamedTuple, get_args

from evaluators.answers import Ablation, SoupSettings

MOST_TURNS: int = SoupSettings.model_fields["max_turns"].default
_FORM = re.compile(
    rf"(?:(?P<human>player=human)|agent=(?P<agent>{'|'.join(get_args(Ablation))})|(?P<brought>brought))"
    r"(?:;(?P<human_brought>brought))?"
    r"(?:;responder=(?P<responder>[^;]{1,200}))?(?:;turns=(?P<turns>[1-9]\d{0,2}))?(?P<released>;compat=released)?"
    r";points=(?P<points>[0-9a-f]{8})(?:;first=[1-9]\d{0,5})?"
)


class Condition(NamedTuple):
    """A condition, taken apart."""

    human: bool  # a person played
    agent: str | None  # configuration of the agent; None: a person played, or reconstructions were brought
    brought: bool  # only reconstructions are there: no game was played here
    responder: str | None  # None: reconstructions were brought and nobody says who had answered
    turns: int
    released: bool
    points: str  # first eight digits of their digest


def write_condition(
    settings: SoupSettings, points_sha256: str, *, first: int | None, brought: bool, human: bool
) -> str:
    """Name what was varied; figures of other conditions, of other reference points too, are not compared.

    Args:
        settings: Of the games; of reconstructions that were brought, an empty responder is an unknown one.
        points_sha256: Digest of the reference points.
        first: Number of items where it is not the whole split.
        brought: Whether only reconstructions are there.
        human: Whether people made them.
    """
    who = ["player=human"] if human else [] if brought else [f"agent={settings.ablation}"]
    parts = [*who, *(["brought"] if brought else [])]
    if settings.responder:
        parts.append(f"responder={settings.responder}")
    if settings.max_turns != MOST_TURNS:
        parts.append(f"turns={settings.max_turns}")
    if settings.compat:
        parts.append(f"compat={settings.compat}")
    parts.append(f"points={points_sha256[:8]}")
    return ";".join([*parts, *([f"first={first}"] if first is not None else [])])


def read_condition(text: str) -> Condition | None:
    """Take a condition apart; None where it is not one of situation puzzles."""
    found = _FORM.fullmatch(text)
    if found is None or (found["human_brought"] and not found["human"]):
        return None
    brought = bool(found["brought"] or found["human_brought"])
    if not brought and not found["responder"]:
        return None
    turns = int(found["turns"] or MOST_TURNS)
    return Condition(
        bool(found["human"]),
        found["agent"],
        brought,
        found["responder"],
        turns,
        bool(found["released"]),
        found["points"],
    )
