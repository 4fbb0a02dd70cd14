"""Read layton-eval's riddles from the Hub or a local folder, report what is odd, and make `Riddle` values of them.

Source: Vienne 2026, layton-eval; columns as in its release. Two conventions follow its code: 0 picarats mean that
the difficulty is unknown, and only the visual split shows its images.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from builders import BENCHMARKS
from builders.hub import REPO, fetch
from builders.images import MAX_BYTES, image_fault
from builders.release import (
    SUFFIXES,
    Oddity,
    ReleaseError,
    Row,
    files_sha256,
    read_rows,
    show,
    text_oddities,
    whole_number,
)
from builders.values import Riddle, Source

Part = Literal["llm", "vlm"]
HINTS = ("first_hint", "second_hint", "third_hint", "special_hint")
REQUIRED = ("id", "category", "description", "answer", "justification", "split")
OPTIONAL = ("img", "url", "picarats", *HINTS, "solution")
RELEASE_ID = r"(?:[0-9]{3}|W[0-9]{2})-[0-9]{1,4}"
_TEXTS = ("category", "description", "answer", "justification", "url", *HINTS, "solution")
_MAY_BE_EMPTY = frozenset({"justification", "url", *HINTS, "solution"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_Found = Iterator[Oddity]


def read_release(source: str | Path, split: Part, *, revision: str | None = None) -> tuple[tuple[Row, ...], Source]:
    """Read the rows of one split of the release.

    Args:
        source: Folder or file in the release's schema, or a Hub repository as `namespace/name`.
        split: `llm` (text) or `vlm` (image), as in the column `split`; rows that name neither are kept, for `check`
            to refuse.
        revision: Commit of the Hub repository, 40 hex digits, or a branch or tag that is looked up and recorded.

    Raises:
        ReleaseError: If there is no such release or it cannot be read.
        builders.hub.HubError: If the Hub cannot be reached.
    """
    pinned = next(b for b in BENCHMARKS if b.name == "layton").sources[0]
    path = Path(source)
    if path.exists():
        if revision is not None:
            raise ReleaseError(f"{path} is a local folder, which has no revision; leave --revision out")
        paths, found = _local_files(path, split), pinned.model_copy(update={"revision": None})
    else:
        paths, found = _fetch(str(source), pinned, split, revision)
    other = "vlm" if split == "llm" else "llm"
    rows = tuple(row for row in read_rows(paths) if row.data.get("split") != other)
    if not any(row.data.get("split") == split for row in rows):
        raise ReleaseError(f"{source}: no row has {split!r} in its column 'split' ({', '.join(p.name for p in paths)})")
    return rows, found.model_copy(update={"sha256": files_sha256(paths)})


def pick_files(names: Sequence[str], split: str) -> list[str]:
    """Choose the files to read: the split's own, else the file of all riddles, else every JSONL and Parquet file.

    The Hub repository holds each riddle twice, in the file of its split and in the file of all.

    Raises:
        ReleaseError: If there is no JSONL or Parquet file.
    """
    data = sorted(n for n in names if n.endswith(SUFFIXES) and n.isprintable() and ".." not in n and n[0] != "/")
    if not data:
        raise ReleaseError(f"no .jsonl or .parquet file among {show(list(names), 200)}")
    for stem in (f"layton_eval_{split}", "layton_eval"):
        for suffix in SUFFIXES:
            if exact := [name for name in data if name.rpartition("/")[2] == stem + suffix]:
                return exact
    return data


def check(rows: Sequence[Row], *, id_pattern: str = RELEASE_ID) -> tuple[Oddity, ...]:
    """Report everything odd about the rows of one split, without changing anything."""
    return to_riddles(rows, id_pattern=id_pattern)[1]


def to_riddles(rows: Sequence[Row], *, id_pattern: str = RELEASE_ID) -> tuple[tuple[Riddle, ...], tuple[Oddity, ...]]:
    """Make riddles of the rows that nothing speaks against, and report everything odd about all of them.

    Texts stay as released, white space included.

    Args:
        rows: Rows of one split.
        id_pattern: Regular expression of the ids that the release is known to use; others are noted.
    """
    riddles: list[Riddle] = []
    oddities: list[Oddity] = []
    ids: dict[object, str] = {}
    descriptions: dict[object, str] = {}
    for row in rows:
        found = [*_columns(row), *_identity(row, id_pattern), *_texts(row), *_numbers(row), *_image(row)]
        name, key, text = _name(row), show(row.data.get("id"), 200), row.data.get("description")
        if key in ids:
            found.append(_odd(row, "id", f"the id is also at {ids[key]}", "refused"))
        if isinstance(text, str) and text in descriptions:
            found.append(_odd(row, "description", f"same text as {descriptions[text]}"))
        ids.setdefault(key, row.where)
        if isinstance(text, str):
            descriptions.setdefault(text, name)
        if not any(oddity.severity == "refused" for oddity in found):
            try:
                riddles.append(_riddle(row.data))
            except ValidationError as error:
                found.append(_odd(row, "row", show(error.errors()[0]["msg"]), "refused"))
        oddities.extend(found)
    return tuple(riddles), tuple(oddities)


def _fetch(repo: str, pinned: Source, split: Part, revision: str | None) -> tuple[list[Path], Source]:
    if REPO.fullmatch(repo) is None:
        raise ReleaseError(f"{repo!r} is neither a file or folder nor a Hub repository such as {pinned.hub_repo!r}")
    if (wanted := revision or (pinned.revision if repo == pinned.hub_repo else None)) is None:
        raise ReleaseError(
            f"there is no local folder {repo!r}, and no revision of the Hub repository {repo} is pinned: "
            "give --revision with the commit to build from (40 hex digits; a branch or tag is looked up and recorded)"
        )
    paths, commit = fetch(repo, wanted, lambda names: pick_files(names, split))
    return paths, pinned.model_copy(update={"hub_repo": repo, "revision": commit})


def _local_files(path: Path, split: str) -> list[Path]:
    if path.is_file():
        if not path.name.endswith(SUFFIXES):
            raise ReleaseError(f"{path} is not a .jsonl or .parquet file")
        return [path]
    names = [p.name for p in path.iterdir() if p.is_file()]
    return [path / name for name in pick_files(names, split)]


def _name(row: Row) -> str:
    name = row.data.get("id")
    return name if isinstance(name, str) and _ID.fullmatch(name) else row.where


def _odd(row: Row, field: str, message: str, severity: Literal["note", "refused"] = "note") -> Oddity:
    return Oddity(item=_name(row), field=field, severity=severity, message=message)


def _columns(row: Row) -> _Found:
    for name in row.data:
        if name not in REQUIRED and name not in OPTIONAL:
            yield _odd(row, show(name), "not a column of the release; left out")
    for name in REQUIRED:
        if name not in row.data:
            yield _odd(row, name, "the column is missing; a riddle cannot be built or judged without it", "refused")
    for name in OPTIONAL:
        if name not in row.data:
            yield _odd(row, name, "the column is missing; read as null")


def _identity(row: Row, id_pattern: str) -> _Found:
    name, split = row.data.get("id"), row.data.get("split")
    if "id" in row.data and not (isinstance(name, str) and _ID.fullmatch(name)):
        yield _odd(row, "id", f"{show(name)} is not an id of letters, digits, '.', '_', '/' and '-'", "refused")
    elif isinstance(name, str) and not re.fullmatch(id_pattern, name):
        yield _odd(row, "id", "unlike the release's other ids")
    if "split" in row.data and split not in {"llm", "vlm"}:
        yield _odd(row, "split", f"{show(split)} is neither 'llm' nor 'vlm'", "refused")


def _texts(row: Row) -> _Found:
    for field in _TEXTS:
        value = row.data.get(field)
        if field not in row.data:
            continue
        if value is None:
            if field not in _MAY_BE_EMPTY:
                yield _odd(row, field, "null", "refused")
            elif field in {"solution", "justification"}:
                yield _odd(row, field, "null in the release")
        elif not isinstance(value, str):
            yield _odd(row, field, f"a {type(value).__name__} where text belongs", "refused")
        elif not value.strip():
            yield _odd(row, field, "empty text", "note" if field in _MAY_BE_EMPTY else "refused")
        else:
            for severity, message in text_oddities(value):
                yield _odd(row, field, message, severity)
    url = row.data.get("url")
    if isinstance(url, str) and url and not re.fullmatch(r"https?://[!-~\u00a1-\uffff]+", url):
        yield _odd(row, "url", f"{show(url)} is not an http address", "refused")
    hints = [bool(row.data.get(field)) for field in HINTS[:3]]
    if hints != sorted(hints, reverse=True):
        yield _odd(row, "hints", "a hint is missing before one that is there")
    elif not any(hints):
        yield _odd(row, "hints", "the riddle has none of the three hints")


def _numbers(row: Row) -> _Found:
    value = row.data.get("picarats")
    if value is None:
        return
    number = whole_number(value)
    if number is None or number < 0:
        yield _odd(row, "picarats", f"{show(value)} is not a whole number of points", "refused")
    elif number == 0:
        yield _odd(row, "picarats", "0 points, which stands for unknown; read as null")


def _image(row: Row) -> _Found:
    value, visual = row.data.get("img"), row.data.get("split") == "vlm"
    if value is None:
        if visual:
            yield _odd(row, "img", "no image in the visual split", "refused")
        return
    if not isinstance(value, str):
        yield _odd(row, "img", f"a {type(value).__name__} where base64 text belongs", "refused")
        return
    if not visual:
        yield _odd(row, "img", "image in the text split, which shows none; left out")
        return
    data = _decode(value)
    if fault := "image that is not base64, or too large" if data is None else image_fault(data):
        yield _odd(row, "img", fault, "refused")


def _decode(text: str) -> bytes | None:
    if len(text) > MAX_BYTES * 4 // 3 + 4:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _riddle(data: Any) -> Riddle:
    image = _decode(data["img"]) if data.get("img") is not None and data["split"] == "vlm" else None
    return Riddle(
        id=data["id"],
        cluster=data["id"],
        category=data["category"],
        description=data["description"],
        image=image,
        picarats=whole_number(data.get("picarats")) or None,
        answer=data["answer"],
        justification=data["justification"] or "",
        **{field: data.get(field) for field in ("url", *HINTS, "solution")},
    )
