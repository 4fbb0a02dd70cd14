"""The provider's batch endpoints through litellm: upload, submit, look, collect; a home of litellm beside models.py."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from builders.values import Value
from evaluators import models
from evaluators.engines import batch_parts as parts
from evaluators.engines.outbox import Sent
from evaluators.limits import ServiceDownError
from evaluators.models import AttemptFailed, ServiceRefusedError
from evaluators.values import Failure, Message, Model, Reply

# Routes of litellm whose calls go into batches, endpoints of one's own (--api-base) included, and what a batch calls.
ROUTES = {
    "openai": "/v1/chat/completions",
    "hosted_vllm": "/v1/chat/completions",
    "azure": "/chat/completions",
    "mistral": "/v1/chat/completions",
    "xai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
}
# Why others are called one by one: what was never tried against a server that speaks the protocol is not offered where
# calls are paid for.
WITHOUT = {
    "vertex_ai": "its batches go through a bucket at Google that no test of ours can stand in for",
    "bedrock": "its batches go through a storage bucket at Amazon, and litellm cannot list them",
    "gemini": "litellm has no batches of Google AI Studio",
}
NO_BATCHES = "litellm has no batches of this provider"
TAG = "deerstalker"
MOST_CALLS = 50_000  # in one batch, as OpenAI allows
MOST_BYTES = 190 * 2**20
FILE_POLL = 5.0  # seconds between two looks at a file that is being read
SHORTEST_WAIT = 0.2  # seconds; scale of the first back-off where the endpoint itself fails

State = Literal["running", "completed", "failed", "expired", "cancelled"]
_STATES: dict[str, State] = {s: s for s in ("completed", "failed", "expired", "cancelled")}


class Call(NamedTuple):
    """A call that waits for a batch."""

    key: str
    model: Model
    messages: tuple[Message, ...]
    schema: type[Value] | None


class Look(NamedTuple):
    """How a batch stands."""

    state: State
    files: tuple[str, ...]  # with replies and errors, once it has ended
    said: str  # why it failed


class Result(NamedTuple):
    """What became of one call: a reply, or a failure that another batch may mend."""

    key: str
    reply: Reply | None
    failure: Failure | None
    detail: str
    hopeless: bool = False  # refused for key, permission or an unknown model: so would be every other


def batched(model: Model) -> bool:
    """Whether calls to this model can go into a batch; they are made one by one where they cannot."""
    return _served(model) in ROUTES


def why_not(model: Model) -> str:
    """Why calls to a model are made one by one."""
    return WITHOUT.get(_served(model), NO_BATCHES)


def _served(model: Model) -> str:
    import openai

    try:
        return _route(model)[1]
    except openai.BadRequestError:
        return ""  # a name without a provider, which is refused elsewhere


def request(call: Call) -> bytes:
    """Write a call as a line of a batch: the very body that a call of its own would have."""
    import litellm

    name, route = _route(call.model)
    options = models.options(call.model, call.schema)
    messages = [models.wire(m) for m in call.messages]
    given = litellm.utils.get_optional_params(model=name, custom_llm_provider=route, **options)
    if route == "anthropic":
        line = {"custom_id": call.key, "params": parts.anthropic_body(name, messages, given)}
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"
    body = given | {"model": name, "messages": messages}
    body |= body.pop("extra_body", None) or {}
    body.pop("stream", None)
    line = {"custom_id": call.key, "body": body}
    if route == "mistral":
        del body["model"]  # said once, of the whole batch
    else:
        line |= {"method": "POST", "url": ROUTES[route]}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


async def upload(model: Model, lines: Sequence[bytes]) -> str:
    """Upload the file of a batch and return its id; of a batch that has no file, a digest of what it will ask."""
    import litellm

    if _route(model)[1] == "anthropic":
        return sha256(b"".join(lines)).hexdigest()
    file = ("batch.jsonl", b"".join(lines), "application/jsonl")
    done = await _patiently(lambda: litellm.acreate_file(file=file, purpose="batch", **_door(model)))
    # Azure takes no batch of a file that it has not read yet.
    while done.status == "pending":
        await asyncio.sleep(FILE_POLL)
        done = await _patiently(partial(litellm.afile_retrieve, file_id=done.id, **_door(model)))
    return str(done.id)


async def submit(sent: Sent, lines: Sequence[bytes] | None, *, taken: frozenset[str] = frozenset()) -> str | None:
    """Submit a batch, once.

    Args:
        sent: The batch.
        lines: What it asks; None: it was submitted before, and whether it was heard is not known.
        taken: Batches of the provider that are others for certain.

    Returns:
        Its id, or that of the one that was heard before. None where none was and its file is gone: its calls are to be
        sent anew.
    """
    tries = int(lines is None)

    async def once() -> str | None:
        nonlocal tries
        tries += 1
        # An attempt whose answer was lost may have been heard: a second batch would be paid for twice.
        if tries > 1 and (there := await _find(sent, taken)) is not None:
            return there
        return await _create(sent, lines)

    found: str | None = await _patiently(once)
    return found


async def _create(sent: Sent, lines: Sequence[bytes] | None) -> str | None:
    import litellm

    name, route = _route(sent.model)
    if route == "anthropic":
        return None if lines is None else await parts.anthropic_create(name, lines, **_door(sent.model))
    if route in {"mistral", "xai"}:
        return await parts.create(route, name, sent.file_id, sent.tag, ROUTES[route], **_door(sent.model))
    done = await litellm.acreate_batch(
        completion_window="24h",
        endpoint=ROUTES[route],
        input_file_id=sent.file_id,
        metadata={TAG: sent.tag},
        **_door(sent.model),
    )
    return str(done.id)


async def _find(sent: Sent, taken: frozenset[str]) -> str | None:
    """The batch that was heard though its submission was never answered; None where there is none."""
    import litellm

    route = _route(sent.model)[1]
    if route == "anthropic":
        return await parts.anthropic_candidates(len(sent.keys), sent.made, taken, **_door(sent.model))
    if route == "mistral":
        listed = await parts.mistral_list(**_door(sent.model))
    else:
        found = await litellm.alist_batches(limit=100, **_door(sent.model))
        listed = [(str(one.id), getattr(one, "metadata", None) or {}) for one in getattr(found, "data", None) or ()]
    return next((batch for batch, said in listed if sent.tag in (said.get(TAG), said.get("name"))), None)


async def look(model: Model, batch_id: str) -> Look:
    """Ask how a batch stands."""
    import litellm

    name, route = _route(model)
    if route == "anthropic":
        running = [await _patiently(partial(parts.anthropic_running, one, **_door(model))) for one in batch_id.split()]
        return Look("running" if any(running) else "completed", tuple(batch_id.split()), "")
    more = {"model": f"{route}/{name}"} if route == "mistral" else {}
    found = await _patiently(lambda: litellm.aretrieve_batch(batch_id=batch_id, **more, **_door(model)))
    files = tuple(str(f) for f in (found.output_file_id, found.error_file_id) if f)
    errors = getattr(found.errors, "data", None) or ()
    said = "; ".join(str(getattr(e, "message", None) or e) for e in errors)[:300]
    # What xAI answered before it was stopped is to be had under the batch's own name.
    return Look(_STATES.get(found.status, "running"), (batch_id,) if route == "xai" else files, said)


async def collect(model: Model, file_ids: Sequence[str]) -> tuple[Result, ...]:
    """Fetch the files of a batch that has ended and read what became of its calls."""
    import litellm

    found: list[Result] = []
    for file_id in file_ids:
        if _route(model)[1] == "anthropic":
            fetch = partial(parts.anthropic_results, file_id, **_door(model))
            found += results(model, await _patiently(fetch))
        else:
            done = await _patiently(partial(litellm.afile_content, file_id=file_id, **_door(model)))
            found += results(model, bytes(done.content))
    return tuple(found)


def results(model: Model, data: bytes) -> Iterator[Result]:
    """Read a file of replies or of errors; a line that says nothing readable is passed over: its call is sent again."""
    for line in data.splitlines():
        try:
            match json.loads(line):
                case {"custom_id": str(key), "response": {"status_code": 200, "body": body}}:
                    yield _said(key, model, body)
                case {"custom_id": str(key), "response": {"status_code": int(status), "body": body}}:
                    yield _refusal(key, model, status, body)
                case {"custom_id": str(key), "error": {"code": code, "message": message}}:
                    expired = code == "batch_expired"
                    yield Result(key, None, "timeout" if expired else "service", f"{code}: {message}"[:300])
        except (ValueError, RecursionError):
            continue


def _said(key: str, model: Model, body: Any) -> Result:
    import litellm

    match body:
        # litellm would make an empty reply of anything else, and an empty reply is a wrong answer.
        case {"choices": [{"message": {"content": str() | None}}, *_]}:
            pass
        case _:
            return Result(key, None, "service", "the batch holds something else than a completion")
    try:
        reply = models.read_response(litellm.ModelResponse(**body))
    except (AttemptFailed, ValueError, TypeError, AttributeError) as error:
        return Result(key, None, "service", f"not a completion: {error}"[:300])
    return Result(key, reply.model_copy(update={"cost_usd": models.price(model, reply.usage, batch=True)}), None, "")


def _refusal(key: str, model: Model, status: int, body: Any) -> Result:
    error = body.get("error") if isinstance(body, dict) else None
    code, said = (str(error.get(part) or "") for part in ("code", "message")) if isinstance(error, dict) else ("", "")
    detail = f"status {status}: {said or code}"[:300]
    if status in {401, 402, 403, 404}:
        return Result(key, None, "service", f"{model.name}: {detail}", hopeless=True)
    if code in {"content_filter", "content_policy_violation"}:
        return Result(key, Reply(failure="refused", detail=detail), None, detail)
    if code == "context_length_exceeded" or "prompt is too long" in said:
        return Result(key, Reply(failure="too_long", detail=detail), None, detail)
    if 400 <= status < 500 and status not in {408, 409, 429}:
        return Result(key, Reply(failure="rejected", detail=detail), None, detail)
    return Result(key, None, "rate_limited" if status == 429 else "service", detail)


def _route(model: Model) -> tuple[str, str]:
    models.warm()
    import litellm

    name, route, _, _ = litellm.get_llm_provider(model.name, api_base=model.api_base)
    return str(name), str(route)


def _door(model: Model) -> dict[str, Any]:
    return {
        "custom_llm_provider": _route(model)[1],
        "timeout": 600,
        "max_retries": 0,
        # Without this it fetches the whole file of replies once more at each look, to log its price.
        "litellm_metadata": {"batch_ignore_default_logging": True},
        **models.endpoint(model),
    }


async def _patiently(step: Callable[[], Awaitable[Any]]) -> Any:
    """Take a step that may meet a bad moment of the service.

    Raises:
        ServiceRefusedError: If the service refuses it.
        ServiceDownError: If it fails again and again.
    """
    import httpx
    import openai
    from litellm.llms.base_llm.chat.transformation import BaseLLMException

    # What the clients of different providers raise, and what they make of a reply that is none.
    known = (openai.OpenAIError, BaseLLMException, httpx.HTTPError, OSError, ValueError)
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(AttemptFailed),
        stop=stop_after_attempt(6),
        wait=wait_random_exponential(multiplier=SHORTEST_WAIT, max=30),
        reraise=True,
    )
    try:
        async for one in retrying:
            with one:
                try:
                    async with parts.closed_clients():
                        return await step()
                except known as error:
                    raise _sorted(error) from None
    except AttemptFailed as error:
        raise ServiceDownError(f"the batch endpoint failed six times, the last: {error.detail}") from None
    raise AssertionError("tenacity ends in a return or an error")


def _sorted(error: Exception) -> Exception:
    answer = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(answer, "status_code", None)
    # A service's own words say more than what a client makes of its status.
    text = str(error) if answer is None else answer.text
    said = " ".join((text or str(error) or type(error).__name__).split())[:300]
    if isinstance(status, int) and 400 <= status < 500 and status not in {408, 409, 429}:
        gone = "; if the batch is gone there, delete batches.json beside the run's journal" if status == 404 else ""
        return ServiceRefusedError(f"the batch endpoint says {status}: {said}{gone}")
    return AttemptFailed("rate_limited" if status == 429 else "service", said)
