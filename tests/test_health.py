"""Scheduled workflows are watched: an issue where one failed or stopped, and only one."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leaderboard.__main__ import main
from leaderboard.health import diagnose

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def run(hours: float, conclusion: str, status: str = "completed") -> dict[str, str]:
    began = (NOW - timedelta(hours=hours)).isoformat()
    url = "https://host.example/run/1"
    return {"createdAt": began, "conclusion": conclusion, "status": status, "url": url}


@pytest.mark.parametrize(
    ("runs", "title"),
    [
        ([run(3, "success"), run(27, "failure")], None),
        ([run(0, "", "in_progress"), run(24, "success")], None),
        ([run(3, "failure"), run(27, "success")], "site.yml failed on its schedule"),
        ([run(0, "", "in_progress"), run(24, "cancelled")], "site.yml failed on its schedule"),
        ([run(50, "success")], "site.yml stopped running on its schedule"),
        ([], "site.yml has never run on its schedule"),
    ],
)
def test_a_workflow_is_well_or_its_illness_has_a_name(runs: list[dict[str, str]], title: str | None) -> None:
    illness = diagnose("site.yml", runs, now=NOW, hours=36)
    assert (illness.title if illness else None) == title


def test_an_issue_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gh = tmp_path / "gh"
    issues = tmp_path / "issues.json"
    issues.write_text("[]")
    gh.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/said\ncase "$1 $2" in\n"run list") echo "[]";;\n'
        f'"issue list") cat {issues};;\nesac\n'
    )
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert main(["health", "--workflow", "site.yml"]) == 0
    assert "never run" in capsys.readouterr().out
    issues.write_text(json.dumps([{"title": "site.yml has never run on its schedule"}]))
    assert main(["health", "--workflow", "site.yml"]) == 0
    assert (tmp_path / "said").read_text().count("issue create") == 1


def test_without_gh_the_check_itself_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["health", "--workflow", "site.yml"]) == 3
