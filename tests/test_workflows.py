"""Workflows: the rules they keep, and what their steps do when they are run in order from the files themselves."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.made_bundle import write_made_bundle
from tests.made_request import ROOT, Upstream, git, lend_environment, make_upstream
from tests.servers.model_server import Answer, ModelServer
from tests.workflow_rules import broken_rules

FOLDER = ROOT / ".github/workflows"
WORKFLOWS = sorted(path.name for path in FOLDER.glob("*.y*ml"))
TEXTS = {name: (FOLDER / name).read_text() for name in WORKFLOWS}


def test_there_is_a_workflow_for_each_stage() -> None:
    stages = {
        "ci.yml",
        "validate-submission.yml",
        "score-submission.yml",
        "publish-splits.yml",
        "site.yml",
        "health.yml",
    }
    assert stages == set(WORKFLOWS)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_keeps_the_rules(name: str) -> None:
    assert broken_rules(TEXTS[name]) == []


CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
BREAKS = {
    "pull_request_target": ("  pull_request:\n", "  pull_request_target:\n", "pull_request_target is never used"),
    "workflow_run": ("  pull_request:\n", "  workflow_run:\n", "workflow_run is never used"),
    "a tag": (CHECKOUT, "actions/checkout@v6", "pinned"),
    "a short commit": (CHECKOUT, "actions/checkout@de0fac2e # v6.0.2", "pinned"),
    "no version": (CHECKOUT, CHECKOUT.split(" #", maxsplit=1)[0], "pinned"),
    "no permissions": ("permissions: {}\n", "", "top-level permissions"),
    "all permissions": ("permissions: {}\n", "permissions: write-all\n", "top-level permissions"),
    "a job without permissions": ("    permissions:\n      contents: read\n", "", "a job states its permissions"),
    "a job that writes": ("      contents: read\n", "      contents: write\n", "only reads"),
    "an expression": ("run: make .venv/ready", "run: echo ${{ github.event.pull_request.title }}", "no expression"),
    "an input": ("run: make .venv/ready", "run: echo ${{ inputs.pull }}", "no expression"),
    "no quotes": ('--head "$HEAD"', "--head $HEAD", "quoted"),
    "credentials": ("          persist-credentials: false\n", "", "no credentials"),
    "the head": ("pull_request.base.sha", "pull_request.head.sha", "never checked out"),
    "a secret": ("PULL: ${{", "KEY: ${{ secrets.KEY }}\n          PULL: ${{", "environment"),
    "a cache": ("    steps:\n", "    steps:\n      - uses: actions/cache@" + "0" * 40 + " # v4.0.0\n", "cache"),
    "no time limit": ("    timeout-minutes: 15\n", "", "time limit"),
    "a variable for all": ("jobs:\n", "env:\n  X: y\njobs:\n", "whole workflow"),
    "a program in YAML": (
        "run: make .venv/ready",
        "run: |\n          a\n          b\n          c",
        "one or two commands",
    ),
}


@pytest.mark.parametrize("case", BREAKS)
def test_a_workflow_that_breaks_a_rule_is_told(case: str) -> None:
    old, new, rule = BREAKS[case]
    text = TEXTS["validate-submission.yml"]
    assert old in text
    assert any(rule in problem for problem in broken_rules(text.replace(old, new, 1)))


def installed(name: str) -> str:
    path = Path(sys.executable).with_name(name)
    if importlib.util.find_spec(name.replace("-", "_")) is None and not path.exists():
        pytest.skip(f"{name} is not installed: make .venv/ready")
    return str(path)


def test_zizmor_finds_nothing_of_any_severity() -> None:
    command = [installed("zizmor"), "--offline", "--persona=auditor", "--no-ignores", "--no-progress", ".github"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_files_for_github_fit_its_schemas(schema: str, files: str) -> None:
    names = [str(path) for path in sorted(ROOT.glob(files))]
    assert names
    command = [installed("check-jsonschema"), "--builtin-schema", schema, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_owners_name_files_that_there_are() -> None:
    rules = [line.split()[0] for line in (ROOT / ".github/CODEOWNERS").read_text().splitlines() if line[:1] in "/*"]
    for rule in rules:
        if rule not in ("*", "/leaderboard/records.jsonl"):  # the changelog begins with the first change
            assert list(ROOT.glob(rule.strip("/"))), rule
    assert {"/.github/", "/evaluators/check/", "/evaluators/scores.py", "/leaderboard/review.py"} <= set(rules)


class Runner:
    """Runs the `run` steps of a workflow file in a clone, as a hosted runner would, with the secrets it is given."""

    def __init__(self, upstream: Upstream, home: Path, **context: str) -> None:
        self.upstream = upstream
        self.home = home
        self.context = context
        self.summary = home / "summary.md"
        self.summary.touch()

    def job(self, workflow: str, name: str, *, base: str = "main") -> list[subprocess.CompletedProcess[str]]:
        """Run one job in a fresh clone at `base`; ends with the first step that fails."""
        clone = self.home / f"{workflow}.{name}"
        git(self.home, "clone", "--quiet", str(self.upstream.remote), str(clone))
        git(clone, "checkout", "--quiet", "--detach", base if base != "main" else "origin/main")
        lend_environment(clone)
        done = []
        for step in yaml.safe_load(TEXTS[workflow])["jobs"][name]["steps"]:
            action = step.get("uses", "").split("@")[0]
            if action == "actions/upload-artifact":
                shutil.copytree(clone / step["with"]["path"], self.home / "artifacts" / step["with"]["name"])
            elif action == "actions/download-artifact":
                shutil.copytree(self.home / "artifacts" / step["with"]["name"], clone / step["with"]["path"])
            if "run" in step and not step.get("if"):
                done.append(self._run(step, clone))
                if done[-1].returncode:
                    break
        self.clone = clone
        return done

    def _run(self, step: Mapping[str, Any], clone: Path) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = {name: self._fill(str(value)) for name, value in step.get("env", {}).items()}
        own = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_REPOSITORY": "deer/stalker"}
        own |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        return subprocess.run(
            command, cwd=clone, env=kept | own | given, capture_output=True, text=True, check=False, timeout=300
        )

    def _fill(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda match: self.context.get(match[1], ""), text)


def ended_well(steps: list[subprocess.CompletedProcess[str]]) -> None:
    for step in steps:
        assert step.returncode == 0, f"{step.args[-1]}\n{step.stdout}\n{step.stderr}"


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    return make_upstream(tmp_path_factory.mktemp("hosted"))


def send(root: Path) -> Path:
    return write_made_bundle(root / "leaderboard/submissions")


def verdict(_body: object, _attempt: int) -> Answer:
    return Answer(content='{"is_answer_correct": true, "is_justification_correct": true}')


def test_a_bundle_goes_from_pull_request_to_board(upstream: Upstream, tmp_path: Path) -> None:
    """Stages A, B and C from the files: no secret in A, a loopback judge and throw-away keys in B."""
    head, base = upstream.request(7, send), git(upstream.remote, "rev-parse", "main")
    event = "github.event.pull_request."
    a = Runner(upstream, tmp_path, **{f"{event}number": "7", f"{event}head.sha": head, f"{event}base.sha": base})
    ended_well(a.job("validate-submission.yml", "validate", base=base))
    assert a.summary.read_text().startswith("## Your submission: passes")

    with ModelServer(verdict) as judge:
        inputs = {"inputs.pull": "7", "inputs.head": head, "inputs.jury": "tiny-local"}
        settings = {"vars.JUDGE_SPEND_CAP_USD": "1", "vars.JUDGE_API_BASE": judge.url}
        keys = {f"secrets.JUDGE_{maker}_API_KEY": f"throw-away-{maker}" for maker in ("OPENAI", "GEMINI")}
        b = Runner(upstream, tmp_path, **inputs, **settings, **keys)
        steps = b.job("score-submission.yml", "judge")
        ended_well(steps)
        assert len(judge.requests) == 24 * 3
    leaving = b"".join(p.read_bytes() for p in (tmp_path / "artifacts").rglob("*") if p.is_file())
    assert b"throw-away" not in leaving
    assert not any("throw-away" in step.stdout + step.stderr for step in steps)

    c = Runner(upstream, tmp_path, **inputs)
    ended_well(c.job("score-submission.yml", "record"))
    assert git(upstream.remote, "rev-parse", "main") == base, "only a maintainer merges"
    changed = git(upstream.remote, "diff", "--name-only", "main", "record/acme-1").splitlines()
    assert len(changed) == 7
    git(upstream.remote, "update-ref", "refs/heads/main", "record/acme-1")

    ended_well(c.job("site.yml", "build"))
    data = json.loads((c.clone / "build/site/_build/data/sample-llm.json").read_text())
    assert {(e["submission_id"], e["tier"], e["jury"]) for e in data["estimates"]} == {
        ("acme-1.rejudged", "rejudged", "tiny-local")
    }
    history = (c.clone / "build/site/_build/history.html").read_text()
    assert "acme-1.rejudged" in history


def test_a_bad_bundle_ends_stage_a_with_one_and_says_what_to_do(upstream: Upstream, tmp_path: Path) -> None:
    def spoiled(root: Path) -> None:
        path = send(root) / "submission.yaml"
        path.write_text(path.read_text().replace("acme/solver", "<script>alert(1)</script>"))

    base = git(upstream.remote, "rev-parse", "main")
    head, event = upstream.request(8, spoiled), "github.event.pull_request."
    a = Runner(upstream, tmp_path, **{f"{event}number": "8", f"{event}head.sha": head, f"{event}base.sha": base})
    steps = a.job("validate-submission.yml", "validate", base=base)
    assert [s.returncode for s in steps] == [0, 0, 1]
    assert "needs changes" in a.summary.read_text()


def test_an_input_that_is_a_command_runs_nothing(upstream: Upstream, tmp_path: Path) -> None:
    evil = f'"; touch {tmp_path}/owned; echo "'
    b = Runner(upstream, tmp_path, **{"inputs.pull": evil, "inputs.head": f"$(touch {tmp_path}/owned)"})
    assert b.job("score-submission.yml", "judge")[-1].returncode == 2
    assert not (tmp_path / "owned").exists()


def test_without_a_spend_cap_no_judge_is_asked(upstream: Upstream, tmp_path: Path) -> None:
    head = upstream.request(9, lambda root: write_made_bundle(root / "leaderboard/submissions", "acme-9"))
    with ModelServer(verdict) as judge:
        inputs = {"inputs.pull": "9", "inputs.head": head, "inputs.jury": "tiny-local"}
        b = Runner(upstream, tmp_path, **inputs, **{"vars.JUDGE_API_BASE": judge.url})
        assert b.job("score-submission.yml", "judge")[-1].returncode == 2
        assert judge.requests == []
