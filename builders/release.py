"""Read the files of a release as if a stranger had made them, and say what is odd about their text."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from builders.values import Value

MAX_FILE_BYTES = 2_000_000_000
MAX_LINE_BYTES = 20_000_000
MAX_ROWS = 100_000
MAX_TEXT = 20_000
SUFFIXES = (".jsonl", ".parquet")
# Marks that reorder what a reader sees; with Unicode's tag characters they hide text from people but not from models.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class ReleaseError(ValueError):
    """A release that cannot be read, or that must not be built from."""


class Row(NamedTuple):
    """A row of a release as it was read, and its `file:line`."""

    where: str
    data: Mapping[str, object]


class Oddity(Value):
    """Something about a row of a release that a person should know."""

    item: str
    field: str
    severity: Literal["note", "refused"]
    message: str


def show(value: object, limit: int = 60) -> str:
    """Write a value of a stranger's file so that it fits a terminal line and cannot steer the terminal."""
    text = ascii(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def read_rows(paths: Sequence[Path]) -> tuple[Row, ...]:
    """Read all rows of JSONL and Parquet files, in the order of the files.

    Raises:
        ReleaseError: If a file is too large, or a line is not a flat JSON object; the message names file and line.
        OSError: If a file cannot be read.
    """
    rows: list[Row] = []
    for path in paths:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ReleaseError(f"{path} has more than {MAX_FILE_BYTES:,} bytes; no riddle release is that large")
        for row in _read_jsonl(path) if path.suffix == ".jsonl" else _read_parquet(path):
            rows.append(row)
            if len(rows) > MAX_ROWS:
                raise ReleaseError(f"{row.where}: more than {MAX_ROWS:,} rows; no riddle release is that large")
    return tuple(rows)


def files_sha256(paths: Sequence[Path]) -> str:
    """Digest files: the SHA-256 of the one file, or of the `sha256sum` lines of several, by name."""
    sums = []
    for path in sorted(paths, key=lambda p: p.name):
        with path.open("rb") as file:
            digest = sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        sums.append((digest.hexdigest(), path.name))
    if len(sums) == 1:
        return sums[0][0]
    return sha256("".join(f"{digest}  {name}\n" for digest, name in sums).encode()).hexdigest()


def text_oddities(text: str) -> Iterator[tuple[Literal["note", "refused"], str]]:
    """Yield severity and message for each kind of unusual character in a text; the text itself is never changed."""
    if len(text) > MAX_TEXT:
        yield "refused", f"text of more than {MAX_TEXT:,} characters"
    if text != text.strip():
        yield "note", "white space before or after the text; kept as released"
    yield from character_oddities(text)


def character_oddities(text: str) -> Iterator[tuple[Literal["note", "refused"], str]]:
    """Yield severity and message for each unusual character of a text, however long it is."""
    for char in sorted(set(text)):
        kind = unicodedata.category(char)
        if char in "\n\t" or (kind[0] != "C" and char not in "\u00a0\u2028\u2029"):
            continue
        code = f"U+{ord(char):04X}"
        if kind in {"Cc", "Cs"} and char != "\r":
            yield "refused", f"control character or lone surrogate {code}"
        elif char in _BIDI or 0xE0000 <= ord(char) <= 0xE007F:
            yield "refused", f"character {code}, which hides or reorders text"
        else:
            yield "note", f"unusual character {code}; kept as released"


def group(oddities: Iterable[Oddity]) -> list[tuple[Oddity, list[str]]]:
    """Put equal oddities of several items together: one of them and the items, the refused ones first."""
    groups: dict[tuple[str, str, str], tuple[Oddity, list[str]]] = {}
    for oddity in oddities:
        groups.setdefault((oddity.severity, oddity.field, oddity.message), (oddity, []))[1].append(oddity.item)
    return sorted(groups.values(), key=lambda g: (g[0].severity != "refused", g[0].field, g[0].message))


def describe(oddity: Oddity, items: Sequence[str]) -> str:
    """One line for a group: what, how often and where first."""
    first = ", ".join(items[:3]) + (", ..." if len(items) > 3 else "")
    return f"{oddity.field}: {oddity.message} ({len(items)} x: {first})"


def _read_jsonl(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path.name}:{number}"
            if len(line) > MAX_LINE_BYTES:
                raise ReleaseError(f"{where}: line of more than {MAX_LINE_BYTES:,} bytes")
            if line.strip():
                yield Row(where, _parse(line, where))


def read_json(text: bytes, where: str, *, what: str = "a JSON document") -> object:
    """Read a JSON document of a stranger: no NaN, no key twice.

    Raises:
        ReleaseError: If it is not JSON in UTF-8, with or without a byte order mark; the message begins with `where` and
            says that it is not `what`.
    """
    try:
        return json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except RecursionError:
        raise ReleaseError(f"{where}: nested too deeply for {what}") from None
    except ValueError as error:
        raise ReleaseError(f"{where}: not {what} in UTF-8 ({error})") from error


def _parse(line: bytes, where: str) -> Mapping[str, object]:
    data = read_json(line, where, what="a JSON object")
    if not isinstance(data, dict):
        raise ReleaseError(f"{where}: {show(data)} is not a JSON object")
    return data


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key occurs twice")
    return data


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            if sum(g.total_byte_size for g in groups) > MAX_FILE_BYTES or file.metadata.num_rows > MAX_ROWS:
                raise ReleaseError(f"{path} unfolds to more than {MAX_FILE_BYTES:,} bytes or {MAX_ROWS:,} rows")
            for batch in file.iter_batches(batch_size=64):
                for data in batch.to_pylist():
                    number += 1
                    yield Row(f"{path.name}:{number}", data)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk failed, not the file's content
            raise
        raise ReleaseError(f"{path.name}:{number + 1}: not readable as Parquet ({show(str(error), 120)})") from error


def whole_number(value: object) -> int | None:
    """Read 30 or 30.0 as 30; None for whatever is not a finite whole number of at most nine digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -(10**9) < value < 10**9 or value != int(value):  # NaN is outside of every range
        return None
    return int(value)
