"""One attempt at one call: what comes back from a real litellm against a loopback server."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from evaluators.models import (
    AttemptFailed,
    ModelError,
    ServiceRefusedError,
    _litellm,
    attempt,
    prepare,
    provider_of,
    retry_after,
    route,
    wire,
)
from evaluators.protocols.riddle import SolverReply
from evaluators.run import run_calls
from evaluators.sending import acompletion, as_told
from evaluators.values import Decoding, Image, Message, Model, Reply, Usage
from tests.servers.model_server import Answer, ModelServer

HELLO = (Message(role="user", text="hello"),)


# OpenAI's own models keep litellm's `openai` route wherever they are served, any other name takes the cheaper one.
ROUTES = {"openai/any": "hosted_vllm/any", "openai/gpt-4o-mini": "openai/gpt-4o-mini"}
by_route = pytest.mark.parametrize("name", ROUTES)


def call(
    server: ModelServer,
    *,
    name: str = "openai/any",
    limit: float = 30,
    messages: tuple[Message, ...] = HELLO,
    **decoding: object,
) -> Reply:
    model = Model(name=name, provider="maker", api_base=server.url, decoding=Decoding.model_validate(decoding))
    assert route(model) == ROUTES[name]
    return run_calls(attempt(model, messages, schema=SolverReply, limit=limit))


def test_a_reply_carries_text_usage_snapshot_and_unknown_price() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    with ModelServer(lambda *_: Answer(content="hi", usage=usage, model="any-2026")) as server:
        reply = call(server, temperature=0.5, seed=3, max_tokens=9)
    assert (reply.text, reply.snapshot, reply.cost_usd, reply.failure) == ("hi", "any-2026", None, None)
    assert reply.usage == Usage(input_tokens=10, output_tokens=3, cached_tokens=4)
    (body,) = server.requests
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.5, 3, 9)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "top_p" not in body


def test_both_routes_send_the_same_request_and_read_the_same_reply() -> None:
    answers = Answer(content="cut", finish_reason="length", model="snapshot-2026")
    seen = []
    for name in ROUTES:
        with ModelServer(lambda *_: answers) as server:
            reply = call(server, name=name, temperature=0.5, top_p=0.9, seed=3, max_tokens=9)
        (body,) = server.requests
        seen.append((body | {"model": ""}, reply.model_copy(update={"seconds": 0.0, "cost_usd": None})))
        assert server.headers[0]["authorization"] == "Bearer none"
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(content="hi", model="any-2026"),
        Answer(status=400),
        Answer(status=400, raw=b'{"error": {"message": "context_length_exceeded"}}'),
        Answer(
            status=400, raw=b'{"error": {"code": "content_policy_violation", "message": "content_policy_violation"}}'
        ),
        *(Answer(status=status) for status in (401, 403, 404, 408, 413, 422, 500, 502, 503, 504, 529)),
        Answer(status=429, headers={"Retry-After": "7"}),
        Answer(status=500, raw=b"<html>"),
        Answer(fault="drop"),
        Answer(raw=b'{"id": "x", "choi'),
        Answer(raw=b"[]"),
        Answer(raw=b'{"error": {"message": "over"}}'),
    ],
)
def test_the_short_way_sends_and_hears_what_litellm_does_itself(answer: Answer) -> None:
    heard = []
    for way in (acompletion, lambda litellm, **options: litellm.acompletion(**options)):
        with ModelServer(lambda *_: answer) as server:
            options = {"api_base": server.url, "api_key": "none", "max_retries": 0, "temperature": 0.5, "seed": 3}
            litellm = _litellm()
            try:
                said = run_calls(way(litellm, model="hosted_vllm/any", messages=[wire(HELLO[0])], **options))
                came: object = (said.model, said.choices[0].message.content, said.usage.model_dump())
            except Exception as error:
                told = as_told(litellm, "hosted_vllm/any", error)
                headers = getattr(told, "litellm_response_headers", None) or {}
                came = (type(told), getattr(told, "status_code", None), headers.get("retry-after"), str(told)[:60])
        sent = [{k: v for k, v in one.items() if k not in {"host"}} for one in server.headers]
        heard.append((server.requests, sent, str(came).replace(server.url, "")))
    assert heard[0] == heard[1]
    assert len(heard[0][0]) == 1


def test_a_service_that_counts_no_tokens_leaves_them_and_the_price_unknown() -> None:
    with ModelServer(lambda *_: Answer(content="hi", usage={})) as server:
        reply = call(server, name="openai/gpt-4o-mini")
    assert (reply.usage, reply.cost_usd) == (Usage(), None)


def test_the_schema_can_be_left_out() -> None:
    with ModelServer() as server:
        call(server, json_schema=False)
    assert "response_format" not in server.requests[0]


def test_a_known_model_has_a_price() -> None:
    with ModelServer(
        lambda *_: Answer(content="hi", usage={"prompt_tokens": 1000, "completion_tokens": 100})
    ) as server:
        model = Model(name="openai/gpt-5.1", provider="openai", api_base=server.url)
        reply = run_calls(attempt(model, HELLO, schema=None, limit=30))
    assert reply.cost_usd is not None
    assert reply.cost_usd > 0


def test_an_image_travels_as_a_data_url_and_is_recorded_as_its_digest() -> None:
    image = Image(sha256="0" * 64, media_type="image/png", data=b"\x89PNG")
    message = Message(role="user", text="look", images=(image,))
    with ModelServer() as server:
        call(server, messages=(message,))
    parts = server.requests[0]["messages"][0]["content"]
    assert parts[1]["image_url"]["url"] == "data:image/png;base64,iVBORw=="
    assert message.recorded().images[0].data is None


@by_route
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(status=429), "rate_limited"),
        (Answer(status=500), "service"),
        (Answer(status=503), "service"),
        (Answer(fault="drop"), "service"),
        (Answer(raw=b'{"id": "x", "choi'), "service"),
        (Answer(raw=b'{"id": "x", "object": "chat.completion", "choices": []}'), "service"),
    ],
)
def test_a_fault_that_may_pass_asks_for_another_attempt(answer: Answer, failure: str, name: str) -> None:
    with ModelServer(lambda *_: answer) as server, pytest.raises(AttemptFailed) as caught:
        call(server, name=name)
    assert caught.value.failure == failure
    assert len(server.requests) == 1, "litellm must not retry on its own"


@by_route
def test_a_hanging_service_is_a_timeout(name: str) -> None:
    with ModelServer(lambda *_: Answer(fault="hang")) as server, pytest.raises(AttemptFailed) as caught:
        call(server, name=name, limit=0.3)
    assert caught.value.failure == "timeout"


@by_route
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_reaches_the_runner(status: int, name: str) -> None:
    busy = Answer(status=status, headers={"Retry-After": "7"})
    with ModelServer(lambda *_: busy) as server, pytest.raises(AttemptFailed) as caught:
        call(server, name=name)
    assert caught.value.retry_after == 7


def test_retry_after_is_read_in_seconds_or_as_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < (retry_after({"retry-after": soon}) or 0) <= 60
    assert retry_after({"retry-after": "0.5"}) == 0.5
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


@by_route
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Answer(status=400), "rejected"),
        (Answer(status=400, raw=b'{"error": {"message": "context_length_exceeded"}}'), "too_long"),
        (Answer(content="", finish_reason="content_filter"), "refused"),
    ],
)
def test_a_failure_that_would_repeat_itself_is_a_reply(answer: Answer, failure: str, name: str) -> None:
    with ModelServer(lambda *_: answer) as server:
        assert call(server, name=name).failure == failure


@by_route
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_service_that_refuses_every_call_ends_the_run(status: int, name: str) -> None:
    with ModelServer(lambda *_: Answer(status=status)) as server, pytest.raises(ServiceRefusedError):
        call(server, name=name)


def test_a_model_that_cannot_be_called_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        prepare(Model(name="openai/gpt-5.1", provider="openai"))
    with pytest.raises(ModelError, match="no provider"):
        prepare(Model(name="no-such-model-at-all", provider="maker"))


def test_a_decoding_option_the_provider_does_not_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    model = Model(name="anthropic/claude-opus-4-5-20251101", provider="anthropic", decoding=Decoding(seed=1))
    with pytest.raises(ModelError, match="takes no seed"):
        prepare(model)


def test_only_first_party_names_say_who_made_a_model() -> None:
    assert provider_of("openai/gpt-5.1") == "openai"
    assert provider_of("openrouter/anthropic/claude") is None
    assert provider_of("gpt-5.1") is None
