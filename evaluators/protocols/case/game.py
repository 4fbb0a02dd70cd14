"""One case from its introduction to the last location, as a transcript.

Every question to the player is a fresh one: it holds all that was read and nothing that was answered. Policy for games
that do not go well: where the player declines or cannot be read after two tries it has no answers at that stage (0 by
rule) and the game goes on; a choice that cannot be read becomes the first location left, and is recorded as such. A
call that fails ends the game: failed, neither right nor wrong; the same command goes on at its stage.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from builders.values import Case, Value
from evaluators.answers import CaseAnswer, CaseGame, CaseSettings, CaseVisit, Scheme
from evaluators.heading import Heading
from evaluators.protocols.case.forms import LocationReply, answers, location_among
from evaluators.protocols.soup.desk import Desk, GameEndedError
from evaluators.replies import UnreadableError, read, total_cost, total_usage
from evaluators.values import NO_ANSWER, Failure, Transcript


class Setup(NamedTuple):
    """What is the same for every case of a run."""

    run: Heading
    settings: CaseSettings
    rubrics_sha256: str | None


class Player(Protocol):
    """Who solves the case: a model or a person. Locations go by their place in the case's list."""

    async def answer(self, visited: Sequence[int]) -> tuple[str, ...] | None:
        """Answer every question from what was read; None where no answer can be read."""

    async def choose(self, visited: Sequence[int], left: Sequence[int]) -> int | None:
        """Choose the next location among those left; None where no choice can be read."""


async def play(case: Case, player: Player, desk: Desk, *, epoch: int, setup: Setup) -> Transcript:
    """Let a player solve one case.

    Args:
        case: The case.
        player: Who answers and chooses.
        desk: Where the player's calls are counted.
        epoch: Number of the repeat.
        setup: The run.
    """
    visits: list[CaseVisit] = []
    stages: list[tuple[str, ...]] = []
    unanswered: list[int] = []
    failure: Failure | None = None
    silence = ("",) * len(case.questions)
    try:
        while True:
            said = await player.answer([v.location for v in visits])
            if said is None:
                unanswered.append(len(stages))
            stages.append(said or silence)
            if len(visits) == len(case.locations):
                break
            visits.append(await _visit(case, player, visits))
    except GameEndedError as end:
        failure = end.failure
    game = CaseGame(
        settings=setup.settings,
        locations=len(case.locations),
        questions=len(case.questions),
        rubrics_sha256=setup.rubrics_sha256,
        visits=tuple(visits),
        unanswered=tuple(unanswered),
        calls=desk.calls,
    )
    return setup.run.transcript(
        case.id,
        epoch,
        answer=CaseAnswer(kind="case", stages=tuple(stages)) if failure is None else None,
        failure=failure,
        game=game,
        usage=total_usage(desk.usages),
        cost_usd=total_cost(desk.costs),
        seconds=desk.seconds,
    )


async def _visit(case: Case, player: Player, visits: Sequence[CaseVisit]) -> CaseVisit:
    visited = [v.location for v in visits]
    left = [n for n in range(len(case.locations)) if n not in visited]
    if len(left) == 1:
        return CaseVisit(location=left[0], how="forced")
    chosen = await player.choose(visited, left)
    if chosen is None:
        return CaseVisit(location=left[0], how="fallback")
    return CaseVisit(location=chosen, how="chosen")


class Solver:
    """A model as the player of one case."""

    def __init__(self, desk: Desk, case: Case, scheme: Scheme) -> None:
        self._desk, self._case, self._scheme = desk, case, scheme

    async def answer(self, visited: Sequence[int]) -> tuple[str, ...] | None:
        """Answer every question; under the revision scheme, answer, examine that and answer again.

        Raises:
            GameEndedError: If a call failed.
        """
        values = values_of(self._case, visited) | {"scheme": self._scheme}
        first = await self._ask("answer", values)
        if self._scheme != "revision" or first is None:
            return first and first[1]
        previous = {"discussion": first[0], "answers": first[1]}
        # A revision that cannot be read leaves what was answered standing.
        second = await self._ask("revise", values | {"previous": previous})
        return (second or first)[1]

    async def choose(self, visited: Sequence[int], left: Sequence[int]) -> int | None:
        """Choose the next location.

        Raises:
            GameEndedError: If a call failed.
        """
        places = {_bare(self._case.locations[n].name): n for n in reversed(left)}

        form = location_among(tuple(self._case.locations[n].name for n in left))

        def listed(text: str) -> LocationReply:
            reply = read(text, form)
            if _bare(reply.location) not in places:
                raise UnreadableError("That location is not in the list.", damaged=False)
            return reply

        values = values_of(self._case, visited) | {"left": [self._case.locations[n] for n in left]}
        try:
            reply = await self._desk.ask("choose", values, form, reader=listed)
        except GameEndedError as end:
            if end.failure not in NO_ANSWER:
                raise
            return None
        return None if reply is None else places[_bare(reply.location)]

    async def _ask(self, prompt: str, values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
        form: type[Value] = answers(len(self._case.questions), discussed=self._scheme != "simple")
        try:
            reply = await self._desk.ask(prompt, values, form)
        except GameEndedError as end:
            if end.failure not in NO_ANSWER:
                raise
            return None
        if reply is None:
            return None
        said: dict[str, str] = reply.model_dump()
        return said.get("discussion", ""), tuple(said[str(n + 1)] for n in range(len(self._case.questions)))


def values_of(case: Case, visited: Sequence[int]) -> dict[str, Any]:
    """What a prompt of the game is filled with: the case, and the locations read in the order of the visits."""
    return {"case": case, "read": [case.locations[n] for n in visited]}


def _bare(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
