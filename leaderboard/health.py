"""Open an issue where a scheduled workflow failed or stopped running: python -m leaderboard health --workflow site.yml

Needs `gh` and its token (GH_TOKEN); it reads runs and writes at most one open issue a workflow.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple


class HealthError(RuntimeError):
    """gh is missing or failed."""


class Illness(NamedTuple):
    """What is wrong with a workflow."""

    title: str
    body: str


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m leaderboard health", description="Watch the scheduled workflows.")
    p.add_argument("--workflow", nargs="+", required=True, metavar="FILE", help="for example site.yml")
    p.add_argument("--hours", type=float, default=36, help="a schedule is dead after so long (default: %(default)s)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Look at the newest scheduled run of each workflow; 0 done, whether or not one is ill, 3 where gh failed."""
    options = parser().parse_args(argv)
    try:
        for name in options.workflow:
            illness = diagnose(name, _runs(name), now=datetime.now(UTC), hours=options.hours)
            print(f"{name}: {illness.title if illness else 'well'}")
            if illness is not None:
                _report(illness)
    except HealthError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


def diagnose(name: str, runs: Sequence[dict[str, Any]], *, now: datetime, hours: float) -> Illness | None:
    """Say what is wrong with a workflow's newest scheduled run; None where it is well.

    Args:
        runs: As `gh run list --json conclusion,createdAt,status,url` gives them, newest first.
    """
    finished = [r for r in runs if r.get("status") == "completed"]
    if not runs:
        return Illness(f"{name} has never run on its schedule", "Is the workflow enabled?")
    age = (now - datetime.fromisoformat(str(runs[0]["createdAt"]))).total_seconds() / 3600
    if age > hours:
        return Illness(
            f"{name} stopped running on its schedule", f"Its newest scheduled run began {age:.0f} hours ago."
        )
    if finished and finished[0].get("conclusion") != "success":
        url = str(finished[0].get("url", ""))
        link = url if re.fullmatch(r"https://[\w./-]+", url) else ""
        return Illness(f"{name} failed on its schedule", f"Conclusion: {finished[0].get('conclusion')!r}. {link}")
    return None


def _runs(name: str) -> list[dict[str, Any]]:
    fields = "conclusion,createdAt,status,url"
    found = _gh("run", "list", "--workflow", name, "--event", "schedule", "--limit", "5", "--json", fields)
    return list(json.loads(found))


def _report(illness: Illness) -> None:
    known = _gh("issue", "list", "--state", "open", "--limit", "200", "--json", "title")
    if illness.title not in {issue["title"] for issue in json.loads(known)}:
        _gh("issue", "create", "--title", illness.title, "--body", illness.body)


def _gh(*words: str) -> str:
    gh = shutil.which("gh")
    if gh is None:
        raise HealthError("gh is not installed")
    try:
        done = subprocess.run([gh, *words], capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HealthError(f"gh {words[0]}: {error}") from None
    if done.returncode:
        raise HealthError(f"gh {words[0]} {words[1]}: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout
