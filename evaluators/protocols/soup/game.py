"""One game from the first question to the final summary, as a transcript.

Policy for games that do not end well. The player declines, or what the game cannot do without (its questions, its
summary) cannot be read after two tries: no answer, 0 by rule. A call fails, or a Responder that is another model gives
no usable reply: failed, neither right nor wrong. The turns that were played are kept in both cases. The game does
without an unreadable belief, genre vote or choice, and counts them in `unread`.
"""

from typing import NamedTuple

from builders.values import Soup
from evaluators.answers import SoupAnswer, SoupGame, SoupSettings, SoupTurn
from evaluators.heading import Heading
from evaluators.protocols.soup.desk import Desk, GameEndedError
from evaluators.protocols.soup.questioner import PARTS, Mosaic, Player
from evaluators.protocols.soup.responder import answer, touches_key_clue
from evaluators.replies import total_cost, total_usage
from evaluators.values import Failure, Transcript


class Setup(NamedTuple):
    """What is the same for every game of a run."""

    run: Heading
    settings: SoupSettings
    points_sha256: str


async def play(
    soup: Soup, player_desk: Desk, responder: Desk, *, epoch: int, setup: Setup, player: Player | None = None
) -> Transcript:
    """Let a player find out about one puzzle.

    Args:
        soup: The puzzle.
        player_desk: The model that is evaluated.
        responder: The model that answers; the same desk where the game is symmetric.
        epoch: Number of the repeat.
        setup: The run.
        player: Who asks; None: the model in the Mosaic loop.
    """
    player = player or Mosaic(player_desk, soup.surface, setup.settings)
    turns: list[SoupTurn] = []
    said: SoupAnswer | None = None
    failure: Failure | None = None
    flagged = "key-clue" in PARTS[setup.settings.ablation]
    try:
        while len(turns) < setup.settings.max_turns and (asked := await player.question(turns)) is not None:
            reply = await answer(responder, soup, asked.question)
            clue = flagged and await touches_key_clue(responder, soup, asked.question)
            turns.append(SoupTurn(answer=reply, key_clue=clue, **asked._asdict()))
        said = SoupAnswer(kind="soup", **(await player.story(turns)).model_dump())
    except GameEndedError as end:
        failure = end.failure
    apart = responder is not player_desk
    game = SoupGame(
        settings=setup.settings,
        points_sha256=setup.points_sha256,
        turns=tuple(turns),
        beliefs=tuple(player.beliefs),
        calls=player_desk.calls + responder.calls * apart,
        responder_cost_usd=total_cost(responder.costs) if apart else None,
        unread=player_desk.unread + responder.unread * apart,
    )
    return setup.run.transcript(
        soup.id,
        epoch,
        answer=said,
        failure=failure,
        game=game,
        usage=total_usage(player_desk.usages),
        cost_usd=total_cost(player_desk.costs),
        seconds=player_desk.seconds + responder.seconds * apart,
    )
