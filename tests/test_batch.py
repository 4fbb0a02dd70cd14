"""Batches of calls: the same bundle as a live run, whatever becomes of a batch, and nothing sent twice."""

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml

from evaluators.bundle import read_bundle
from evaluators.engines import batch_api
from evaluators.engines.batch_api import Call, batched, request, results
from evaluators.models import price
from evaluators.submit import main as submit
from evaluators.values import Decoding, Message, Model, Usage
from tests.made import write_made_split
from tests.servers.batch_server import BatchServer, Fate
from tests.servers.model_server import Answer, ModelServer
from tests.test_submit import answers, digests, options

BATCH = ("--batch", "--poll", "0")


def without_command(folder: Path) -> tuple[dict[str, str], str]:
    """Digests of the evidence, and the submission without the line that says how it was run."""
    told = yaml.safe_load((folder / "submission.yaml").read_text())
    assert ("--batch" in told["command"]) == (folder.parent.name == "batch")
    return {n: d for n, d in digests(folder).items() if n != "submission.yaml"}, json.dumps(told | {"command": None})


def live(tmp_path: Path, reply: Any = answers) -> tuple[tuple[dict[str, str], str], list[dict[str, Any]]]:
    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server, out="live")) == 0
        return without_command(tmp_path / "live/bundle"), server.requests


def in_order(bodies: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(body, sort_keys=True) for body in bodies)


async def interrupted(*_: object, **__: object) -> str:
    """Ctrl-C, as the system sends it: an exception of its own in a task would stay there, retrieved by nobody."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()
    raise AssertionError("nothing ends this wait but the signal")


def heard_and_died(submit: Callable[..., Awaitable[str | None]]) -> Callable[..., Awaitable[str]]:
    """`submit` of a process that ends once the provider has heard of the batch."""

    async def submit_and_end(*what: Any, **how: Any) -> str:
        await submit(*what, **how)
        return await interrupted()

    return submit_and_end


def lines(server: BatchServer) -> list[tuple[str, int]]:
    """Model and calls of each batch that was submitted."""
    return [(batch[0]["body"]["model"], len(batch)) for batch in server.submitted]


def test_a_run_in_batches_asks_the_same_and_makes_the_same_bundle_as_a_live_run(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 6)
    alone, asked = live(tmp_path)
    with BatchServer(answers) as server:
        assert submit(options(tmp_path, server, *BATCH, out="batch")) == 0
        assert server.requests == []
        assert lines(server)[0] == ("solver", 6)
        assert sorted(lines(server)[1:]) == [("j1", 6), ("j2", 6), ("j3", 6)]
        sent = [line["body"] for batch in server.submitted for line in batch]
    assert in_order(sent) == in_order(asked)
    assert without_command(tmp_path / "batch/bundle") == alone
    assert json.loads((tmp_path / "batch/batches.json").read_text()) == []


@pytest.mark.parametrize("route", ["openai", "azure"])
def test_no_client_of_a_batch_endpoint_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str) -> None:
    write_made_split(tmp_path / "splits", 2)
    monkeypatch.setenv("AZURE_API_KEY", "of this one")
    kept: list[openai.AsyncOpenAI] = []
    opens = openai.AsyncOpenAI.__init__

    def noted(client: openai.AsyncOpenAI, *given: Any, **named: Any) -> None:
        kept.append(client)
        opens(client, *given, **named)

    monkeypatch.setattr(openai.AsyncOpenAI, "__init__", noted)
    with BatchServer(answers) as server:
        door = server.url.removesuffix("/v1") if route == "azure" else server.url
        asked = [word.replace("openai/", f"{route}/").replace(server.url, door) for word in options(tmp_path, server)]
        assert submit([*asked, *BATCH]) == 0
    assert kept
    assert all(client.is_closed() for client in kept)


def test_partial_failure_and_expiry_are_mended_by_further_batches(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 12)
    alone, _ = live(tmp_path)

    def unlucky(body: dict[str, Any], attempt: int) -> Answer:
        faults = [Answer(status=500), Answer(status=429), Answer(fault="drop"), Answer(raw=b'{"choices": []}')]
        hit = next((n for n in range(4) if f"Riddle {n}:" in str(body["messages"])), None)
        return faults[hit] if hit is not None and attempt == 1 and body["model"] == "solver" else answers(body, attempt)

    fates = [Fate(end="expired", done=9), Fate(end="cancelled", done=2), Fate(), Fate(polls=3, end="expired", done=0)]
    with BatchServer(unlucky, fates=fates) as server:
        assert submit(options(tmp_path, server, *BATCH, out="batch")) == 0
        again = Counter(line["custom_id"] for batch in server.submitted for line in batch)
        assert server.requests == []
    assert without_command(tmp_path / "batch/bundle") == alone
    assert max(again.values()) == 3
    assert Counter(again.values())[1] >= 12 * 3


def test_a_call_that_no_batch_answers_is_a_failed_call_and_never_wrong(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 3)

    def stubborn(body: dict[str, Any], attempt: int) -> Answer:
        return Answer(status=500) if "Riddle 1:" in str(body["messages"]) else answers(body, attempt)

    with BatchServer(stubborn) as server:
        assert submit(options(tmp_path, server, *BATCH)) == 3
        assert len([b for b in server.submitted if b[0]["body"]["model"] == "solver"]) == 4
    counts = read_bundle(tmp_path / "out/bundle").submission.counts
    assert (counts.scored, counts.failed, counts.no_answer) == (2, 1, 0)


def test_an_interrupted_run_collects_its_batch_and_sends_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 6)
    alone, _ = live(tmp_path)
    with BatchServer(answers) as server:
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "look", interrupted)
            assert submit(options(tmp_path, server, *BATCH, out="batch")) == 3
        assert "goes on from there" in capsys.readouterr().err
        (one,) = json.loads((tmp_path / "batch/batches.json").read_text())
        assert (one["batch_id"], len(one["keys"])) == ("batch_0", 6)
        assert submit(options(tmp_path, server, *BATCH, out="batch")) == 0
        assert len(server.submitted) == 4
    assert without_command(tmp_path / "batch/bundle") == alone


def test_a_batch_whose_submission_was_never_answered_is_found_again_and_not_paid_for_twice(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 6)
    alone, _ = live(tmp_path)
    with BatchServer(answers, fates=[Fate(lost=True)]) as server:
        assert submit(options(tmp_path, server, *BATCH, out="batch")) == 0
        assert len(server.submitted) == 4
    assert without_command(tmp_path / "batch/bundle") == alone


def test_a_run_that_died_between_file_and_batch_finds_the_batch_by_its_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with BatchServer(answers) as server:
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "submit", heard_and_died(batch_api.submit))
            assert submit(options(tmp_path, server, *BATCH)) == 3
        (one,) = json.loads((tmp_path / "out/batches.json").read_text())
        assert (one["batch_id"], len(server.submitted)) == (None, 1)
        assert submit(options(tmp_path, server, *BATCH)) == 0
        assert len(server.submitted) == 4


def test_an_unreadable_reply_is_asked_for_again_in_a_batch_of_its_own(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 4)

    def mumble(body: dict[str, Any], attempt: int) -> Answer:
        damaged = body["model"] == "solver" and "Riddle 2:" in str(body["messages"]) and attempt == 1
        return Answer(content="Let me think.") if damaged else answers(body, attempt)

    alone, _ = live(tmp_path, mumble)
    with BatchServer(mumble) as server:
        assert submit(options(tmp_path, server, *BATCH, out="batch")) == 0
        assert ("solver", 1) in lines(server)
    assert without_command(tmp_path / "batch/bundle") == alone


def test_a_judge_without_a_batch_endpoint_is_called_live_beside_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 4)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "none")
    with BatchServer(answers) as server:
        asked = options(tmp_path, server, *BATCH)
        asked[asked.index("--judges") + 1] = "a:openai/j1,b:deepseek/j2,c:openai/j3"
        assert submit(asked) == 0
        assert [body["model"] for body in server.requests] == ["j2"] * 4
        assert sorted(model for model, _ in lines(server)) == ["j1", "j3", "solver"]
    assert "deepseek/j2: litellm has no batches of this provider; its calls are made one by" in capsys.readouterr().err


@pytest.mark.parametrize("route", ["azure", "hosted_vllm"])
def test_other_routes_with_the_same_protocol_go_out_in_batches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    write_made_split(tmp_path / "splits", 2)
    monkeypatch.setattr(batch_api, "FILE_POLL", 0)
    monkeypatch.setenv("OPENAI_API_KEY", "of another service")
    monkeypatch.setenv("AZURE_API_KEY", "of this one")
    with BatchServer(answers, slow_files=route == "azure") as server:
        door = server.url.removesuffix("/v1") if route == "azure" else server.url
        asked = [word.replace("openai/", f"{route}/").replace(server.url, door) for word in options(tmp_path, server)]
        assert submit([*asked, *BATCH]) == 0
        assert sorted(lines(server)) == [("j1", 2), ("j2", 2), ("j3", 2), ("solver", 2)]
        assert {line["url"] for batch in server.submitted for line in batch} == {batch_api.ROUTES[route]}
        assert server.requests == []
    assert read_bundle(tmp_path / "out/bundle").submission.counts.scored == 2


def test_a_price_said_in_advance_is_that_of_batches_for_models_that_take_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 3)
    said = []
    for more in ((), BATCH):
        asked = ["--model", "openai/gpt-4o-2024-08-06", "--split", "sample-llm", "--splits", str(tmp_path / "splits")]
        judges = "a:gemini/gemini-2.5-pro,b:deepseek/deepseek-chat,c:azure/gpt-4o-2024-08-06"
        assert submit([*asked, "--judges", judges, "--dry-run", *more]) == 0
        said.append(capsys.readouterr().out)
    (live, batch) = ([line.split()[-1] for line in text.splitlines()[1:5]] for text in said)
    assert float(batch[0]) == pytest.approx(float(live[0]) / 2, abs=0.006)
    assert batch[1:3] == live[1:3]
    assert "one by one, at the full price: gemini/gemini-2.5-pro (litellm has no batches of Google AI" in said[1]
    assert "one by one, at the full price: deepseek/deepseek-chat (litellm has no batches of this" in said[1]


def test_a_run_without_any_batch_endpoint_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_made_split(tmp_path / "splits", 2)
    with BatchServer() as server:
        asked = [word.replace("openai/", "deepseek/") for word in options(tmp_path, server)]
        with pytest.raises(SystemExit) as end:
            submit([*asked, *BATCH])
    assert end.value.code == 2
    assert "no model of this run has a batch endpoint" in capsys.readouterr().err


def test_a_batch_that_the_provider_does_not_take_ends_the_run_and_is_sent_again_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with BatchServer(answers, fates=[Fate(end="failed")]) as server:
        assert submit(options(tmp_path, server, *BATCH)) == 3
        assert "Enqueued token limit reached" in capsys.readouterr().err
        assert submit(options(tmp_path, server, *BATCH)) == 0


def test_an_endpoint_that_stays_down_ends_the_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 2)
    monkeypatch.setattr(batch_api, "SHORTEST_WAIT", 0)
    with BatchServer(answers) as server:
        monkeypatch.setattr(server, "other_page", lambda *_: (500, b"{}"))
        assert submit(options(tmp_path, server, *BATCH)) == 3
    err = capsys.readouterr().err
    assert "the batch endpoint failed six times" in err
    assert "goes on from there" in err
    assert "Traceback" not in err


def test_what_a_large_split_asks_goes_out_in_batches_of_the_size_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_made_split(tmp_path / "splits", 3)
    monkeypatch.setattr(batch_api, "MOST_CALLS", 2)
    with BatchServer(answers) as server:
        assert submit(options(tmp_path, server, *BATCH)) == 0
        assert [n for model, n in lines(server) if model == "solver"] == [2, 1]
        monkeypatch.setattr(batch_api, "MOST_BYTES", 1)
        assert submit(options(tmp_path, server, *BATCH, "--epochs", "2")) == 0
        assert [n for model, n in lines(server) if model == "solver"] == [2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--processes", "2"), 2, "--batch needs no workers"),
        (("--engine", "ray"), 2, "--batch needs no workers"),
        (("--split", "sample-soup-en"), 2, "asks in turns"),
    ],
)
def test_what_cannot_go_into_a_batch_is_refused_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, message: str
) -> None:
    from builders.__main__ import main as builders

    write_made_split(tmp_path / "splits", 2)
    assert builders(["build", "soup-samples", "--out", str(tmp_path / "splits")]) == 0
    with BatchServer() as server:
        with pytest.raises(SystemExit) as end:
            submit(options(tmp_path, server, *BATCH, *more))
        assert server.submitted == []
    assert (end.value.code, message in capsys.readouterr().err) == (code, True)


def test_a_damaged_file_of_batches_is_named_rather_than_sent_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/batches.json").write_text('[{"tag": "x"}]')
    with BatchServer(answers) as server:
        assert submit(options(tmp_path, server, *BATCH)) == 3
        assert server.submitted == []
    assert "batches.json: damaged" in capsys.readouterr().err


GPT = Model(name="openai/gpt-4o-2024-08-06", provider="openai")


def test_tokens_of_a_batch_cost_the_listed_batch_price_or_half() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert price(GPT, usage, batch=True) == pytest.approx(1.25 + 5.0)  # OpenAI's list: $2.50 and $10, half in a batch
    azure = Model(name="azure/gpt-4o-2024-08-06", provider="openai")
    assert price(azure, usage, batch=True) == pytest.approx((price(azure, usage) or 0) / 2), "none is listed"
    assert price(Model(name="openai/nobody-knows", provider="me"), usage, batch=True) is None
    assert price(GPT, Usage(), batch=True) is None


def test_options_are_put_as_the_model_takes_them() -> None:
    asked = (Message(role="user", text="x"),)
    decoding = Decoding(max_tokens=9, temperature=0.5, seed=7)
    line = json.loads(request(Call("k", replace_decoding(GPT, decoding), asked, None)))
    assert line["body"] | {"messages": None} == {
        "model": "gpt-4o-2024-08-06",
        "messages": None,
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 7,
    }
    thinker = Model(name="openai/gpt-5.1", provider="openai", decoding=Decoding(max_tokens=9))
    assert json.loads(request(Call("k", thinker, asked, None)))["body"]["max_completion_tokens"] == 9
    assert batched(GPT)
    assert not batched(Model(name="gemini/gemini-2.5-pro", provider="gemini"))


def replace_decoding(model: Model, decoding: Decoding) -> Model:
    return model.model_copy(update={"decoding": decoding})


def test_lines_that_say_nothing_readable_are_calls_to_send_again() -> None:
    good = {"custom_id": "a", "response": {"status_code": 200, "body": {"choices": "?"}}}
    data = b"\n".join([b"{oops", b"[1]", b"[" * 100_000, b'{"custom_id": 7}', json.dumps(good).encode()])
    (only,) = results(GPT, data)
    assert (only.key, only.reply, only.failure) == ("a", None, "service")
