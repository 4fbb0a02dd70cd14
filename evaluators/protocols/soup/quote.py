"""What a run of games would cost: a few games are rehearsed with made-up replies, and their prompts counted."""

import asyncio
import json
from collections.abc import Mapping, Sequence

from builders.values import Soup, Value
from evaluators.answers import SoupSettings
from evaluators.heading import Heading
from evaluators.models import count_tokens
from evaluators.points import ItemPoints
from evaluators.prices import Prices
from evaluators.pricing import Quote, totals
from evaluators.protocols.soup.desk import Desk
from evaluators.protocols.soup.game import Setup, play
from evaluators.protocols.soup.judge import judge
from evaluators.protocols.soup.texts import Texts
from evaluators.values import Message, Model, Reply, Seat

REHEARSED = 3  # games
SENTENCE = "Did the man in the story know about it before he came home that evening?"
_STORY = {"details": [SENTENCE] * 6, "logic": [SENTENCE] * 4, "conclusion": " ".join([SENTENCE] * 8)}
_REPLIES: Mapping[str, object] = {
    "Choice": {"choice": 1},
    "YesNoReply": {"answer": "no"},
    "KeyClueReply": {"key_clue": False},
    "GenreReply": {"genre": "Clever_Logic"},
    "Story": _STORY,
    "Proposals": {"proposals": [{"doubt": SENTENCE, "analysis": SENTENCE * 2, "question": SENTENCE}] * 3},
}


class _Rehearsal:
    """A model that counts what it is asked and says something of the usual length."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.calls = self.input_tokens = self.output_tokens = 0

    async def __call__(
        self, messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0
    ) -> Reply:
        text = _reply(schema)
        self.calls += 1
        self.input_tokens += count_tokens(self.model, messages)
        self.output_tokens += count_tokens(self.model, [Message(role="assistant", text=text)])
        return Reply(text=text)

    def quote(self, who: str, games: int, rehearsed: int) -> Quote:
        calls, asked, said = (round(n * games / rehearsed) for n in (self.calls, self.input_tokens, self.output_tokens))
        return Quote(who, self.model, calls, asked, said)


def _reply(schema: type[Value] | None) -> str:
    if schema is None:
        return " ".join([SENTENCE] * 8)
    reply = _REPLIES.get(schema.__name__)
    sizes = schema.model_json_schema()["properties"]
    if schema.__name__ == "Questions":
        reply = {"questions": [SENTENCE] * sizes["questions"]["maxItems"]}
    if schema.__name__ == "Similarities":
        reply = {"similarities": [0.5] * sizes["similarities"]["maxItems"]}
    return json.dumps(reply)


def quote(
    items: Sequence[Soup],
    truth: Mapping[str, ItemPoints],
    *,
    model: Model | None,
    responder: Model | None,
    seats: Sequence[Seat],
    epochs: int,
    settings: SoupSettings,
    texts: Texts,
    prices: Prices | None = None,
) -> str:
    """Say calls, tokens and price of the games and of their judging, by model.

    Args:
        model: None where a person plays or reconstructions are brought.
        responder: None where no game is played.
        prices: What calls cost; None: litellm's table.
    """
    few, games = items[:REHEARSED], len(items) * epochs
    player = _Rehearsal(model or Model(name="gpt-4", provider="openai"))
    host = player if settings.responder == "symmetric" else _Rehearsal(responder or player.model)
    judges = [_Rehearsal(seat.model) for seat in seats]

    async def rehearse() -> None:
        for item in few:
            desk = Desk(player, player.model.decoding, texts)
            other = desk if host is player else Desk(host, host.model.decoding, texts)
            setup = Setup(Heading("rehearsal", "rehearsal@0.0.0", player.model, "soup", ""), settings, "0" * 64)
            transcript = await play(item, desk, other, epoch=0, setup=setup)
            for seat, one in zip(seats, judges, strict=True):
                await judge(item, transcript, one, seat=seat, texts=texts, points=truth[item.id])

    asyncio.run(rehearse())
    rows = [player.quote("model", games, len(few))] if model is not None else []
    if responder is not None and host is not player:
        rows.append(host.quote("responder", games, len(few)))
    rows += [one.quote(f"judge {s.judge}", games, len(few)) for s, one in zip(seats, judges, strict=True)]
    note = (
        f"Counted in {len(few)} rehearsed game(s) of {settings.max_turns} questions with made-up replies; key clues "
        "make the genre be judged more often (3 calls each time). Thinking, repairs and retries come on top."
    )
    return totals(rows, note, prices)
