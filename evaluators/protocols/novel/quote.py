"""What a run of questions about novels would cost, from the token counts that decide what is sent."""

from collections.abc import Mapping, Sequence

from builders.values import NovelQuestion
from evaluators.answers import NovelAnswer, NovelRecord
from evaluators.models import count_tokens
from evaluators.pricing import Quote
from evaluators.prompts import Prompt
from evaluators.protocols.novel.judge import judge_messages
from evaluators.protocols.novel.solve import solver_messages
from evaluators.values import Model, Seat

# Assumed length of replies in tokens; models that think before they answer use many more.
SOLVER_REPLY = 500
JUDGE_REPLY = 80


def quote(
    items: Sequence[NovelQuestion],
    shown: Mapping[str, NovelRecord] | None,
    *,
    model: Model,
    seats: Sequence[Seat],
    epochs: int,
    solver: Prompt,
    judge: Prompt,
) -> tuple[tuple[Quote, ...], str]:
    """Count the calls and tokens of a run, without repairs and retries, with a note on what was assumed.

    Args:
        items: The questions.
        shown: What each is shown; None where answers are brought.
        model: The one that answers.
        seats: The jury; a judge's prompt is filled with the reference steps where the model's will stand.
        epochs: Answers to each question.
        solver: Prompt of the model.
        judge: Prompt of the jury.
    """
    calls, quotes = len(items) * epochs, []
    novel = sum(r.tokens for r in shown.values()) if shown is not None else 0
    if shown is not None:
        around = sum(
            count_tokens(model, solver_messages(i, "", setting=shown[i.id].setting, prompt=solver)) for i in items
        )
        quotes.append(Quote("model", model, calls, epochs * (novel + around), calls * SOLVER_REPLY))
    for seat in seats:
        gold = [(i, NovelAnswer(kind="novel", letter=i.answer, steps=i.reasoning)) for i in items]
        tokens = epochs * sum(count_tokens(seat.model, judge_messages(i, a, prompt=judge)) for i, a in gold)
        quotes.append(Quote(f"judge {seat.judge}", seat.model, calls, tokens, calls * JUDGE_REPLY))
    note = (
        f"Of the model's input {epochs * novel:,} tokens are text of novels; questions of one novel run one after "
        "another, and what a provider's prompt cache takes off is not counted. Output is assumed: "
        f"{SOLVER_REPLY} tokens an answer, {JUDGE_REPLY} a verdict; thinking, repairs and retries come on top."
    )
    return tuple(quotes), note
