"""Whatever breaks a connection, a request is sent once for each attempt that the runner knows of."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from evaluators.journal import Journal
from evaluators.models import AttemptFailed, attempt
from evaluators.run import run_calls
from evaluators.runner import Runner
from evaluators.values import Message, Model
from tests.servers.broken_server import WAYS, BrokenServer, Way
from tests.servers.model_server import Answer, ModelServer

HELLO = (Message(role="user", text="hello"),)
# The routes that `--model` takes with an endpoint of one's own, and where on it litellm posts.
ROUTES = {
    "openai/gpt-4o-mini": "/chat/completions",
    "openai/any": "/chat/completions",
    "hosted_vllm/any": "/chat/completions",
    "azure/any": "/openai/deployments/any/chat/completions?api-version=2024-10-21",
    "anthropic/claude-opus-4-5": "/v1/messages",
    "gemini/gemini-2.5-pro": "/models/gemini-2.5-pro:generateContent",
    "mistral/mistral-large-latest": "/v1/chat/completions",
    "openrouter/maker/any": "/chat/completions",
    "xai/grok-4": "/chat/completions",
    "deepseek/deepseek-chat": "/chat/completions",
    "cohere/command-r-plus": "/",
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0": "/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/converse",
}
KEYS = ("OPENAI", "AZURE", "ANTHROPIC", "GEMINI", "MISTRAL", "OPENROUTER", "XAI", "DEEPSEEK", "COHERE")

quiet = pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning")  # litellm's route to Cohere warns of its own types


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in KEYS:
        monkeypatch.setenv(f"{service}_API_KEY", "none")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    for name, value in (("ACCESS_KEY_ID", "none"), ("SECRET_ACCESS_KEY", "none"), ("REGION_NAME", "eu-west-1")):
        monkeypatch.setenv(f"AWS_{name}", value)


def posts(names: Sequence[str]) -> dict[tuple[str, Way], list[str]]:
    """Where one attempt at each of these models posted, by what was the matter with the service."""

    async def everything() -> dict[tuple[str, Way], list[str]]:
        found = {}
        for name, way in product(names, WAYS):
            async with BrokenServer(way) as server:
                model = Model(name=name, provider="maker", api_base=server.url)
                with pytest.raises(AttemptFailed) as caught:
                    await attempt(model, HELLO, schema=None, limit=60)
                assert caught.value.failure == ("rate_limited" if way == "429" else "service")
                found[name, way] = server.posts
        return found

    return run_calls(everything())


@quiet
@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.usefixtures("keys")
def test_a_request_that_was_not_answered_is_not_sent_again(name: str) -> None:
    assert posts([name]) == {(name, way): [ROUTES[name]] for way in WAYS}


@quiet
@pytest.mark.usefixtures("keys")
def test_nor_is_it_where_litellm_is_told_to_use_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    names = ["openai/gpt-4o-mini", "hosted_vllm/any", "anthropic/claude-opus-4-5"]
    assert posts(names) == {(name, way): [ROUTES[name]] for name in names for way in WAYS}


def test_every_request_is_an_attempt_that_journal_and_tally_know_of(tmp_path: Path) -> None:
    broken = [Answer(fault="reset"), Answer(fault="drop"), Answer(fault="reset")]
    with ModelServer(lambda _, n: broken[n - 1] if n <= 3 else Answer()) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, shortest_wait=0)
        ask = runner.complete(Model(name="openai/any", provider="maker", api_base=server.url))
        reply = run_calls(ask(HELLO))  # type: ignore[arg-type]
    assert (reply.failure, reply.attempts, dict(runner.tally.retries)) == (None, 4, {"service": 3})
    assert len(server.requests) == 4
