"""Names of the parts of a case that get a grade of their own: an answer to a question at a stage."""

import re

MOST = 3  # the highest grade
UNIT = r"s(\d{2,3})\.q([1-9]\d?)"
_UNIT = re.compile(UNIT)


def unit_of(stage: int, question: int) -> str:
    """Name the answer to a question, from 1, at a stage, from 0: `s03.q2`."""
    return f"s{stage:02}.q{question}"


def place_of(unit: str) -> tuple[int, int] | None:
    """Stage and question, both from 0, of a unit; None for one that names no answer of a case."""
    found = _UNIT.fullmatch(unit)
    return (int(found[1]), int(found[2]) - 1) if found else None
