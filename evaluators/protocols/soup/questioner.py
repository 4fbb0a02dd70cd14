"""The Questioner of the Mosaic agent: it deliberates, judges the genre, and formulates the next question.

Source: Zhou et al. 2025, section 4.1 and Table 5. Where the released code departs from the paper the paper holds: the
windows count turns, the blacklist is filled, and the belief state reaches the final summary.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from builders.values import Genre
from evaluators.answers import Proposal, SoupBelief, SoupSettings, SoupTurn
from evaluators.protocols.soup import forms
from evaluators.protocols.soup.desk import Desk

CANDIDATES = 3
VOTES = 3
# Repeats of one question get call numbers of their own, with room for the repair of each.
APART = 10
PARTS = {
    "full": frozenset({"deliberation", "meta-cognition", "pruning", "key-clue"}),
    "no-deliberation": frozenset({"meta-cognition", "pruning", "key-clue"}),
    "no-meta-cognition": frozenset({"deliberation", "pruning", "key-clue"}),
    "no-pruning": frozenset({"deliberation", "meta-cognition", "key-clue"}),
    "no-key-clue": frozenset({"deliberation", "meta-cognition", "pruning"}),
    "none": frozenset[str](),
}


class Next(NamedTuple):
    """A question with what led to it."""

    question: str
    candidates: tuple[str, ...] = ()
    analysis: str | None = None
    genre: Genre | None = None


class Player(Protocol):
    """Who asks: a model in the Mosaic loop, or a person."""

    beliefs: list[SoupBelief]

    async def question(self, turns: Sequence[SoupTurn]) -> Next | None:
        """Formulate the next question; None: the player is done."""

    async def story(self, turns: Sequence[SoupTurn]) -> forms.Story:
        """Say what the story is."""


def smoothed(old: float, vote: float, *, settings: SoupSettings) -> tuple[float, bool]:
    """Take a vote into the confidence in the genre; the second part says whether the genre may change (equation 3)."""
    new = settings.alpha * old + (1 - settings.alpha) * vote
    # Counted in units that a float holds exactly enough: 0.5 and a unanimous vote give 0.65, which is over 0.6.
    return new, round(new - old - settings.switch, 9) > 0


class Mosaic:
    """A model as the player of one game."""

    def __init__(self, desk: Desk, surface: str, settings: SoupSettings) -> None:
        self.beliefs: list[SoupBelief] = []
        self.genre: Genre | None = None
        self.confidence = 0.5
        self.blacklist: list[str] = []
        self._desk, self._surface, self._settings = desk, surface, settings
        self._parts = PARTS[settings.ablation]
        self._judged_at = 0  # turns played when the genre was last judged
        self._proposals: tuple[Proposal, ...] = ()

    async def question(self, turns: Sequence[SoupTurn]) -> Next | None:
        """Formulate the next question.

        Raises:
            GameEndedError: If the model failed, declined, or gave no question that can be read.
        """
        if turns:
            self._learn(turns)
        analysis = None
        if "deliberation" in self._parts and turns:
            analysis = await self._desk.hear("analysis", self._values(turns, self._settings.window)) or None
            if len(turns) % self._settings.interval == 0:
                await self._deliberate(turns)
        if "meta-cognition" in self._parts and self._due(turns):
            await self._judge_genre(turns)
        wanted = CANDIDATES if "pruning" in self._parts else 1
        values = self._values(turns, self._settings.window)
        values |= {"analysis": analysis, "proposals": self._proposals, "wanted": wanted}
        values["strategy"] = self._desk.texts.strategies[self.genre or "general"]
        reply = await self._desk.need("candidates", values, forms.questions(wanted))
        candidates: tuple[str, ...] = reply.model_dump()["questions"]
        chosen = candidates[0] if wanted == 1 else await self._screen(candidates, turns, analysis)
        return Next(chosen, candidates if wanted > 1 else (), analysis, self.genre)

    async def story(self, turns: Sequence[SoupTurn]) -> forms.Story:
        """Write the final summary, from the whole history and the last belief state."""
        return await self._desk.need("summary", self._values(turns, len(turns)), forms.Story)

    def _learn(self, turns: Sequence[SoupTurn]) -> None:
        """Put a question that brought nothing, or was asked before, on the list that screening avoids."""
        last = turns[-1]
        repeated = any(_bare(t.question) == _bare(last.question) for t in turns[:-1])
        if (last.answer == "unknown" or repeated) and last.question not in self.blacklist:
            self.blacklist.append(last.question)

    async def _deliberate(self, turns: Sequence[SoupTurn]) -> None:
        values = self._values(turns, len(turns))
        belief = await self._desk.ask("belief", values, forms.Story)
        if belief is None:  # the belief of before holds
            return
        self.beliefs.append(SoupBelief(turn=len(turns), **belief.model_dump()))
        found = await self._desk.ask("proposals", self._values(turns, len(turns)), forms.Proposals)
        if found is not None:
            self._proposals = found.proposals
            self.beliefs[-1] = self.beliefs[-1].model_copy(update={"proposals": found.proposals})

    def _due(self, turns: Sequence[SoupTurn]) -> bool:
        since = turns[self._judged_at :]
        clues = sum(t.key_clue for t in since)
        return bool(since) and (clues >= self._settings.new_clues or len(since) >= self._settings.genre_turns)

    async def _judge_genre(self, turns: Sequence[SoupTurn]) -> None:
        self._judged_at = len(turns)
        values = self._values(turns, len(turns))
        votes: Counter[Genre] = Counter()
        for n in range(VOTES):
            vote = await self._desk.ask("genre", values, forms.GenreReply, again=n * APART)
            if vote is not None:  # a vote that cannot be read is no vote
                votes[vote.genre] += 1
        if not votes:
            return
        winner, count = votes.most_common(1)[0]
        self.confidence, may_change = smoothed(self.confidence, count / VOTES, settings=self._settings)
        if may_change and count > VOTES / 2:
            self.genre = winner

    async def _screen(self, candidates: tuple[str, ...], turns: Sequence[SoupTurn], analysis: str | None) -> str:
        values = self._values(turns, self._settings.screening_window)
        values |= {"analysis": analysis, "proposals": self._proposals, "candidates": candidates}
        reply = await self._desk.ask("screening", values | {"blacklist": self.blacklist}, forms.choice(len(candidates)))
        # The paper's rule where no candidate is chosen: the first.
        return candidates[0 if reply is None else reply.model_dump()["choice"] - 1]

    def _values(self, turns: Sequence[SoupTurn], window: int) -> dict[str, Any]:
        return {
            "surface": self._surface,
            "turns": turns,
            "shown": turns[-window:] if window else (),
            "clues": [t for t in turns if t.key_clue],
            "last": turns[-1] if turns else None,
            "turn": len(turns) + 1,
            "most": self._settings.max_turns,
            "belief": self.beliefs[-1] if self.beliefs else None,
        }


def _bare(question: str) -> str:
    return "".join(c for c in question.casefold() if c.isalnum())
