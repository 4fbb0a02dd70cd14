"""Read TurtleSoup-Bench from a folder or a git clone, report what is odd, and make `Soup` values with minted ids.

Source: Zhou et al. 2025, "What to Ask Next?"; columns as in the release: title, surface, bottom, tips. The release has
no ids, and its titles repeat: an id is `<language>/<genre>/<place in the file, from 0>`, as the release counts. Rows at
one place in the two languages are one story. The release states no licence, so it is never copied from here.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import run
from typing import Any, Literal, NamedTuple, get_args

from pydantic import ValidationError

from builders import BENCHMARKS
from builders.hub import COMMIT
from builders.release import MAX_LINE_BYTES, Oddity, ReleaseError, Row, show, text_oddities
from builders.values import Genre, Language, Soup, Source

GENRES: tuple[Genre, ...] = get_args(Genre)
LANGUAGES: tuple[Language, ...] = get_args(Language)
COLUMNS = ("title", "surface", "bottom", "tips")
# A Chinese bottom has about 0.28 characters for each of its English one (median of the release's 400 pairs). Twice
# that says that the English text leaves half of the story out.
CONDENSED = 0.56
# Share of the shorter text's shingles that two puzzles of one language have in common. Unrelated puzzles of the
# release stay below 0.34, the one retold puzzle has 0.60 (en) and 0.96 (zh).
NEAR = 0.45
_SHINGLE: Mapping[str, int] = {"en": 5, "zh": 3}
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_FILE = re.compile(rf"(?:.*/)?({'|'.join(LANGUAGES)})/({'|'.join(GENRES)})\.json")


class _Place(NamedTuple):
    language: Language
    genre: Genre
    number: str

    @property
    def id(self) -> str:
        return f"{self.language}/{self.genre}/{self.number}"

    @property
    def other(self) -> "_Place":
        return self._replace(language="zh" if self.language == "en" else "en")

    @property
    def story(self) -> str:
        return f"{self.genre}/{self.number}"


def read_release(source: str | None, *, revision: str | None = None) -> tuple[tuple[Row, ...], Source]:
    """Read the rows of both languages; `where` of a row is its id.

    Args:
        source: Folder with `en/` and `zh/`, each with one JSON file a genre; a git clone of the release where
            `revision` is given.
        revision: Commit, branch or tag to read from the clone; the commit is recorded.

    Raises:
        ReleaseError: If there is no such folder or commit, a file is missing, or one is not a list of objects.
    """
    pinned = next(b for b in BENCHMARKS if b.name == "turtlesoup").sources[0]
    if source is None or not Path(source).is_dir():
        raise ReleaseError(
            f"{'no folder' if source is None else f'there is no folder {show(source, 200)}'} with the release of "
            f"TurtleSoup-Bench; it states no licence, so fetch it yourself (git clone {pinned.url}) and give its folder"
        )
    folder = Path(source)
    if revision is None:
        commit, texts = None, _from_folder(folder)
    else:
        commit, texts = _from_clone(folder, revision)
    rows = [row for place, text in sorted(texts.items()) for row in _rows(place, text)]
    return tuple(rows), pinned.model_copy(update={"revision": commit, "sha256": _digest(texts)})


def to_soups(rows: Sequence[Row]) -> tuple[tuple[Soup, ...], tuple[Oddity, ...]]:
    """Make puzzles of the rows that nothing speaks against, and report everything odd about all of them.

    Texts stay as released. Near-duplicates stay too, and share a cluster.

    Args:
        rows: Rows of both languages, `where` as minted ids.
    """
    places = {_place(row.where): row for row in rows}
    twins = _near_duplicates(places)
    stories = _clusters(twins)
    soups: list[Soup] = []
    oddities: list[Oddity] = [_odd(a, "bottom", f"retells {b.id}; both stay, in one cluster") for a, b in twins]
    titles: dict[tuple[str, str], str] = {}
    for place, row in places.items():
        found = [*_columns(place, row.data), *_texts(place, row.data)]
        if not any(o.severity == "refused" for o in found):
            title = str(row.data["title"])
            if (first := titles.setdefault((place.language, title), place.id)) != place.id:
                found.append(_odd(place, "title", f"the same title as {first}; titles are no keys"))
            found += _against_pair(place, row.data, places.get(place.other))
            try:
                soups.append(_soup(place, row.data, stories, paired=place.other in places))
            except ValidationError as error:
                found.append(_odd(place, "row", show(error.errors()[0]["msg"]), "refused"))
        oddities += found
    return tuple(soups), tuple(oddities)


def describe_puzzles(soups: Sequence[Soup]) -> str:
    """Say in one line how many puzzles each genre has and how many key clues a puzzle has on average."""
    counts = ", ".join(f"{genre} {sum(s.category == genre for s in soups)}" for genre in GENRES)
    return f"{counts}; {sum(len(s.tips) for s in soups) / max(1, len(soups)):.2f} key clues a puzzle"


def _from_folder(folder: Path) -> dict[tuple[Language, Genre], bytes]:
    roots = [p for p in (folder, folder / "data") if (p / "en").is_dir() or (p / "zh").is_dir()] or [folder]
    found: dict[tuple[Language, Genre], bytes] = {}
    for language in LANGUAGES:
        for genre in GENRES:
            path = roots[0] / language / f"{genre}.json"
            if not path.is_file():
                raise ReleaseError(f"{path} is missing; a release has {language}/<genre>.json for {', '.join(GENRES)}")
            if path.stat().st_size > MAX_LINE_BYTES:
                raise ReleaseError(f"{path} has more than {MAX_LINE_BYTES:,} bytes; a release's files are far smaller")
            found[language, genre] = path.read_bytes()
    return found


def _from_clone(folder: Path, revision: str) -> tuple[str, dict[tuple[Language, Genre], bytes]]:
    commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    if COMMIT.fullmatch(commit) is None:
        raise ReleaseError(f"{folder}: git names no commit for {show(revision)}; give its 40 hex digits")
    names = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace").split("\0")
    found: dict[tuple[Language, Genre], bytes] = {}
    for name in names:
        if match := _FILE.fullmatch(name):
            key: Any = (match[1], match[2])
            if key in found:
                raise ReleaseError(f"{folder}@{commit}: two files for {'/'.join(key)}; give a clone with one release")
            found[key] = _git(folder, "show", f"{commit}:{name}")
    if lost := [f"{x}/{y}.json" for x in LANGUAGES for y in GENRES if (x, y) not in found]:
        raise ReleaseError(f"{folder}@{commit}: {lost[0]} is missing; is this a clone of the release?")
    return commit, found


def _git(folder: Path, *words: str) -> bytes:
    done = run(["git", "-C", str(folder), *words], capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        raise ReleaseError(f"{folder}: git cannot read this revision ({said}); --revision needs a clone that has it")
    return done.stdout


def _digest(texts: Mapping[tuple[Language, Genre], bytes]) -> str:
    from hashlib import sha256

    lines = (f"{sha256(text).hexdigest()}  {'/'.join(key)}.json\n" for key, text in sorted(texts.items()))
    return sha256("".join(lines).encode()).hexdigest()


def _rows(key: tuple[Language, Genre], text: bytes) -> Iterator[Row]:
    name = f"{'/'.join(key)}.json"
    try:
        entries = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{name}: not JSON in UTF-8 ({show(str(error), 120)})") from None
    if not isinstance(entries, list) or not entries:
        raise ReleaseError(f"{name}: a list of puzzles is expected")
    for n, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ReleaseError(f"{name}: entry {n} is {show(entry)}, an object is expected")
        yield Row(f"{'/'.join(key)}/{n}", entry)


def _place(where: str) -> _Place:
    language, genre, number = where.split("/")
    return _Place("en" if language == "en" else "zh", next(g for g in GENRES if g == genre), number)


def _odd(place: _Place, field: str, message: str, severity: Literal["note", "refused"] = "note") -> Oddity:
    return Oddity(item=place.id, field=field, severity=severity, message=message)


def _columns(place: _Place, data: Mapping[str, object]) -> Iterator[Oddity]:
    for name in data:
        if name not in COLUMNS:
            yield _odd(place, show(name), "not a column of the release; left out")
    for name in COLUMNS:
        if name not in data:
            yield _odd(place, name, "the column is missing", "refused")


def _texts(place: _Place, data: Mapping[str, object]) -> Iterator[Oddity]:
    tips = data.get("tips")
    texts = [(name, data.get(name)) for name in COLUMNS[:3] if name in data]
    if isinstance(tips, list) and tips:
        texts += [("tips", tip) for tip in tips]
    elif "tips" in data:
        yield _odd(place, "tips", f"{show(tips)} where a list of key clues belongs", "refused")
    for field, value in texts:
        if not isinstance(value, str) or not value.strip():
            yield _odd(place, field, f"{show(value)} where text belongs", "refused")
            continue
        for severity, message in text_oddities(value):
            yield _odd(place, field, message, severity)
        if place.language == "en" and (stray := _CHINESE.findall(value)):
            yield _odd(place, field, f"Chinese script in the English text ({len(''.join(stray))} characters)")


def _against_pair(place: _Place, data: Mapping[str, Any], other: Row | None) -> Iterator[Oddity]:
    if other is None:
        yield _odd(place, "pair", "has no counterpart in the other language")
    elif place.language == "en":
        tips, theirs = other.data.get("tips"), other.data.get("bottom")
        if isinstance(tips, list) and len(tips) != len(data["tips"]):
            yield _odd(place, "tips", f"{len(data['tips'])} key clues, {len(tips)} in Chinese; the stories differ")
        if isinstance(theirs, str) and len(theirs) > CONDENSED * len(data["bottom"]):
            yield _odd(place, "bottom", "condensed: far shorter than its Chinese counterpart")


def _near_duplicates(places: Mapping[_Place, Row]) -> list[tuple[_Place, _Place]]:
    shingles: list[tuple[_Place, frozenset[str]]] = []
    for place, row in places.items():
        text = re.sub(r"\W+", "", f"{row.data.get('surface')}{row.data.get('bottom')}".lower())
        size = _SHINGLE[place.language]
        shingles.append((place, frozenset(text[i : i + size] for i in range(len(text) - size + 1))))
    found = []
    for n, (place, mine) in enumerate(shingles):
        for earlier, theirs in shingles[:n]:
            shorter = min(len(mine), len(theirs))
            if place.language == earlier.language and shorter and len(mine & theirs) >= NEAR * shorter:
                found.append((place, earlier))
    return found


def _clusters(twins: Sequence[tuple[_Place, _Place]]) -> dict[str, str]:
    """The story that each retold one belongs to; a retelling in one language joins both languages."""
    joined: dict[str, str] = {}
    for later, earlier in twins:
        joined[later.story] = joined.get(earlier.story, earlier.story)
    return joined


def _soup(place: _Place, data: Mapping[str, Any], stories: Mapping[str, str], *, paired: bool) -> Soup:
    return Soup(
        id=place.id,
        cluster=stories.get(place.story, place.story),
        category=place.genre,
        language=place.language,
        pair=place.other.id if paired else None,
        title=data["title"],
        surface=data["surface"],
        bottom=data["bottom"],
        tips=tuple(data["tips"]),
    )
