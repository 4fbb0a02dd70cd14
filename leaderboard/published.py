"""The figures that papers printed, kept as CSV in `leaderboard/published/` with table and citation."""

import csv
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from builders.values import Value
from evaluators.values import Published, PublishedScore

V = TypeVar("V", bound=Value)
FOLDER = Path(__file__).with_name("published")


def read_published(folder: Path = FOLDER) -> tuple[Published, ...]:
    """Read every table, files by name and rows as they stand.

    Raises:
        ValueError: If a row is not a published figure; the message names file and line.
    """
    return _read(folder, Published)


def read_published_scores(folder: Path = FOLDER / "scores") -> tuple[PublishedScore, ...]:
    """Read every table of scores by category or configuration, files by name and rows as they stand.

    Raises:
        ValueError: If a row is not a published score; the message names file and line.
    """
    return _read(folder, PublishedScore)


def _read(folder: Path, kind: type[V]) -> tuple[V, ...]:
    found: list[V] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                try:
                    found.append(kind.model_validate({k: v for k, v in row.items() if v != ""}))
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    raise ValueError(
                        f"{path}:{number}: {'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg']}; "
                        "copy the figure as the paper prints it"
                    ) from None
    return tuple(found)
