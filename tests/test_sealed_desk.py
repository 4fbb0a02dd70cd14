"""The desk on a sealed split: its own people label, and neither an item nor a note is anywhere in clear."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from builders.splits import load_split
from evaluators.annotate import main as annotate
from evaluators.annotation.labels import Label, LabelError, Notebook, conflicts, read_folder, read_labels
from evaluators.annotation.queue import attempts
from evaluators.labels import main as labels
from evaluators.submit import main as submit
from leaderboard.__main__ import main as leaderboard
from tests.made_sealed import hold, key, leaks, riddles, runs_of, secret, write
from tests.servers.model_server import Answer, ModelServer

ROOT = Path(__file__).resolve().parent.parent
SAID, NOTED = secret("said"), secret("noted")
SECRETS = runs_of(riddles(12).items) | {text[:60].encode() for text in (SAID, NOTED)}


def talkative(body: dict[str, Any], _: int) -> Answer:
    if body["model"] == "solver":
        return Answer(content=json.dumps({"answer": SAID, "justification": SAID}))
    return Answer(content='{"is_answer_correct": true, "is_justification_correct": true}')


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sealed split and a run on it, the key of which the environment holds."""
    file, recipient = key(tmp_path / "keys", "own")
    write(riddles(12), tmp_path / "all/splits", recipient)
    hold(monkeypatch, file)
    monkeypatch.setenv("DEERSTALKER_STORE", str(tmp_path / "all/results.duckdb"))
    with ModelServer(talkative) as server:
        run = [
            "--model",
            "openai/solver",
            "--provider",
            "maker",
            "--api-base",
            server.url,
            "--judge-api-base",
            server.url,
        ]
        run += ["--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--out", str(tmp_path / "all/runs/one")]
        assert submit([*run, "--split", "sample-llm@1.0", "--splits", str(tmp_path / "all/splits")]) == 0
    return tmp_path / "all"


def options(home: Path, who: str) -> list[str]:
    where = ["--runs", str(home / "runs"), "--splits", str(home / "splits"), "--labels", str(home / "labels")]
    return ["--split", "sample-llm", "--annotator", who, "--budget", "4", "--overlap", "1", *where]


@contextmanager
def desk(home: Path, who: str) -> Iterator[httpx.Client]:
    """A client that is let in; what the desk wrote to the terminal is kept beside the labels."""
    command = [sys.executable, "-m", "evaluators.annotate", *options(home, who)]
    with (
        (home / f"{who}.stderr").open("w") as errors,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            line = (process.stdout.readline() if process.stdout else "").strip()
            assert line.startswith("READY "), (home / f"{who}.stderr").read_text()
            base, _, secret_key = line.removeprefix("READY ").partition("/?key=")
            with httpx.Client(base_url=base, cookies={"desk": secret_key}, trust_env=False) as client:
                yield client
        finally:
            process.kill()


def label(client: httpx.Client, place: int, right: int, notes: str = "") -> None:
    page = client.get(f"/?at={place}")
    assert "amber" in page.text, "the page shows the item to those who may see it"
    assert page.headers["cache-control"] == "no-store"
    token = page.text.partition('desk-token" content="')[2].partition('"')[0]
    values = {"is_answer_correct": 1, "is_justification_correct": right}
    said = {"place": place, "values": values, "notes": notes, "act": "done"}
    assert client.post("/save", json=said, headers={"X-Desk-Token": token}).status_code == 200


def test_labels_of_a_sealed_split_are_ciphertext_and_the_desk_goes_on_from_them(home: Path) -> None:
    with desk(home, "ada") as client:
        label(client, 0, 1, NOTED)
    with desk(home, "ada") as client:
        assert "1 done" in client.get("/").text, "the next desk opened what the killed one wrote"
        label(client, 1, 0)
    folder = home / "labels/sample-llm@1.0.0"
    assert {p.suffix for p in folder.iterdir()} <= {".sealed", ".queue", ".lock"}
    found = read_folder(folder, sealed=True)
    assert {x.notes for x in found} == {NOTED, ""}
    assert read_folder(folder) == (), "nothing in clear to be found by a build"
    assert leaks(SECRETS, home) == []


def labelled(home: Path, *people: tuple[str, bool]) -> Path:
    """Labels of people who say the same of every answer of the run; returns their folder."""
    split = load_split("sample-llm", root=home / "splits", sealed=True)
    folder = home / "labels" / split.manifest.ref
    for who, right in people:
        book = Notebook(folder / f"{who}.sealed", recipients=split.manifest.sealed_for)
        for a in attempts([home / "runs"], split):
            marks = {"is_answer_correct": True, "is_justification_correct": right}
            about = {name: getattr(a.transcript, name) for name in ("split", "item_id", "transcript_id", "protocol")}
            said = {"annotator": who, "marks": marks, "notes": NOTED, "state": "done"}
            book.put(Label.model_validate({**about, **said}))
    return folder


def test_two_people_differ_and_an_adjudicator_decides(home: Path) -> None:
    folder = labelled(home, ("ada", True), ("ben", False))
    assert len(conflicts(read_folder(folder, sealed=True))) == 12
    with desk(home, "adjudicator") as client:
        label(client, 0, 1)
    assert [c.decided is not None for c in conflicts(read_folder(folder, sealed=True))].count(True) == 1
    assert leaks(SECRETS, home) == []


def test_agreement_is_told_of_a_sealed_run_as_a_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labelled(home, ("ada", True), ("ben", True))
    capsys.readouterr()
    where = ["--bundles", str(home / "runs"), "--splits", str(home / "splits"), "--labels", str(home / "labels")]
    assert leaderboard(["agreement", "sample-llm", *where, "--resamples", "5"]) == 0
    said = capsys.readouterr().out
    assert "ada and ben" in said
    assert "100.0 [" in said
    assert "by category" not in said
    assert [s for s in SECRETS if s.decode() in said] == []
    assert leaks(SECRETS, home) == []
    assert leaderboard(["agreement", "sample-llm", *where[:2], *where[2:4], "--labels", str(home / "none")]) == 1
    assert "is labelled" in capsys.readouterr().err


def test_nobody_else_opens_desk_or_labels_and_they_leave_in_no_other_form(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = labelled(home, ("ada", True))
    where = [*options(home, "ada")[:2], *options(home, "ada")[8:]]
    for what in (["export", "--file", str(home / "out.json")], ["conflicts"]):
        assert labels([*what, *where]) == 1
        assert "is sealed" in capsys.readouterr().err
    for file in (None, key(home.parent / "keys", "other")[0]):
        hold(monkeypatch, file)
        assert annotate(options(home, "ben")) == 1
        assert "identity" in capsys.readouterr().err
        with pytest.raises(LabelError, match="cannot be opened"):
            read_labels(folder / "ada.sealed")
    assert leaks(SECRETS, home) == []


def test_labels_go_into_a_sealed_file_and_no_other(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="labels of a sealed split go into"):
        Notebook(tmp_path / "ada.sealed")
    with pytest.raises(LabelError, match="labels of a sealed split go into"):
        Notebook(tmp_path / "ada.jsonl", recipients=("age1x",))
