"""Puts the questions of one game to one model and counts what they took."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeVar

from builders.values import Value
from evaluators.models import Complete
from evaluators.protocols.soup.texts import Texts
from evaluators.replies import ask
from evaluators.values import Decoding, Failure, Message, Usage

T = TypeVar("T", bound=Value)


class GameEndedError(Exception):
    """A game cannot go on: a model failed or declined."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure: Failure = failure


class Desk:
    """One model at the table.

    Args:
        complete: How the model is called.
        decoding: How it decodes.
        texts: What it is told.
        unusable: Failure of the game where this model declines or cannot be read, in place of its own: the player's
            fault it is only where the player said it.
    """

    def __init__(
        self, complete: Complete, decoding: Decoding, texts: Texts, *, unusable: Failure | None = None
    ) -> None:
        self.texts = texts
        self.calls = 0
        self.unread = 0
        self.seconds = 0.0
        self.usages: list[Usage] = []
        self.costs: list[float | None] = []
        self._complete = complete
        self._decoding = decoding
        self._unusable = unusable

    async def ask(
        self,
        name: str,
        values: Mapping[str, Any],
        form: type[T],
        *,
        reader: Callable[[str], T] | None = None,
        again: int = 0,
    ) -> T | None:
        """Ask for a structured reply; None where it could not be read after two tries.

        Raises:
            GameEndedError: If the call failed or the model declined.
        """
        asked = await ask(
            self._complete, self._messages(name, values), form, decoding=self._decoding, reader=reader, again=again
        )
        self._count(asked.usage, asked.cost_usd, asked.reply.seconds)
        if asked.value is None and asked.reply.failure == "unparsed":
            self.unread += 1
        elif asked.reply.failure is not None:
            raise GameEndedError(self._named(asked.reply.failure))
        return asked.value

    async def need(
        self, name: str, values: Mapping[str, Any], form: type[T], *, reader: Callable[[str], T] | None = None
    ) -> T:
        """Ask for a structured reply that the game cannot do without.

        Raises:
            GameEndedError: If there is none.
        """
        value = await self.ask(name, values, form, reader=reader)
        if value is None:
            raise GameEndedError(self._named("unparsed"))
        return value

    async def hear(self, name: str, values: Mapping[str, Any]) -> str:
        """Ask for a reply in plain words.

        Raises:
            GameEndedError: If the call failed or the model declined.
        """
        return await self.say(self._messages(name, values))

    async def say(self, messages: tuple[Message, ...]) -> str:
        """Put messages to the model as they are and take its plain words.

        Raises:
            GameEndedError: If the call failed or the model declined.
        """
        reply = await self._complete(messages)
        self._count(reply.usage, reply.cost_usd, reply.seconds)
        if reply.text is None:
            raise GameEndedError(self._named(reply.failure or "service"))
        return reply.text.strip()

    def _messages(self, name: str, values: Mapping[str, Any]) -> tuple[Message, Message]:
        return self.texts.prompts[name].messages({"words": self.texts.words, **values})

    def _count(self, usage: Usage, cost: float | None, seconds: float) -> None:
        self.calls += 1
        self.usages.append(usage)
        self.costs.append(cost)
        self.seconds += seconds

    def _named(self, failure: Failure) -> Failure:
        return self._unusable if self._unusable and failure in {"unparsed", "refused"} else failure


def fence(*texts: str) -> str:
    """Name of the tags round texts of a player: a digest of the texts, which none of them can contain."""
    return sha256("\0".join(texts).encode()).hexdigest()[:12]
