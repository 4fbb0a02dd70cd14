"""What litellm sends it sends once: it posts a request again, unasked, when the connection broke."""

from typing import NoReturn


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
