"""What rechecks of juries found, one JSON line for each judge, for the page that shows how juries drift."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from builders.values import Name, Value
from evaluators.values import Label

if TYPE_CHECKING:
    from evaluators.drift import Drift


class RecheckError(ValueError):
    """The file of rechecks is damaged; the message names file, line and remedy."""


class Recheck(Value):
    """Stored verdicts of one judge against two of today on the same answers; shares in [0, 1]."""

    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="Day it was asked, YYYY-MM-DD, UTC.")
    jury: Name
    judge: Label
    splits: tuple[str, ...] = Field(min_length=1, description="`split@version` of the rows that were rechecked.")
    compared: int = Field(ge=1, description="Stored verdicts that were asked for again.")
    changed: float = Field(ge=0, le=1, description="Share of them that the first of today differs from.")
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    moved: float = Field(ge=-1, le=1, description="Mean of today minus stored: above 0 the judge is more lenient.")
    noise: float = Field(ge=0, le=1, description="Share of answers on which the two of today differ.")
    p_value: float = Field(ge=0, le=1, description="Of so much change, had the judge not moved.")
    detected: bool


def append(path: Path, found: "Sequence[Drift]", *, date: str, jury: str, splits: Sequence[str]) -> None:
    """Write down what a recheck found; what stands there already is not written twice.

    Raises:
        RecheckError: If the file is damaged; nothing is written then.
        OSError: If it cannot be written.
    """
    there = read(path)
    rows = [
        Recheck(
            date=date,
            jury=jury,
            splits=tuple(splits),
            judge=d.judge,
            compared=d.compared,
            changed=d.changed.point,
            low=d.changed.low,
            high=d.changed.high,
            moved=d.moved,
            noise=d.noise,
            p_value=d.p_value,
            detected=d.detected,
        )
        for d in found
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{row.model_dump_json()}\n" for row in rows if row not in there))


def read(path: Path) -> tuple[Recheck, ...]:
    """Every recheck, oldest first; no file, none.

    Raises:
        RecheckError: If a line is none.
    """
    if not path.exists():
        return ()
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            found.append(Recheck.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise RecheckError(f"{path}:{number}: {where}: {first['msg']}; take the file back from git") from None
    return tuple(found)
