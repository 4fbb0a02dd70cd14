"""Batches that litellm 1.106 serves in part: what it has no function for is put together here, of its own parts.

Of Anthropic it looks at a batch and neither makes, lists nor reads one. Of Mistral it lists none. And what it makes for
Mistral and xAI it posts once more, unasked, when the connection breaks: a second batch, paid for like the first.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

ANTHROPIC = "https://api.anthropic.com"
SKEW = 900.0  # seconds that a provider's clock may be behind ours
STATUS = {"authentication_error": 401, "permission_error": 403, "not_found_error": 404, "rate_limit_error": 429}
STATUS |= {"invalid_request_error": 400, "request_too_large": 413}


_OPENED: ContextVar[list[Any]] = ContextVar("clients opened by the call that is being made")


@asynccontextmanager
async def closed_clients() -> AsyncIterator[None]:
    """Close the clients that litellm opens in the block, one for each file and batch call of OpenAI's protocol."""
    import litellm

    for api in (litellm.files.main.openai_files_instance, litellm.batches.main.openai_batches_instance):
        if "get_openai_client" not in vars(api):
            api.get_openai_client = _noted(api.get_openai_client)
    token = _OPENED.set([])
    try:
        yield
    finally:
        for client in _OPENED.get():
            await client.close()
        _OPENED.reset(token)


def _noted(opens: Callable[..., Any]) -> Callable[..., Any]:
    def get_openai_client(*given: Any, **named: Any) -> Any:
        client = opens(*given, **named)
        _OPENED.get([]).append(client)
        return client

    return get_openai_client


async def _send(route: str, method: str, url: str, headers: Mapping[str, str], **more: Any) -> bytes:
    """One request over litellm's connections, sent once.

    Raises:
        httpx.HTTPError: If it fails, or is answered with an error.
    """
    import httpx
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client
    from litellm.types.utils import LlmProviders

    handler = get_async_httpx_client(llm_provider=LlmProviders(route), params={"timeout": httpx.Timeout(600.0)})
    answer = await handler.client.request(method, url, headers=dict(headers), **more)
    if answer.is_error:
        said = f"{answer.status_code} {answer.text[:300]}"
        raise httpx.HTTPStatusError(said, request=answer.request, response=answer)
    return answer.content


async def create(route: str, name: str, file_id: str, tag: str, endpoint: str, **door: Any) -> str:
    """Submit an uploaded file to Mistral or xAI and return the id of the batch.

    Args:
        route: Of litellm.
        name: Of the model.
        file_id: Of the file.
        tag: Kept by the provider beside the batch.
        endpoint: What the batch calls.
        door: As every call of the batch endpoints has it.
    """
    if route == "mistral":
        url, headers = _mistral(door)
        body = {"input_files": [file_id], "endpoint": endpoint, "model": name, "metadata": {"name": tag}}
        return str(json.loads(await _send(route, "POST", url, headers, json=body))["id"])
    from litellm.llms.xai.batches import transformation as xai

    url, headers = xai.xai_batches_url(door.get("api_base")), xai.get_xai_auth_headers(api_key=door.get("api_key"))
    asked = {"name": tag, "input_file_id": file_id}
    return str(json.loads(await _send(route, "POST", url, headers, json=asked))["batch_id"])


def _mistral(door: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    from litellm.llms.mistral import common_utils as mistral

    base = mistral.get_mistral_api_base(door.get("api_base"))
    return f"{base}/v1/batch/jobs", mistral.get_mistral_auth_headers({}, door.get("api_key"))


async def mistral_list(**door: Any) -> list[tuple[str, dict[str, Any]]]:
    """Ids of the last batches at Mistral, each with its metadata."""
    url, headers = _mistral(door)
    found = json.loads(await _send("mistral", "GET", url, headers, params={"page_size": 100}))
    return [(str(one["id"]), one.get("metadata") or {}) for one in found.get("data") or ()]


def anthropic_body(name: str, messages: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Body of a call to Anthropic, as litellm sends it for a call of its own."""
    import litellm

    given.pop("json_mode", None)
    body: dict[str, Any] = litellm.AnthropicConfig().transform_request(name, messages, given, {}, {})
    body.pop("stream", None)
    return body


async def _anthropic(method: str, path: str, door: Mapping[str, Any], *, beta: str = "", **more: Any) -> bytes:
    from litellm.llms.anthropic.common_utils import AnthropicModelInfo

    base = AnthropicModelInfo.get_api_base(door.get("api_base")) or ANTHROPIC
    headers = {"anthropic-version": "2023-06-01", "content-type": "application/json"}
    headers |= await AnthropicModelInfo.aget_auth_header(door.get("api_key"), base) or {}
    if beta:
        headers["anthropic-beta"] = beta
    return await _send("anthropic", method, f"{base.rstrip('/')}/v1/messages/batches{path}", headers, **more)


async def anthropic_create(name: str, lines: Sequence[bytes], **door: Any) -> str:
    """Submit a batch and return its id."""
    data = b'{"requests":[' + b",".join(line.rstrip() for line in lines) + b"]}"
    made = json.loads(await _anthropic("POST", "", door, beta=_beta(name, lines), content=data))
    return str(made["id"])


def _beta(name: str, lines: Sequence[bytes]) -> str:
    """The features that the calls of a batch make use of, as litellm would name them for each."""
    import litellm

    found: dict[str, None] = {}
    alike = {tuple(params): params for params in (json.loads(line)["params"] for line in lines)}
    for params in alike.values():
        headers = litellm.AnthropicConfig().update_headers_with_optional_anthropic_beta({}, params, params["messages"])
        found |= dict.fromkeys(part.strip() for part in str(headers.get("anthropic-beta") or "").split(","))
    return ",".join(sorted(part for part in found if part))


async def anthropic_candidates(calls: int, made: float, taken: frozenset[str], **door: Any) -> str | None:
    """Ids of the batches that one may be whose submission was never answered; None where there are none.

    Anthropic keeps no name beside a batch and shows what it holds only at its end: all of the right size and time are
    waited for, and what they bring is told by the keys of the calls.
    """
    found = json.loads(await _anthropic("GET", "", door, params={"limit": 1000}))
    mine = [
        str(one["id"])
        for one in found.get("data") or ()
        if sum(one["request_counts"].values()) == calls
        and datetime.fromisoformat(one["created_at"]).timestamp() >= made - SKEW
        and str(one["id"]) not in {part for batch in taken for part in batch.split()}
    ]
    return " ".join(mine) or None


async def anthropic_running(batch_id: str, **door: Any) -> bool:
    """Whether a batch has not ended yet."""
    found = json.loads(await _anthropic("GET", f"/{batch_id}", door))
    return bool(found["processing_status"] != "ended")


async def anthropic_results(batch_id: str, **door: Any) -> bytes:
    """What became of the calls of a batch, in the lines that OpenAI's protocol has for it."""
    data = await _anthropic("GET", f"/{batch_id}/results", door)
    return b"".join(json.dumps(line).encode() + b"\n" for line in openai_lines(data))


def openai_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Results of Anthropic's as OpenAI's protocol has them; a line that says nothing readable is passed over."""
    for line in data.splitlines():
        try:
            match json.loads(line):
                case {"custom_id": str(key), "result": {"type": "succeeded", "message": dict(message)}}:
                    yield {"custom_id": key, "response": {"status_code": 200, "body": _completion(message)}}
                case {"custom_id": str(key), "result": {"type": "errored", "error": {"error": dict(error)}}}:
                    status = STATUS.get(str(error.get("type")), 500)
                    yield {"custom_id": key, "response": {"status_code": status, "body": {"error": error}}}
                case {"custom_id": str(key), "result": {"type": str(end)}}:
                    code = "batch_expired" if end == "expired" else end
                    yield {"custom_id": key, "error": {"code": code, "message": f"the call was {end}"}}
        except (ValueError, RecursionError):
            continue


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    """A message as litellm turns it into a completion; an empty one where it cannot, which is no reply."""
    import httpx
    import litellm

    response = litellm.ModelResponse()
    try:
        # A reply that was asked for as the arguments of a tool becomes text, as it does in a call of its own.
        done = litellm.AnthropicConfig().transform_parsed_response(
            message, httpx.Response(200, json=message), response, json_mode=True
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return {}
    found: dict[str, Any] = done.model_dump(mode="json")
    return found
