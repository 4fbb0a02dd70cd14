"""Read a structured reply whatever the provider promised: validate, ask again, then call it unparsed."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from builders.values import Value
from evaluators.models import Complete
from evaluators.values import Decoding, Message, Reply, Seat, Transcript, Usage, Verdict

T = TypeVar("T", bound=Value)

MOST_CHARACTERS = 200_000
MOST_TRIES = 3
SHOWN_OF_CUT = 400  # characters of a cut-off reply that are sent back: a model that loops goes on with all of it
MOST_OBJECTS = 50  # places in a reply where reading a JSON object is tried; a hostile reply has many


class UnreadableError(ValueError):
    """A reply that does not hold what was asked for; the message can be shown to the model."""

    def __init__(self, message: str, *, damaged: bool) -> None:
        super().__init__(message)
        self.damaged = damaged


class Asked(NamedTuple, Generic[T]):
    """Outcome of a question: the value, or None and the failure in `reply`; with the conversation that led there."""

    value: T | None
    reply: Reply
    messages: tuple[Message, ...]
    usage: Usage
    cost_usd: float | None

    def verdict(
        self,
        transcript: Transcript,
        seat: Seat,
        *,
        prompt_sha256: str,
        marked: Callable[[T], dict[str, Any]],
        **about: Any,
    ) -> Verdict:
        """The verdict of the judge who was asked; a reply that nobody can read is a failure, never a mark.

        Args:
            transcript: The attempt that was judged.
            seat: The judge's.
            prompt_sha256: Digest of the prompt's template.
            marked: Makes score, marks and parts of what the judge said.
            about: What else the verdict says, such as its unit.
        """
        last = self.messages[-1]
        found = {"failure": self.reply.failure} if self.value is None else marked(self.value)
        said = {
            "reply": last.text if last.role == "assistant" else None,
            "usage": self.usage,
            "cost_usd": self.cost_usd,
        }
        return verdict_by(seat, transcript, prompt_sha256=prompt_sha256, **(said | found | about))


def verdict_by(seat: Seat, transcript: Transcript, **found: Any) -> Verdict:
    """A verdict of a judge's on an attempt, with what it `found`: a score or a failure, and what that took."""
    return Verdict(
        transcript_id=transcript.transcript_id,
        judge=seat.judge,
        provider=seat.model.provider,
        kind="model",
        **found,
    )


async def ask(
    complete: Complete,
    messages: Sequence[Message],
    form: type[T],
    *,
    decoding: Decoding,
    reader: Callable[[str], T] | None = None,
    again: int = 0,
) -> Asked[T]:
    """Ask a question whose reply must have `form`; a reply that cannot be read is asked for again.

    A sampled reply with no JSON in it is damaged and holds nothing to repair: the same question is asked again, twice
    at most, so that every answer which counts is an answer to the same prompt, and what a service garbles now and
    then is not held against the model. A greedy model would repeat itself, a reply cut
    off by its token limit would be cut again, and JSON of another form shows a misunderstanding: there the reply is
    sent back once with what is wrong with it.

    Args:
        reader: Reads a reply that need not be JSON; it raises UnreadableError as `read` does, which is the default.
        again: Number of the first call, where one question is put several times; its repeats have the next numbers.

    Returns:
        The value with usage and price of the replies that led to it, or `failure="unparsed"` when the tries are over.
    """
    conversation, understand = tuple(messages), reader or partial(read, form=form)
    spent: list[Reply] = []  # replies that led to the one that counts: the same question asked again is a new start
    for number in range(MOST_TRIES):
        reply = await complete(conversation, schema=form, again=again + number)
        spent.append(reply)
        usage, cost = total_usage([r.usage for r in spent]), total_cost([r.cost_usd for r in spent])
        if reply.text is None:
            return Asked(None, reply, _recorded(conversation, reply), usage, cost)
        try:
            return Asked(understand(reply.text), reply, _recorded(conversation, reply), usage, cost)
        except UnreadableError as error:
            problem = error
        repaired = len(conversation) > len(messages)
        if repaired or number == MOST_TRIES - 1:
            break
        if not problem.damaged or decoding.temperature == 0 or reply.finish_reason == "length":
            shown = reply.text[:SHOWN_OF_CUT] if reply.finish_reason == "length" else reply.text
            conversation += (Message(role="assistant", text=shown), Message(role="user", text=_mend(problem, reply)))
        else:
            spent.clear()
    lost = reply.model_copy(update={"text": None, "failure": "unparsed", "detail": str(problem)})
    return Asked(None, lost, _recorded(conversation, reply), usage, cost)


def read(text: str, form: type[T]) -> T:
    """Find the one JSON object of `form` in a reply; prose, code fences and unknown keys around it are passed over.

    Raises:
        UnreadableError: If there is no such object, or several that differ (a judge that quotes an answer, say).
    """
    if len(text) > MOST_CHARACTERS:
        raise UnreadableError(f"The reply is longer than {MOST_CHARACTERS} characters.", damaged=True)
    found: list[T] = []
    problem: str | None = None
    for candidate in _objects(text):
        try:
            value = form.model_validate({k: v for k, v in candidate.items() if k in form.model_fields})
        except ValidationError as error:
            problem = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        else:
            if value not in found:
                found.append(value)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnreadableError("The reply holds several JSON objects that differ.", damaged=False)
    if problem:
        raise UnreadableError(f"The JSON object does not have the form asked for: {problem}.", damaged=False)
    raise UnreadableError("The reply holds no JSON object.", damaged=True)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(MOST_OBJECTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            yield value


def _mend(problem: UnreadableError, reply: Reply) -> str:
    cut = " It was cut off before its end: be brief." if reply.finish_reason == "length" else ""
    return f"That reply cannot be used. {problem}{cut} Reply again with one JSON object of that form and nothing else."


def _recorded(conversation: Sequence[Message], reply: Reply) -> tuple[Message, ...]:
    said = (Message(role="assistant", text=reply.text),) if reply.text is not None else ()
    return tuple(m.recorded() for m in conversation) + said


def total_cost(costs: Sequence[float | None]) -> float | None:
    """Add up prices in USD; one unknown price makes the total unknown."""
    # Replies come in any order, and the exact sum is the same in all of them.
    return None if any(c is None for c in costs) else math.fsum(c for c in costs if c is not None)


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Add up token counts; a count that one call did not report makes the total unknown."""

    def total(name: str) -> int | None:
        counts = [getattr(u, name) for u in usages]
        return None if any(c is None for c in counts) else sum(counts)

    return Usage(**{name: total(name) for name in Usage.model_fields})
