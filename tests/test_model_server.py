"""The scripted model server does on real sockets what its tests ask of it."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pydantic import BaseModel

from tests.servers.model_server import Answer, ModelServer


class Inner(BaseModel):
    size: int
    mood: str | None


class Asked(BaseModel):
    text: str
    right: bool
    parts: list[Inner]


def chat(url: str, text: str = "hello", *, patience: object = 60, **more: object) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=patience, trust_env=False, verify=False)


def content(response: httpx.Response) -> str:
    return response.json()["choices"][0]["message"]["content"]


def schema_format(model: type[BaseModel]) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": "asked", "schema": model.model_json_schema()}}


def test_the_default_reply_is_a_value_of_the_requests_schema_and_depends_on_the_body_only() -> None:
    with ModelServer() as server:
        replies = [content(chat(server.url, f"q{n}", response_format=schema_format(Asked))) for n in (1, 1, 2, 3, 4, 5)]
    assert replies[0] == replies[1]
    values = [Asked.model_validate_json(reply) for reply in replies]
    assert len({value.text for value in values}) == 5
    assert {value.right for value in values} == {True, False}


def test_requests_are_kept_in_order_with_their_headers_and_a_repeated_body_counts_its_attempts() -> None:
    attempts: list[int] = []

    def reply(body: dict, attempt: int) -> Answer:
        attempts.append(attempt)
        return Answer(content=body["messages"][0]["content"].upper())

    with ModelServer(reply) as server:
        assert [content(chat(server.url, text)) for text in ("a", "b", "a")] == ["A", "B", "A"]
        assert [body["messages"][0]["content"] for body in server.requests] == ["a", "b", "a"]
        assert server.headers[0]["content-type"] == "application/json"
    assert attempts == [1, 1, 2]


def test_statuses_headers_garbage_finish_reason_usage_and_model_are_sent_as_scripted() -> None:
    script = [
        Answer(status=429, headers={"Retry-After": "7"}),
        Answer(status=500),
        Answer(status=401),
        Answer(raw=b'{"choices": [{'),
        Answer(content="cut sho", finish_reason="length", usage={"prompt_tokens": 3, "completion_tokens": 2}),
        Answer(usage={}, model="m-2026"),
    ]
    with ModelServer(lambda _body, attempt: script[attempt - 1]) as server:
        limited, broken, denied, garbage, cut, bare = [chat(server.url) for _ in script]
    assert (limited.status_code, limited.headers["Retry-After"]) == (429, "7")
    assert (broken.status_code, denied.status_code) == (500, 401)
    assert "scripted status 401" in denied.json()["error"]["message"]
    with pytest.raises(json.JSONDecodeError):
        garbage.json()
    assert cut.json()["choices"][0]["finish_reason"] == "length"
    assert cut.json()["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
    assert "usage" not in bare.json()
    assert bare.json()["model"] == "m-2026"


def test_a_dropped_connection_is_cut_before_any_byte_of_a_reply() -> None:
    with (
        ModelServer(lambda _body, _attempt: Answer(fault="drop")) as server,
        pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)),
    ):
        chat(server.url)


def test_a_hanging_request_times_out_at_the_client_and_ends_with_the_server() -> None:
    with ThreadPoolExecutor(1) as pool:
        with ModelServer(lambda _body, _attempt: Answer(fault="hang")) as server:
            with pytest.raises(httpx.ReadTimeout):
                chat(server.url, patience=httpx.Timeout(60, read=0.05))
            waiting = pool.submit(chat, server.url)
            server.wait_for_requests(2)
        assert isinstance(waiting.exception(60), (httpx.RemoteProtocolError, httpx.ReadError))


def test_held_replies_wait_for_their_release_so_that_a_test_can_count_what_is_in_flight() -> None:
    with ModelServer(lambda _body, _attempt: Answer(hold=True)) as server, ThreadPoolExecutor(10) as pool:
        calls = [pool.submit(chat, server.url, f"q{n}") for n in range(10)]
        server.wait_for_requests(10)
        assert not any(call.done() for call in calls)
        assert server.in_flight_peak == 10
        server.release()
        assert [call.result().status_code for call in calls] == [200] * 10


def test_one_connection_carries_many_requests_and_other_pages_are_served_or_refused() -> None:
    with ModelServer() as server, httpx.Client(trust_env=False, verify=False) as client:
        assert client.get(f"{server.url}/models").json()["data"][0]["id"] == "scripted"
        assert client.get(f"{server.url}/elsewhere").status_code == 404
        assert client.post(f"{server.url}/chat/completions", content=b"{").status_code == 400
        assert client.post(f"{server.url}/chat/completions", json={"model": "m"}).status_code == 200
        assert len(server.requests) == 1


def test_an_assertion_that_fails_inside_a_reply_function_fails_the_test_that_wrote_it() -> None:
    def reply(_body: dict, _attempt: int) -> Answer:
        raise ValueError("unexpected prompt")

    with pytest.raises(ValueError, match="unexpected prompt"), ModelServer(reply) as server:
        assert chat(server.url).status_code == 400
