"""Our task for Inspect, run by Inspect itself in its own environment, from a Hub on loopback and back again.

`DEERSTALKER_INSPECT` names that environment (integrations/inspect/requirements.txt).
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from builders.__main__ import main as builders
from builders.publish import carry_out, plan
from evaluators.bundle import read_bundle
from evaluators.submit import main as submit
from tests import test_novel_submit
from tests.conftest import missing
from tests.made_hub import REPO, child_environment, point_at, write_samples
from tests.servers.hub import Hub, serve
from tests.servers.model_server import ModelServer
from tests.test_layout import ROOMS, SOURCES, imports, within
from tests.test_submit import answers

ROOT = Path(__file__).resolve().parent.parent
TASK = ROOT / "integrations" / "inspect" / "deerstalker.py"
JUDGES = ("j1", "j2", "j3")


@pytest.fixture
def inspect() -> Path:
    """The command `inspect` of an environment that has it."""
    found = Path(os.environ.get("DEERSTALKER_INSPECT", "/nowhere")) / "bin" / "inspect"
    if not found.is_file():
        missing("inspect", "no DEERSTALKER_INSPECT: name an environment of integrations/inspect/requirements.txt")
    return found


def test_the_task_leans_on_our_light_modules_only() -> None:
    """Inspect's environment has neither litellm nor duckdb, and no room may lean on the task."""
    ours = {module.rpartition(".")[0] for module, _ in imports(ast.parse(TASK.read_text())) if module.startswith(ROOMS)}
    without = "import sys; sys.modules.update(dict.fromkeys(('litellm', 'duckdb', 'datasets', 'scipy')))"
    command = [sys.executable, "-c", f"{without}; import {', '.join(sorted(ours))}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [name for name, tree in SOURCES.items() if any(within(m, "integrations") for m, _ in imports(tree))]


def test_inspect_runs_the_riddles_of_a_published_split_and_its_log_comes_back_as_predictions(
    inspect: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(Hub()) as hub, ModelServer(answers) as server:
        with monkeypatch.context() as patch:
            point_at(hub, tmp_path / "own", patch)
            write_samples(tmp_path / "splits")
            carry_out(plan("samples", version="1.0.0", repo=REPO, root=tmp_path / "splits"))
        command = [str(inspect), "eval", f"{TASK}@riddles", "-T", f"split=hub:{REPO}/sample-llm@1.0.0"]
        command += ["-T", "judges=" + ",".join(f"openai-api/loop/{judge}" for judge in JUDGES)]
        command += ["--model", "openai-api/loop/solver", "--log-dir", str(tmp_path / "logs"), "--display", "plain"]
        keys = {"LOOP_API_KEY": "none", "LOOP_BASE_URL": server.url, "HOME": str(tmp_path)}
        environment = os.environ | child_environment(hub, tmp_path / "hub") | keys
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        # One judge of three is strict about every justification (tests/test_submit.py).
        assert re.search(r"mean\s+0\.667", done.stdout), done.stdout
        asked = {body["model"]: body["messages"] for body in server.requests if "Riddle 2:" in str(body)}
        (log,) = (tmp_path / "logs").glob("*.eval")
        out = ["--splits", str(tmp_path / "splits"), "--out", str(tmp_path / "out"), "--api-base", server.url]
        judges = ["--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--judge-api-base", server.url]
        model = ["--model", "openai/solver", "--provider", "maker", "--split", "sample-llm"]
        assert submit([*model, *out, *judges]) == 0
        ours = {body["model"]: body["messages"] for body in server.requests[16:] if "Riddle 2:" in str(body)}
        assert ours == asked, "solver and judges are told the same in both harnesses"
        assert submit([*model, *out, *judges, "--predictions", str(log), "--out", str(tmp_path / "back")]) == 0
    assert [t.answer for t in read_bundle(tmp_path / "back/bundle").transcripts] == [
        t.answer for t in read_bundle(tmp_path / "out/bundle").transcripts
    ]


def test_inspect_runs_the_novels_of_a_published_split_and_its_log_comes_back_as_predictions(
    inspect: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert builders(["build", "novel-samples", "--out", str(tmp_path / "splits")]) == 0
    with serve(Hub()) as hub, ModelServer(test_novel_submit.table) as server:
        with monkeypatch.context() as patch:
            point_at(hub, tmp_path / "own", patch)
            carry_out(plan("novel-samples", version="1.0.0", repo=REPO, root=tmp_path / "splits"))
        command = [str(inspect), "eval", f"{TASK}@novels", "-T", f"split=hub:{REPO}/sample-novel@1.0.0"]
        command += ["--model", "openai-api/loop/solver", "--log-dir", str(tmp_path / "logs"), "--display", "plain"]
        keys = {"LOOP_API_KEY": "none", "LOOP_BASE_URL": server.url, "HOME": str(tmp_path)}
        environment = os.environ | child_environment(hub, tmp_path / "hub") | keys
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        theirs = sorted(str(body["messages"]) for body in server.requests)
        (log,) = (tmp_path / "logs").glob("*.eval")
        out = ["--splits", str(tmp_path / "splits"), "--out", str(tmp_path / "out"), "--api-base", server.url]
        judges = ["--judges", test_novel_submit.JUDGES, "--judge-api-base", server.url]
        model = ["--model", "openai/solver", "--provider", "maker", "--split", "sample-novel"]
        assert submit([*model, *out, *judges]) == 0
        ours = [str(body["messages"]) for body in server.requests[len(theirs) :] if body["model"] == "solver"]
        assert sorted(ours) == theirs, "the model is told the same in both harnesses"
        assert submit([*model, *out, *judges, "--predictions", str(log), "--out", str(tmp_path / "back")]) == 0
    own = read_bundle(tmp_path / "out/bundle")
    assert [t.answer for t in read_bundle(tmp_path / "back/bundle").transcripts] == [t.answer for t in own.transcripts]
    right = [v.score for v in own.verdicts if v.kind == "rule" and v.score is not None]
    assert re.search(rf"mean\s+{sum(right) / len(right):.3g}", done.stdout), done.stdout
