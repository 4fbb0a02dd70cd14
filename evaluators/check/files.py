"""The files of a bundle: which there are, how large, whether their digests hold, and their lines."""

import io
import os
import stat
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from evaluators.bundle import TRANSCRIPTS, VERDICTS
from evaluators.check.findings import Findings

DESCRIPTION = "submission.yaml"
FILES = (DESCRIPTION, TRANSCRIPTS, VERDICTS)


class Limits(NamedTuple):
    """What no bundle may exceed; they keep a check below 300 MB of memory."""

    yaml_bytes: int = 32 * 2**10
    packed_bytes: int = 16 * 2**20
    unpacked_bytes: int = 48 * 2**20
    line_bytes: int = 2**20
    rows: int = 50_000
    entries: int = 16
    seconds: float = 60.0


LIMITS = Limits()


class DeadlineError(TimeoutError):
    """The check has used up its time."""


class Deadline:
    """A bound on the time that one bundle may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> Self:
        self._end = time.monotonic() + self._seconds
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        """Nothing to undo."""

    def check(self) -> None:
        """Raise DeadlineError once the time is over."""
        if time.monotonic() > self._end:
            raise DeadlineError


class Tree(NamedTuple):
    """The bytes of the files that could be read, by name."""

    folder: Path
    contents: dict[str, bytes]


def read_tree(folder: Path, found: Findings, limits: Limits) -> Tree:
    """Read the three files of a bundle; links, folders, other files and what is too large are refused unread."""
    contents: dict[str, bytes] = {}
    if folder.is_symlink() or not folder.is_dir():
        found.refuse("no-folder", str(folder), "is no folder", "give the folder of a bundle")
        return Tree(folder, contents)
    with os.scandir(folder) as entries:
        names = sorted(e.name for e, _ in zip(entries, range(limits.entries + 1), strict=False))
    if len(names) > limits.entries:
        found.refuse("too-many-files", str(folder), f"holds more than {limits.entries} entries", _ONLY)
    for name in names[: limits.entries]:
        data = _read(folder / name, name, found, limits)
        if data is not None:
            contents[name] = data
    for name in FILES:
        if name not in names:
            found.refuse("missing-file", str(folder / name), "there is no such file", _ONLY)
    return Tree(folder, contents)


_ONLY = f"a bundle holds {', '.join(FILES)} and nothing else; pack it with python -m evaluators.submit --pack DIR"


def _read(path: Path, name: str, found: Findings, limits: Limits) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        found.refuse("not-a-file", str(path), f"cannot be read as a plain file ({error.strerror})", _ONLY)
        return None
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        found.refuse("not-a-file", str(path), "is no plain file", _ONLY)
        return None
    with os.fdopen(handle, "rb") as file:
        most = limits.yaml_bytes if name == DESCRIPTION else limits.packed_bytes
        if name not in FILES:
            found.refuse("other-file", str(path), "does not belong to a bundle", _ONLY)
        elif about.st_size > most:
            found.refuse("too-large", str(path), f"has {about.st_size:,} bytes, at most {most:,}", _SMALLER)
        else:
            return file.read(most)
    return None


_SMALLER = "leave out what is no evidence, or ask in an issue"


def unpack(tree: Tree, name: str, found: Findings, limits: Limits) -> bytes | None:
    """Unpack a zstd file whole; one frame, of a stated size within the limits, and nothing after it."""
    import zstandard

    where, data = str(tree.folder / name), tree.contents[name]
    repack = "pack it with python -m evaluators.submit --pack DIR"
    try:
        size = zstandard.get_frame_parameters(data).content_size
        if size == zstandard.CONTENTSIZE_UNKNOWN:
            found.refuse("zstd", where, "the frame does not state its size", repack)
            return None
        if size > limits.unpacked_bytes:
            problem = f"says it unpacks to {size:,} bytes, at most {limits.unpacked_bytes:,}"
            found.refuse("too-large", where, problem, _SMALLER)
            return None
        # One frame of a known size, in one piece: memory is bounded whatever window the header asks for.
        reader = zstandard.ZstdDecompressor()
        return reader.decompress(data, max_output_size=size, allow_extra_data=False) if size else b""
    except zstandard.ZstdError as error:
        found.refuse("zstd", where, f"is not one whole zstd frame ({error})", repack)
    return None


def digest_holds(tree: Tree, name: str, stated: str, found: Findings) -> None:
    """Compare a file with the digest that submission.yaml states."""
    if sha256(tree.contents[name]).hexdigest() != stated:
        problem = "its sha256 is not the one in submission.yaml"
        found.refuse("digest", str(tree.folder / name), problem, "pack it with python -m evaluators.submit --pack DIR")


def lines(data: bytes, where: str, found: Findings, limits: Limits, deadline: Deadline) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line, up to the first that is over a limit."""
    for number, line in enumerate(io.BytesIO(data), start=1):
        if number % 256 == 0:
            deadline.check()
        if number > limits.rows:
            found.refuse("too-many-rows", f"{where}:{number}", f"more than {limits.rows:,} rows", _SMALLER)
            return
        if len(line) > limits.line_bytes:
            problem = f"a line of {len(line):,} bytes, at most {limits.line_bytes:,}"
            found.refuse("long-line", f"{where}:{number}", problem, "one JSON object a line, without padding")
            return
        yield number, line
