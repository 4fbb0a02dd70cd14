"""A person at the terminal as the player of a game; what was typed is journalled like any reply."""

import sys
from collections.abc import Sequence

from builders.values import Soup, Value
from evaluators.answers import SoupBelief, SoupSettings, SoupTurn
from evaluators.journal import Journal, call_key
from evaluators.models import Complete
from evaluators.protocols.soup.desk import Desk
from evaluators.protocols.soup.forms import MOST_POINTS, Story
from evaluators.protocols.soup.questioner import Next
from evaluators.values import Message, Model, Reply, Usage

DONE = {"done", "完"}


class Person:
    """Asks at the terminal; no analysis, no genre, and an end before the last question where the person is done."""

    def __init__(self, desk: Desk, soup: Soup, settings: SoupSettings) -> None:
        self.beliefs: list[SoupBelief] = []
        self._desk, self._soup, self._settings = desk, soup, settings

    async def question(self, turns: Sequence[SoupTurn]) -> Next | None:
        """Let the person ask; None once they are done."""
        lines = [self._head(turns)] if not turns else []
        if turns:
            flag = "  <key clue>" if turns[-1].key_clue else ""
            lines.append(f"-> {self._desk.texts.words[turns[-1].answer]}{flag}")
        lines.append(f"Question {len(turns) + 1} of {self._settings.max_turns} ('done' to say what happened):")
        said = await self._type("\n".join(lines), turns)
        return None if said.casefold() in DONE else Next(said)

    async def story(self, turns: Sequence[SoupTurn]) -> Story:
        """Let the person say what the story is, in three lines."""
        last = f"-> {self._desk.texts.words[turns[-1].answer]}\n" if turns else ""
        facts = await self._type(f"{last}The particular facts, one after the other, with ; between them:", turns)
        causes = await self._type("What led to what, step by step in general words, with ; between the steps:", turns)
        whole = await self._type("The whole story:", turns)
        return Story(details=_listed(facts), logic=_listed(causes), conclusion=whole)

    def _head(self, turns: Sequence[SoupTurn]) -> str:
        return f"\n{self._soup.id}\n{self._soup.surface}\n" if not turns else ""

    async def _type(self, text: str, turns: Sequence[SoupTurn]) -> str:
        so_far = f"{self._soup.id}\n" + "\n".join(f"{t.question}\t{t.answer}" for t in turns)
        return await self._desk.say((Message(role="system", text=so_far), Message(role="user", text=text)))


def _listed(line: str) -> tuple[str, ...]:
    parts = (part.strip() for part in line.replace("；", ";").split(";"))
    return tuple(part for part in parts if part)[:MOST_POINTS]


def by_hand(journal: Journal | None, model: Model, *, epoch: int) -> Complete:
    """A `Complete` that shows the last message at the terminal and takes a typed line for the reply.

    Raises (when called):
        KeyboardInterrupt: If the input ends; the same command goes on from there.
    """

    async def complete(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
        key = call_key(model, messages, schema=schema, epoch=epoch, again=again)
        known = journal.find(key) if journal is not None else None
        if known is not None:
            return known
        print(messages[-1].text, file=sys.stderr)
        line = ""
        while not line:
            read = sys.stdin.readline()
            if not read:
                raise KeyboardInterrupt
            line = read.strip()
        reply = Reply(text=line, cost_usd=0.0, usage=Usage())
        if journal is not None:
            journal.write(key, reply, model=model.name)
        return reply

    return complete
