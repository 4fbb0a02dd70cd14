"""What a run leaves, and python -m evaluators.runs: list, show, resume and gc, on runs against a loopback server."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.bundle import read_bundle
from evaluators.journal import Journal
from evaluators.record import SUFFIX, RunRecord, read_record, write_record
from evaluators.runs import main as runs
from evaluators.submit import main as submit
from tests.kill_runs import kill_run, start
from tests.made import write_made_split
from tests.servers.model_server import Answer, ModelServer


def options(tmp_path: Path, server: ModelServer, *more: str, out: str = "runs/a") -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", server.url),
        *("--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--judge-api-base", server.url),
        *("--split", "sample-llm@1.0", "--splits", str(tmp_path / "splits"), "--out", str(tmp_path / out), *more),
    ]


def busy_at_first(body: dict[str, Any], attempt: int) -> Answer:
    if attempt == 1 and body["model"] == "j2" and "Riddle 1" in str(body):
        return Answer(status=429, headers={"Retry-After": "0"})
    return Answer(model=f"{body['model']}-2026")


def the_record(folder: Path) -> RunRecord:
    (path,) = folder.glob(f"*{SUFFIX}")
    return read_record(path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run of two sessions; read it only."""
    folder = tmp_path_factory.mktemp("finished")
    write_made_split(folder / "splits")
    with pytest.MonkeyPatch.context() as patch, ModelServer(busy_at_first) as server:
        patch.setenv("DEERSTALKER_STORE", str(folder / "results.duckdb"))
        for _ in range(2):
            assert submit(options(folder, server)) == 0
    return folder


def test_a_run_leaves_who_where_and_how_beside_its_journal_and_none_of_it_in_the_bundle(finished: Path) -> None:
    record = the_record(finished / "runs/a")
    first, second = record.sessions
    assert (first.state, second.state, record.expected) == ("finished", "finished", 6)
    assert first.ended
    assert first.began <= first.ended <= second.began
    assert first.environment.packages.keys() >= {"litellm", "pydantic"}
    assert len(record.digests) == 2, "the digests of both prompts"
    assert record.argv[:2] == ("--model", "openai/solver")
    by_model = {use.model: use for use in first.models}
    assert {name: use.calls for name, use in by_model.items()} == {
        "openai/solver": 6, "openai/j1": 6, "openai/j2": 6, "openai/j3": 6
    }  # fmt: skip
    assert by_model["openai/j2"].retries == {"rate_limited": 1}
    assert all(use.p95_seconds >= use.p50_seconds > 0 for use in first.models if use.p50_seconds and use.p95_seconds)
    assert [(use.calls, use.journalled) for use in second.models] == [(0, 6)] * 4
    assert sorted(p.name for p in (finished / "runs/a/bundle").iterdir()) == [
        "submission.yaml", "transcripts.jsonl.zst", "verdicts.jsonl.zst"
    ]  # fmt: skip
    assert read_bundle(finished / "runs/a/bundle").submission.snapshots == ("solver-2026",)


def test_list_and_show_say_what_happened(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--runs", str(finished / "runs")]
    assert runs([*where, "list"]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert "sample-llm@1.0.0  finished" in line
    assert " 24 " in line
    assert runs([*where, "show", "solver"]) == 0
    said = capsys.readouterr().out
    assert "Models" in said
    assert "24 made, 0 of them without a usable reply; 1 attempts were repeated" in said
    assert re.search(r"openai/j2 +rate_limited +1 +0 +the service asked to slow down", said)
    assert re.search(r"openai/solver .*\n.*openai/j1 .*\n.*openai/j2 .*\n.*openai/j3", said), "the model, then its jury"
    page, text = tmp_path / "run.html", tmp_path / "run.md"
    assert runs([*where, "show", "solver", "--html", str(page), "--markdown", str(text)]) == 0
    assert "| openai/j2" in text.read_text()
    assert all(
        part in page.read_text() for part in ("<h2>Failures by cause</h2>", "solver-2026", "prefers-color-scheme")
    )


def test_a_report_says_that_nothing_failed_and_of_a_cause_it_does_not_know_nothing(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = the_record(finished / "runs/a")
    calm = [u.model_copy(update={"retries": {}}) for u in record.sessions[0].models]
    odd = [u.model_copy(update={"failed": {"gone fishing": 2}}) for u in calm[:1]]
    for models, line in ((calm, "every call was answered at once"), (odd, "gone fishing")):
        session = record.sessions[0].model_copy(update={"models": tuple(models)})
        write_record(tmp_path / f"x{SUFFIX}", record.model_copy(update={"sessions": (session,)}))
        assert runs(["show", str(tmp_path / f"x{SUFFIX}")]) == 0
        assert line in capsys.readouterr().out


def test_what_a_model_is_called_cannot_become_markup_of_the_report(tmp_path: Path, finished: Path) -> None:
    record = the_record(finished / "runs/a").model_copy(update={"model": "<script>|x\ny", "argv": ("--note", "<b>|")})
    path = tmp_path / f"x{SUFFIX}"
    write_record(path, record)
    assert runs(["show", str(path), "--html", str(tmp_path / "p.html"), "--markdown", str(tmp_path / "p.md")]) == 0
    assert "<script>" not in (tmp_path / "p.html").read_text()
    assert "| <script>\\|x y" in (tmp_path / "p.md").read_text()


def test_a_run_that_its_cap_stopped_says_so_and_resume_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(lambda *_: Answer(status=500), keep=True) as server:
        given = options(tmp_path, server, "--timeout", "9", "--max-seconds", "1e-9")
        assert submit(given) == 3
        where = ["--runs", str(tmp_path / "runs")]
        assert "--max-seconds 1e-09 are over" in capsys.readouterr().err
        assert runs([*where, "list"]) == 0
        assert "stopped" in capsys.readouterr().out
        assert runs([*where, "resume", "solver"]) == 3
    record = the_record(tmp_path / "runs/a")
    assert [s.state for s in record.sessions] == ["stopped", "stopped"]
    assert "--max-seconds" in str(record.sessions[0].why)


def test_a_cap_on_cost_is_kept_to_shown_and_goes_on_when_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer() as server:
        priced = ["--price", "openai/solver=1000,1000", "openai/j1=1000,1000", "--price", "1,1", "--concurrency", "1"]
        assert submit([*options(tmp_path, server, *priced), "--max-cost", "3"]) == 3
        assert "give the same command a higher --max-cost" in capsys.readouterr().err
        assert 1 <= len(server.requests) <= 23
        with Journal(tmp_path / "runs/a/journal.jsonl") as journal:
            assert 0 < journal.paid_usd <= 3
        assert submit([*options(tmp_path, server, *priced), "--max-cost", "1000"]) == 0
        assert len(server.requests) == 24
    record = the_record(tmp_path / "runs/a")
    assert [s.state for s in record.sessions] == ["stopped", "finished"]


def test_a_killed_run_is_told_from_one_that_runs(tmp_path: Path, finished: Path) -> None:
    from evaluators.runs import find_runs

    record = the_record(finished / "runs/a")
    going = record.sessions[0].model_copy(update={"state": "running", "ended": None})
    write_record(tmp_path / f"x{SUFFIX}", record.model_copy(update={"sessions": (going,)}))
    assert [run.state for run in find_runs(tmp_path)] == ["killed"]
    with Journal(tmp_path / "journal.jsonl"):
        assert [run.state for run in find_runs(tmp_path)] == ["running"]


def test_gc_removes_journals_of_old_finished_runs_only_and_only_when_told(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = the_record(finished / "runs/a")
    old = datetime.now(UTC) - timedelta(days=40)
    long_ago = record.sessions[0].model_copy(update={"began": old, "ended": old})
    cases = {
        "old": record.model_copy(update={"sessions": (long_ago,)}),
        "new": record,
        "stopped": record.model_copy(update={"sessions": (long_ago.model_copy(update={"state": "stopped"}),)}),
        "gone": record.model_copy(update={"sessions": (long_ago,), "bundle": str(tmp_path / "nowhere")}),
    }
    for name, one in cases.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").write_text("")
        write_record(tmp_path / name / f"x{SUFFIX}", one)
    write_record(tmp_path / "old" / f"y{SUFFIX}", cases["stopped"])
    assert runs(["--runs", str(tmp_path), "gc", "--delete"]) == 0
    assert all((tmp_path / name / "journal.jsonl").exists() for name in cases), "another run still needs the journal"
    (tmp_path / "old" / f"y{SUFFIX}").unlink()
    assert runs(["--runs", str(tmp_path), "gc"]) == 0
    assert "nothing is removed without --delete" in capsys.readouterr().out
    assert runs(["--runs", str(tmp_path), "gc", "--delete"]) == 0
    assert [name for name in cases if not (tmp_path / name / "journal.jsonl").exists()] == ["old"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["show", "no-such"], "no run is named"), (["resume", ""], "several runs have the name part")],
)
def test_a_run_that_is_not_there_is_said_with_those_that_are(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    record = the_record(finished / "runs/a")
    for name in ("one", "two"):
        write_record(tmp_path / f"{name}{SUFFIX}", record.model_copy(update={"submission_id": name}))
    assert runs(["--runs", str(tmp_path), *arguments]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert "one, two" in err


def test_a_damaged_record_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / f"x{SUFFIX}").write_text(json.dumps({"schema_version": 1}))
    assert runs(["--runs", str(tmp_path), "list"]) == 1
    assert "submission_id: Field required" in capsys.readouterr().err


def test_a_second_process_on_one_run_is_refused_and_harms_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(lambda *_: Answer(hold=True)) as server:
        first = start(options(tmp_path, server))
        server.wait_for_requests(6)
        capsys.readouterr()
        assert submit(options(tmp_path, server, "--price", "1,1")) in (1, 3)
        assert "in use by" in capsys.readouterr().err
        server.release()
        first.join(180)
        assert first.exitcode == 0
    assert read_bundle(tmp_path / "runs/a/bundle").submission.counts.scored == 6


def test_kills_at_random_moments_repeat_only_what_was_in_flight(tmp_path: Path) -> None:
    """Twenty of them by hand: python -m tests.kill_runs."""
    more = ("--limit", "4", "--turns", "3")
    found = kill_run(tmp_path, kills=2, concurrency=4, more=more, rng=np.random.default_rng(1))
    assert found.kills == 2
    assert found.repeated <= 2 * 4
    assert found.twice == 0, "no finished turn is played again"
    assert found.same
