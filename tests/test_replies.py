"""Structured replies: what is read, what is asked for once more, what stays unparsed."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values import Value
from evaluators.protocols.riddle import JudgeReply, SolverReply
from evaluators.replies import Asked, UnreadableError, ask, read
from evaluators.values import Decoding, Message, Reply, Usage

GOOD = '{"is_answer_correct": true, "is_justification_correct": false}'
READ = JudgeReply(is_answer_correct=True, is_justification_correct=False)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"<think>is {{it}} so?</think> My verdict: {GOOD} I am sure.",
        f"{GOOD} {GOOD}",
        '{"is_answer_correct": true, "is_justification_correct": false, "confidence": 0.9}',
        '{"note": "first"} ' + GOOD,
    ],
)
def test_a_verdict_is_found_wherever_it_stands(text: str) -> None:
    assert read(text, JudgeReply) == READ


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "{",
        '{"is_answer_correct": true}',
        '{"is_answer_correct": "true", "is_justification_correct": "no"}',
        '{"is_answer_correct": 1, "is_justification_correct": 0}',
        '{"is_answer_correct": null, "is_justification_correct": true}',
        '["is_answer_correct", true]',
        "{" * 100_000,
        '{"a":' * 100_000,
        GOOD + " " * 300_000,
    ],
)
def test_nothing_else_becomes_a_verdict(text: str) -> None:
    with pytest.raises(UnreadableError):
        read(text, JudgeReply)


def test_a_judge_that_quotes_a_verdict_and_gives_another_is_not_read_either_way() -> None:
    other = '{"is_answer_correct": true, "is_justification_correct": true}'
    with pytest.raises(UnreadableError, match="several"):
        read(f"The answer says {other}, but I say {GOOD}", JudgeReply)


def test_a_number_as_an_answer_is_read_as_its_digits() -> None:
    assert read('{"answer": 10, "justification": "counted"}', SolverReply).answer == "10"


@given(st.booleans(), st.booleans(), st.text(alphabet=st.characters(exclude_characters="{"), max_size=50))
def test_any_verdict_comes_back_from_its_json_with_prose_around_it(a: bool, j: bool, prose: str) -> None:
    verdict = JudgeReply(is_answer_correct=a, is_justification_correct=j)
    assert read(prose + verdict.model_dump_json() + prose, JudgeReply) == verdict


def conversation(replies: list[Reply], **decoding: object) -> tuple[Asked[JudgeReply], list[Sequence[Message]]]:
    """Ask a scripted model; returns the outcome and what it was sent."""
    sent: list[Sequence[Message]] = []

    async def complete(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
        assert schema is JudgeReply
        assert again == len(sent)
        sent.append(messages)
        return replies[len(sent) - 1]

    question = (Message(role="user", text="mark it"),)
    return asyncio.run(ask(complete, question, JudgeReply, decoding=Decoding.model_validate(decoding))), sent


def said(text: str, **fields: object) -> Reply:
    usage = Usage(input_tokens=10, output_tokens=1)
    return Reply.model_validate({"text": text, "usage": usage, "cost_usd": 0.5} | fields)


def test_a_good_reply_needs_one_call() -> None:
    asked, sent = conversation([said(GOOD)])
    assert asked.value == READ
    assert len(sent) == 1
    assert asked.messages[-1] == Message(role="assistant", text=GOOD)


def test_a_damaged_reply_of_a_sampled_model_is_asked_for_again_in_the_same_words() -> None:
    asked, sent = conversation([said("{nonsense"), said(GOOD)])
    assert asked.value == READ
    assert sent[0] == sent[1]
    assert asked.usage.input_tokens == 10, "usage is that of the reply that counted"


@pytest.mark.parametrize(
    ("first", "decoding"),
    [
        (said('{"is_answer_correct": "maybe"}'), {}),
        (said("{nonsense"), {"temperature": 0}),
        (said('{"is_answer_', finish_reason="length"), {}),
    ],
)
def test_a_misunderstanding_is_sent_back_with_what_is_wrong(first: Reply, decoding: dict[str, object]) -> None:
    asked, sent = conversation([first, said(GOOD)], **decoding)
    assert asked.value == READ
    assert [m.role for m in sent[1]] == ["user", "assistant", "user"]
    assert asked.usage.input_tokens == 20
    assert asked.cost_usd == 1.0


def test_what_a_service_garbles_twice_is_not_held_against_the_model() -> None:
    asked, sent = conversation([said("what?"), said("who?"), said(GOOD)])
    assert asked.value == READ
    assert sent[0] == sent[1] == sent[2]


def test_three_unreadable_replies_are_unparsed_never_a_mark() -> None:
    asked, sent = conversation([said("what?"), said("who?"), said("why?")])
    assert asked.value is None
    assert asked.reply.failure == "unparsed"
    assert asked.messages[-1].text == "why?"
    assert len(sent) == 3


def test_a_reply_that_was_sent_back_is_not_sent_back_again() -> None:
    asked, sent = conversation([said("what?"), said("who?")], temperature=0)
    assert asked.reply.failure == "unparsed"
    assert asked.usage.input_tokens == 20
    assert len(sent) == 2


def test_a_call_that_failed_is_not_repaired() -> None:
    asked, sent = conversation([Reply(failure="timeout")])
    assert asked.reply.failure == "timeout"
    assert len(sent) == 1
