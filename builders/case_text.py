"""A case file as text: YAML or JSON to plain data and the line of every value, or one message that quotes nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from builders.plain_yaml import Place


class NotPlainError(Exception):
    """A file that holds no plain data; `message` says what is expected, `line` where."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.message, self.line = message, line


def parse(path: Path) -> tuple[object, Mapping[Place, int]]:
    """Read a file into plain data, and say on which line each value of it stands.

    Raises:
        NotPlainError: If it is not UTF-8, not JSON or YAML, or uses more of them than data needs.
        OSError: If it cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotPlainError("not in UTF-8; save it as UTF-8") from None
    if path.suffix == ".json":
        return _parse_json(text), _lines(text)
    return _parse_yaml(text)


def _parse_json(text: str) -> object:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise NotPlainError("a key stands twice in one object; keep one of them")
        return made

    def refuse(name: str) -> NoReturn:
        raise NotPlainError(f"{name} is no number of JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise NotPlainError(f"not JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise NotPlainError("not JSON that can be read: nested too deeply, or a number without end") from None


def _lines(text: str) -> Mapping[Place, int]:
    """Lines of a JSON document, most of which are YAML too; none where it is not."""
    import yaml

    from builders.plain_yaml import PlainLoader, places

    try:
        return places(PlainLoader(text).get_single_node())
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _parse_yaml(text: str) -> tuple[object, Mapping[Place, int]]:
    import yaml

    from builders.plain_yaml import PlainLoader, places

    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        lines = places(node)
        return (loader.construct_document(node) if node else None), lines
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise NotPlainError(_yaml_problem(error, text.splitlines(), line), line + 1) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise NotPlainError(f"the character U+{int(error.character):04X} is not allowed; delete it", line) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        raise NotPlainError("not YAML that can be read: nested too deeply, or no such date or number") from None


def _yaml_problem(error: Any, lines: Sequence[str], line: int) -> str:
    said = str(error.problem)
    indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())] if line < len(lines) else ""
    if "\t" in indent:
        return "a tab in the indentation; YAML indents with spaces"
    remedies = {
        "a key stands twice": "; keep one of them",
        "tags are not allowed": "; write plain text, in quotes if it begins with an exclamation mark",
        "anchors and aliases are not allowed": "; write it out, in quotes if a text begins with & or *",
        "mapping values are not allowed here": ": put a text with a colon in quotes, or below `>-` and indented",
    }
    # Everything else PyYAML says is about its tokens; from a quotation mark on it may quote the file.
    return f"not plain YAML ({said.partition(chr(39))[0].strip()}){remedies.get(said, '')}"
