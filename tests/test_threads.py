"""Calls that are given up while litellm prepares them in a thread leave nothing behind."""

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluators.models import attempt
from evaluators.run import run_calls
from evaluators.threads import Threads
from evaluators.values import Message, Model
from tests.servers.model_server import ModelServer


async def call() -> str:
    return "sent"


def given_up(executor: Callable[[], ThreadPoolExecutor], *, late: bool) -> list[str]:
    """Warnings after a call was cancelled before its thread was done, or just after and before the loop heard of it."""

    async def main() -> None:
        loop, gate, done = asyncio.get_running_loop(), threading.Event(), threading.Event()
        loop.set_default_executor(executor())

        def prepare() -> object:
            gate.wait()
            made = call()
            done.set()
            return made

        waiting = loop.run_in_executor(None, prepare)
        await asyncio.sleep(0)
        if late:
            waiting.cancel()
        gate.set()
        done.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await loop.shutdown_default_executor()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    return [str(one.message) for one in seen if one.category is RuntimeWarning]


@pytest.mark.parametrize("late", [True, False])
def test_what_a_thread_prepares_for_a_call_that_was_given_up_is_put_away(late: bool) -> None:
    assert given_up(ThreadPoolExecutor, late=late) == ["coroutine 'call' was never awaited"]
    assert given_up(Threads, late=late) == []


def test_what_is_waited_for_comes_as_ever() -> None:
    async def main() -> list[object]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(Threads())
        found = [await loop.run_in_executor(None, str, 7), await (await loop.run_in_executor(None, call))]
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, divmod, 1, 0)
        return found

    assert asyncio.run(main()) == ["7", "sent"]


def test_calls_of_litellm_that_are_cancelled_at_any_moment_leave_no_warning() -> None:
    async def main(model: Model) -> None:
        for turns in range(60):
            asked = (Message(role="user", text=f"question {turns}"),)
            one = asyncio.create_task(attempt(model, asked, schema=None, limit=30))
            for _ in range(turns % 12):
                await asyncio.sleep(0)
            one.cancel()
            await asyncio.gather(one, return_exceptions=True)

    with ModelServer() as server, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", RuntimeWarning)
        run_calls(main(Model(name="openai/any", provider="me", api_base=server.url)))
        gc.collect()
    assert [str(one.message) for one in seen if "never awaited" in str(one.message)] == []
