"""What a run would cost, said before it is paid: calls, tokens and price by model, from the real prompts."""

from collections.abc import Sequence
from typing import NamedTuple

from builders.values import Riddle
from evaluators.models import count_tokens
from evaluators.prices import Prices
from evaluators.prompts import Prompt
from evaluators.protocols import riddle
from evaluators.values import Model, RiddleAnswer, Seat, Usage

# Assumed length of replies in tokens; models that think before they answer use many more.
SOLVER_REPLY = 400
JUDGE_REPLY = 40


class Quote(NamedTuple):
    """The calls of one model in a run."""

    who: str
    model: Model
    calls: int
    input_tokens: int
    output_tokens: int

    def usd(self, prices: Prices) -> float | None:
        """Price in USD; 0 on this machine unless one was given, None where it is unknown."""
        usage = Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        return prices.quoted(self.model, usage)


def quote(
    items: Sequence[Riddle],
    *,
    model: Model | None,
    seats: Sequence[Seat],
    epochs: int,
    hints: int,
    solver: Prompt,
    judge: Prompt,
) -> tuple[Quote, ...]:
    """Count the calls and tokens of a run, without repairs and retries.

    Input tokens come from the real prompts (images are not counted); a judge's prompt is filled with the gold answer
    where the model's will stand. Output tokens are assumed (`SOLVER_REPLY`, `JUDGE_REPLY`).

    Args:
        model: None where the answers are brought.
        seats: Empty where the verdicts are brought.
    """
    quotes = []
    calls = len(items) * epochs
    if model is not None:
        prompts = [riddle.solver_messages(item, hints=hints, prompt=solver) for item in items]
        tokens = epochs * sum(count_tokens(model, p) for p in prompts)
        quotes.append(Quote("model", model, calls, tokens, calls * SOLVER_REPLY))
    for seat in seats:
        gold = [(item, RiddleAnswer(answer=item.answer, justification=item.justification)) for item in items]
        tokens = epochs * sum(count_tokens(seat.model, riddle.judge_messages(i, a, prompt=judge)) for i, a in gold)
        quotes.append(Quote(f"judge {seat.judge}", seat.model, calls, tokens, calls * JUDGE_REPLY))
    return tuple(quotes)


def table(quotes: Sequence[Quote], prices: Prices | None = None) -> str:
    """Write the quotes of a run of riddles as lines for a terminal."""
    return totals(
        quotes,
        f"Output is assumed: {SOLVER_REPLY} tokens an answer, {JUDGE_REPLY} a verdict; thinking, images, repairs and "
        "retries come on top.",
        prices,
    )


def totals(quotes: Sequence[Quote], note: str, prices: Prices | None = None) -> str:
    """Write quotes as lines for a terminal, with their total and a note on what was assumed.

    Args:
        prices: What calls cost; None: litellm's table.
    """
    lines = [f"{'':32} {'calls':>7} {'input tokens':>13} {'output tokens':>14} {'USD':>9}"]
    costs = [q.usd(prices or Prices()) for q in quotes]
    for q, cost in zip(quotes, costs, strict=True):
        usd = "unknown" if cost is None else f"{cost:.2f}"
        lines.append(f"{q.who[:32]:32} {q.calls:7,} {q.input_tokens:13,} {q.output_tokens:14,} {usd:>9}")
    known = sum(cost for cost in costs if cost is not None)
    unknown = costs.count(None)
    more = f" and {unknown} of unknown price (say it with --price MODEL=IN,OUT)" if unknown else ""
    lines.append(f"{'total':32} {sum(q.calls for q in quotes):7,} {'':13} {'':14} {known:9.2f}{more}")
    return "\n".join([*lines, note])
