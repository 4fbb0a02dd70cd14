"""Batches on their way, written down before they are sent, so that the same command collects them days later."""

import json
from pathlib import Path

from pydantic import Field, ValidationError

from builders.folders import replace_file
from builders.values import Value
from evaluators.journal import JournalError
from evaluators.values import Model


class Sent(Value):
    """A batch that is on its way; written down before it is submitted, and taken out once it is in the journal."""

    tag: str = Field(description="Our own name of the batch, which the provider keeps beside it.")
    model: Model
    file_id: str
    batch_id: str | None = Field(None, description="None: about to be submitted, perhaps heard, never answered.")
    keys: tuple[str, ...] = Field(description="Keys of its calls in the journal.")
    made: float = Field(0.0, description="When it was first to be submitted, in seconds since 1970.")


class Outbox:
    """The batches on their way, in a file beside the journal that is replaced whole.

    Raises:
        JournalError: If the file is damaged or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sent: dict[str, Sent] = {}
        try:
            if path.exists():
                found = json.loads(path.read_text(encoding="utf-8"))
                self.sent = {one["tag"]: Sent.model_validate(one) for one in found}
        except (ValueError, TypeError, KeyError, ValidationError) as error:
            raise JournalError(
                f"{path}: damaged ({' '.join(str(error).split())[:200]}); look up your batches at the provider, and "
                "delete the file if none is under way"
            ) from None

    def put(self, one: Sent) -> None:
        """Write down what became of a batch."""
        self.sent[one.tag] = one
        self._write()

    def drop(self, tag: str) -> None:
        """Forget a batch whose replies are in the journal."""
        del self.sent[tag]
        self._write()

    def _write(self) -> None:
        text = json.dumps([one.model_dump(mode="json") for one in self.sent.values()])
        try:
            replace_file(self.path, text.encode(), durable=True)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be written: {error.strerror}; make room and run again") from None
