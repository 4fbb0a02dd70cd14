"""Finished attempts on disk: a run of any size is held in memory as a few bytes an attempt, and read back in order."""

import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import IO, Generic, TypeVar, overload

from builders.values import Value
from evaluators.values import Transcript, Verdict

T = TypeVar("T", bound=Value)

IN_MEMORY = 4 * 2**20  # bytes; what is smaller never touches the disk


class Rows(Sequence[T], Generic[T]):
    """Values that are read from a file whenever they are asked for."""

    def __init__(self, spool: "Spool", places: "array[int]", form: type[T]) -> None:
        self._spool, self._places, self._form = spool, places, form

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(self._read(place) for place in self._places[at])
        return self._read(self._places[at])

    def __iter__(self) -> Iterator[T]:
        return map(self._read, self._places)

    def _read(self, place: int) -> T:
        return self._form.model_validate_json(self._spool.line(place))


class Spool:
    """A file without a name that ends with this process: attempts go in as they finish and come out in their order.

    Args:
        attempts: How many there can be.
        on_disk: Let what does not fit in a few megabytes of memory go to the folder of temporary files.

    Raises (when used):
        OSError: If there is no room for it in the folder of temporary files.
    """

    def __init__(self, attempts: int, *, on_disk: bool) -> None:
        most = IN_MEMORY if on_disk else 0  # 0: never on disk
        file = tempfile.SpooledTemporaryFile(max_size=most)  # noqa: SIM115 - closed when its last rows are gone
        self._file: IO[bytes] = file
        weakref.finalize(self, file.close)
        self._places = array("q", [-1]) * attempts
        self._votes = array("H", [0]) * attempts
        self._end = 0

    def put(self, place: int, transcript: Transcript, verdicts: Sequence[Verdict]) -> None:
        """Keep an attempt; `place` is its number in the order of the run."""
        rows: tuple[Value, ...] = (transcript, *verdicts)
        data = b"".join(row.model_dump_json(exclude_defaults=True).encode() + b"\n" for row in rows)
        self._file.seek(self._end)
        self._file.write(data)
        self._places[place], self._votes[place] = self._end, len(verdicts)
        self._end += len(data)

    def line(self, place: int) -> bytes:
        """One line of the file."""
        self._file.seek(place)
        return self._file.readline()

    def rows(self) -> tuple[Rows[Transcript], Rows[Verdict]]:
        """All transcripts and all verdicts, in the order of the run."""
        transcripts, verdicts = array("q"), array("q")
        for place, votes in zip(self._places, self._votes, strict=True):
            if place < 0:
                continue
            transcripts.append(place)
            self.line(place)
            for _ in range(votes):
                verdicts.append(self._file.tell())
                self._file.readline()
        return Rows(self, transcripts, Transcript), Rows(self, verdicts, Verdict)
