"""The only door to a model: one attempt at one call through litellm, with usage, price and a typed failure."""

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from builders.values import Value
from evaluators.values import Failure, Message, Model, Reply, Usage

# Makers whose litellm prefix is also their name: only for these may the provider be read off a model string.
FIRST_PARTY = frozenset({"openai", "anthropic", "gemini", "mistral", "deepseek", "xai", "cohere"})


class ModelError(ValueError):
    """A model cannot be called as asked; nothing was sent."""


class ServiceRefusedError(RuntimeError):
    """The service refuses every call (key, permission, unknown model): going on would only repeat it."""


class Complete(Protocol):
    """The one seam to a model: a solver or judge gets it as an argument."""

    def __call__(
        self, messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0
    ) -> Awaitable[Reply]:
        """Send `messages`; `again` numbers repeats of one question, so that each is its own call."""


class AttemptFailed(Exception):  # noqa: N818 - not an error to a caller: the runner turns it into a retry or a Reply
    """One attempt failed in a way that may pass."""

    def __init__(self, failure: Failure, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.failure: Failure = failure
        self.detail = detail
        self.retry_after = retry_after


def provider_of(name: str) -> str | None:
    """Return the maker of a first-party litellm string; None where only a person can say."""
    prefix, slash, _ = name.partition("/")
    return prefix if slash and prefix in FIRST_PARTY else None


def _litellm() -> ModuleType:
    """Import litellm with its price table from the package: without this it asks the network first."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm


def warm() -> None:
    """Import now what the first call would import: seconds that a process can spend once for many."""
    _litellm()


def prepare(model: Model) -> None:
    """Refuse, before anything is sent, a model that cannot be called.

    Raises:
        ModelError: If litellm does not know the route, the provider's key is missing, or a decoding option is one
            that the provider does not take. The message names the remedy.
    """
    litellm = _litellm()
    try:
        _, route, _, _ = litellm.get_llm_provider(model.name, api_base=model.api_base)
    except litellm.BadRequestError:
        raise ModelError(
            f"model {model.name!r} has no provider that litellm knows; write it as provider/model, "
            "for example openai/gpt-5.1 (for an OpenAI-compatible endpoint of your own: openai/NAME with --api-base)"
        ) from None
    if model.api_base is None:
        missing = litellm.validate_environment(model.name)["missing_keys"]
        if missing:
            raise ModelError(f"model {model.name!r} needs a key: set {' or '.join(missing)} in the environment")
    supported = litellm.get_supported_openai_params(model.name, custom_llm_provider=route)
    asked = {k for k, v in _decoding(model).items() if v is not None and k != "thinking"}
    unsupported = sorted(asked - set(supported)) if supported and model.api_base is None else []
    if unsupported:
        raise ModelError(f"model {model.name!r} takes no {', '.join(unsupported)}; leave it out")


def _decoding(model: Model) -> dict[str, Any]:
    d = model.decoding
    options: dict[str, Any] = {
        "temperature": d.temperature,
        "top_p": d.top_p,
        "max_tokens": d.max_tokens,
        "reasoning_effort": d.reasoning_effort,
        "seed": d.seed,
    }
    if d.thinking_tokens is not None:
        options["thinking"] = {"type": "enabled", "budget_tokens": d.thinking_tokens}
    return {k: v for k, v in options.items() if v is not None}


def wire(message: Message) -> dict[str, Any]:
    """Write a message in the OpenAI form that litellm translates for every provider."""
    if not message.images:
        return {"role": message.role, "content": message.text}
    from base64 import b64encode

    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
    for image in message.images:
        if image.data is None:
            raise ValueError(f"image {image.sha256[:12]} was only recorded, its bytes are gone: load the split again")
        url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": message.role, "content": parts}


def strict_schema(schema: type[Value]) -> dict[str, Any]:
    """Describe a reply in the strict JSON-schema form that providers take."""
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.__name__, "schema": schema.model_json_schema(), "strict": True},
    }


def options(model: Model, schema: type[Value] | None) -> dict[str, Any]:
    """How a model decodes, and the form it is asked for, in litellm's words."""
    found = _decoding(model)
    if schema is not None and model.decoding.json_schema:
        found["response_format"] = strict_schema(schema)
    return found


def endpoint(model: Model) -> dict[str, Any]:
    """Where a model is called, in litellm's words."""
    if model.api_base is None:
        return {}
    # A server of one's own often has no key, and the OpenAI client insists on one.
    return {"api_base": model.api_base, "api_key": os.environ.get("OPENAI_API_KEY") or "none"}


async def attempt(model: Model, messages: Sequence[Message], *, schema: type[Value] | None, limit: float) -> Reply:
    """Make one call.

    Args:
        model: What to call and how it decodes.
        messages: The conversation so far, images with their bytes.
        schema: Form of the reply, sent as a strict JSON schema; whether the reply has it is the caller's to check.
        limit: Seconds for the whole attempt, a slow trickle included.

    Returns:
        A reply with text, or with a failure that another attempt would not mend (refused, too_long, rejected).

    Raises:
        AttemptFailed: If another attempt may succeed.
        ServiceRefusedError: If no call to this model can succeed.
    """
    litellm = _litellm()
    began = time.monotonic()
    try:
        async with asyncio.timeout(limit):
            response = await litellm.acompletion(
                model=model.name,
                messages=[wire(m) for m in messages],
                timeout=limit,
                max_retries=0,
                num_retries=0,
                **options(model, schema),
                **endpoint(model),
            )
    except TimeoutError:
        raise AttemptFailed("timeout", f"no whole reply within {limit:g} s") from None
    except Exception as error:  # noqa: BLE001 - the one place: whatever a client library raises becomes a failure
        return _failed(litellm, model, error, seconds=time.monotonic() - began)
    return read_response(model, response, seconds=time.monotonic() - began)


def read_response(model: Model, response: Any, *, seconds: float = 0.0) -> Reply:
    """Turn a completion as litellm has it into a reply.

    Raises:
        AttemptFailed: If it holds nothing; another attempt may succeed.
    """
    if not response.choices:
        raise AttemptFailed("service", "the reply holds no choice")
    choice = response.choices[0]
    usage = _usage(getattr(response, "usage", None))
    common = {
        "finish_reason": choice.finish_reason,
        "snapshot": response.model,
        "usage": usage,
        "cost_usd": price(model, usage),
        "seconds": seconds,
    }
    if choice.finish_reason == "content_filter" or getattr(choice.message, "refusal", None):
        return Reply(failure="refused", detail="the model or its provider declined to answer", **common)
    return Reply(text=choice.message.content or "", **common)


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cached_tokens=getattr(prompt, "cached_tokens", None),
        reasoning_tokens=getattr(completion, "reasoning_tokens", None),
    )


def price(model: Model, usage: Usage) -> float | None:
    """Price tokens in USD from litellm's table; None where the table has no price or the tokens are unknown.

    A listed price of 0 counts as unknown: the table writes 0 for models whose price it does not know.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    litellm = _litellm()
    try:
        input_cost, output_cost = litellm.cost_per_token(
            model=model.name,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens or 0,
        )
        listed = litellm.get_model_info(model.name)
    except (litellm.ModelNotMappedError, litellm.BadRequestError, litellm.NotFoundError, ValueError):
        return None
    if not listed.get("input_cost_per_token") and not listed.get("output_cost_per_token"):
        return None
    return float(input_cost + output_cost)


def count_tokens(model: Model, messages: Sequence[Message]) -> int:
    """Count the input tokens of a call with litellm's tokenizer for the model; images are not counted."""
    texts = [{"role": m.role, "content": m.text} for m in messages]
    return int(_litellm().token_counter(model=model.name, messages=texts))


def _failed(litellm: ModuleType, model: Model, error: Exception, *, seconds: float) -> Reply:
    """Sort an exception into a reply that stays failed, another attempt, or the end of the run."""
    detail = " ".join(str(error).split())[:300]
    # The status decides: litellm's exception classes differ between providers for one and the same status.
    status = getattr(error, "status_code", None)
    if isinstance(error, litellm.ContentPolicyViolationError):
        return Reply(failure="refused", detail=detail, seconds=seconds)
    if isinstance(error, litellm.ContextWindowExceededError) or "context_length" in detail:
        return Reply(failure="too_long", detail=detail, seconds=seconds)
    if status in {401, 402, 403, 404}:
        raise ServiceRefusedError(f"{model.name}: {detail}") from None
    if isinstance(error, litellm.Timeout) or status == 408:
        raise AttemptFailed("timeout", detail) from None
    if status == 429:
        raise AttemptFailed("rate_limited", detail, retry_after=retry_after(_headers(error))) from None
    if isinstance(status, int) and 400 <= status < 500:
        return Reply(failure="rejected", detail=detail, seconds=seconds)
    if status is not None or isinstance(error, OSError):
        raise AttemptFailed("service", detail, retry_after=retry_after(_headers(error))) from None
    raise error


def _headers(error: Exception) -> Mapping[str, str]:
    return getattr(error, "litellm_response_headers", None) or {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After, in seconds or as an HTTP date; None where there is none that can be read."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def is_loopback(api_base: str | None) -> bool:
    """Whether an endpoint is on this machine, where a call costs nothing."""
    return api_base is not None and urlsplit(api_base).hostname in {"127.0.0.1", "localhost", "::1"}


def public(model: Model) -> Model:
    """The model as others may know it: an endpoint on this machine says nothing to them."""
    return model.model_copy(update={"api_base": None}) if is_loopback(model.api_base) else model
