"""The form of a bundle: submission.yaml and every line of evidence against their values."""

import json
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import ValidationError

from builders.plain_yaml import PlainLoader
from builders.values import Value
from evaluators.bundle import TRANSCRIPTS, VERDICTS
from evaluators.check.files import DESCRIPTION, Deadline, Limits, Tree, digest_holds, lines, unpack
from evaluators.check.findings import Findings
from evaluators.check.words import check_words
from evaluators.values import Submission, Transcript, Verdict

T = TypeVar("T", bound=Value)
FORM = "see the schema: python -m evaluators.submit --schema"


class Form(NamedTuple):
    """What could be read; rows are (line number, value), and rows with a fault are left out."""

    tree: Tree
    submission: Submission | None
    transcripts: tuple[tuple[int, Transcript], ...]
    verdicts: tuple[tuple[int, Verdict], ...]
    lines: dict[str, int]  # of the keys of submission.yaml

    def at(self, name: str, line: int | None = None) -> str:
        """Where a fault is, as `file:line`."""
        return f"{self.tree.folder / name}:{line}" if line else str(self.tree.folder / name)

    def key(self, name: str) -> str:
        """Where a key of submission.yaml stands."""
        return self.at(DESCRIPTION, self.lines.get(name) or self.lines.get(name.split(".", maxsplit=1)[0]))


def read_form(tree: Tree, found: Findings, limits: Limits, deadline: Deadline) -> Form:
    """Read description and evidence; a fault in one file does not keep the others from being read."""
    submission, places = _description(tree, found)
    form = Form(tree, submission, (), (), places)
    if submission is not None:
        check_words(submission, form.key, found)
        _check_digests(form, submission, found)
    transcripts = _rows(form, TRANSCRIPTS, Transcript, found, limits=limits, deadline=deadline)
    verdicts = _rows(form, VERDICTS, Verdict, found, limits=limits, deadline=deadline)
    return form._replace(transcripts=transcripts, verdicts=verdicts)


def _description(tree: Tree, found: Findings) -> tuple[Submission | None, dict[str, int]]:
    where = str(tree.folder / DESCRIPTION)
    if DESCRIPTION not in tree.contents:
        return None, {}
    places: dict[str, int] = {}
    try:
        loader = PlainLoader(tree.contents[DESCRIPTION])
        node = loader.get_single_node()
        places = _places(node)
        content = loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        text = " ".join(str(getattr(error, "problem", None) or error).split())
        found.refuse("yaml", f"{where}:{mark.line + 1}" if mark else where, f"not plain YAML ({text})", FORM)
        return None, places
    except (ValueError, OverflowError, RecursionError) as error:  # bad UTF-8, dates, endless numbers, deep nesting
        found.refuse("yaml", where, f"not plain YAML ({type(error).__name__}: {error})", FORM)
        return None, places
    try:
        return Submission.model_validate(content), places
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            name = ".".join(map(str, problem["loc"]))
            line = places.get(name) or places.get(name.split(".")[0])
            said = f"{name or 'the document'}: {problem['msg']} (got {_shown(problem['input'])})"
            found.refuse("description", f"{where}:{line}" if line else where, said, FORM)
        return None, places


def _places(node: Any, prefix: str = "", depth: int = 0) -> dict[str, int]:
    found: dict[str, int] = {}
    if isinstance(node, yaml.MappingNode) and depth < 4:
        for key, value in node.value:
            name = f"{prefix}{key.value}"
            found[name] = key.start_mark.line + 1
            found |= _places(value, f"{name}.", depth + 1)
    return found


def _check_digests(form: Form, submission: Submission, found: Findings) -> None:
    stated = {f.name: f for f in submission.files}
    if set(stated) != {TRANSCRIPTS, VERDICTS} or len(submission.files) != 2:
        remedy = "pack it with python -m evaluators.submit --pack DIR"
        found.refuse("files", form.key("files"), f"must name {TRANSCRIPTS} and {VERDICTS}, each once", remedy)
    for name in (TRANSCRIPTS, VERDICTS):
        if name in stated and name in form.tree.contents:
            digest_holds(form.tree, name, stated[name].sha256, found)


def _rows(
    form: Form, name: str, kind: type[T], found: Findings, *, limits: Limits, deadline: Deadline
) -> tuple[tuple[int, T], ...]:
    data = unpack(form.tree, name, found, limits) if name in form.tree.contents else None
    if data is None:
        return ()
    rows, where, count = [], str(form.tree.folder / name), 0
    for count, line in lines(data, where, found, limits, deadline):
        try:
            _plain_json(line)
            rows.append((count, kind.model_validate_json(line)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            said = f"{'.'.join(map(str, first['loc'])) or 'row'}: {first['msg']} (got {_shown(first['input'])})"
            found.refuse("row", f"{where}:{count}", said, FORM)
        except (ValueError, RecursionError) as error:
            found.refuse("json", f"{where}:{count}", f"not plain JSON ({error})", "one JSON object a line, in UTF-8")
    stated = {f.name: f.rows for f in form.submission.files} if form.submission else {}
    if name in stated and stated[name] != count and not found.spoiled(where):
        remedy = "pack it with python -m evaluators.submit --pack DIR"
        found.refuse("rows", where, f"{count} rows, submission.yaml says {stated[name]}", remedy)
    return tuple(rows)


def _plain_json(line: bytes) -> None:
    """Refuse what two readers of one line could read differently: NaN, a key twice, another encoding."""
    json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _shown(value: object) -> str:
    return repr(value)[:60] if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
