"""What a run may still cost, lent to workers whose spending nobody sees: together they can never go beyond it.

A worker is lent a part before it starts, keeps to it, and gives back what it did not spend. What was lent to a machine
that was lost counts as spent, but for what its journal shows, on this and on every later command of the run.
"""

from pathlib import Path

from pydantic import Field, ValidationError

from builders.folders import replace_file
from builders.values import Value
from evaluators.journal import JournalError
from evaluators.journals import WORKERS, paid_usd

PURSE = "lent.json"  # beside the run's journal


class Account(Value):
    """What was lent in the runs of one folder."""

    lost_usd: float = Field(0.0, ge=0, description="Lent to workers that were lost, without what their journals show.")
    lent: dict[str, float] = Field({}, description="USD by the worker that has them now.")


def lost_usd(folder: Path) -> float:
    """What workers that were lost may have spent unseen.

    Raises:
        JournalError: If the file that says it is damaged.
    """
    account = _read(folder / PURSE)
    return account.lost_usd + sum(_unseen(folder, name, usd) for name, usd in account.lent.items())


class Purse:
    """The money of one run while its workers are at work.

    Args:
        folder: Of the run. Workers that an earlier command lost sight of are taken for lost.
        usd: What may still be spent, lost money and the journal's price taken off.

    Raises:
        JournalError: If what was lent cannot be read or written down.
    """

    def __init__(self, folder: Path, usd: float) -> None:
        self._folder, self._free = folder, max(0.0, usd)
        self._account = Account(lost_usd=lost_usd(folder))

    def lend(self, worker: str, *, waiting: int) -> float:
        """Lend a worker its part of what is left, and write that down before it starts.

        Args:
            worker: Name of its journal, without the ending.
            waiting: Workers that still have to be lent something, this one too.
        """
        usd = self._free / waiting
        self._free -= usd
        self._write(self._account.model_copy(update={"lent": self._account.lent | {worker: usd}}))
        return usd

    def give_back(self, worker: str, *, spent_usd: float) -> None:
        """Take back what a worker that came to its end did not spend."""
        self._free += max(0.0, self._account.lent[worker] - spent_usd)
        self._write(self._without(worker, lost_usd=0.0))

    def lose(self, worker: str) -> None:
        """Count as spent what a worker had that was lost."""
        self._write(self._without(worker, lost_usd=_unseen(self._folder, worker, self._account.lent[worker])))

    def _without(self, worker: str, *, lost_usd: float) -> Account:
        rest = {name: usd for name, usd in self._account.lent.items() if name != worker}
        return Account(lost_usd=self._account.lost_usd + lost_usd, lent=rest)

    def _write(self, account: Account) -> None:
        path = self._folder / PURSE
        try:
            replace_file(path, account.model_dump_json().encode(), durable=True)
        except OSError as error:
            raise JournalError(f"{path} cannot be written: {error.strerror}; make room and run again") from None
        self._account = account


def _unseen(folder: Path, worker: str, usd: float) -> float:
    return max(0.0, usd - paid_usd([folder / WORKERS / f"{worker}.jsonl"]))


def _read(path: Path) -> Account:
    try:
        return Account.model_validate_json(path.read_bytes()) if path.exists() else Account()
    except (ValidationError, OSError) as error:
        said = " ".join(str(error).split())[:200]
        raise JournalError(
            f"{path}: damaged ({said}); it says what was lent to machines that were lost: delete it if none was"
        ) from None
