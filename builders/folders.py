"""Replace a folder or file whole: a full disk, a crash or Ctrl-C leaves the old or the new, never half of either."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_folder(folder: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield an empty folder to fill; where the block ends well it takes the place of `folder`.

    Args:
        folder: What is replaced.
        durable: Wait until every file is on the disk; False where the folder can be made again from others.

    Raises:
        OSError: If a file cannot be written; `folder` is then as it was.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.with_name(f".{folder.name}.{state}") for state in ("new", "old"))
    if old.exists() and not folder.exists():  # a crash between the two renames below
        old.rename(folder)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        for path in new.rglob("*") if durable else ():
            _sync(path)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def replace_file(path: Path, data: bytes, *, durable: bool) -> None:
    """Put a file with this content in the place of `path`, in a folder that is there.

    Args:
        path: What is replaced.
        data: All of the new file.
        durable: Wait until it is on the disk.

    Raises:
        OSError: If it cannot be written; what stood there before still stands.
    """
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    new.replace(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
