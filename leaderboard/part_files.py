"""The figures of a board on a part of its items, as files that a page fetches when a reader chooses that part."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from builders.values import Name, Value, Version
from leaderboard.outputs import Outputs, digest
from leaderboard.parts import AnyBoardOf, AnySection, Part, Parts, Row, parts_of


class ApiPartRow(Value):
    """A row on a part of the items; shares in [0, 1]."""

    submission_id: str
    value: float
    low: float
    high: float
    n: int = Field(description="Attempts at items of this part.")
    best_rank: int | None = Field(description="Among the rows of this part.")
    worst_rank: int | None


class ApiPart(Value):
    """A section of a board on some of its items only, best first: `/api/v1/parts/<key>/<name>.json`."""

    key: str = Field(description="Of the section.")
    split: Name
    version: Version
    condition: str
    jury: Name
    kind: Literal["category", "genre"]
    name: str
    scale: tuple[int, int] = Field(description="Points that hold all intervals.")
    ticks: tuple[int, ...] = Field(description="Points on the scale that get a mark.")
    rows: tuple[ApiPartRow, ...]


def write_parts(boards: Sequence[AnyBoardOf], outputs: Outputs, *, code: str) -> None:
    """Write one file for every part of every section."""
    for board in boards:
        for section, parts in zip(board.sections, parts_of(board, boards), strict=True):
            for part in parts.parts:
                text = _value(board, section, parts, part).model_dump_json() + "\n"
                outputs.write(f"{parts.folder}/{part.page}.json", digest(code, text), lambda text=text: text)  # type: ignore[misc]


def _value(board: AnyBoardOf, section: AnySection, parts: Parts, part: Part) -> ApiPart:
    scale = part.scale
    return ApiPart(
        key=parts.key,
        split=board.split,
        version=section.version,
        condition=section.condition,
        jury=section.jury,
        kind=parts.kind,
        name=part.name,
        scale=(scale.low, scale.high),
        ticks=scale.ticks,
        rows=tuple(_row(row) for row in part.rows),
    )


def _row(row: Row) -> ApiPartRow:
    e, (best, worst) = row.like, row.rank or (None, None)
    value, low, high = (round(x, 6) for x in (e.value, e.low, e.high))
    return ApiPartRow(
        submission_id=e.submission_id, value=value, low=low, high=high, n=e.n, best_rank=best, worst_rank=worst
    )
