"""Every finished call is written down once, before it counts: what is paid for is never paid for again."""

import json
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from builders.values import Value
from evaluators.values import Message, Model, Reply


class JournalError(OSError):
    """The journal cannot be used; what it holds is untouched."""


def call_key(model: Model, messages: Sequence[Message], *, schema: type[Value] | None, epoch: int, again: int) -> str:
    """Name a call by everything that decides its reply: 64 hex digits.

    Images enter by their digest. `epoch` tells repeats of a sampled model apart, `again` the repair of a reply
    that could not be read.
    """
    parts = {
        "model": model.model_dump(mode="json"),
        "messages": [m.recorded().model_dump(mode="json") for m in messages],
        "schema": schema.model_json_schema() if schema else None,
        "epoch": epoch,
        "again": again,
    }
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class Journal:
    """An append-only file of finished calls, one JSON object a line, held by one process at a time.

    Use as a context manager. A line that a crash tore off is dropped on opening and its call is made again; a line
    that is damaged elsewhere is an error, because a reply that was paid for would be lost silently.

    Args:
        path: The file; its folder is made. Beside it lies a lock that ends with the process that holds it.

    Raises:
        JournalError: If the folder cannot be written, another process holds the journal, or a line is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0
        self._offsets: dict[str, int] = {}

    def __enter__(self) -> "Journal":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{self.path}.lock")
            self._lock.acquire(timeout=0)
            self._file = self.path.open("a+b")
        except Timeout:
            raise JournalError(
                f"{self.path} is in use by another process; wait for it, or give this run another --out"
            ) from None
        except OSError as error:
            raise JournalError(f"{self.path} cannot be written: {error.strerror}; give another --out") from None
        try:
            self._index()
        except JournalError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.release()

    def __len__(self) -> int:
        return len(self._offsets)

    def _encode(self, line: str) -> bytes:
        """Bytes of a line as the file has it, without a line break in them."""
        return line.encode()

    def _decode(self, data: bytes) -> dict[str, Any]:
        """The object that `_encode` was given as JSON.

        Raises:
            ValueError: If it is none.
        """
        found = json.loads(data)
        if not isinstance(found, dict):
            raise ValueError("no object")  # noqa: TRY004 - one kind of error for every damage
        return found

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        self._file.seek(0)
        at = 0
        for line in self._file:
            yield at, line
            at += len(line)

    def _index(self) -> None:
        end = 0
        for number, (at, line) in enumerate(self._lines(), start=1):
            end = at + len(line)
            if not line.endswith(b"\n"):
                self.torn = len(line)
                self._file.truncate(at)
                break
            try:
                self._offsets[self._decode(line)["key"]] = at
            except (ValueError, KeyError, TypeError):
                raise JournalError(
                    f"{self.path}:{number}: damaged line; delete it (its call is then made again) or restore the file"
                ) from None
        self._end = end - self.torn

    def find(self, key: str) -> Reply | None:
        """Return the reply to a call that was finished before; None where it was not."""
        at = self._offsets.get(key)
        if at is None:
            return None
        self._file.seek(at)
        try:
            return Reply.model_validate(self._decode(self._file.readline())["reply"])
        except (ValidationError, ValueError) as error:
            raise JournalError(
                f"{self.path}: the reply at byte {at} cannot be read ({error}); move the file away"
            ) from None

    def write(self, key: str, reply: Reply, **about: Any) -> None:
        """Append a finished call and wait until it is on disk.

        Raises:
            JournalError: If the disk is full or gone; the torn line is taken back so that the file stays readable.
        """
        line = json.dumps(
            {"key": key, **about, "reply": reply.model_dump(mode="json", exclude_defaults=True)},
            ensure_ascii=False,
            sort_keys=True,
        )
        data = self._encode(line) + b"\n"
        try:
            self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._take_back()
            raise JournalError(
                f"{self.path} cannot be written: {error.strerror}; make room and run the same command again, "
                "it goes on from the last reply on disk"
            ) from None
        self._offsets[key] = self._end
        self._end += len(data)

    def _take_back(self) -> None:
        # Through the descriptor: the buffered writer still holds the bytes that did not fit.
        os.truncate(self.path, self._end)
        raw = self._file.detach()
        raw.close()
        self._file = self.path.open("a+b")
