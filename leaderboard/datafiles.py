"""A board's numbers as files: JSON, CSV and Parquet with the same rows in the same order."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from evaluators.values import Estimate
from leaderboard.pages import AnyBoard

# A spreadsheet takes a cell that begins so for a formula, and would run what a model's name says.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_data(board: AnyBoard, folder: Path) -> None:
    """Write `<split>.json`, `.csv` and `.parquet`; equal boards make equal bytes.

    Raises:
        OSError: If a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{board.split}.json").write_text(as_json(board), encoding="utf-8")
    (folder / f"{board.split}.csv").write_text(as_csv(board.estimates), encoding="utf-8", newline="")
    _write_parquet(board.estimates, folder / f"{board.split}.parquet")


def as_json(board: AnyBoard) -> str:
    """The estimates and the published figures of a split as one JSON object, a row a line."""
    estimates, published = (
        ",\n".join(v.model_dump_json() for v in rows) for rows in (board.estimates, board.published)
    )
    return f'{{"split": {json.dumps(board.split)},\n"estimates": [\n{estimates}\n],\n"published": [\n{published}\n]}}\n'


def as_csv(estimates: Sequence[Estimate]) -> str:
    """The estimates as CSV; a text that a spreadsheet would take for a formula gets an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Estimate.model_fields)
    for estimate in estimates:
        row = estimate.model_dump(mode="json") | {"notes": "; ".join(estimate.notes)}
        writer.writerow([harmless(value) for value in row.values()])
    return text.getvalue()


def harmless(value: object) -> object:
    """Keep a spreadsheet from running a text."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA) else value


def _write_parquet(estimates: Sequence[Estimate], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [e.model_dump(mode="json") for e in estimates]
    kinds: dict[object, pa.DataType] = {
        float: pa.float64(),
        int: pa.int64(),
        int | None: pa.int64(),
        bool: pa.bool_(),
        tuple[str, ...]: pa.list_(pa.string()),
    }
    fields = [(name, kinds.get(info.annotation, pa.string())) for name, info in Estimate.model_fields.items()]
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), path, compression="zstd")
