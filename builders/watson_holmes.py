"""Read cases for the Watson & Holmes protocol: one YAML or JSON file a case, written by its author.

Source: Leelawat & Griffin 2026, "Watson & Holmes", arXiv:2602.19914, section 3.1.
Its cases are a commercial game's: whoever owns them writes them down and keeps them sealed. So nothing that is said
about a file here quotes it: file, line, field, and what is expected there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from pydantic import ValidationError

from builders import BENCHMARKS
from builders.release import Oddity, ReleaseError, files_sha256, text_oddities
from builders.values import Case, Source

SUFFIXES = (".yaml", ".yml", ".json")
# A case of 5,000 words with its marking examples is about 60 kB.
MAX_CASE_BYTES = 500_000
MAX_CASES = 200
GRADES = (0, 1, 2, 3)


class Range(NamedTuple):
    """From how many to how many is usual."""

    low: int
    high: int

    def fits(self, count: int) -> bool:
        """Whether a count is usual."""
        return self.low <= count <= self.high


# Section 3.1 of the paper gives means: 600 words for introduction and solution, 160 for a location, 15 (SD 2)
# locations, 2,900 (SD 600) words in all, 2 to 5 questions. Where it gives a SD, two of them either way; locations
# from 10, which is still a game; elsewhere a third to two fifths either way.
WORDS: Mapping[str, Range] = {"introduction": Range(400, 800), "solution": Range(400, 800), "text": Range(100, 220)}
ALL_WORDS = Range(1_700, 4_100)
LOCATIONS = Range(10, 19)
QUESTIONS = Range(2, 5)


class CaseFile(NamedTuple):
    """A case file as it was read: the case where nothing speaks against it, and everything odd about the file."""

    path: Path
    case: Case | None
    oddities: tuple[Oddity, ...]


def read_cases(paths: Sequence[Path]) -> tuple[CaseFile, ...]:
    """Read case files, or all those of a folder, by name.

    Raises:
        ReleaseError: If there is no case file, or far too many.
        OSError: If a file cannot be read.
    """
    files = [path for given in paths for path in _files(given)]
    if len(files) > MAX_CASES:
        raise ReleaseError(f"{len(files)} case files; more than {MAX_CASES} are read in parts")
    found = [read_case(path) for path in files]
    ids: dict[str, Path] = {}
    for n, file in enumerate(found):
        if file.case is not None and (first := ids.setdefault(file.case.id, file.path)) != file.path:
            twin = _odd(f"{file.path.name}:1", "id", f"the same id as {first.name}; each case has one of its own")
            found[n] = CaseFile(file.path, None, (*file.oddities, twin))
    return tuple(found)


def read_source(source: str | None) -> tuple[tuple[Case, ...], tuple[Oddity, ...], Source]:
    """Read a folder of cases, or one file, as what a split is made of.

    Raises:
        ReleaseError: If there is none.
    """
    if source is None:
        raise ReleaseError("the cases are private: name the folder or file in which their owner keeps them")
    pinned = next(b for b in BENCHMARKS if b.name == "watson-holmes").sources[0]
    files = read_cases([Path(source)])
    # No digest of the files: it would let anyone who holds a case prove that it is among them.
    return tuple(f.case for f in files if f.case), tuple(o for f in files for o in f.oddities), pinned


def read_sample_cases() -> tuple[tuple[Case, ...], tuple[Oddity, ...], Source]:
    """Read the project's own cases."""
    folder = Path(__file__).parent / "samples" / "cases"
    files = read_cases([folder])
    pinned = next(b for b in BENCHMARKS if b.name == "case-samples").sources[0]
    source = pinned.model_copy(update={"sha256": files_sha256([f.path for f in files])})
    return tuple(f.case for f in files if f.case), tuple(o for f in files for o in f.oddities), source


def read_case(path: Path) -> CaseFile:
    """Read one case file and say everything that is odd about it.

    Raises:
        OSError: If it cannot be read.
    """
    where = path.name
    if path.stat().st_size > MAX_CASE_BYTES:
        message = f"{path.stat().st_size:,} bytes; a case is a text of at most {MAX_CASE_BYTES:,} bytes"
        return CaseFile(path, None, (_odd(where, "file", message),))
    try:
        content, lines = _parse(path)
    except _NotPlainError as error:
        return CaseFile(path, None, (_odd(f"{where}:{error.line}" if error.line else where, "file", error.message),))
    if not isinstance(content, dict):
        return CaseFile(
            path, None, (_odd(f"{where}:1", "file", "a case is a mapping of fields: title, introduction, ..."),)
        )
    filled = {"id": path.stem, **content, "cluster": content.get("id", path.stem)}
    at = _At(where, lines)
    if "cluster" in content:
        return CaseFile(path, None, (at.odd(("cluster",), "not a field of a case file; delete it"),))
    try:
        case = Case.model_validate(filled)
    except ValidationError as error:
        return CaseFile(path, None, tuple(at.odd(e["loc"], _expected(e)) for e in error.errors(include_url=False)))
    oddities = (*_refused(case, at), *_notes(case, at))
    refused = any(o.severity == "refused" for o in oddities)
    return CaseFile(path, None if refused else case, oddities)


def case_schema() -> dict[str, Any]:
    """The JSON schema of a case file, for editors."""
    schema = Case.model_json_schema()
    del schema["properties"]["cluster"]
    schema["required"] = [name for name in schema["required"] if name not in {"id", "cluster"}]
    schema["properties"]["id"]["description"] = "Default: the name of the file."
    examples = schema["$defs"]["CaseQuestion"]["properties"]["examples"]
    examples |= {"minItems": len(GRADES)}
    schema["$defs"]["CaseQuestion"]["required"].append("examples")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Deerstalker case"}


def words(text: str) -> int:
    """Count words as the paper's figures do: what stands between white space."""
    return len(text.split())


def all_words(case: Case) -> int:
    """Words a player reads: introduction and locations."""
    return words(case.introduction) + sum(words(place.text) for place in case.locations)


def describe_cases(cases: Sequence[Case]) -> str:
    """Say in one line how large the cases are; no text of theirs."""
    places, questions = (
        (sum(len(part) for part in parts) for parts in zip(*((c.locations, c.questions) for c in cases), strict=True))
        if cases
        else (0, 0)
    )
    practice = sum(c.practice for c in cases)
    count = sum(all_words(c) for c in cases)
    return f"{places} locations, {questions} questions, {count:,} words to read; {practice} for practice"


def _files(given: Path) -> list[Path]:
    if given.is_dir():
        if found := sorted(p for p in given.iterdir() if p.suffix in SUFFIXES and p.is_file()):
            return found
        raise ReleaseError(f"{given}: no case file here; a case is one .yaml, .yml or .json file")
    if not given.is_file():
        raise ReleaseError(f"{given}: there is no such file or folder; give case files, or a folder with them")
    if given.suffix not in SUFFIXES:
        raise ReleaseError(f"{given}: a case file ends in {', '.join(SUFFIXES)}")
    return [given]


class _NotPlainError(Exception):
    def __init__(self, message: str, line: int | None = None) -> None:
        self.message, self.line = message, line


class _At(NamedTuple):
    """Where things stand in one file."""

    file: str
    lines: Mapping[tuple[str | int, ...], int]

    def line(self, place: tuple[str | int, ...]) -> int | None:
        """Line of a value, or of the nearest thing around it that is there."""
        return next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None)

    def odd(
        self, place: tuple[str | int, ...], message: str, severity: Literal["note", "refused"] = "refused"
    ) -> Oddity:
        """An oddity at a place."""
        line = self.line(place)
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
        # What stands where a key belongs may be the case's own text.
        known = all(isinstance(p, int) or p in _FIELDS for p in place)
        return _odd(f"{self.file}:{line}" if line else self.file, path if known else "file", message, severity)


_FIELDS = frozenset(
    {*Case.model_fields, "name", "text", "question", "answer", "examples", "rating", "intro_rating", "grade", "why"}
    | {"induction", "deduction", "abduction"}
)


def _odd(where: str, field: str, message: str, severity: Literal["note", "refused"] = "refused") -> Oddity:
    return Oddity(item=where, field=field, severity=severity, message=message)


def _parse(path: Path) -> tuple[object, Mapping[tuple[str | int, ...], int]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _NotPlainError("not in UTF-8; save it as UTF-8") from None
    if path.suffix == ".json":
        return _parse_json(text), _lines(text)
    return _parse_yaml(text)


def _parse_json(text: str) -> object:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise _NotPlainError("a key stands twice in one object; keep one of them")
        return made

    def refuse(name: str) -> NoReturn:
        raise _NotPlainError(f"{name} is no number of JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise _NotPlainError(f"not JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise _NotPlainError("not JSON that can be read: nested too deeply, or a number without end") from None


def _lines(text: str) -> Mapping[tuple[str | int, ...], int]:
    """Lines of a JSON document, most of which are YAML too; none where it is not."""
    import yaml

    from builders.plain_yaml import PlainLoader, places

    try:
        return places(PlainLoader(text).get_single_node())
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _parse_yaml(text: str) -> tuple[object, Mapping[tuple[str | int, ...], int]]:
    import yaml

    from builders.plain_yaml import PlainLoader, places

    try:
        loader = PlainLoader(text)
        node = loader.get_single_node()
        lines = places(node)
        return (loader.construct_document(node) if node else None), lines
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise _NotPlainError(_yaml_problem(error, text.splitlines(), line), line + 1) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _NotPlainError(
            f"the character U+{ord(str(error.character)):04X} is not allowed; delete it", line
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        raise _NotPlainError("not YAML that can be read: nested too deeply, or no such date or number") from None


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


def _expected(error: Mapping[str, Any]) -> str:
    known = {
        "missing": "is missing",
        "string_type": "a text is expected; put it in quotes if it looks like a number, a time, or yes or no",
        "string_too_short": "must not be empty",
        "tuple_type": "a list is expected, each entry after a dash",
        "model_type": "fields are expected here, each on its own line",
        "extra_forbidden": "not a field of a case file; is it misspelt, or a text that lost its indentation?",
        "string_pattern_mismatch": "letters, digits, dots, dashes and underscores are expected",
    }
    kind = str(error["type"])
    if kind == "literal_error":
        return f"{error['ctx']['expected']} is expected"
    return known.get(kind) or str(error["msg"])


def _refused(case: Case, at: _At) -> Iterator[Oddity]:
    names: dict[str, int] = {}
    for n, place in enumerate(case.locations):
        if (first := names.setdefault(" ".join(place.name.casefold().split()), n)) != n:
            line = at.line(("locations", first, "name"))
            yield at.odd(
                ("locations", n, "name"), f"the same name as locations[{first}] (line {line}); a player chooses by name"
            )
    if case.category not in {"case", "practice"}:
        yield at.odd(("category",), "`case` or `practice` is expected")
    for n, question in enumerate(case.questions):
        there = {e.grade for e in question.examples}
        if lost := [str(g) for g in GRADES if g not in there]:
            message = f"no example at grade {', '.join(lost)}; a grader needs one at each of 0, 1, 2 and 3"
            yield at.odd(("questions", n, "examples"), message)
    for where, text in texts(case):
        for severity, message in text_oddities(text):
            if severity == "refused":
                yield at.odd(where, message)
        if not text.strip():
            yield at.odd(where, "must not be empty")


def _notes(case: Case, at: _At) -> Iterator[Oddity]:
    for name in ("introduction", "solution"):
        yield from _size(at, (name,), words(getattr(case, name)), WORDS[name], "words")
    for n, location in enumerate(case.locations):
        yield from _size(at, ("locations", n, "text"), words(location.text), WORDS["text"], "words")
    yield from _size(at, ("locations",), len(case.locations), LOCATIONS, "locations")
    yield from _size(at, ("questions",), len(case.questions), QUESTIONS, "questions")
    yield from _size(at, (), all_words(case), ALL_WORDS, "words of introduction and locations")
    for n, question in enumerate(case.questions):
        for name in ("rating", "intro_rating"):
            if getattr(question, name) is None:
                yield at.odd(("questions", n, name), "no rating; the regressions leave this question out", "note")


def texts(case: Case) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text of a case with its place."""
    for name in ("title", "introduction", "solution", "special_rules"):
        if getattr(case, name) is not None:
            yield (name,), getattr(case, name)
    for n, location in enumerate(case.locations):
        yield ("locations", n, "name"), location.name
        yield ("locations", n, "text"), location.text
    for n, question in enumerate(case.questions):
        yield ("questions", n, "question"), question.question
        yield ("questions", n, "answer"), question.answer
        for k, example in enumerate(question.examples):
            yield ("questions", n, "examples", k, "answer"), example.answer
            if example.why is not None:
                yield ("questions", n, "examples", k, "why"), example.why


def _size(at: _At, place: tuple[str | int, ...], count: int, usual: Range, what: str) -> Iterator[Oddity]:
    if not usual.fits(count):
        yield at.odd(place, f"{count:,} {what}; {usual.low:,} to {usual.high:,} are usual", "note")
