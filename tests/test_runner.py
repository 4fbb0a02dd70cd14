"""The runner: retries, Retry-After, the journal and the end of a service that is down."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from evaluators import runner as runners
from evaluators.journal import Journal
from evaluators.limits import Limits
from evaluators.models import ServiceRefusedError, warm
from evaluators.prices import Prices, Rate
from evaluators.run import run_calls
from evaluators.runner import RunEndedError, Runner, ServiceDownError
from evaluators.values import Decoding, Message, Model, Reply
from tests.servers.model_server import Answer, ModelServer


def model(server: ModelServer) -> Model:
    return Model(name="openai/any", provider="maker", api_base=server.url)


def ask_all(runner: Runner, server: ModelServer, questions: int, *, epoch: int = 0) -> list[Reply]:
    async def everything() -> list[Reply]:
        complete = runner.complete(model(server), epoch=epoch)
        return await asyncio.gather(*(complete((Message(role="user", text=f"q{n}"),)) for n in range(questions)))

    return run_calls(everything())


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


def test_a_cap_on_cost_stops_before_the_call_that_could_exceed_it_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    prices = Prices({"openai/any": Rate(input=0, output=1000)})  # a call: 1,000 tokens, 1 USD

    def run(most: float) -> Runner:
        with Journal(tmp_path / "j") as journal:
            runner = Runner(journal, concurrency=2, prices=prices, most_usd=most)
            ask_all(runner, server, 10)
            return runner

    with ModelServer(lambda *_: Answer(content="ok", usage={"prompt_tokens": 9, "completion_tokens": 1000})) as server:
        with pytest.raises(RunEndedError, match=r"--max-cost 3.5: .* cost [23]\.0000 USD so far; to go on, .* higher"):
            run(3.5)
        assert len(server.requests) == 3, "three calls of 1 USD fit, a fourth would not"
        with pytest.raises(RunEndedError):
            run(3.5)
        assert len(server.requests) == 3, "what was paid in an earlier session counts"
        runner = run(100)
    assert len(server.requests) == 10
    assert (runner.tally.journalled, runner.tally.cost_usd) == (3, 7.0)


def test_calls_in_flight_count_with_what_they_may_come_to() -> None:
    limited = Decoding(max_tokens=1000)
    with ModelServer(lambda *_: Answer(content="ok", hold=True)) as server:
        one = Model(name="openai/any", provider="maker", api_base=server.url, decoding=limited)
        runner = Runner(None, concurrency=8, prices=Prices({"": Rate(input=0, output=1000)}), most_usd=3.5)

        async def everything() -> list[Any]:
            calls = [asyncio.create_task(runner.complete(one)((Message(role="user", text=f"{n}"),))) for n in range(8)]
            await asyncio.to_thread(server.wait_for_requests, 3)
            async with asyncio.timeout(10):
                while runner._ended is None:  # noqa: ASYNC110 - the fourth is refused before any reply is there
                    await asyncio.sleep(0)
            server.release()
            return await asyncio.gather(*calls, return_exceptions=True)

        found = run_calls(everything())
    assert [isinstance(f, Reply) for f in found] == [True] * 3 + [False] * 5
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 500])
def test_a_run_that_has_to_end_waits_for_what_is_on_its_way_and_paid_for(tmp_path: Path, status: int) -> None:
    def reply(body: dict[str, Any], _: int) -> Answer:
        return Answer(status=status) if body["model"] == "bad" else Answer(content="paid for", hold=True)

    with ModelServer(reply) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, shortest_wait=0, attempts=99)
        good, bad = (Model(name=f"openai/{n}", provider="maker", api_base=server.url) for n in ("good", "bad"))
        bad = bad.model_copy(update={"api_base": server.url.replace("127.0.0.1", "localhost")})  # another service

        async def everything() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(runner.complete(good)((Message(role="user", text="x"),)))
                await asyncio.to_thread(server.wait_for_requests, 1)
                group.create_task(runner.complete(bad)((Message(role="user", text="x"),)))
                await asyncio.to_thread(server.wait_for_requests, 2 if status == 401 else 12)
                server.release()

        with pytest.raises(BaseExceptionGroup) as errors:
            run_calls(everything())
        assert isinstance(errors.value.exceptions[0], (ServiceRefusedError, ServiceDownError))
        assert len(journal) == 1


def test_a_time_limit_begins_no_call_after_it() -> None:
    with ModelServer() as server, pytest.raises(RunEndedError, match="--max-seconds 1e-09 are over"):
        ask_all(Runner(None, concurrency=1, most_seconds=1e-9), server, 5)
    assert len(server.requests) == 1


@pytest.mark.parametrize("limit", [None, Limits(rpm=1)])
def test_no_pause_outlasts_a_time_limit(limit: Limits | None) -> None:
    began = time.monotonic()
    with (
        ModelServer(
            lambda *_: Answer(status=429, headers={"Retry-After": "90"}) if limit is None else Answer()
        ) as server,
        pytest.raises(RunEndedError, match=r"--max-seconds 0\.3 are over"),
    ):
        ask_all(Runner(None, most_seconds=0.3, limits={"": limit} if limit else None), server, 3)
    assert time.monotonic() - began < 50, "the service asks for 90 s, the limit for 60"


def stop(runner: Runner, server: ModelServer, calls: int) -> None:
    """Press Ctrl-C as soon as so many calls have arrived."""

    async def everything() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(5):
                group.create_task(runner.complete(model(server))((Message(role="user", text=f"q{n}"),)))
            await asyncio.to_thread(server.wait_for_requests, calls)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_calls(everything())


def test_a_stopped_run_begins_no_call_and_keeps_what_was_on_its_way(tmp_path: Path) -> None:
    told: list[int] = []
    with ModelServer(lambda *_: Answer(content="ok", hold=True)) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, concurrency=2)
        runner.on_stop = lambda calls: told.append(calls) or server.release()
        stop(runner, server, 2)
        assert (told, len(journal), len(server.requests)) == ([2], 2, 2)


def test_a_second_stop_waits_no_longer_and_the_first_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda *_: Answer(content="ok", hold=True)) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, concurrency=2)
        runner.on_stop = lambda _: os.kill(os.getpid(), signal.SIGINT)
        monkeypatch.setattr(runners, "GRACE", 120.0)
        began = time.monotonic()
        stop(runner, server, 2)
        assert time.monotonic() - began < runners.GRACE
        monkeypatch.setattr(runners, "GRACE", 0.01)
        stop(Runner(journal, concurrency=2), server, 4)
        assert (len(journal), len(server.requests)) == (0, 4)


def test_limits_hold_by_model_and_by_service() -> None:
    def reply(body: dict[str, Any], _: int) -> Answer:
        return Answer(hold=True)

    with ModelServer(reply) as server:
        limits = {server.url: Limits(in_flight=4), "openai/narrow": Limits(in_flight=1)}
        runner = Runner(None, concurrency=16, limits=limits)
        narrow, wide = (Model(name=f"openai/{n}", provider="maker", api_base=server.url) for n in ("narrow", "wide"))

        async def everything() -> list[str]:
            asked = [(m, n) for m in (narrow, wide) for n in range(12)]
            calls = [runner.complete(m)((Message(role="user", text=f"q{n}"),)) for m, n in asked]
            waiting = asyncio.gather(*calls)
            await asyncio.to_thread(server.wait_for_requests, 4)
            first = [body["model"] for body in server.requests]
            server.release()
            await waiting
            return first

        assert sorted(run_calls(everything())) == ["narrow", "wide", "wide", "wide"]
        assert server.in_flight_peak == 4


def test_two_models_of_a_service_share_its_back_off_and_its_pace() -> None:
    when: dict[str, float] = {}

    def reply(body: dict[str, Any], attempt: int) -> Answer:
        when.setdefault(body["model"], time.monotonic())
        refused = body["model"] == "first" and attempt == 1
        return Answer(status=429, headers={"Retry-After": "0.3"}) if refused else Answer(content="ok")

    async def everything() -> None:
        ask = [runner.complete(Model(name=f"openai/{n}", provider="maker", api_base=server.url)) for n in models]
        async with asyncio.TaskGroup() as group:
            for n in range(6):
                group.create_task(ask[0]((Message(role="user", text=f"q{n}"),)))
            async with asyncio.timeout(10):
                while not runner.tally.retries:  # noqa: ASYNC110 - until the first was turned away
                    await asyncio.sleep(0)
            group.create_task(ask[1]((Message(role="user", text="q"),)))

    models = ("first", "second")
    with ModelServer(reply) as server:
        runner = Runner(None, concurrency=6, shortest_wait=0)
        run_calls(everything())
        assert when["second"] - when["first"] >= 0.3, "the second model waits as the first was told to"
        (service,) = runner._services.values()
    assert service.pace.size < 6, "and has the pace that the first brought about"


def test_no_cache_makes_calls_anew_and_keeps_both_replies(tmp_path: Path) -> None:
    with ModelServer() as server:
        for fresh in (False, True, False):
            with Journal(tmp_path / "j", fresh=fresh) as journal:
                ask_all(Runner(journal), server, 4)
        assert len(server.requests) == 8
    keys = [json.loads(line)["key"] for line in (tmp_path / "j").read_text().splitlines()]
    assert (len(keys), len(set(keys))) == (8, 4)


def test_a_clock_that_is_set_anew_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm()
    import litellm

    real = time.time
    jumps = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: real() - 3600 * (next(jumps) % 7))
    # By this clock litellm's cache drops the clients in use, for which its own closer waits longer than any test.
    monkeypatch.setattr(litellm.in_memory_llm_clients_cache, "_clock", real)
    faults = [Answer(status=429, headers={"Retry-After": "0"}), Answer(status=500)]
    with (
        ModelServer(lambda _, attempt: faults[attempt - 1] if attempt <= 2 else Answer(content="ok")) as server,
        Journal(tmp_path / "j") as journal,
    ):
        began = time.monotonic()
        replies = ask_all(Runner(journal, shortest_wait=0, limits={"": Limits(rpm=10_000)}), server, 4)
        took = time.monotonic() - began
    assert [(r.text, r.attempts) for r in replies] == [("ok", 3)] * 4
    assert all(0 <= r.seconds <= took for r in replies)


def test_what_was_done_is_told_by_model_with_the_names_the_provider_answered_under(tmp_path: Path) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        if "q1" in str(body) and attempt == 1:
            return Answer(status=500)
        return Answer(content="ok", model=f"any-2026-0{1 + int('q2' in str(body))}")

    with ModelServer(reply) as server:
        for _ in range(2):
            with Journal(tmp_path / "j") as journal:
                runner = Runner(journal, shortest_wait=0)
                ask_all(runner, server, 3)
            assert runner.tally.snapshots("openai/any") == ("any-2026-01", "any-2026-02"), "from the journal, too"
            uses = runner.tally.by_model()
            assert [(u.model, u.calls + u.journalled) for u in uses] == [("openai/any", 3)]
            retried = [dict(u.retries) for u in uses]
            assert retried == ([{"service": 1}] if uses[0].calls else [{}])
