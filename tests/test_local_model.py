"""The tiny real model serves structured replies, repeats itself and never outlives its parent."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from evaluators.local_model import ROOT, LocalModel, LocalModelError

pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watching a process that is no child needs Linux")
COMMAND = [sys.executable, "-m", "evaluators.local_model"]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 60}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}


def start(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run to the end with an open stdin, so that only a refusal ends it."""
    with start(*arguments) as process:
        code = process.wait(120)
        return subprocess.CompletedProcess(arguments, code, process.stdout.read(), process.stderr.read())


def ask(api_base: str, text: str, seed: int, *, max_tokens: int = 120, **more: object) -> dict:
    body = {"model": "any", "messages": [{"role": "user", "content": text}], "temperature": 1.0, "seed": seed}
    response = httpx.post(f"{api_base}/chat/completions", json={**body, "max_tokens": max_tokens, **more}, timeout=120)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_json_schema_is_obeyed_and_usage_and_snapshot_are_reported(local_model: LocalModel) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    reply = ask(local_model.api_base, "What has keys but opens no lock?", 1, response_format=wanted)
    value = json.loads(reply["choices"][0]["message"]["content"])
    assert isinstance(value["answer"], str)
    assert isinstance(value["sure"], bool)
    assert set(value) == {"answer", "sure"}
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"]["prompt_tokens"] > 5
    assert local_model.name == f"openai/{reply['model']}"


def test_the_same_request_and_seed_get_the_same_reply_whatever_was_asked_in_between(local_model: LocalModel) -> None:
    opening = "You are a careful judge of riddles. Read the riddle and say what you think about it. " * 4
    questions = [(opening + "A man walks in the rain.", 1), (opening + "Three gods, one liar.", 2), (opening, 3)]

    def reply(question: tuple[str, int]) -> str:
        return ask(local_model.api_base, *question, max_tokens=40)["choices"][0]["message"]["content"]

    first = [reply(question) for question in questions]
    assert [reply(question) for question in reversed(questions)] == first[::-1]
    assert reply((questions[0][0], 99)) != first[0]


def test_a_prompt_longer_than_the_context_is_refused_not_cut(local_model: LocalModel) -> None:
    body = {"model": "any", "messages": [{"role": "user", "content": "word " * 5000}], "max_tokens": 1}
    response = httpx.post(f"{local_model.api_base}/chat/completions", json=body, timeout=60)
    assert response.status_code == 400
    assert "exceeds the available context size" in response.text


@pidfd
def test_the_server_is_gone_when_its_block_ends(weights: Path) -> None:
    with LocalModel(weights) as model:
        exit_seen = os.pidfd_open(model.pid)
        assert httpx.get(f"{model.api_base}/models").status_code == 200
    assert has_ended(exit_seen)
    model.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_in_good_order(weights: Path, number: signal.Signals) -> None:
    with start("--model", str(weights)) as process:
        assert process.stdout.readline().startswith("READY http://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


@pidfd
def test_a_parent_killed_by_sigkill_leaves_no_server_behind(weights: Path) -> None:
    program = (
        "from pathlib import Path; from evaluators.local_model import LocalModel\n"
        f"with LocalModel(Path({str(weights)!r})) as model: print(model.pid, flush=True); input()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as parent:
        exit_seen = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    assert has_ended(exit_seen)


def has_ended(process: int) -> bool:
    try:
        return bool(select.select([process], [], [], 60)[0])
    finally:
        os.close(process)


def test_a_server_in_the_middle_of_a_reply_still_stops_at_once(weights: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Tell a long story."}], "stream": True, "ignore_eos": True}
    with start("--model", str(weights)) as process:
        url = process.stdout.readline().removeprefix("READY ").strip() + "/chat/completions"
        with httpx.stream("POST", url, json=body, timeout=60) as response:
            next(response.iter_bytes())
            process.stdin.close()
            assert process.wait(30) == 0  # the whole reply would take a minute or two


def test_a_server_that_is_not_ready_in_time_is_an_error_and_is_stopped(weights: Path) -> None:
    model = LocalModel(weights, timeout_seconds=0.001)
    with pytest.raises(LocalModelError, match=r"was not ready after 0\.001 s"):
        model.__enter__()
    with pytest.raises(ProcessLookupError):
        os.kill(model.pid, 0)


@pytest.mark.usefixtures("weights")
def test_a_file_that_is_no_model_is_named_in_the_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(LocalModelError, match=r"broken\.gguf"):
        LocalModel(broken).__enter__()


@pytest.mark.usefixtures("weights")
def test_a_port_in_use_is_refused_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--port", str(port))
    assert (result.returncode, result.stdout) == (1, "")
    assert f"on port {port}" in result.stderr


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    # -S leaves site-packages out, which is what a checkout without the extra looks like to this module.
    command = [sys.executable, "-S", "-m", "evaluators.local_model"]
    result = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: the local model needs the package 'xllamacpp'")
    assert "make .venv/local-model" in result.stderr


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--slots", "0"], ["--context", "x"], ["--nonsense"]])
def test_a_wrong_option_is_a_usage_error(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert arguments[0] in result.stderr


def test_a_model_file_that_does_not_exist_is_named() -> None:
    result = run("--model", "no/such.gguf")
    assert result.returncode == 1
    assert "'no/such.gguf' is not a file" in result.stderr
