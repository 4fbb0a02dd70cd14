"""Whatever breaks a connection, a request is sent once for each attempt that the runner knows of."""

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
    "azure/any": "/openai/deployments/any/chat/completions",
    "anthropic/claude-opus-4-5": "/v1/messages",
    "gemini/gemini-2.5-pro": ":generatecontent",
    "mistral/mistral-large-latest": "/chat/completions",
    "openrouter/maker/any": "/chat/completions",
    "xai/grok-4": "/chat/completions",
    "deepseek/deepseek-chat": "/chat/completions",
    "cohere/command-r-plus": "/",
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0": "/converse",
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


def posts_of_one_attempt(name: str, way: Way) -> list[str]:
    async def everything() -> list[str]:
        async with BrokenServer(way) as server:
            model = Model(name=name, provider="maker", api_base=server.url)
            with pytest.raises(AttemptFailed) as caught:
                await attempt(model, HELLO, schema=None, limit=30)
            assert caught.value.failure == "service"
            return server.posts

    return run_calls(everything())


@quiet
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.usefixtures("keys")
def test_a_request_whose_connection_broke_is_not_sent_again(name: str, way: Way) -> None:
    (path,) = posts_of_one_attempt(name, way)
    assert path.partition("?")[0].endswith(ROUTES[name])


@quiet
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("keys")
def test_nor_is_it_where_litellm_is_told_to_use_httpx(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    for name in ROUTES:
        assert len(posts_of_one_attempt(name, way)) == 1


def test_every_request_is_an_attempt_that_journal_and_tally_know_of(tmp_path: Path) -> None:
    broken = [Answer(fault="reset"), Answer(fault="drop"), Answer(fault="reset")]
    with ModelServer(lambda _, n: broken[n - 1] if n <= 3 else Answer()) as server, Journal(tmp_path / "j") as journal:
        runner = Runner(journal, shortest_wait=0)
        ask = runner.complete(Model(name="openai/any", provider="maker", api_base=server.url))
        reply = run_calls(ask(HELLO))  # type: ignore[arg-type]
    assert (reply.failure, reply.attempts, dict(runner.tally.retries)) == (None, 4, {"service": 3})
    assert len(server.requests) == 4
