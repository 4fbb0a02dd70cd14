"""Look for keys and unpublished text in what is about to leave a job: python -m leaderboard leaks DIR [--keep-out DIR]

What is found is named by file and kind and never quoted: this output is public, too.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from builders.splits import Split

RUN = 8  # words in a row that give an unpublished text away
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
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Search; 0 where nothing is found, else 1."""
    options = parser().parse_args(argv)
    from builders.splits import SplitError, load_split

    try:
        unpublished = unpublished_of([load_split(ref, root=options.splits, sealed=True) for ref in options.keep_out])
        found = sorted({leak for folder in options.folders for leak in find_leaks(folder, unpublished)})
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
    for path in sorted([folder] if folder.is_file() else folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = str(path)
        text = _text(path)
        if KEYS.search(text):
            yield Leak(name, "what looks like a secret key")
        if any(s in text or s in path.name for s in unpublished.strings):
            yield Leak(name, "a canary or an id of an unpublished split")
        if unpublished.runs and any(run in unpublished.runs for run in _runs(words(text))):
            yield Leak(name, f"{RUN} words in a row of an unpublished item")


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
    return data.decode("utf-8", errors="replace")


def _runs(tokens: Sequence[str]) -> Iterator[bytes]:
    for start in range(len(tokens) - RUN + 1):
        yield blake2b(" ".join(tokens[start : start + RUN]).encode(), digest_size=12).digest()
