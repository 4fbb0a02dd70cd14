"""What every attempt of a run says of the run: one value, from which each transcript begins."""

from typing import Any, NamedTuple

from builders.values import Protocol
from evaluators.values import Model, Transcript, transcript_id


class Heading(NamedTuple):
    """The run that an attempt belongs to."""

    key: str  # of the submission
    split: str  # `split@version`
    model: Model
    protocol: Protocol
    condition: str

    def transcript(self, item_id: str, epoch: int, **made: Any) -> Transcript:
        """The transcript of one attempt, with what was `made` of it: an answer or a failure, and what that took."""
        return Transcript(
            transcript_id=transcript_id(self.key, item_id, epoch),
            split=self.split,
            item_id=item_id,
            model=self.model.name,
            protocol=self.protocol,
            condition=self.condition,
            epoch=epoch,
            **made,
        )
