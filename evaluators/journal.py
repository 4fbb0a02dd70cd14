"""Every finished call is written down once, before it counts: what is paid for is never paid for again."""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
    said = json.dumps([_said(m) for m in messages], sort_keys=True, ensure_ascii=False)
    # Written by hand and in the order of its keys: what does not change from call to call is turned into JSON once.
    text = (
        f'{{"again": {again}, "epoch": {epoch}, "messages": {said}, "model": {_model_json(model)}, '
        f'"schema": {_schema_json(schema)}}}'
    )
    return sha256(text.encode()).hexdigest()


def _said(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"images": [], "role": message.role, "text": message.text}
    return message.recorded().model_dump(mode="json")


@lru_cache(maxsize=256)
def _model_json(model: Model) -> str:
    return json.dumps(model.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)


@lru_cache(maxsize=256)
def _schema_json(schema: type[Value] | None) -> str:
    return json.dumps(schema.model_json_schema() if schema else None, sort_keys=True, ensure_ascii=False)


def in_use(path: Path) -> bool:
    """Whether a process holds the journal at `path`."""
    lock = Path(f"{path}.lock")
    if not lock.exists():
        return False
    try:
        with FileLock(lock).acquire(timeout=0):
            return False
    except Timeout:
        return True


class Journal:
    """An append-only file of finished calls, one JSON object a line, held by one process at a time.

    Use as a context manager. A line that a crash tore off is dropped on opening and its call is made again; a line
    that is damaged elsewhere is an error, because a reply that was paid for would be lost silently.

    Args:
        path: The file; its folder is made. Beside it lies a lock that ends with the process that holds it.
        fresh: Find nothing that was written before this opening; it stays in the file, and what is new is added.

    Attributes:
        torn: Bytes of a torn line that were dropped.
        paid_usd: Price of all replies in the file, as far as it is known.

    Raises:
        JournalError: If the folder cannot be written, another process holds the journal, or a line is damaged.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.torn = 0
        self.paid_usd = 0.0
        self._fresh = fresh
        self._places: dict[bytes, int] = {}  # by digest, 32 bytes each: the replies themselves stay on disk
        self._end = self._synced = 0  # bytes written, and of these on disk for certain
        self._waiting: list[asyncio.Future[None]] = []
        self._syncing: asyncio.Task[None] | None = None
        self._losses = 0
        self._why = ""  # of the last of them

    def __enter__(self) -> "Journal":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{self.path}.lock")
            self._lock.acquire(timeout=0)
            # Unbuffered: bytes that did not fit stay nowhere, waiting to be written by a later call.
            self._out = self.path.open("ab", buffering=0)
            self._in = self.path.open("rb")
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
        self._out.close()
        self._in.close()
        self._lock.release()

    def __len__(self) -> int:
        return len(self._places)

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
        at = 0
        for line in self._in:
            yield at, line
            at += len(line)

    def _index(self) -> None:
        end = 0
        for number, (at, line) in enumerate(self._lines(), start=1):
            if not line.endswith(b"\n"):
                self.torn = len(line)
                self._out.truncate(at)
                break
            end = at + len(line)
            try:
                found = self._decode(line)
                place, cost = bytes.fromhex(found["key"]), found["reply"].get("cost_usd")
            except (ValueError, KeyError, TypeError, AttributeError):
                raise JournalError(
                    f"{self.path}:{number}: damaged line; delete it (its call is then made again) or restore the file"
                ) from None
            self.paid_usd += float(cost or 0.0)
            if not self._fresh:
                self._places[place] = at
        self._end = self._synced = end

    def find(self, key: str) -> Reply | None:
        """Return the reply to a call that was finished before; None where it was not."""
        at = self._places.get(bytes.fromhex(key))
        if at is None:
            return None
        self._in.seek(at)
        try:
            return Reply.model_validate(self._decode(self._in.readline())["reply"])
        except (ValidationError, ValueError, KeyError) as error:
            raise JournalError(
                f"{self.path}: the reply at byte {at} cannot be read ({error}); move the file away"
            ) from None

    def write(self, key: str, reply: Reply, **about: Any) -> None:
        """Append a finished call and wait until it is on disk.

        Raises:
            JournalError: If the disk is full or gone; the torn line is taken back so that the file stays readable.
        """
        at = self._append(key, reply, about)
        try:
            os.fsync(self._out.fileno())
        except OSError as error:
            raise self._take_back(error) from None
        self._keep(key, reply, at)
        self._synced = self._end

    async def record(self, key: str, reply: Reply, **about: Any) -> None:
        """Append a finished call and wait until it is on disk, together with others that wait for the same.

        Raises:
            JournalError: As `write` does, to every call whose line was lost.
        """
        at = self._append(key, reply, about)
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync())
        # Shielded: a call that is given up here is paid for, and its line reaches the disk all the same.
        await asyncio.shield(done)
        self._keep(key, reply, at)

    async def _sync(self) -> None:
        """Bring what was appended to disk, group after group, until nobody waits."""
        try:
            while self._waiting:
                group, end, losses = self._waiting, self._end, self._losses
                self._waiting = []
                lost: JournalError | None = None
                try:
                    await asyncio.to_thread(os.fsync, self._out.fileno())
                except OSError as error:
                    lost = self._take_back(error)
                if lost is None and losses != self._losses:
                    lost = JournalError(self._why)
                if lost is None:
                    self._synced = max(self._synced, end)
                _settle(group, lost)
        finally:
            self._syncing = None

    def _append(self, key: str, reply: Reply, about: dict[str, Any]) -> int:
        line = json.dumps(
            {"key": key, **about, "reply": reply.model_dump(mode="json", exclude_defaults=True)},
            ensure_ascii=False,
            sort_keys=True,
        )
        data, at = self._encode(line) + b"\n", self._end
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._out.write(rest) :]
        except OSError as error:
            raise self._take_back(error) from None
        self._end += len(data)
        return at

    def _keep(self, key: str, reply: Reply, at: int) -> None:
        self._places[bytes.fromhex(key)] = at
        self.paid_usd += reply.cost_usd or 0.0

    def _take_back(self, error: OSError) -> JournalError:
        # Whoever waits for a line behind the last one on disk must hear of it, even if its own sync ends well.
        self._losses += 1
        self._out.truncate(self._synced)
        self._end = self._synced
        # What the reader holds in its buffer may be gone.
        self._in.close()
        self._in = self.path.open("rb")
        self._why = (
            f"{self.path} cannot be written: {error.strerror}; make room and run the same command again, "
            "it goes on from the last reply on disk"
        )
        return JournalError(self._why)


def _settle(group: Sequence[asyncio.Future[None]], lost: JournalError | None) -> None:
    for one in group:
        if one.done():
            continue
        if lost is None:
            one.set_result(None)
        else:
            one.set_exception(lost)
