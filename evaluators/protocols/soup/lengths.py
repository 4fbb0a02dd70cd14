"""How many points a solution is cut into, by its length and its sentences.

Source: Zhou et al. 2025, appendix D.3, with the limits of the released code. It uses the same limits for both
languages, although a Chinese text says the same in about 0.28 of the characters (median of the release's 400 pairs): a
Chinese solution then gets fewer points than its translation. Here Chinese characters are counted as 1/0.28 each;
`compat="released"` counts as the released code does.
"""

import re
from typing import Literal, NamedTuple

from builders.values import Language

CHINESE_SHARE = 0.28
_END = re.compile(r"[.!?。！？…]+")


class PointCounts(NamedTuple):
    """How many logic points (2 to 5) and details (3 to 8) a solution has."""

    logic: int
    details: int


def point_counts(bottom: str, *, language: Language, compat: Literal["released"] | None = None) -> PointCounts:
    """Say into how many points a solution is cut."""
    length = len(bottom) / CHINESE_SHARE if language == "zh" and compat is None else len(bottom)
    return PointCounts(_logic(length), _details(length, sentences(bottom)))


def sentences(text: str) -> int:
    """Count the sentences of a text in either language."""
    return sum(bool(part.strip()) for part in _END.split(text))


def _logic(length: float) -> int:
    return next((n for limit, n in ((250, 2), (350, 3), (500, 4)) if length < limit), 5)


def _details(length: float, sentences: int) -> int:
    if length < 180:
        return 3 if length < 140 else 4
    if length < 250:
        return 5 if sentences >= 5 and length >= 200 else 4
    if length < 350:
        return 6 if sentences >= 7 else 5
    if length < 500:
        return 7 if sentences >= 8 else 6
    return 8
