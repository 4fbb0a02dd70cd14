"""The runner: retries, Retry-After, the journal and the end of a service that is down."""

import asyncio
from pathlib import Path

import pytest

from evaluators.journal import Journal
from evaluators.runner import Runner, ServiceDownError
from evaluators.values import Message, Model, Reply
from tests.servers.model_server import Answer, ModelServer


def model(server: ModelServer) -> Model:
    return Model(name="openai/any", provider="maker", api_base=server.url)


def ask_all(runner: Runner, server: ModelServer, questions: int, *, epoch: int = 0) -> list[Reply]:
    async def everything() -> list[Reply]:
        complete = runner.complete(model(server), epoch=epoch)
        return await asyncio.gather(*(complete((Message(role="user", text=f"q{n}"),)) for n in range(questions)))

    return asyncio.run(everything())


def test_a_fault_that_passes_costs_a_retry_and_nothing_else(tmp_path: Path) -> None:
    faults = [Answer(status=429), Answer(status=500), Answer(fault="drop"), Answer(content="at last")]
    with ModelServer(lambda _, attempt: faults[attempt - 1]) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, shortest_wait=0)
        (reply,) = ask_all(runner, server, 1)
    assert (reply.text, reply.attempts) == ("at last", 4)
    assert dict(runner.tally.retries) == {"rate_limited": 1, "service": 2}
    assert len(server.requests) == 4


def test_retry_after_is_waited_for() -> None:
    def reply(_: object, attempt: int) -> Answer:
        return Answer(status=429, headers={"Retry-After": "0.4"}) if attempt == 1 else Answer(content="ok")

    with ModelServer(reply) as server:
        runner = Runner(None, shortest_wait=0)
        waited: list[float] = []
        runner._wait = lambda state, wait=runner._wait: waited.append(wait(state)) or waited[-1]  # type: ignore[method-assign, misc, func-returns-value]
        ask_all(runner, server, 1)
    assert waited == [0.4]


def test_a_service_that_asks_for_an_hour_is_not_waited_for() -> None:
    with ModelServer(lambda *_: Answer(status=429, headers={"Retry-After": "3600"})) as server:
        (reply,) = ask_all(Runner(None, shortest_wait=0), server, 1)
    assert (reply.failure, reply.attempts) == ("rate_limited", 1)


def test_a_call_that_keeps_failing_is_a_failure_and_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    with ModelServer(lambda _, attempt: Answer(status=500) if attempt <= 3 else Answer(content="ok")) as server:
        with Journal(tmp_path / "j") as journal:
            (reply,) = ask_all(Runner(journal, attempts=3, shortest_wait=0), server, 1)
            assert (reply.failure, reply.attempts) == ("service", 3)
        with Journal(tmp_path / "j") as journal:
            (reply,) = ask_all(Runner(journal, attempts=3, shortest_wait=0), server, 1)
            assert reply.text == "ok"


def test_a_finished_call_is_never_made_again(tmp_path: Path) -> None:
    with ModelServer() as server:
        for _ in range(2):
            with Journal(tmp_path / "j") as journal:
                runner = Runner(journal)
                ask_all(runner, server, 5)
        assert len(server.requests) == 5
        assert (runner.tally.calls, runner.tally.journalled) == (0, 5)
        with Journal(tmp_path / "j") as journal:
            ask_all(Runner(journal), server, 5, epoch=1)
        assert len(server.requests) == 10, "a repeat is a call of its own"


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    with ModelServer() as server:
        ask_all(Runner(None, concurrency=3), server, 20)
    assert server.in_flight_peak <= 3


def test_a_service_that_is_down_ends_the_run() -> None:
    with (
        ModelServer(lambda *_: Answer(status=500)) as server,
        pytest.raises(ServiceDownError, match=r"1[12] calls in a row failed, one of them alone after a pause"),
    ):
        ask_all(Runner(None, concurrency=2, attempts=1, shortest_wait=0), server, 40)
    assert len(server.requests) < 20


def test_one_success_shows_that_the_service_is_up() -> None:
    with ModelServer(lambda body, _: Answer(status=500 if "q4" not in str(body) else 200)) as server:
        replies = ask_all(Runner(None, concurrency=1, attempts=1, shortest_wait=0), server, 9)
    assert [r.failure for r in replies] == ["service"] * 4 + [None] + ["service"] * 4
