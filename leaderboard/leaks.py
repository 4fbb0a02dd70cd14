"""Look for keys and unpublished text in what is about to leave a job: python -m leaderboard leaks DIR [--keep-out DIR]

The canaries of all splits are always looked for; only a manifest may name one. What is found is named by file and kind
and never quoted: this output is public, too.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b, sha256
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leaderboard.contents import contents

if TYPE_CHECKING:
    from builders.splits import Split
    from builders.values import SplitManifest

RUN = 8  # words in a row that give an unpublished text away
# Words in a row (of Chinese: characters) that are a passage of a novel and no turn of phrase; a judge or a model that
# quotes a clue in half a sentence stays below.
PASSAGE = 25
_WORD = r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3400-\u4dbf\u4e00-\u9fff]+"
# Labels of paragraphs, as prompts show them, and line ends as JSON writes them: they would cut a passage in pieces.
_BETWEEN = re.compile(r"\[\d+\]|\\[nrt]")
# What every form of key in `evaluators.check.words.KEYS` holds: these are found much faster than the forms.
KEY_MARKS = (
    *(b"sk-", b"hf_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"AKIA", b"AIza", b"xox"),
    *(b"AGE-SECRET-KEY-1", b" PRIVATE KEY"),
)


class Leak(NamedTuple):
    """One place where something stands that must not leave."""

    path: str
    kind: str


class Unpublished(NamedTuple):
    """What must not be found: exact strings, and digests of runs of words."""

    strings: frozenset[str]
    runs: frozenset[bytes] = frozenset()

    def __or__(self, other: "Unpublished") -> "Unpublished":
        """Both."""
        return Unpublished(self.strings | other.strings, self.runs | other.runs)

    @property
    def digest(self) -> str:
        """Equal where the same is looked for by the same code."""
        total = sha256(Path(__file__).read_bytes())
        for part in (*sorted(s.encode() for s in self.strings), *sorted(self.runs)):
            total.update(part + b"\n")
        return total.hexdigest()


NOTHING = Unpublished(frozenset())


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
        kept_out = [load_split(ref, root=options.splits, sealed=True) for ref in options.keep_out]
        unpublished = registered() | unpublished_of(kept_out)
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


def registered(manifests: "Sequence[SplitManifest]" = ()) -> Unpublished:
    """What may never stand in what is published, and is known without a key.

    Args:
        manifests: Of splits that are known here; of sealed ones, the names of their items.
    """
    from builders import CANARIES

    strings = {*CANARIES.values(), *(m.canary for m in manifests)}
    strings |= {item.id for m in manifests if m.sealed and m.seal for item in m.seal.items}
    return Unpublished(frozenset(strings))


def find_leaks(folder: Path, unpublished: Unpublished) -> Iterator[Leak]:
    """Search every file of a folder, packed ones unpacked.

    Raises:
        OSError: If a file cannot be read, or is too large to be searched.
    """
    if not folder.exists():
        raise FileNotFoundError(f"there is no {str(folder)!r} to search")
    search = Search(unpublished)
    for path in _files(folder):
        for kind in search.kinds(path):
            yield Leak(str(path), kind)


class Search:
    """Looks for keys and for what is unpublished, file by file."""

    def __init__(self, unpublished: Unpublished) -> None:
        from evaluators.check.words import KEYS

        self._keys = re.compile(KEYS.pattern.encode())
        self._names = unpublished.strings
        self._strings = tuple(s.encode() for s in sorted(unpublished.strings))
        # Most of them begin alike, and few files hold that beginning.
        self._beginnings = tuple({s[:7] for s in self._strings})
        self._runs = unpublished.runs

    def kinds(self, path: Path) -> list[str]:
        """What kinds of things stand in a file that must not leave; none is quoted.

        Raises:
            OSError: If the file cannot be read, or is too large to be searched.
        """
        found = {kind for data in contents(path) for kind in self._of(data)}
        if any(s in path.name for s in self._names):
            found.add("a canary or an id of an unpublished split")
        return sorted(found)

    def _of(self, data: bytes) -> Iterator[str]:
        if any(mark in data for mark in KEY_MARKS) and self._keys.search(data):
            yield "what looks like a secret key"
        if any(s in data for s in self._beginnings) and any(s in data for s in self._strings) and self._named(data):
            yield "a canary or an id of an unpublished split"
        if self._runs and any(run in self._runs for run in _runs(_words(data))):
            yield f"{RUN} words in a row of an unpublished item"

    def _named(self, data: bytes) -> bool:
        """Whether a name stands anywhere but in manifests, which are public and name canary and items."""
        if _is_manifest(data):
            return False
        lines = (line for line in data.split(b"\n") if any(s in line for s in self._strings))
        return not all(_is_manifest(line) for line in lines)


def _is_manifest(data: bytes) -> bool:
    from pydantic import ValidationError

    from builders.values import SplitManifest

    try:
        SplitManifest.model_validate_json(data)
    except ValidationError:
        return False
    return True


def _words(data: bytes) -> list[str]:
    from evaluators.check.detect import words

    return words(_BETWEEN.sub(" ", unescape(data.decode("utf-8", errors="replace"))))


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
        for data in contents(path):
            text = _BETWEEN.sub(" ", unescape(data.decode("utf-8", errors="replace")))
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


def _runs(tokens: Sequence[str], length: int = RUN) -> Iterator[bytes]:
    for start in range(len(tokens) - length + 1):
        yield blake2b(" ".join(tokens[start : start + length]).encode(), digest_size=12).digest()
