"""Read cases for the Watson & Holmes protocol: one YAML or JSON file a case, written by its author.

Source: Leelawat & Griffin 2026, "Watson & Holmes", arXiv:2602.19914, section 3.1.
Its cases are a commercial game's: whoever owns them writes them down and keeps them sealed. So nothing that is said
about a file here quotes it: file, line, field, and what is expected there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from builders import BENCHMARKS
from builders.case_checks import GRADES, At, all_words, expected, notes, odd_at, refusals
from builders.case_text import NotPlainError, parse
from builders.release import Oddity, ReleaseError, files_sha256
from builders.values import Case, Source

SUFFIXES = (".yaml", ".yml", ".json")
# A case of 5,000 words with its marking examples is about 60 kB.
MAX_CASE_BYTES = 500_000
MAX_CASES = 200


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
            twin = odd_at(f"{file.path.name}:1", "id", f"the same id as {first.name}; each case has one of its own")
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
        return CaseFile(path, None, (odd_at(where, "file", message),))
    try:
        content, lines = parse(path)
    except NotPlainError as error:
        return CaseFile(path, None, (odd_at(f"{where}:{error.line}" if error.line else where, "file", error.message),))
    if not isinstance(content, dict):
        return CaseFile(
            path, None, (odd_at(f"{where}:1", "file", "a case is a mapping of fields: title, introduction, ..."),)
        )
    filled = {"id": path.stem, **content, "cluster": content.get("id", path.stem)}
    at = At(where, lines)
    if "cluster" in content:
        return CaseFile(path, None, (at.odd(("cluster",), "not a field of a case file; delete it"),))
    try:
        case = Case.model_validate(filled)
    except ValidationError as error:
        return CaseFile(path, None, tuple(at.odd(e["loc"], expected(e)) for e in error.errors(include_url=False)))
    oddities = (*refusals(case, at), *notes(case, at))
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
