"""What a run of cases would cost: prompts of the real cases in the order of their lists, answers of usual length."""

from collections.abc import Mapping, Sequence

from builders.values import Case
from evaluators.answers import CaseSettings
from evaluators.models import count_tokens
from evaluators.prices import Prices
from evaluators.pricing import Quote, totals
from evaluators.protocols.case.game import values_of
from evaluators.protocols.case.judge import grade_messages
from evaluators.protocols.soup.texts import Texts
from evaluators.rubrics import Rubric
from evaluators.values import Message, Model, Seat

COUNTED = 3  # cases whose tokens are counted; the rest is taken to be like them
# Assumed length of replies in tokens: an answer to one question, a discussion, a choice, a grade.
ANSWER, DISCUSSION, CHOICE, GRADE = 40, 600, 15, 10


def player_calls(case: Case, settings: CaseSettings) -> int:
    """Questions put to a model in one case: answers, revisions, and all choices but the last, which is forced."""
    stages = len(case.locations) + 1
    return stages * (2 if settings.scheme == "revision" else 1) + len(case.locations) - 1


def quote(
    cases: Sequence[Case],
    *,
    model: Model | None,
    seats: Sequence[Seat],
    epochs: int,
    settings: CaseSettings,
    texts: Texts,
    rubrics: Mapping[tuple[str, int], Rubric],
    prices: Prices | None = None,
) -> str:
    """Say calls, tokens and price of the games and their grading, by model.

    Args:
        cases: All that are played, the practice case among them.
        model: None where a person plays.
        rubrics: By case and question, from 1; empty where the mode has none.
        prices: What calls cost; None: litellm's table.
    """
    graded = [case for case in cases if not case.practice]
    rows = []
    if model is not None:
        prompts = [_game(case, settings, texts) for case in cases[:COUNTED]]
        asked = sum(count_tokens(model, p) for messages in prompts for p in messages)
        calls, out = (sum(f(case, settings) for case in cases) for f in (player_calls, _reply_tokens))
        counted = sum(player_calls(case, settings) for case in cases[:COUNTED])
        rows.append(Quote("model", model, epochs * calls, round(epochs * asked * calls / counted), epochs * out))
    for seat in seats if graded else ():
        stages = [(case, q, len(case.locations) + 1) for case in graded for q in range(len(case.questions))]
        calls = sum(n for _, _, n in stages)
        said = " ".join(["word"] * ANSWER)
        prompt = [
            (
                n,
                grade_messages(
                    case, q, said, mode=settings.grader_mode, texts=texts, rubric=rubrics.get((case.id, q + 1))
                ),
            )
            for case, q, n in stages
            if case in graded[:COUNTED]
        ]
        asked = sum(n * count_tokens(seat.model, p) for n, p in prompt)
        scale = epochs * calls / sum(n for n, _ in prompt)
        rows.append(
            Quote(f"judge {seat.judge}", seat.model, epochs * calls, round(asked * scale), epochs * calls * GRADE)
        )
    note = (
        f"Output is assumed: {ANSWER} tokens an answer, {GRADE} a grade. A judge's calls are the most there can be: an "
        "answer given again word for word is graded once. Thinking, repairs and retries come on top."
    )
    return totals(rows, note, prices)


def _game(case: Case, settings: CaseSettings, texts: Texts) -> list[tuple[Message, Message]]:
    """The prompts of one game whose locations are visited in the order of their list."""
    found, places = [], range(len(case.locations))
    previous = {
        "discussion": " ".join(["word"] * DISCUSSION),
        "answers": [" ".join(["word"] * ANSWER)] * len(case.questions),
    }
    for n in range(len(case.locations) + 1):
        values = values_of(case, places[:n]) | {"scheme": settings.scheme}
        found.append(texts.prompts["answer"].messages(values))
        if settings.scheme == "revision":
            found.append(texts.prompts["revise"].messages(values | {"previous": previous}))
        if n < len(case.locations) - 1:
            found.append(texts.prompts["choose"].messages(values | {"left": [case.locations[p] for p in places[n:]]}))
    return found


def _reply_tokens(case: Case, settings: CaseSettings) -> int:
    answers = player_calls(case, settings) - (len(case.locations) - 1)
    each = ANSWER * len(case.questions) + (DISCUSSION if settings.scheme != "simple" else 0)
    return answers * each + (len(case.locations) - 1) * CHOICE
