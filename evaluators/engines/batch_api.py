"""The provider's batch endpoints through litellm: upload, submit, look, collect; a home of litellm beside models.py."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from builders.values import Value
from evaluators import models
from evaluators.limits import ServiceDownError
from evaluators.models import AttemptFailed, ServiceRefusedError
from evaluators.values import Failure, Message, Model, Reply

# Routes of litellm whose batches speak OpenAI's protocol, endpoints of one's own (--api-base) included, and what their
# batches call. It has others (vertex_ai, bedrock, anthropic, mistral, xai), each with a protocol of its own that no
# server of ours speaks: what was never tried is not offered where calls are paid for.
ROUTES = {"openai": "/v1/chat/completions", "hosted_vllm": "/v1/chat/completions", "azure": "/chat/completions"}
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


def batched(model: Model) -> bool:
    """Whether calls to this model can go into a batch; they are made one by one where they cannot."""
    import openai

    try:
        return _route(model)[1] in ROUTES
    except openai.BadRequestError:
        return False  # a name without a provider, which is refused elsewhere


def request(call: Call) -> bytes:
    """Write a call as a line of a batch's file: the very body that a call of its own would have."""
    import litellm

    name, route = _route(call.model)
    options = models.options(call.model, call.schema)
    body = litellm.utils.get_optional_params(model=name, custom_llm_provider=route, **options)
    body |= {"model": name, "messages": [models.wire(m) for m in call.messages]}
    body |= body.pop("extra_body", None) or {}
    body.pop("stream", None)
    line = {"custom_id": call.key, "method": "POST", "url": ROUTES[route], "body": body}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


async def upload(model: Model, lines: Sequence[bytes]) -> str:
    """Upload the file of a batch and return its id."""
    import litellm

    file = ("batch.jsonl", b"".join(lines), "application/jsonl")
    done = await _patiently(lambda: litellm.acreate_file(file=file, purpose="batch", **_door(model)))
    # Azure takes no batch of a file that it has not read yet.
    while done.status == "pending":
        await asyncio.sleep(FILE_POLL)
        done = await _patiently(partial(litellm.afile_retrieve, file_id=done.id, **_door(model)))
    return str(done.id)


async def submit(model: Model, file_id: str, tag: str, *, again: bool) -> str:
    """Submit a batch, once: with `again`, one that was submitted under this tag is found, and its id returned."""
    import litellm

    tries = int(again)

    async def once() -> str:
        nonlocal tries
        tries += 1
        # An attempt whose answer was lost may have been heard: a second batch would be paid for twice.
        if tries > 1 and (there := await _find(model, tag)) is not None:
            return there
        done = await litellm.acreate_batch(
            completion_window="24h",
            endpoint=ROUTES[_route(model)[1]],
            input_file_id=file_id,
            metadata={TAG: tag},
            **_door(model),
        )
        return str(done.id)

    return str(await _patiently(once))


async def _find(model: Model, tag: str) -> str | None:
    import litellm

    listed = await litellm.alist_batches(limit=100, **_door(model))
    for one in getattr(listed, "data", None) or ():
        if (getattr(one, "metadata", None) or {}).get(TAG) == tag:
            return str(one.id)
    return None


async def look(model: Model, batch_id: str) -> Look:
    """Ask how a batch stands."""
    import litellm

    found = await _patiently(lambda: litellm.aretrieve_batch(batch_id=batch_id, **_door(model)))
    files = tuple(str(f) for f in (found.output_file_id, found.error_file_id) if f)
    errors = getattr(found.errors, "data", None) or ()
    said = "; ".join(str(getattr(e, "message", None) or e) for e in errors)[:300]
    return Look(_STATES.get(found.status, "running"), files, said)


async def collect(model: Model, file_ids: Sequence[str]) -> tuple[Result, ...]:
    """Fetch the files of a batch that has ended and read what became of its calls."""
    import litellm

    found: list[Result] = []
    for file_id in file_ids:
        fetch = partial(litellm.afile_content, file_id=file_id, **_door(model))
        done = await _patiently(fetch)
        found += results(model, bytes(done.content))
    return tuple(found)


def results(model: Model, data: bytes) -> Iterator[Result]:
    """Read a file of replies or of errors; a line that says nothing readable is passed over: its call is sent again.

    Raises:
        ServiceRefusedError: If the provider refused the calls for key, permission or an unknown model.
    """
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
        raise ServiceRefusedError(f"{model.name}: {detail}")
    if code in {"content_filter", "content_policy_violation"}:
        return Result(key, Reply(failure="refused", detail=detail), None, detail)
    if code == "context_length_exceeded":
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
        # litellm opens a client of its own for each of these calls and never closes it.
        "extra_headers": {"Connection": "close"},
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
    import openai

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
                    return await step()
                except (openai.OpenAIError, OSError) as error:
                    raise _sorted(error) from None
    except AttemptFailed as error:
        raise ServiceDownError(f"the batch endpoint failed six times, the last: {error.detail}") from None
    raise AssertionError("tenacity ends in a return or an error")


def _sorted(error: Exception) -> Exception:
    status, said = getattr(error, "status_code", None), " ".join(str(error).split())[:300]
    if isinstance(status, int) and 400 <= status < 500 and status not in {408, 409, 429}:
        return ServiceRefusedError(f"the batch endpoint says {status}: {said}")
    return AttemptFailed("rate_limited" if status == 429 else "service", said)
