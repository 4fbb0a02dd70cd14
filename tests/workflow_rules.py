"""The rules that every workflow keeps, as a function from its text to what breaks them."""

import re
from collections.abc import Collection, Iterator
from typing import Any

import yaml

PINNED = re.compile(r"^\s*(?:- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
FORBIDDEN = ("pull_request_target", "workflow_run")
# What a step gets through its variables and nothing else.
EXPRESSION = "${{"
# Keys of judges' providers, and what opens sealed cases or stands beside it.
JUDGE, CASES = "secrets.JUDGE_", "secrets.CASES_"


def broken_rules(text: str) -> list[str]:
    """Name every rule that a workflow breaks."""
    workflow = yaml.load(text, Loader=yaml.BaseLoader)  # BaseLoader: `on` stays a word
    found = [f"{name} is never used" for name in FORBIDDEN if re.search(rf"\b{name}\b", _code(text))]
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"^\s*(- )?uses:", line) and not PINNED.match(line):
            found.append(f"line {number}: an action is pinned by 40 hex digits with its version beside it")
    if workflow.get("permissions") != {}:
        found.append("top-level permissions are {}")
    if "secrets" in str(workflow.get("env", "")) or "env" in workflow:
        found.append("no variable is set for a whole workflow")
    found += _apart(workflow.get("jobs", {}).values())
    for name, job in workflow.get("jobs", {}).items():
        found += [f"{name}: {problem}" for problem in _job(job, workflow["on"])]
    return found


def _apart(jobs: Collection[dict[str, Any]]) -> Iterator[str]:
    where = {key: {str(job.get("environment")) for job in jobs if key in str(job)} for key in (JUDGE, CASES)}
    if where[JUDGE] & where[CASES] or any(JUDGE in str(job) and CASES in str(job) for job in jobs):
        yield "judge keys and the case key are in different environments"
    steps = [str(step) for job in jobs for step in job.get("steps", [])]
    if any(CASES in step and "leaderboard" not in step and "evaluators" not in step for step in steps):
        yield "the case key reaches only the project's own commands"


def _code(text: str) -> str:
    return "\n".join(line.split(" #")[0] for line in text.splitlines() if not line.lstrip().startswith("#"))


def _job(job: dict[str, Any], triggers: Any) -> Iterator[str]:
    if "permissions" not in job:
        yield "a job states its permissions"
    if "timeout-minutes" not in job:
        yield "a job has a time limit"
    if "env" in job:
        yield "no variable is set for a whole job"
    everything = str(job)
    secret = "secrets." in everything
    if secret and "environment" not in job:
        yield "secrets stand in an environment"
    if secret and (set(triggers) != {"workflow_dispatch"}):
        yield "a job with secrets is started by hand"
    if "pull_request" in triggers and ("write" in str(job.get("permissions")) or secret):
        yield "a job on a pull request only reads"
    if "cache" in everything:
        yield "no job uses a cache"
    for step in job.get("steps", []):
        yield from _step(step)


def _step(step: dict[str, Any]) -> Iterator[str]:
    run = step.get("run", "")
    if EXPRESSION in run:
        yield "no expression inside run"
    for variable in re.findall(r"\$\{?(\w+)", run):
        if re.search(rf"(?<![\"+])\$\{{?{variable}\b(?!\S*\")(?!:\+)", run):
            yield f"${variable} is quoted"
    if len([line for line in run.splitlines() if line.strip()]) > 2:
        yield "a step runs one or two commands: the logic is Python that tests run"
    if (
        step.get("uses", "").startswith("actions/checkout@")
        and step.get("with", {}).get("persist-credentials") != "false"
    ):
        yield "a checkout keeps no credentials"
    if step.get("uses", "").startswith("actions/checkout@") and "head" in str(step.get("with", {}).get("ref", "")):
        yield "the head of a pull request is never checked out"
    if "secrets." in str({k: v for k, v in step.items() if k != "env"}):
        yield "a secret reaches a step through its variables only"
