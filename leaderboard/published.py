"""The figures that papers printed, kept as CSV in `leaderboard/published/` with table and citation."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from builders.values import Value
from evaluators.values import Published, PublishedScore

V = TypeVar("V", bound=Value)
FOLDER = Path(__file__).with_name("published")


class Printed(NamedTuple):
    """A published table: its columns, and for each player and configuration a cell a column."""

    table: str
    columns: tuple[str, ...]  # genres, or metrics where the table has one genre
    rows: tuple[tuple[str, str, tuple[PublishedScore | None, ...]], ...]  # player, configuration, cells


class PublishedModel(Value):
    """What a paper says of a model that its tables score."""

    model: str = Field(description="As the table of scores prints it.")
    listed_as: str = Field(description="As the table of models prints it; a variant has the date of its base.")
    provider: str
    released: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    kind: Literal["cModel", "rModel"] = Field(description="Completion or reasoning model.")
    table: str
    citation: str


class PublishedCorrelation(Value):
    """How the scores of two benchmarks correlate, as a paper prints it."""

    first: str
    second: str
    r: float = Field(ge=-1, le=1)
    table: str
    citation: str


class PublishedAgreement(Value):
    """How far raters of answers agree, as a paper prints it; a figure that it does not print is left out."""

    benchmark: str
    raters: str = Field(description="The two raters, as the table names them.")
    exact: float | None = Field(None, ge=0, le=1, description="Share of equal grades or marks.")
    kappa: float | None = Field(None, ge=-1, le=1)
    rms: float | None = Field(None, ge=0, le=3, description="Root mean square of the difference, in grades.")
    r: float | None = Field(None, ge=-1, le=1, description="Correlation of the raters' scores.")
    answers: int | None = Field(None, ge=1, description="How many answers both rated, where the paper says it.")
    table: str
    citation: str


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


def read_published_models(folder: Path = FOLDER / "models") -> tuple[PublishedModel, ...]:
    """Read what papers say of the models they score.

    Raises:
        ValueError: If a row is not such a statement; the message names file and line.
    """
    return _read(folder, PublishedModel)


def read_published_correlations(folder: Path = FOLDER / "correlations") -> tuple[PublishedCorrelation, ...]:
    """Read printed correlations between benchmarks.

    Raises:
        ValueError: If a row is not a correlation; the message names file and line.
    """
    return _read(folder, PublishedCorrelation)


def read_published_agreements(folder: Path = FOLDER / "agreements") -> tuple[PublishedAgreement, ...]:
    """Read printed agreement of people with people and with judges.

    Raises:
        ValueError: If a row is not an agreement; the message names file and line.
    """
    return _read(folder, PublishedAgreement)


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


def lay_out(published: Sequence[PublishedScore]) -> tuple[Printed, ...]:
    """Lay published scores out in the tables they stand in, in the order of the tables."""
    return tuple(_table(table, published) for table in dict.fromkeys(p.table for p in published))


def _table(table: str, published: Sequence[PublishedScore]) -> Printed:
    scores = [p for p in published if p.table == table]
    by_genre = len({p.category for p in scores}) > 1
    cells = {(p.model, p.condition, p.category if by_genre else p.metric): p for p in scores}
    columns = tuple(dict.fromkeys(column for _, _, column in cells))
    players = dict.fromkeys((model, condition) for model, condition, _ in cells)
    return Printed(table, columns, tuple((m, c, tuple(cells.get((m, c, x)) for x in columns)) for m, c in players))
