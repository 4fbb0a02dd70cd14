"""The results changelog: what became of each row, by whom it was verified, and why; append-only, one JSON line each.

Every line holds the digest of the line before it, so that no line can be changed or taken out unseen.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field, ValidationError

from builders.values import Revision, Sha256, Value
from evaluators.values import Label, Tier

if TYPE_CHECKING:
    from evaluators.rechecks import Recheck

RECORDS = Path("leaderboard/records.jsonl")
RECHECKS = Path("leaderboard/rechecks.jsonl")  # what came of asking juries again
Action = Literal["rejudged", "scored-here", "rescored", "withdrawn", "jury-retired", "sealed-run"]
# After these the subject stands as it stood.
_BESIDE = ("jury-retired", "sealed-run")


class RecordError(ValueError):
    """The changelog is damaged, or a change cannot be made; the message says what to do."""


class Record(Value):
    """One change to the results."""

    action: Action
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="Day of the change, YYYY-MM-DD, UTC.")
    subject: Label = Field(description="The submission that changes, or the jury that retires.")
    becomes: Label | None = Field(
        None, description="The submission that stands in its place; of a sealed run, the one that stands beside it."
    )
    model: Label | None = None
    split: str | None = Field(None, description="`split@version`.")
    reason: str = Field(min_length=1, max_length=1000)
    before: float | None = Field(None, description="Headline share in [0, 1] as it stood, for items like these.")
    after: float | None = Field(None, description="The same figure of what stands now.")
    gap: tuple[float, float, float] | None = Field(
        None, description="Public minus sealed with its limits, as shares of full marks; only of a sealed run."
    )
    pull: int | None = Field(None, ge=1, description="Pull request that brought the evidence.")
    head: Revision | None = Field(None, description="Its commit that was read.")
    previous: Sha256 | None = Field(None, description="Digest of the line before; None in the first.")


class History(NamedTuple):
    """The changelog, oldest first, and what rechecks of juries found."""

    records: tuple[Record, ...] = ()
    rechecks: "tuple[Recheck, ...]" = ()

    def tier(self, submission_id: str) -> Tier | None:
        """What a sent bundle counts as; None: another stands in its place, or it is withdrawn."""
        tier: Tier | None = "self-reported"
        for r in self.records:
            if r.subject == submission_id and r.action not in _BESIDE:
                tier = None
            elif r.becomes == submission_id and r.action in ("rejudged", "scored-here", "sealed-run"):
                tier = "rejudged" if r.action == "rejudged" else "scored-here"
            elif r.becomes == submission_id:
                tier = self._tier_before(r)
        return tier

    def _tier_before(self, change: Record) -> Tier | None:
        place = self.records.index(change)
        return History(self.records[:place]).tier(change.subject)

    def retired(self, jury: str) -> Record | None:
        """The record by which a jury retired; None while it sits."""
        return next((r for r in self.records if r.action == "jury-retired" and r.subject == jury), None)


NO_HISTORY = History()


def read_history(path: Path = RECORDS) -> History:
    """Read the changelog; no file, no changes.

    Raises:
        RecordError: If a line is no record, or is not the one that the next line names.
    """
    if not path.exists():
        return NO_HISTORY
    records, previous = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = Record.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise RecordError(f"{path}:{number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if record.previous != previous:
            raise RecordError(
                f"{path}:{number}: names another line before it than stands there; the changelog only grows: "
                "take the file back from git and make the change with python -m leaderboard"
            )
        records.append(record)
        previous = sha256(line.encode()).hexdigest()
    return History(tuple(records))


def append(record: Record, path: Path = RECORDS) -> Record:
    """Write one more line; returns the record with its place in the chain.

    Raises:
        RecordError: If the file is damaged.
        OSError: If it cannot be written.
    """
    read_history(path)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    chained = record.model_copy(update={"previous": sha256(lines[-1].encode()).hexdigest() if lines else None})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(chained.model_dump(mode="json", exclude_none=True), ensure_ascii=False) + "\n")
    return chained
