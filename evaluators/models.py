"""The only door to a model: one attempt at one call through litellm, with usage, price and a typed failure."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from builders.values import Value
from evaluators.sending import ROUTE, acompletion, as_told, send_once
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


@lru_cache(maxsize=1)
def _litellm() -> ModuleType:
    """Import litellm with its tables from the package: without this it asks the network for each of them first."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    send_once()
    return litellm


def warm() -> None:
    """Import now what the first call would import: seconds that a process can spend once for many."""
    _litellm()


def hush() -> None:
    """Let litellm print and hand on nothing of a call, whatever debugging somebody switched on.

    Its loggers are the caller's to silence: they are those of the standard library.
    """
    litellm = _litellm()
    quiet: dict[str, object] = {"set_verbose": False, "log_raw_request_response": False}
    quiet |= {"turn_off_message_logging": True, "cache": None}
    hooks = ["callbacks", "input_callback", "success_callback", "failure_callback", "service_callback"]
    hooks += ["_async_input_callback", "_async_success_callback", "_async_failure_callback"]
    for name, value in (quiet | {name: [] for name in hooks}).items():
        setattr(litellm, name, value)


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


def takes(model: Model, option: str) -> bool:
    """Whether a model takes a decoding option; an endpoint of one's own is taken to, an unknown name is not."""
    if model.api_base is not None:
        return True
    litellm = _litellm()
    try:
        _, route, _, _ = litellm.get_llm_provider(model.name)
    except litellm.BadRequestError:
        return False
    return option in (litellm.get_supported_openai_params(model.name, custom_llm_provider=route) or ())


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
    # Made anew from text each time: pydantic takes ten times as long, and litellm may change what it is given.
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.__name__, "schema": json.loads(_schema_text(schema)), "strict": True},
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
    service, slash, _ = model.name.partition("/")
    keys = {"openai": os.environ.get("OPENAI_API_KEY"), "azure": os.environ.get("AZURE_API_KEY")}
    keys["hosted_vllm"] = os.environ.get("HOSTED_VLLM_API_KEY")
    if slash and service not in keys:
        return {"api_base": model.api_base}  # litellm finds the key of that service, and sends it nowhere else
    # A server of one's own often has no key, and the OpenAI client insists on one.
    return {"api_base": model.api_base, "api_key": keys[service if slash else "openai"] or "none"}


@lru_cache(maxsize=256)
def _schema_text(schema: type[Value]) -> str:
    return json.dumps(schema.model_json_schema())


@lru_cache(maxsize=256)
def route(model: Model) -> str:
    """Name under which litellm is asked for a model; records keep the model's own.

    Endpoints of one's own that speak OpenAI's protocol are reached by litellm's `hosted_vllm` route: the same request
    and failures for half the CPU time (`make bench-run`). OpenAI's own models stay where they are, with their options.
    """
    prefix, _, name = model.name.partition("/")
    if prefix != "openai" or model.api_base is None or urlsplit(model.api_base).hostname == "api.openai.com":
        return model.name
    litellm = _litellm()
    own = name in litellm.open_ai_chat_completion_models or litellm.OpenAIGPT5Config.is_model_gpt_5_model(name)
    return model.name if own or model.decoding.thinking_tokens else f"{ROUTE}/{name}"


async def attempt(
    model: Model,
    messages: Sequence[Message],
    *,
    schema: type[Value] | None,
    limit: float,
    priced: Callable[[Model, Usage], float | None] | None = None,
) -> Reply:
    """Make one call.

    Args:
        model: What to call and how it decodes.
        messages: The conversation so far, images with their bytes.
        schema: Form of the reply, sent as a strict JSON schema; whether the reply has it is the caller's to check.
        limit: Seconds for the whole attempt, a slow trickle included.
        priced: Price of tokens in USD; None: litellm's table.

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
            response = await acompletion(
                litellm,
                model=route(model),
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
        return _failed(litellm, model, as_told(litellm, route(model), error), seconds=time.monotonic() - began)
    reply = read_response(response, seconds=time.monotonic() - began)
    return reply.model_copy(update={"cost_usd": (priced or price)(model, reply.usage)})


async def hang_up() -> None:
    """Close the connections that calls left open, before their event loop ends; the next call opens new ones."""
    if "litellm" in sys.modules:
        await _litellm().close_litellm_async_clients()


def read_response(response: Any, *, seconds: float = 0.0) -> Reply:
    """Turn a completion as litellm has it into a reply without its price.

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
        # litellm writes 0 where the service said nothing; no prompt has no tokens.
        input_tokens=usage.prompt_tokens or None,
        output_tokens=usage.completion_tokens if usage.prompt_tokens else None,
        cached_tokens=getattr(prompt, "cached_tokens", None),
        reasoning_tokens=getattr(completion, "reasoning_tokens", None),
    )


def price(model: Model, usage: Usage, *, batch: bool = False) -> float | None:
    """Price tokens in USD from litellm's table; None where the table has no price or the tokens are unknown.

    A listed price of 0 counts as unknown: the table writes 0 for models whose price it does not know. Tokens that
    came from the provider's cache count at the price of cached ones.

    Args:
        batch: At the price of the provider's batch interface, half of the ordinary one where the table lists none.
    """
    if usage.input_tokens is None or usage.output_tokens is None or not _listed(model.name):
        return None
    litellm, cached = _litellm(), {"cached_tokens": usage.cached_tokens or 0}
    if batch:
        counted = litellm.Usage(
            prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens, prompt_tokens_details=cached
        )
        name, served_by, _, _ = litellm.get_llm_provider(model.name, api_base=model.api_base)
        return float(sum(litellm.cost_calculator.batch_cost_calculator(counted, name, served_by)))
    input_cost, output_cost = litellm.cost_per_token(
        model=model.name,
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cached_tokens or 0,
    )
    return float(input_cost + output_cost)


@lru_cache(maxsize=256)
def _listed(name: str) -> Mapping[str, Any]:
    """The table's line of a model; empty where there is none, or none with a price."""
    litellm = _litellm()
    try:
        listed: Mapping[str, Any] = litellm.get_model_info(name)
        # What cannot be priced is found out here, once, and not at every call.
        litellm.cost_per_token(model=name, prompt_tokens=1, completion_tokens=1)
    except (litellm.ModelNotMappedError, litellm.BadRequestError, litellm.NotFoundError, ValueError):
        return {}
    return listed if listed.get("input_cost_per_token") or listed.get("output_cost_per_token") else {}


def count_tokens(model: Model, messages: Sequence[Message]) -> int:
    """Count the input tokens of a call with litellm's tokenizer for the model; images are not counted."""
    texts = [{"role": m.role, "content": m.text} for m in messages]
    return int(_litellm().token_counter(model=model.name, messages=texts))


def input_limit(model: Model) -> int | None:
    """Most input tokens of a call by litellm's table; None where it does not know.

    An endpoint of one's own may serve another model under a listed name, so there the table says nothing.
    """
    litellm = _litellm()
    if model.api_base is not None:
        return None
    try:
        known = litellm.get_model_info(model.name).get("max_input_tokens")
    except (litellm.ModelNotMappedError, litellm.BadRequestError, litellm.NotFoundError, ValueError):
        return None
    return int(known) if known else None


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
