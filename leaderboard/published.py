"""The figures that papers printed, kept as CSV in `leaderboard/published/` with table and citation."""

import csv
from pathlib import Path

from pydantic import ValidationError

from evaluators.values import Published

FOLDER = Path(__file__).with_name("published")


def read_published(folder: Path = FOLDER) -> tuple[Published, ...]:
    """Read every table, files by name and rows as they stand.

    Raises:
        ValueError: If a row is not a published figure; the message names file and line.
    """
    found: list[Published] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                try:
                    found.append(Published.model_validate(row))
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    raise ValueError(
                        f"{path}:{number}: {'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg']}; "
                        "copy the figure as the paper prints it"
                    ) from None
    return tuple(found)
