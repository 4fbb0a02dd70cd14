"""How litellm sends a call: once, and the short way where there is one."""

from datetime import datetime
from types import ModuleType
from typing import Any, NoReturn

ROUTE = "hosted_vllm"  # to endpoints that speak OpenAI's protocol: the one with a short way


def send_once() -> None:
    """Close the one door of litellm's second sending, for every route and for batches, once for the process.

    A client of our own would be for some routes only, and costs a call half as much again.
    """
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    AsyncHTTPHandler.single_connection_post_request = _not_again  # type: ignore[method-assign]


async def _not_again(*_given: object, **_named: object) -> NoReturn:
    """Stand where litellm 1.106 posts a request once more.

    The service may have read the first, answered it and charge for it, and neither the journal, nor the cap on cost,
    nor the limits would know of the second. litellm calls this while it handles the error of the first, which goes on
    from here.
    """
    raise  # noqa: PLE0704


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
