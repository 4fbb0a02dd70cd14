"""A person at the terminal as the player of a case: how the paper's human data can be collected."""

from collections.abc import Sequence

from builders.values import Case
from evaluators.protocols.soup.desk import Desk
from evaluators.values import Message

SAME, NONE = "=", "-"
HELP = f"One line an answer: '{SAME}' keeps what you said last, '{NONE}' gives none. Your notes are your own affair."


class Person:
    """Reads and answers at the terminal; unlike a model, a person has their last answers before them."""

    def __init__(self, desk: Desk, case: Case) -> None:
        self._desk, self._case = desk, case
        self._last = ("",) * len(case.questions)

    async def answer(self, visited: Sequence[int]) -> tuple[str, ...]:
        """Show what is new, and take one line a question.

        Raises:
            KeyboardInterrupt: If the input ends; the same command goes on from there.
        """
        case, said = self._case, []
        for n, question in enumerate(case.questions, start=1):
            shown = self._new(visited) if n == 1 else ""
            before = f"   (last: {self._last[n - 1]})" if self._last[n - 1] else ""
            line = await self._type(f"{shown}{n}. {question.question}{before}", visited, f"q{n}")
            said.append({SAME: self._last[n - 1], NONE: ""}.get(line, line))
        self._last = tuple(said)
        return self._last

    async def choose(self, visited: Sequence[int], left: Sequence[int]) -> int:
        """Take the number of a location; anything else is asked again.

        Raises:
            KeyboardInterrupt: If the input ends.
        """
        listed = "\n".join(f"  {n:2} {self._case.locations[place].name}" for n, place in enumerate(left, start=1))
        text, tries = f"\nWhere to next?\n{listed}\nNumber:", 0
        while True:
            line = await self._type(text, visited, f"choice {tries}")
            if line.isdecimal() and 1 <= int(line) <= len(left):
                return left[int(line) - 1]
            text, tries = f"a number from 1 to {len(left)}, please:", tries + 1

    def _new(self, visited: Sequence[int]) -> str:
        case = self._case
        if visited:
            place = case.locations[visited[-1]]
            return f"\n== {place.name} ({len(visited)} of {len(case.locations)})\n\n{place.text}\n\n"
        practice = "\nThis one is for practice: it is not graded." if case.practice else ""
        rules = f"\n{case.special_rules}\n" if case.special_rules else ""
        return f"\n=== {case.title}{practice}\n\n{case.introduction}\n{rules}\n{HELP}\n\n"

    async def _type(self, text: str, visited: Sequence[int], what: str) -> str:
        # The first message names the place in the game, so that each line has a journal entry of its own.
        state = f"{self._case.id}\n{' '.join(map(str, visited))}\n{what}"
        return await self._desk.say((Message(role="system", text=state), Message(role="user", text=text)))
