"""Several journals of one run: each worker writes its own, and each reply ends up in the run's journal once."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

from pydantic import ValidationError

from evaluators.journal import Journal, JournalError
from evaluators.values import Reply

RUN = "journal.jsonl"
WORKERS = "workers"  # folder of the workers' journals, beside the run's own


def worker_journals(folder: Path) -> tuple[Path, ...]:
    """The journals that workers left below the folder of a run, in a fixed order."""
    return tuple(sorted((folder / WORKERS).glob("*.jsonl")))


def merge(folder: Path, *, skip_busy: bool = False) -> int:
    """Move what workers wrote down into the journal of their run; each reply arrives once, wherever this is stopped.

    Args:
        folder: Of the run.
        skip_busy: Leave a journal that somebody still writes for the next time, instead of refusing.

    Returns:
        Replies that the run's journal did not have yet.

    Raises:
        JournalError: If a journal is damaged, in use or cannot be written; every reply is still in one of them.
    """
    found = worker_journals(folder)
    if not found:
        return 0
    with Journal(folder / RUN) as journal, ExitStack() as held:
        whole = [path for path in found if _hold(held, path, skip_busy=skip_busy)]
        taken = _append(journal, whole)
        # Only now: until it is in the run's journal and on disk, a reply has to stay in the worker's.
        for path in whole:
            path.unlink()
    return taken


def _hold(held: ExitStack, path: Path, *, skip_busy: bool) -> bool:
    """Take a worker's journal for our own, which also drops a line that its end tore off."""
    try:
        held.enter_context(Journal(path))
    except JournalError:
        if skip_busy:
            return False
        raise
    return True


def _append(journal: Journal, paths: Sequence[Path]) -> int:
    taken: set[str] = set()
    try:
        with journal.path.open("ab") as file:
            for path in paths:
                for _, key, line in _lines(path):
                    if key not in taken and journal.find(key) is None:
                        file.write(line)
                        taken.add(key)
            file.flush()
            os.fsync(file.fileno())
    except JournalError:
        raise
    except OSError as error:
        raise JournalError(
            f"{journal.path} cannot be written: {error.strerror}; make room and run the same command again, it takes "
            "the workers' replies over then"
        ) from None
    return len(taken)


def _lines(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Place, key and bytes of each whole line; a last one that is still being written is passed over."""
    at = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield at, str(json.loads(line)["key"]), line
            except (ValueError, KeyError, TypeError):
                raise JournalError(f"{path}:{number}: damaged line; delete it (its call is then made again)") from None
            at += len(line)


def paid_usd(paths: Iterable[Path]) -> float:
    """Price of all replies in journals, as far as it is known; they may be in use, and one that is missing has none."""
    held = (line for path in paths if path.exists() for _, _, line in _lines(path))
    return sum(float(json.loads(line)["reply"].get("cost_usd") or 0.0) for line in held)


class WorkerJournal(Journal):
    """A worker's own journal, which also finds what others of its run wrote down before it began.

    Args:
        path: The file.
        others: Journals to read; they may be in use.
    """

    def __init__(self, path: Path, *, others: Sequence[Path]) -> None:
        super().__init__(path)
        self._others = [other for other in others if other != path]
        self._known: dict[bytes, tuple[BinaryIO, int]] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        super().__enter__()
        for path in self._others:
            if path.exists():
                file = self._open.enter_context(path.open("rb"))
                self._known.update({bytes.fromhex(key): (file, at) for at, key, _ in _lines(path)})
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()
        super().__exit__(*error)

    def find(self, key: str) -> Reply | None:
        """Return the reply to a call that any worker finished before."""
        own = super().find(key)
        place = self._known.get(bytes.fromhex(key))
        if own is not None or place is None:
            return own
        file, at = place
        file.seek(at)
        try:
            return Reply.model_validate(json.loads(file.readline())["reply"])
        except (ValidationError, ValueError, KeyError) as error:
            raise JournalError(f"{file.name}: the reply at byte {at} cannot be read ({error})") from None
