"""Novels as numbered paragraphs: read from the text files of a release, kept beside a split, opened one at a time.

A novel never travels with the items: it lies in `novels.parquet` of the split's folder, one row group a novel, and an
item pins it by the digest of its paragraphs. Only where the licence lets anyone pass it on is it published.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from builders.release import ReleaseError, character_oddities, show
from builders.splits import DEFAULT_ROOT, NOVELS, Split, SplitError
from builders.values import NovelQuestion

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAX_NOVEL_BYTES = 20_000_000
MAX_PARAGRAPHS = 100_000
_LABEL = re.compile(r"\[(\d{1,7})\](.*)", re.ASCII | re.DOTALL)


class Paragraph(NamedTuple):
    """A paragraph and the label by which annotations point to it; labels rise and begin at 1."""

    label: int
    text: str


class Parsed(NamedTuple):
    """The paragraphs of a text file, and what a person should know about it."""

    paragraphs: tuple[Paragraph, ...]
    notes: tuple[str, ...]


def read_novel(path: Path) -> Parsed:
    """Read a text file with one paragraph a line, `[n] text`, in UTF-8 with or without a byte order mark.

    White space around a paragraph goes, so that equal texts have equal digests. A line without a label goes on with
    the paragraph before it.

    Raises:
        ReleaseError: If it is no regular file, too large, not UTF-8, hides characters, or its labels do not rise from
            1; the message names file and line.
        OSError: If it cannot be read.
    """
    if path.is_symlink() or not path.is_file():
        raise ReleaseError(f"{path} is no regular file; novels are read from plain files, never through links")
    if path.stat().st_size > MAX_NOVEL_BYTES:
        raise ReleaseError(f"{path} has more than {MAX_NOVEL_BYTES:,} bytes; no novel is that long")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReleaseError(f"{path}: byte {error.start} is not UTF-8; save the text as UTF-8") from None
    return parse_novel(text, path.name)


def parse_novel(text: str, where: str) -> Parsed:
    """Cut a text into its labelled paragraphs; see `read_novel`."""
    found: list[tuple[int, list[str]]] = []
    before = loose = jumps = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        match = _LABEL.fullmatch(line.strip())
        if match is None:
            if line.strip() and found:
                found[-1][1].append(line.strip())
            loose += bool(line.strip() and found)
            before += bool(line.strip() and not found)
            continue
        label, last = int(match[1]), found[-1][0] if found else 0
        if label <= last or len(found) >= MAX_PARAGRAPHS:
            raise ReleaseError(f"{where}:{number}: label [{label}] after [{last}]; {_labels_rise(label)}")
        jumps += label != last + 1
        found.append((label, [match[2].strip()]))
    if not found:
        raise ReleaseError(f"{where}: no line begins with a label such as [1]; positions would point nowhere")
    paragraphs = tuple(Paragraph(label, "\n".join(lines)) for label, lines in found)
    notes = [*_characters(paragraphs, where)]
    for count, what in (
        (before, "lines before the first label are left out"),
        (loose, "lines without a label go on with the paragraph before them"),
        (jumps, "labels do not follow the one before them; paragraphs may be missing"),
        (sum(not p.text for p in paragraphs), "paragraphs are empty"),
    ):
        if count:
            notes.append(f"{count} {what}")
    return Parsed(paragraphs, tuple(notes))


def paragraphs_sha256(paragraphs: Iterable[Paragraph]) -> str:
    """Digest a novel's paragraphs: one JSON array `[label, text]` a line, in UTF-8."""
    digest = sha256()
    for paragraph in paragraphs:
        digest.update(json.dumps(paragraph, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def write_novels(novels: Iterable[tuple[str, Sequence[Paragraph]]], split: Split, folder: Path) -> None:
    """Write `novels.parquet` into the folder of a split, one row group a novel, holding one novel at a time.

    Args:
        novels: Key and paragraphs of each novel that the split's items ask about.
        split: The split.
        folder: Where its items lie.

    Raises:
        SplitError: If a novel is not the one that the items pin, or one is missing.
        OSError: If the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pinned, seen = pinned_novels(split), set()
    with pq.ParquetWriter(folder / NOVELS, _schema(split.manifest.canary), compression="zstd") as writer:
        for key, paragraphs in novels:
            if key in seen or pinned.get(key) != paragraphs_sha256(paragraphs):
                raise SplitError(f"{split.manifest.ref}: novel {key!r} is not the one its questions were built from")
            seen.add(key)
            rows = {"novel": [key] * len(paragraphs), "label": [p.label for p in paragraphs]}
            table = pa.table({**rows, "text": [p.text for p in paragraphs]}, schema=writer.schema)
            writer.write_table(table, row_group_size=len(paragraphs))
    if lost := sorted(pinned.keys() - seen):
        raise SplitError(f"{split.manifest.ref}: the text of novel {lost[0]!r} is missing; {len(lost)} in all")


def pinned_novels(split: Split) -> Mapping[str, str]:
    """The digest of every novel that the split's items ask about, by key.

    Raises:
        SplitError: If two items pin the same novel with other digests.
    """
    pinned: dict[str, str] = {}
    for item in split.items:
        if isinstance(item, NovelQuestion) and pinned.setdefault(item.novel, item.novel_sha256) != item.novel_sha256:
            raise SplitError(f"{split.manifest.ref}: {item.id} pins another text of novel {item.novel!r} than others")
    return pinned


class Novels:
    """The novels of a split, read one at a time; the last few that were asked for stay in memory."""

    def __init__(self, path: Path, pinned: Mapping[str, str], *, in_flight: int = 8) -> None:
        """Look up where each novel lies in the file; no text is read yet.

        Args:
            path: `novels.parquet` of the split.
            pinned: Digest of each novel, by key.
            in_flight: Novels kept in memory; at least as many as are asked about at one time.

        Raises:
            SplitError: If the file is missing or damaged, or lacks a novel.
        """
        self._path = path
        self._pinned = pinned
        with _opened(path) as file:
            self._groups = dict(_groups(file, path))
        if lost := sorted(pinned.keys() - self._groups.keys()):
            raise SplitError(f"{path} lacks novel {lost[0]!r}; build the split again")
        self._kept = lru_cache(maxsize=in_flight)(self._read)

    @property
    def loads(self) -> int:
        """How often a novel was read from disk so far."""
        return self._kept.cache_info().misses

    def paragraphs(self, key: str) -> tuple[Paragraph, ...]:
        """All paragraphs of a novel, in the order of their labels.

        Raises:
            SplitError: If the split has no such novel, or the text is not the one its items pin.
        """
        if key not in self._pinned:
            raise SplitError(f"no question of the split is about a novel {key!r}; there are {', '.join(self._pinned)}")
        return self._kept(key)

    def _read(self, key: str) -> tuple[Paragraph, ...]:
        import pyarrow as pa

        try:
            with _opened(self._path) as file:
                table = file.read_row_group(self._groups[key], columns=["label", "text"])
            paragraphs = tuple(map(Paragraph, *(table[name].to_pylist() for name in ("label", "text"))))
        except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError) as error:
            raise _damaged(self._path, str(error)) from error
        if paragraphs_sha256(paragraphs) != self._pinned[key]:
            raise _damaged(self._path, f"novel {key!r} has not the digest that its questions pin")
        return paragraphs


def open_novels(split: Split, *, root: Path = DEFAULT_ROOT, ref: str | None = None, in_flight: int = 8) -> Novels:
    """Open the novels of a split.

    Args:
        split: The split, as it was loaded.
        root: Folder of the built splits.
        ref: What it was loaded by; for `hub:...` the novels come from the Hub or its cache.
        in_flight: Novels kept in memory.

    Raises:
        SplitError: If the split has no novels there, or they are damaged.
        builders.release.ReleaseError, builders.hub.HubError: If a published split's cannot be had.
    """
    if ref is not None and ref.startswith("hub:"):
        from builders.remote import fetch_beside

        path = fetch_beside(ref, NOVELS)
    else:
        path = root / split.manifest.split / split.manifest.version / NOVELS
    return Novels(path, pinned_novels(split), in_flight=in_flight)


def check_novels(split: Split, root: Path) -> None:
    """Read every novel of a built split once, one at a time, and hold each against the digest its items pin.

    Raises:
        SplitError: If one is missing or damaged.
    """
    novels = open_novels(split, root=root, in_flight=1)
    for key in pinned_novels(split):
        novels.paragraphs(key)


def _opened(path: Path) -> "pq.ParquetFile":
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise SplitError(f"{path} is missing: the questions are here without their novels; build the split again")
    try:
        return pq.ParquetFile(path, memory_map=False)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, str(error)) from error


def _groups(file: "pq.ParquetFile", path: Path) -> Iterator[tuple[str, int]]:
    names = file.schema_arrow.names
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        found = group.column(names.index("novel")).statistics if "novel" in names else None
        if group.total_byte_size > 4 * MAX_NOVEL_BYTES or found is None or found.min != found.max:
            raise _damaged(path, f"row group {number} is not one novel")
        yield str(found.min), number


def _schema(canary: str) -> "pa.Schema":
    import pyarrow as pa

    kinds = {"novel": pa.string(), "label": pa.int64(), "text": pa.string()}
    features = {name: {"dtype": str(kind), "_type": "Value"} for name, kind in kinds.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}}), "canary": canary}
    return pa.schema(list(kinds.items()), metadata=metadata)


def _labels_rise(label: int) -> str:
    if label == 0:
        return "labels begin at 1, with 0 every position would be shifted by one"
    return "labels rise, and each occurs once, or a position would name two places"


def _characters(paragraphs: Iterable[Paragraph], where: str) -> Iterator[str]:
    seen = set()
    for paragraph in paragraphs:
        for severity, message in character_oddities(paragraph.text):
            if severity == "refused":
                raise ReleaseError(f"{where}: paragraph [{paragraph.label}]: {message}; take it out of the text")
            if message not in seen:
                seen.add(message)
                yield message


def _damaged(path: Path, why: str) -> SplitError:
    return SplitError(f"{path} is damaged ({show(why, 120)}); delete {path.parent} and build the split again")
