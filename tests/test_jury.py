"""Who sits in a jury, and what it makes of an attempt."""

import asyncio
from pathlib import Path

import pytest

from evaluators.jury import JuryError, deliberate, known_panels, load_panel, panel_of, seats_for, split_provider
from evaluators.prompts import Prompt
from evaluators.protocols.riddle.marking import riddle_marking
from evaluators.runner import Runner
from evaluators.values import Model, RiddleAnswer, Transcript
from tests.made import riddle
from tests.servers.model_server import Answer, ModelServer


@pytest.mark.parametrize(
    ("provider", "seated"),
    [
        ("openai", {"gemini-3-pro-preview", "claude-opus-4-5-20251101", "mistral-large-2512"}),
        ("gemini", {"gpt-5.1-2025-11-13", "claude-opus-4-5-20251101", "mistral-large-2512"}),
        ("anthropic", {"gpt-5.1-2025-11-13", "gemini-3-pro-preview", "mistral-large-2512"}),
        ("mistral", {"gpt-5.1-2025-11-13", "gemini-3-pro-preview", "claude-opus-4-5-20251101"}),
        ("google", {"gpt-5.1-2025-11-13", "claude-opus-4-5-20251101", "mistral-large-2512"}),
        ("together", {"gpt-5.1-2025-11-13", "gemini-3-pro-preview", "claude-opus-4-5-20251101"}),
    ],
)
def test_the_evaluated_provider_gives_up_its_seat_to_the_reserve(provider: str, seated: set[str]) -> None:
    model = Model(name="openai/any", provider=provider)
    seats = seats_for(load_panel("layton"), model.provider)
    assert {seat.judge for seat in seats} == seated


def test_every_panel_of_the_project_can_be_read() -> None:
    assert "layton" in known_panels()
    for name in known_panels():
        assert load_panel(name).name == name


def test_a_panel_of_ones_own_names_makers_and_tells_seats_of_one_model_apart() -> None:
    panel = panel_of("a:openai/x, openai/gpt-5.1, b:openrouter/y/z:free, a:openai/x")
    assert [(s.judge, s.model.provider, s.reserve) for s in panel.seats] == [
        ("openai/x", "a", False),
        ("openai/gpt-5.1", "openai", False),
        ("openrouter/y/z:free", "b", False),
        ("openai/x#4", "a", True),
    ]
    assert panel.seats[3].model.decoding.seed is not None
    assert panel.name != panel_of("a:openai/x,openai/gpt-5.1,b:openrouter/y/z:free").name


def test_split_provider_leaves_a_models_own_colon_alone() -> None:
    assert split_provider("acme:openai/x") == ("acme", "openai/x")
    assert split_provider("openrouter/a/b:free") == (None, "openrouter/a/b:free")
    assert split_provider("openai/ft:gpt:x") == ("openai", "openai/ft:gpt:x")


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ("openai/a,openai/b", "names 2"),
        ("openai/a,openai/b,openrouter/c/d", "PROVIDER:openrouter/c/d"),
        ("", "names 0"),
        ("Bad Maker:x/a,x:x/b,x:x/c", "Bad Maker"),
    ],
)
def test_a_panel_that_cannot_sit_is_refused(judges: str, message: str) -> None:
    with pytest.raises(JuryError, match=message):
        panel_of(judges)


def test_too_few_judges_of_other_makers_are_refused() -> None:
    with pytest.raises(JuryError, match="seats 1 judges"):
        seats_for(panel_of("a:x/1,a:x/2,b:x/3"), "a")


@pytest.mark.parametrize("text", ["seats: []", "- a", "name: x\ntitle: y\nseats: [{judge: a}]", "\t", "a: &b [*b]"])
def test_a_panel_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "jury.yaml").write_text(text)
    with pytest.raises(JuryError, match=r"jury\.yaml"):
        load_panel(str(tmp_path / "jury.yaml"))


def test_an_unknown_panel_lists_the_known_ones() -> None:
    with pytest.raises(JuryError, match=r"known are .*layton"):
        load_panel("no-such")


def attempt(**outcome: object) -> Transcript:
    return Transcript.model_validate(
        {
            "transcript_id": "0" * 16,
            "split": "sample-llm@1.0.0",
            "item_id": "r-007",
            "model": "openai/any",
            "protocol": "riddle",
            "condition": "hints=0",
        }
        | outcome
    )


def judge_it(transcript: Transcript, server: ModelServer) -> list[tuple[str, float | None, str | None]]:
    seats = seats_for(panel_of("a:openai/1,b:openai/2,c:openai/3", api_base=server.url), "maker")
    runner = Runner(None, shortest_wait=0, attempts=2)
    verdicts = asyncio.run(
        deliberate(riddle(7), transcript, runner, seats=seats, how=riddle_marking(Prompt("riddle/judge")))
    )
    return [(v.judge, v.score, v.failure) for v in verdicts]


def test_three_verdicts_come_back_and_a_judge_that_fails_marks_nothing() -> None:
    good = '{"is_answer_correct": true, "is_justification_correct": true}'

    def reply(body: dict[str, object], _: int) -> Answer:
        return {"1": Answer(content=good), "2": Answer(content="no idea"), "3": Answer(status=500)}[str(body["model"])]

    answered = attempt(answer=RiddleAnswer(answer="7", justification="It says so."))
    with ModelServer(reply) as server:
        verdicts = judge_it(answered, server)
    assert verdicts == [("openai/1", 1.0, None), ("openai/2", None, "unparsed"), ("openai/3", None, "service")]


def test_no_judge_is_paid_for_an_attempt_without_an_answer() -> None:
    with ModelServer() as server:
        assert judge_it(attempt(failure="unparsed"), server) == [("no-answer", 0.0, None)]
        assert judge_it(attempt(failure="timeout"), server) == []
        assert server.requests == []
