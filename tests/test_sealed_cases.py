"""The leak test on cases: a canary in every field, debug level, failures, crashes, and then a search."""

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluators.sealed_bundle import open_bundle
from evaluators.write_rubrics import main as write_rubrics
from leaderboard.__main__ import main as leaderboard
from tests.made_case import table
from tests.made_sealed import cases, hold, key, leaks, runs_of, secret, write
from tests.made_soup import form
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"
SAID, MARKED = secret("said"), secret("rubric")
DERIVED = {part.encode() for text in (SAID, MARKED) for part in (text[:60], text[-60:])}
SECRETS = runs_of(cases(2).items) | DERIVED


def player(body: dict[str, Any], attempt: int) -> Answer:
    """Plays, grades and writes rubrics in words of its own."""
    kind = form(body)
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    if kind == "CaseAnswers":
        return Answer(content=json.dumps(dict.fromkeys(wanted["required"], SAID)))
    if kind == "LocationReply":
        left = str(body["messages"][1]["content"]).partition("# Places not yet visited")[2]
        return Answer(content=json.dumps({"location": re.findall(r"^- (.+)$", left, re.MULTILINE)[0]}))
    if kind == "Rubric":
        level = {"definition": MARKED, "examples": [MARKED], "edge_cases": MARKED}
        return Answer(content=json.dumps({"levels": [level] * 4, "steps": MARKED}))
    return table(body, attempt)


def quoting(body: dict[str, Any], attempt: int) -> Answer:
    """One grader's service quotes the whole request as it refuses it."""
    return Answer(status=400, raw=str(body).encode()) if body["model"] == "j2" else player(body, attempt)


CHILD = """
    import logging, os, sys
    os.environ |= {{"LITELLM_LOG": "DEBUG", "OPENAI_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}}
    logging.basicConfig(level=logging.DEBUG)
    import litellm
    litellm.set_verbose = True
    litellm._turn_on_debug()
    import evaluators.protocols.case.marking as marking
    from evaluators.submit import main

    def crash(case, transcript, complete, **_):
        raise RuntimeError(f"crashed on {{case.introduction}} with {{transcript!r}}")

    def refuse(case, transcript, complete, **_):
        type(case).model_validate(case.model_dump() | {{"locations": case.solution, case.title: 1}})

    judge = marking.judge
    for broken in {broken}:
        marking.judge = broken or judge
        print("exit code", main({argv!r}))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sealed cases and everything that a run on them writes."""
    file, recipient = key(tmp_path / "keys", "own")
    hold(monkeypatch, file)
    monkeypatch.setenv("DEERSTALKER_STORE", str(tmp_path / "all/results.duckdb"))
    write(cases(2), tmp_path / "all/splits", recipient)
    (tmp_path / "all/tmp").mkdir()
    return tmp_path / "all"


@pytest.mark.parametrize(
    ("reply", "broken", "says"),
    [
        (quoting, "(None,)", ("exit code 0", "2 with an incomplete jury")),
        (
            player,
            "(crash, refuse, None)",
            ("exit code 1", "RuntimeError at marking.py:", "ValidationError at marking.py:", "exit code 0", "overall"),
        ),
    ],
    ids=["a grader that fails", "a crash, a failed validation, and then a whole run"],
)
def test_of_sealed_cases_nothing_is_anywhere_in_clear(
    home: Path,
    reply: Callable[[dict[str, Any], int], Answer],
    broken: str,
    says: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ModelServer(reply) as server:
        at = ["--split", "watson-holmes@1.0", "--splits", str(home / "splits")]
        assert write_rubrics([*at, "--writer", "w:openai/writer", "--api-base", server.url]) == 0
        argv = [*at, "--model", "openai/solver", "--provider", "maker", "--api-base", server.url, "--judges", JUDGES]
        argv += ["--judge-api-base", server.url, "--out", str(home / "runs/one")]
        script = textwrap.dedent(CHILD).format(broken=broken, argv=argv)
        child = os.environ | {"TMPDIR": str(home / "tmp")}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=child, check=False)
    said = (done.stdout + done.stderr).decode()
    assert all(text in said for text in says), said[-3000:]
    (home / "said").write_text(said + "".join(capsys.readouterr()))
    (home / "submissions").mkdir()
    bundle = open_bundle(home / "runs/one/bundle")
    assert len(bundle.transcripts) == 2, "the run was a real one, and can be read with the key"
    hold(monkeypatch, None)
    places = [
        "--submissions",
        str(home / "submissions"),
        "--runs",
        str(home / "runs"),
        "--splits",
        str(home / "splits"),
    ]
    assert leaderboard(["build", *places, "--out", str(home / "site")]) == 0
    assert (home / "site/docs").is_dir()
    assert leaks(SECRETS, home) == []
