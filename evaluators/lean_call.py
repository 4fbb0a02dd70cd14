"""The short way through litellm to an endpoint that speaks OpenAI's protocol: the same request, less CPU time."""

from datetime import datetime
from types import ModuleType
from typing import Any

ROUTE = "hosted_vllm"


async def acompletion(litellm: ModuleType, *, model: str, messages: list[dict[str, Any]], **options: Any) -> Any:
    """Make a call as `litellm.acompletion` makes it, with the same request; on the `hosted_vllm` route for less.

    That function hands each call to a thread and back, looks for its price in tables that do not list it, and reports
    it to integrations that are not there: a third of its CPU time (`make bench-run`). Here litellm's synchronous door
    is asked for the coroutine that its asynchronous one awaits; on this route it makes one without blocking.

    Raises:
        Exception: What `as_told` turns into what `litellm.acompletion` raises.
    """
    if not model.startswith(f"{ROUTE}/"):
        return await litellm.acompletion(model=model, messages=messages, **options)
    heard = litellm.Logging(
        model=model,
        messages=messages,
        stream=False,
        call_type="acompletion",
        start_time=datetime.now(),  # litellm's own, without a zone
        litellm_call_id="",
        function_id="",
    )
    return await litellm.completion(
        model=model, messages=messages, acompletion=True, litellm_logging_obj=heard, litellm_call_id="", **options
    )


def as_told(litellm: ModuleType, model: str, error: Exception) -> Exception:
    """What `litellm.acompletion` would have raised in the place of an error of the short way."""
    if not model.startswith(f"{ROUTE}/"):
        return error
    kinds: tuple[type[Exception], ...] = tuple(litellm.LITELLM_EXCEPTION_TYPES)
    try:
        litellm.exception_type(
            model=model, custom_llm_provider=ROUTE, original_exception=error, completion_kwargs={}, extra_kwargs={}
        )
    except kinds as told:
        return told
    return error  # it was one of litellm's already
