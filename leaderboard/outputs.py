"""The files of a site as they are made: what is unchanged since the last build is taken over instead of made again."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

MANIFEST = ".inputs.json"


class Outputs:
    """Files under a folder, each with the digest of what it was made from.

    Args:
        new: Folder to fill.
        old: The folder of the last build, or None.
    """

    def __init__(self, new: Path, old: Path | None = None) -> None:
        self.new, self._old = new, old
        self._made: dict[str, str] = {}
        self._before: dict[str, str] = {}
        self._folders: set[str] = set()
        if old is not None and (manifest := old.parent / MANIFEST).is_file():
            self._before = json.loads(manifest.read_text(encoding="utf-8"))
        self.taken: set[str] = set()  # files of the last build
        self.written = 0

    def write(self, name: str, source: str, make: Callable[[], str | bytes]) -> None:
        """Write a file, or take over the one of the last build if it was made from the same.

        Args:
            name: Path below the folder.
            source: Digest of all that the file is made from, this code included.
            make: Makes its content; called only where it is needed.
        """
        if not self.take_over(name, source):
            self.put(name, source, make())

    def take_over(self, name: str, source: str) -> bool:
        """Link the file of the last build in, if it was made from the same; False where it was not."""
        if self._old is None or self._before.get(name) != source:
            return False
        path = self._place(name, source)
        try:
            os.link(self._old / name, path)
        except OSError:  # gone, or on another file system
            return False
        self.taken.add(name)
        return True

    def put(self, name: str, source: str, content: str | bytes) -> None:
        """Write a file."""
        path = self._place(name, source)
        self.taken.discard(name)
        path.unlink(missing_ok=True)  # it may be a link to a file of the last build
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.written += 1

    def source(self, name: str) -> str | None:
        """Digest of what a file of this build was made from; None: there is none."""
        return self._made.get(name)

    def close(self) -> None:
        """Write down what each file was made from, for the next build."""
        text = json.dumps(self._made, sort_keys=True, separators=(",", ":"))
        (self.new.parent / MANIFEST).write_text(text, encoding="utf-8")

    @property
    def names(self) -> tuple[str, ...]:
        """Files so far, by name."""
        return tuple(sorted(self._made))

    def _place(self, name: str, source: str) -> Path:
        self._made[name] = source
        path = self.new / name
        if (parent := os.path.dirname(name)) not in self._folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(parent)
        return path


def digest(*parts: object) -> str:
    """Digest of values by how they are written."""
    total = sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else repr(part).encode())
        total.update(b"\n")
    return total.hexdigest()
