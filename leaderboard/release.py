"""Reads the PPI rows that layton-eval releases: answers, every judge's marks and human labels, one row an answer.

Somebody else's file: anything that is not as the release has it is refused, with its line.
"""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import TypeAdapter, ValidationError

from builders.values import ItemId, Name
from evaluators.values import Label

MOST_BYTES = 256 * 2**20
LONGEST_LINE = 2**20
MOST_HINTS = 4

ANSWER, REASON, BOTH = "is_answer_correct", "is_justification_correct", "both_correct"
HUMAN = {BOTH: "human_both_correct", ANSWER: "human_answer_correct", REASON: "human_justification_correct"}
NEEDED = ("riddle_id", "provider", "model", "n_hints", "answer", "justification", HUMAN[BOTH])
# Letters that print nothing or turn the text around would make two names look like one.
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_label, _provider, _item = TypeAdapter(Label), TypeAdapter(Name), TypeAdapter(ItemId)


class ReleaseError(ValueError):
    """A file is refused; the message names file, line and remedy."""


class Marks(NamedTuple):
    """What one judge, or the human annotator, said about one answer; the parts are None where the file has none."""

    both: bool
    answer: bool | None
    justification: bool | None


class Row(NamedTuple):
    """One answer of one model with everything said about it."""

    riddle_id: str
    provider: str
    model: str
    n_hints: int
    answer: str
    justification: str
    judges: tuple[tuple[str, Marks], ...]
    human: Marks | None


def read_release(path: Path) -> tuple[Row, ...]:
    """Read a JSON Lines file of released PPI rows, of either split and with any judges' columns.

    Raises:
        ReleaseError: If the file cannot be read or any row is not as the release has it.
    """
    try:
        with path.open("rb") as file:
            return _rows(file, path)
    except OSError as error:
        raise ReleaseError(f"{path}: {error.strerror or error}; give the release's PPI file, JSON Lines") from None


def _rows(file: BinaryIO, path: Path) -> tuple[Row, ...]:
    rows: list[Row] = []
    first_line: dict[tuple[str, int, str], int] = {}
    makers: dict[str, str] = {}
    columns: frozenset[str] = frozenset()
    for number, line in _lines(file, path):
        where = f"{path}:{number}"
        raw = _object(line, where)
        if not rows:
            columns = frozenset(raw)
            _check_columns(columns, where)
        if lost := sorted(columns - raw.keys()):
            raise ReleaseError(f"{where}: no column {lost[0]!r}, which the first row has; write null where it is empty")
        row = _row(raw, columns, where)
        key = (row.model, row.n_hints, row.riddle_id)
        if key in first_line:
            raise ReleaseError(
                f"{where}: a second answer of {row.model!r} to riddle {row.riddle_id!r} with {row.n_hints} hints, "
                f"after line {first_line[key]}; keep one"
            )
        first_line[key] = number
        if makers.setdefault(row.model, row.provider) != row.provider:
            raise ReleaseError(
                f"{where}: provider {row.provider!r} of model {row.model!r} was {makers[row.model]!r} before; keep one"
            )
        rows.append(row)
    if not rows:
        raise ReleaseError(f"{path}: no rows; give the release's PPI file, JSON Lines")
    if all(row.human is None for row in rows):
        raise ReleaseError(f"{path}: {HUMAN[BOTH]!r} is null in every row; without a human label nothing is calibrated")
    return tuple(rows)


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    size = number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number, size = number + 1, size + len(line)
        if len(line) > LONGEST_LINE:
            raise ReleaseError(f"{path}:{number}: a line of more than {LONGEST_LINE} bytes; a row is a few thousand")
        if size > MOST_BYTES:
            raise ReleaseError(f"{path}:{number}: more than {MOST_BYTES} bytes; a release is a few million")
        if line.strip():
            yield number, line


def _object(line: bytes, where: str) -> dict[str, object]:
    def refuse(token: str) -> object:
        raise ValueError(f"{token} is no JSON number")

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name stands twice in one object")
        return found

    try:
        value = json.loads(line.decode("utf-8"), parse_constant=refuse, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{where}: not a row of JSON ({error}); give one object a line") from None
    if not isinstance(value, dict):
        raise ReleaseError(f"{where}: {str(value)[:40]!r} is no JSON object; give one object a line")
    return value


def _check_columns(columns: frozenset[str], where: str) -> None:
    if lost := [name for name in NEEDED if name not in columns]:
        raise ReleaseError(f"{where}: no column {lost[0]!r}; the release has {', '.join(NEEDED)}, and three a judge")
    judges = _judges(columns)
    if not judges:
        raise ReleaseError(f"{where}: no column {BOTH + '_<judge>'!r}; give the file with the verdicts of each judge")
    for part in (ANSWER, REASON):
        for column in sorted(c for c in columns if c.startswith(part + "_")):
            if column.removeprefix(part + "_") not in judges:
                raise ReleaseError(f"{where}: column {column!r} without {BOTH + column.removeprefix(part)!r}; add it")
    for judge in judges:
        _name(judge, _label, "judge in a column name", where)


def _judges(columns: frozenset[str]) -> list[str]:
    return sorted(c.removeprefix(BOTH + "_") for c in columns if c.startswith(BOTH + "_"))


def _row(raw: dict[str, object], columns: frozenset[str], where: str) -> Row:
    hints = raw["n_hints"]
    if type(hints) is not int or not 0 <= hints <= MOST_HINTS:
        raise ReleaseError(f"{where}: n_hints is {hints!r}; give a whole number from 0 to {MOST_HINTS}")
    by_judge = [(judge, _marks(raw, {part: f"{part}_{judge}" for part in HUMAN}, where)) for judge in _judges(columns)]
    judges = tuple((judge, marks) for judge, marks in by_judge if marks is not None)
    if not judges:
        raise ReleaseError(f"{where}: no verdict, every judge is null; leave the row out or add its verdicts")
    return Row(
        riddle_id=_name(raw["riddle_id"], _item, "riddle_id", where),
        provider=_name(raw["provider"], _provider, "provider", where),
        model=_name(raw["model"], _label, "model", where),
        n_hints=hints,
        answer=_text(raw["answer"], "answer", where),
        justification=_text(raw["justification"], "justification", where),
        judges=judges,
        human=_marks(raw, HUMAN, where),
    )


def _marks(raw: dict[str, object], names: dict[str, str], where: str) -> Marks | None:
    both, answer, reason = (_mark(raw.get(names[part]), names[part], where) for part in (BOTH, ANSWER, REASON))
    if both is None and (answer is not None or reason is not None):
        raise ReleaseError(f"{where}: {names[BOTH]!r} is null although a part of it is not; fill it in")
    if both is None:
        return None
    if answer is not None and reason is not None and both != (answer and reason):
        raise ReleaseError(
            f"{where}: {names[BOTH]!r} is {both!r}, its parts say {answer and reason!r}; it is true only if both are"
        )
    return Marks(both, answer, reason)


def _mark(value: object, name: str, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ReleaseError(f"{where}: {name!r} is {value!r}; give true, false or null")


def _text(value: object, name: str, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ReleaseError(f"{where}: {name!r} is {str(value)[:40]!r}, no text; give a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ReleaseError(f"{where}: {name!r} holds half of a surrogate pair; write the character whole") from None
    return value


def _name(value: object, kind: TypeAdapter[str], name: str, where: str) -> str:
    try:
        text = kind.validate_python(value)
    except ValidationError as error:
        said = error.errors(include_url=False)[0]["msg"]
        raise ReleaseError(f"{where}: {name} is {str(value)[:220]!r}: {said}") from None
    if any(unicodedata.category(letter) in INVISIBLE for letter in text):
        raise ReleaseError(f"{where}: {name} is {text!r}: it holds a character that cannot be seen; remove it")
    return text
