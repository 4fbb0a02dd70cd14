"""Read DetectiveQA's annotations and the user's own novel texts, and make `NovelQuestion` values with minted ids.

Source: Xu et al. 2024, "DetectiveQA". Annotations lie in `anno_data_<language>/<folder>/<novel id>.json`, texts in
`novel_data_<language>/<novel id>-<title>-<author>.txt`. One novel is annotated in both folders with other questions, so
an id is `<language>/<folder>/<novel id>/<place in the file, from 0>`. The novels are under copyright: each user brings
texts that he may use, and none is copied anywhere from here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from builders.novel_checks import COLUMNS, LETTERS, against_text, odd, of_question, positions, shifts
from builders.novels import Paragraph, paragraphs_sha256, read_novel
from builders.release import MAX_LINE_BYTES, Oddity, ReleaseError, Row, read_json, show, text_oddities
from builders.values import Language, NovelQuestion, Source

FOLDERS = ("AIsup_anno", "human_anno")
MAX_FILES = 10_000
_TEXT_FILE = re.compile(r"(\d{1,9})-(.+)-([^-]+)\.txt", re.ASCII)
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


class NovelFile(NamedTuple):
    """Where the text of a novel lies, and what its file, or novels.tsv, calls it."""

    path: Path
    title: str
    author: str


class Annotations(NamedTuple):
    """The questions of one language as they were read, the texts there are by key, and what is odd about the files."""

    language: Language
    rows: tuple[Row, ...]
    texts: Mapping[str, NovelFile]
    source: Source
    oddities: tuple[Oddity, ...]


def read_release(
    source: str | None,
    language: Language,
    pinned: Source,
    *,
    novels: str | None = None,
    folders: Sequence[str] = FOLDERS,
) -> Annotations:
    """Read the questions of one language and find the texts; no text is read yet. `where` of a row is its id.

    Args:
        source: Folder with `anno_data_<language>/`.
        language: Which of both.
        pinned: The source as the code knows it.
        novels: Folder with the texts, or with `novel_data_<language>/`; None: `source`.
        folders: Names of the annotation folders.

    Raises:
        ReleaseError: If there is no such folder, or a file is none of the release; the message names it.
    """
    if source is None or not Path(source).is_dir():
        raise ReleaseError(
            f"{'no folder' if source is None else f'there is no folder {show(source, 200)}'} with the annotations of "
            f"DetectiveQA; fetch them from {pinned.url} and give their folder, and that of your own copies of the "
            "novels with --novels"
        )
    root = Path(source) / f"anno_data_{language}"
    files = [p for folder in folders for p in _plain_files(root / folder, ".json")]
    if not files:
        raise ReleaseError(f"{root} has no {' or '.join(folders)} with <novel id>.json; is this the release's folder?")
    rows: list[Row] = []
    digest = sha256()
    for path in files:
        data = _bytes(path)
        digest.update(f"{sha256(data).hexdigest()}  {path.parent.name}/{path.name}\n".encode())
        rows += _rows(path, data, language)
    found = [odd(language, "folder", f"{f} is not there") for f in folders if not (root / f).is_dir()]
    texts, more = _texts(Path(novels or source), Path(source), language)
    found_at = pinned.model_copy(update={"sha256": digest.hexdigest()})
    return Annotations(language, tuple(rows), texts, found_at, (*found, *more))


def to_questions(read: Annotations) -> tuple[tuple[NovelQuestion, ...], tuple[Oddity, ...]]:
    """Make questions of the rows that nothing speaks against, and report everything odd; one novel is read at a time.

    Texts of questions stay as released. A position past the end of the novel, a faulty option or label refuses a
    question; what leaks or looks shifted is noted.
    """
    questions: list[NovelQuestion] = []
    oddities = list(read.oddities)
    by_novel = sorted(read.rows, key=_novel_of)
    for key, group in groupby(by_novel, key=_novel_of):
        rows = list(group)
        paragraphs, found = _novel(read, key)
        oddities += found
        digest = paragraphs_sha256(paragraphs)
        for row in rows:
            faults = [*_unusual(row, read.language), *of_question(row)]
            if paragraphs and not _refused(faults):
                faults += against_text(row, paragraphs)
            if not paragraphs:
                faults.append(odd(row.where, "novel", "its text is missing or refused", "refused"))
            if not _refused(faults):
                try:
                    questions.append(_question(row, read, key, digest))
                except ValidationError as error:
                    faults.append(odd(row.where, "row", show(error.errors()[0]["msg"]), "refused"))
            oddities += faults
        oddities += shifts(rows, paragraphs, key) if paragraphs else ()
    strays = sorted(read.texts.keys() - {_novel_of(row) for row in read.rows})
    oddities += [odd(key, "novel", "a text that no annotation is about; left out") for key in strays]
    order = {row.where: n for n, row in enumerate(read.rows)}
    return tuple(sorted(questions, key=lambda q: order[q.id])), tuple(oddities)


def novel_texts(read: Annotations, questions: Sequence[NovelQuestion]) -> Iterator[tuple[str, tuple[Paragraph, ...]]]:
    """Read the novels that questions are about again, one at a time."""
    for key in sorted({q.novel for q in questions}):
        yield key, read_novel(read.texts[key].path).paragraphs


def describe_questions(questions: Sequence[NovelQuestion]) -> str:
    """Say in one line how many novels and reference steps there are, and how the right letters are spread."""
    steps = sum(len(q.reasoning) for q in questions) / max(1, len(questions))
    letters = ", ".join(f"{letter} {sum(q.answer == letter for q in questions)}" for letter in LETTERS)
    return f"{len({q.novel for q in questions})} novels; {steps:.2f} reference steps a question; right: {letters}"


def _plain_files(folder: Path, suffix: str) -> list[Path]:
    found = sorted(p for p in folder.iterdir() if p.suffix == suffix) if folder.is_dir() else []
    if folder.is_symlink() or (linked := [p for p in found if p.is_symlink() or not p.is_file()]):
        where = folder if folder.is_symlink() else linked[0]
        raise ReleaseError(f"{where} is a link or no plain file; a release is read from plain files and folders only")
    if len(found) > MAX_FILES:
        raise ReleaseError(f"{folder} has more than {MAX_FILES:,} files; no release is that large")
    return found


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > MAX_LINE_BYTES:
        raise ReleaseError(f"{path} has more than {MAX_LINE_BYTES:,} bytes; a release's files are far smaller")
    return path.read_bytes()


def _rows(path: Path, data: bytes, language: Language) -> Iterator[Row]:
    where = f"{path.parent.name}/{path.name}"
    if re.fullmatch(r"\d{1,9}\.json", path.name, re.ASCII) is None:
        raise ReleaseError(f"{where}: annotations are named <novel id>.json")
    entries = read_json(data, where)
    if not isinstance(entries, list) or not entries:
        raise ReleaseError(f"{where}: a list with the novel's annotation is expected")
    number = 0
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("questions"), list):
            raise ReleaseError(f"{where}: {show(entry)} has no list of questions")
        if str(entry.get("novel_id")) != path.stem:
            raise ReleaseError(f"{where}: novel_id is {show(entry.get('novel_id'))}; the file's name says {path.stem}")
        for question in entry["questions"]:
            if not isinstance(question, dict):
                raise ReleaseError(f"{where}: question {number} is {show(question)}, an object is expected")
            yield Row(f"{language}/{path.parent.name}/{path.stem}/{number}", question)
            number += 1
    if not number:
        raise ReleaseError(f"{where}: no question in it")


def _texts(root: Path, source: Path, language: Language) -> tuple[dict[str, NovelFile], list[Oddity]]:
    folder = root / f"novel_data_{language}"
    folder = folder if folder.is_dir() else root
    # English texts of the release bear Chinese names; a model asked without the text is to be told the English ones.
    names = _names(folder, root, source) if language == "en" else {}
    found: dict[str, NovelFile] = {}
    oddities = []
    for path in _plain_files(folder, ".txt"):
        match = _TEXT_FILE.fullmatch(path.name)
        if match is None:
            oddities.append(odd(language, "novel", f"{show(path.name)} is not <id>-<title>-<author>.txt; left out"))
            continue
        key = f"{language}/{match[1]}"
        if key in found:
            raise ReleaseError(f"{path}: a second text of novel {match[1]} beside {found[key].path.name}; keep one")
        title, author = names.get(match[1], (match[2].strip(), match[3].strip()))
        found[key] = NovelFile(path, title, author)
        oddities += _unusual_name(key, found[key], language)
    return found, oddities


def _unusual_name(key: str, novel: NovelFile, language: Language) -> Iterator[Oddity]:
    if "-" in novel.title:
        yield odd(key, "title", "has a hyphen; the author is taken to begin after the last one")
    if language == "en" and _CHINESE.search(novel.title + novel.author):
        yield odd(key, "title", "is Chinese; give English ones in novels.tsv (id, title, author) beside the texts")
    for field, text in (("title", novel.title), ("author", novel.author)):
        for severity, message in text_oddities(text):
            yield odd(key, field, message, severity)


def _names(*folders: Path) -> dict[str, tuple[str, str]]:
    """Read novels.tsv, a line a novel: id, title and author with tabs between; no file, no names."""
    paths = [p for folder in folders if (p := folder / "novels.tsv").is_file() and not p.is_symlink()]
    if not paths:
        return {}
    try:
        lines = _bytes(paths[0]).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ReleaseError(f"{paths[0]} is not UTF-8") from None
    found = {}
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells):
            raise ReleaseError(f"{paths[0].name}:{number}: id, title and author are expected, with tabs between")
        found[cells[0]] = (cells[1], cells[2])
    return found


def _novel(read: Annotations, key: str) -> tuple[tuple[Paragraph, ...], list[Oddity]]:
    if key not in read.texts:
        missing = f"no text; a file novel_data_{read.language}/<id>-<title>-<author>.txt is expected"
        return (), [odd(key, "novel", missing, "refused")]
    try:
        parsed = read_novel(read.texts[key].path)
    except ReleaseError as error:
        return (), [odd(key, "novel", str(error), "refused")]
    return parsed.paragraphs, [odd(key, "novel", note) for note in parsed.notes]


def _novel_of(row: Row) -> str:
    language, _, novel, _ = row.where.split("/")
    return f"{language}/{novel}"


def _unusual(row: Row, language: Language) -> Iterator[Oddity]:
    """Unusual characters in the texts of a question, each kind once for a column."""
    for field in (name for name in COLUMNS if name in row.data):
        value = row.data[field]
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        texts = [text for text in values if isinstance(text, str)]
        for severity, message in dict.fromkeys(found for text in texts for found in text_oddities(text)):
            yield odd(row.where, field, message, severity)
        if language == "en" and any(map(_CHINESE.search, texts)):
            yield odd(row.where, field, "Chinese script in the English text")


def _refused(oddities: Sequence[Oddity]) -> bool:
    return any(o.severity == "refused" for o in oddities)


def _question(row: Row, read: Annotations, key: str, digest: str) -> NovelQuestion:
    language, folder, novel, _ = row.where.split("/")
    data: Mapping[str, Any] = row.data
    distraction = data.get("distraction") or {}
    return NovelQuestion(
        id=row.where,
        cluster=novel,
        category=folder,
        language="en" if language == "en" else "zh",
        novel=key,
        novel_sha256=digest,
        title=read.texts[key].title,
        author=read.texts[key].author,
        question=data["question"],
        options=tuple(data["options"][letter] for letter in LETTERS),
        answer=data["answer"],
        distraction=tuple(distraction.get(letter) for letter in LETTERS),
        reasoning=tuple(data["reasoning"]),
        evidence_position=positions(data),
        answer_position=int(data["answer_position"]),
    )
