"""Batches of makers whose protocols are their own: the same bundle as a live run, whatever becomes of a batch."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evaluators.bundle import read_bundle
from evaluators.engines import batch_api, batch_parts
from evaluators.engines.batch_api import results
from evaluators.models import price
from evaluators.submit import main as submit
from evaluators.values import Model, Usage
from tests.made import write_made_split
from tests.servers.batch_providers import AnthropicServer, MistralServer, XaiServer
from tests.servers.batch_server import Fate
from tests.servers.model_server import Answer
from tests.test_batch import BATCH, heard_and_died, in_order, interrupted, without_command
from tests.test_submit import answers, options


class Provider(NamedTuple):
    """How a maker is reached."""

    name: str
    server: Callable[..., Any]
    solver: str = "solver"

    def asked(self, tmp_path: Path, server: Any, *more: str, out: str = "batch") -> list[str]:
        """Options of a run of this maker's models."""
        door = server.url.removesuffix("/v1") if self.name == "anthropic" else server.url
        words = [word.replace("openai/", f"{self.name}/") for word in options(tmp_path, server, *more, out=out)]
        return [word.replace(server.url, door).replace("/solver", f"/{self.solver}") for word in words]

    def live(self, server: Any) -> list[dict[str, Any]]:
        """What was asked in calls of their own."""
        found: list[dict[str, Any]] = server.asked if self.name == "anthropic" else server.requests
        return found

    def sent(self, server: Any) -> list[dict[str, Any]]:
        """What was asked in batches."""
        return [line.get("params") or line["body"] for batch in server.submitted for line in batch]


PROVIDERS = [Provider("anthropic", AnthropicServer), Provider("mistral", MistralServer), Provider("xai", XaiServer)]
NATIVE = Provider("anthropic", AnthropicServer, "claude-opus-4-5-20251101")  # has JSON schemas; others answer by a tool


@pytest.fixture(params=PROVIDERS, ids=lambda one: one.name)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """One of the makers, with a key of its own and one of somebody else's beside it."""
    keys(monkeypatch)
    found: Provider = request.param
    return found


def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("anthropic", "mistral", "xai", "openai"):
        monkeypatch.setenv(f"{name.upper()}_API_KEY", f"of {name}")
    monkeypatch.setattr(batch_api, "SHORTEST_WAIT", 0)


def solver_first(body: dict[str, Any], attempt: int) -> Answer:
    """As `answers`, whatever the solver is called."""
    known = body["model"] in {"j1", "j2", "j3"}
    return answers(body if known else body | {"model": "solver"}, attempt)


def alone(tmp_path: Path, provider: Provider) -> tuple[tuple[dict[str, str], str], list[dict[str, Any]], Any]:
    """The bundle of a live run, and what it asked."""
    with provider.server(solver_first) as server:
        assert submit(provider.asked(tmp_path, server, out="live")) == 0
        return without_command(tmp_path / "live/bundle"), provider.live(server), server


def test_a_run_in_batches_asks_the_same_and_makes_the_same_bundle_as_a_live_run(
    tmp_path: Path, provider: Provider
) -> None:
    write_made_split(tmp_path / "splits", 3)
    expected, asked, _ = alone(tmp_path, provider)
    with provider.server(solver_first) as server:
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert provider.live(server) == []
        assert [len(batch) for batch in server.submitted] == [3, 3, 3, 3]
        assert in_order(provider.sent(server)) == in_order(asked)
    assert without_command(tmp_path / "batch/bundle") == expected


def test_a_model_of_anthropic_with_schemas_of_its_own_is_asked_with_the_same_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_made_split(tmp_path / "splits", 2)
    keys(monkeypatch)
    _, asked, live = alone(tmp_path, NATIVE)
    with AnthropicServer(solver_first) as server:
        assert submit([*NATIVE.asked(tmp_path, server, *BATCH), "--yes"]) == 0
        assert in_order(NATIVE.sent(server)) == in_order(asked)
        assert set().union(*server.betas.values()) == live.betas[-1] != set()
    (first, second) = (read_bundle(tmp_path / out / "bundle") for out in ("live", "batch"))
    halves = [t.model_copy(update={"cost_usd": (t.cost_usd or 0) / 2}) for t in first.transcripts]
    assert list(second.transcripts) == halves
    assert second.verdicts == first.verdicts


def test_partial_failure_expiry_and_cancellation_are_mended_by_further_batches(
    tmp_path: Path, provider: Provider
) -> None:
    write_made_split(tmp_path / "splits", 6)
    expected, _, _ = alone(tmp_path, provider)

    def unlucky(body: dict[str, Any], attempt: int) -> Answer:
        faults = [Answer(status=500), Answer(status=429), Answer(fault="drop")]
        hit = next((n for n in range(3) if f"Riddle {n}:" in str(body["messages"])), None)
        first = hit is not None and attempt == 1 and body["model"] == "solver"
        return faults[hit or 0] if first else answers(body, attempt)

    fates = [Fate(end="expired", done=5), Fate(end="cancelled", done=2), Fate(), Fate(polls=2, end="expired", done=0)]
    with provider.server(unlucky, fates=fates) as server:
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        again = Counter(line["custom_id"] for batch in server.submitted for line in batch)
        assert provider.live(server) == []
    assert without_command(tmp_path / "batch/bundle") == expected
    assert max(again.values()) <= 3
    assert Counter(again.values())[1] >= 6 * 2


@pytest.mark.parametrize("cut", [False, True], ids=["error", "broken connection"])
def test_a_submission_that_was_never_answered_is_found_again_and_not_paid_for_twice(
    tmp_path: Path, provider: Provider, cut: bool
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with provider.server(solver_first, fates=[Fate(lost=True, cut=cut)]) as server:
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert [len(batch) for batch in server.submitted] == [2, 2, 2, 2]


def test_an_interrupted_run_collects_its_batch_days_later_and_sends_nothing_again(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with provider.server(solver_first) as server:
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "look", interrupted)
            assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
        (one,) = outbox(tmp_path)
        change(tmp_path, made=one["made"] - 20 * 86400)
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert len(server.submitted) == 4


def test_a_run_that_died_before_it_heard_of_its_batch_finds_it_or_sends_it_anew(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with provider.server(solver_first) as server:
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "submit", heard_and_died(batch_api.submit))
            assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
        assert [one["batch_id"] for one in outbox(tmp_path)] == [None]
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert len(server.submitted) == 4
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "submit", interrupted)
            assert submit(provider.asked(tmp_path, server, *BATCH, "--epochs", "2")) == 3
        assert len(server.submitted) == 4
        assert submit(provider.asked(tmp_path, server, *BATCH, "--epochs", "2")) == 0
        assert len(server.submitted) == 8


@pytest.mark.parametrize("provider", PROVIDERS[:2], ids=lambda one: one.name, indirect=True)
def test_what_was_answered_is_kept_when_the_maker_refuses_the_rest(
    tmp_path: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 3)

    def revoked(body: dict[str, Any], attempt: int) -> Answer:
        late = attempt == 1 and body["model"] == "solver" and "Riddle 2:" in str(body["messages"])
        return Answer(status=401) if late else answers(body, attempt)

    with provider.server(revoked) as server:
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
        assert "status 401" in capsys.readouterr().err
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert [len(batch) for batch in server.submitted][:2] == [3, 1]
        assert sum(len(batch) for batch in server.submitted) == 3 + 1 + 3 * 3


def test_a_batch_that_is_gone_at_the_provider_is_said_with_what_to_do(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with provider.server(solver_first) as server:
        with monkeypatch.context() as patch:
            patch.setattr(batch_api, "look", interrupted)
            assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
        monkeypatch.setattr(server, "other_page", lambda *_: (404, b'{"error": {"message": "no such batch"}}'))
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
    assert "if the batch is gone there, delete batches.json" in capsys.readouterr().err
    assert len(outbox(tmp_path)) == 1


def outbox(tmp_path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((tmp_path / "batch/batches.json").read_text())
    return found


def change(tmp_path: Path, **what: Any) -> None:
    path = tmp_path / "batch/batches.json"
    path.write_text(json.dumps([one | what for one in json.loads(path.read_text())]))


def test_another_batch_of_the_same_size_is_told_apart_by_the_keys_of_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else of the same workspace sent as many calls just then; Anthropic shows no name beside either."""
    write_made_split(tmp_path / "splits", 2)
    keys(monkeypatch)
    provider = PROVIDERS[0]
    with AnthropicServer(solver_first, fates=[Fate(polls=2), Fate(lost=True)]) as server:
        stranger = {"model": "solver", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
        server._create([{"custom_id": f"theirs-{n}", "params": stranger} for n in range(2)])
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 0
        assert [len(batch) for batch in server.submitted] == [2, 2, 2, 2, 2]


def test_a_batch_that_the_maker_does_not_take_ends_the_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", 2)
    keys(monkeypatch)
    for provider in PROVIDERS[1:]:
        with provider.server(solver_first, fates=[Fate(end="failed")]) as server:
            assert submit(provider.asked(tmp_path, server, *BATCH, out=provider.name)) == 3
        err = capsys.readouterr().err
        assert "Enqueued token limit reached" in err
        assert "Traceback" not in err


def test_a_key_that_is_refused_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], provider: Provider
) -> None:
    write_made_split(tmp_path / "splits", 2)
    with provider.server(solver_first) as server:
        monkeypatch.setattr(server, "other_page", lambda *_: (401, b'{"error": {"message": "who are you?"}}'))
        assert submit(provider.asked(tmp_path, server, *BATCH)) == 3
    err = capsys.readouterr().err
    assert "the batch endpoint says 401" in err
    assert "who are you?" in err


CLAUDE = Model(name="anthropic/claude-opus-4-5-20251101", provider="anthropic")


@pytest.mark.parametrize(
    ("name", "part"),
    [("anthropic/claude-opus-4-5-20251101", 0.5), ("mistral/mistral-large-latest", 0.5), ("xai/grok-4.3", 0.8)],
)
def test_a_listed_model_costs_less_in_a_batch_as_its_maker_says(name: str, part: float) -> None:
    """Anthropic and Mistral take half, xAI a fifth off (their price lists)."""
    model, usage = Model(name=name, provider="maker"), Usage(input_tokens=1000, output_tokens=1000)
    whole, batch = price(model, usage), price(model, usage, batch=True)
    assert whole is not None
    assert batch == pytest.approx(whole * part)


def test_lines_of_anthropic_that_hold_no_reply_are_calls_to_send_again() -> None:
    rows: list[Any] = [
        {"custom_id": "torn", "result": {"type": "succeeded", "message": {"content": 7}}},
        {"custom_id": "busy", "result": {"type": "errored", "error": {"error": {"type": "overloaded_error"}}}},
        {"custom_id": "gone", "result": {"type": "expired"}},
        {"custom_id": "what", "result": {}},
        ["?"],
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in batch_parts.openai_lines(json_lines(rows)))
    found = {one.key: (one.reply, one.failure) for one in results(CLAUDE, data)}
    assert found == {"torn": (None, "service"), "busy": (None, "service"), "gone": (None, "timeout")}


def json_lines(rows: list[Any]) -> bytes:
    return b"{oops\n" + b"[" * 100_000 + b"\n" + b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_call_that_anthropic_calls_impossible_is_not_sent_again() -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}}
    row = {"custom_id": "k", "result": {"type": "errored", "error": error}}
    data = b"".join(json.dumps(line).encode() + b"\n" for line in batch_parts.openai_lines(json_lines([row])))
    (one,) = results(CLAUDE, data)
    assert one.reply is not None
    assert one.reply.failure == "too_long"
