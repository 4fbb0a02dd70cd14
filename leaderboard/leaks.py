"""Look for keys and unpublished text in what is about to leave a job: python -m leaderboard leaks DIR [--keep-out DIR]

What is found is named by file and kind and never quoted: this output is public, too.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from builders.splits import Split

RUN = 8  # words in a row that give an unpublished text away
# Words in a row (of Chinese: characters) that are a passage of a novel and no turn of phrase; a judge or a model that
# quotes a clue in half a sentence stays below.
PASSAGE = 25
_WORD = r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3400-\u4dbf\u4e00-\u9fff]+"
# Labels of paragraphs, as prompts show them, and line ends as JSON writes them: they would cut a passage in pieces.
_BETWEEN = re.compile(r"\[\d+\]|\\[nrt]")
MOST_BYTES = 512 * 2**20


class Leak(NamedTuple):
    """One place where something stands that must not leave."""

    path: str
    kind: str


class Unpublished(NamedTuple):
    """What must not be found: exact strings, and digests of runs of words."""

    strings: frozenset[str]
    runs: frozenset[bytes]


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m leaderboard leaks", description="Find what must not be published.")
    p.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="what is about to leave: site, bundle, record")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--keep-out", nargs="*", default=[], metavar="SPLIT", help="built splits of which nothing may stand")
    p.add_argument("--novels-of", nargs="*", default=[], metavar="SPLIT", help="splits of whose novels none may stand")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Search; 0 where nothing is found, else 1."""
    options = parser().parse_args(argv)
    from builders.splits import SplitError, load_split

    try:
        unpublished = unpublished_of([load_split(ref, root=options.splits, sealed=True) for ref in options.keep_out])
        found = sorted({leak for folder in options.folders for leak in find_leaks(folder, unpublished)})
        for ref in options.novels_of:
            found += sorted(set(find_passages(options.folders, _novels(ref, options.splits))))
    except (SplitError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for leak in found:
        print(f"leak: {leak.path!r}: {leak.kind}", file=sys.stderr)
    if not found:
        print("nothing found that must not leave")
    return 1 if found else 0


def unpublished_of(splits: "Sequence[Split]") -> Unpublished:
    """Canaries, ids and runs of words of splits that are not published; a sealed one is opened in memory for it."""
    from builders.sealed import texts_of
    from evaluators.check.detect import words

    strings, runs = set(), set()
    for split in splits:
        strings.add(split.manifest.canary)
        strings |= {item.id for item in split.items if len(item.id) >= 8}
        for item in split.items:
            for text in texts_of(item):
                runs |= set(_runs(words(text)))
    return Unpublished(frozenset(strings), frozenset(runs))


def find_leaks(folder: Path, unpublished: Unpublished) -> Iterator[Leak]:
    """Search every file of a folder, packed ones unpacked.

    Raises:
        OSError: If a file cannot be read, or is too large to be searched.
    """
    from evaluators.check.detect import words
    from evaluators.check.words import KEYS

    if not folder.exists():
        raise FileNotFoundError(f"there is no {str(folder)!r} to search")
    for path in _files(folder):
        name = str(path)
        text = _text(path)
        if KEYS.search(text):
            yield Leak(name, "what looks like a secret key")
        if any(s in text or s in path.name for s in unpublished.strings):
            yield Leak(name, "a canary or an id of an unpublished split")
        if unpublished.runs and any(run in unpublished.runs for run in _runs(words(text))):
            yield Leak(name, f"{RUN} words in a row of an unpublished item")


def find_passages(folders: Sequence[Path], novels: Iterable[tuple[str, str]]) -> Iterator[Leak]:
    """Search every file for passages of novels, of which only one is held at a time.

    Args:
        folders: What is about to leave.
        novels: Key and whole text of each novel.

    Raises:
        OSError: If a file cannot be read, or is too large to be searched.
    """
    leaving: dict[bytes, str] = {}  # the first file in which each run of words stands
    for path in (path for folder in folders for path in _files(folder)):
        text = _BETWEEN.sub(" ", unescape(_text(path)))
        for run in _runs(_tokens(text), PASSAGE):
            leaving.setdefault(run, str(path))
    for key, text in novels:
        for run in _runs(_tokens(text), PASSAGE):
            if run in leaving:
                yield Leak(leaving[run], f"{PASSAGE} words in a row of novel {key}")


def _novels(ref: str, root: Path) -> Iterator[tuple[str, str]]:
    from builders.novels import open_novels, pinned_novels
    from builders.splits import load_split

    split = load_split(ref, root=root)
    novels = open_novels(split, root=root, ref=ref, in_flight=1)
    for key in pinned_novels(split):
        yield key, "\n".join(p.text for p in novels.paragraphs(key))


def _tokens(text: str) -> list[str]:
    from evaluators.check.detect import fold

    return re.findall(_WORD, fold(text))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted([folder] if folder.is_file() else folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def _text(path: Path) -> str:
    import zstandard

    if path.stat().st_size > MOST_BYTES:
        raise OSError(f"{path}: too large to be searched, so it may not leave")
    data = path.read_bytes()
    if path.suffix == ".zst":
        with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data) as reader:
            data = reader.read(MOST_BYTES)
            if reader.read(1):
                raise OSError(f"{path}: unpacks to too much to be searched, so it may not leave")
    if path.suffix == ".parquet":
        return _unpacked(path)
    return data.decode("utf-8", errors="replace")


def _unpacked(path: Path) -> str:
    """Every value and all metadata of a Parquet file: compressed, no word could be found in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            if sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)) > MOST_BYTES:
                raise OSError(f"{path}: unpacks to too much to be searched, so it may not leave")
            return f"{file.schema_arrow.metadata}\n{file.read().to_pylist()}"
    except pa.ArrowException as error:
        raise OSError(f"{path}: not readable as Parquet, so it cannot be searched and may not leave") from error


def _runs(tokens: Sequence[str], length: int = RUN) -> Iterator[bytes]:
    for start in range(len(tokens) - length + 1):
        yield blake2b(" ".join(tokens[start : start + length]).encode(), digest_size=12).digest()
