"""A run on a sealed split: it scores as any other, and nothing of an item or an answer is anywhere in clear."""

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.splits import list_built, load_split
from evaluators.bundle import BundleError, read_bundle
from evaluators.calibrate import main as calibrate
from evaluators.extract_points import main as extract_points
from evaluators.sealed_bundle import open_bundle, read_sealed_bundle
from evaluators.sealing import SealedRunError, discreet
from evaluators.store import StoreError, open_store, store_path
from evaluators.submit import main as submit
from leaderboard.__main__ import main as leaderboard
from tests.made_runs import made_run
from tests.made_sealed import cases, hold, key, leaks, riddles, runs_of, secret, write
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"
SAID = secret("said")
REASON = secret("reason")
THOUGHT = secret("thought")
DERIVED = {s.encode() for text in (SAID, REASON, THOUGHT) for s in (text[:60], text[-60:])}


def options(root: Path, url: str, *more: str) -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", url),
        *("--judges", JUDGES, "--judge-api-base", url),
        *("--split", "sample-llm@1.0", "--splits", str(root / "splits"), "--out", str(root / "runs/one"), *more),
    ]


def talkative(body: dict[str, object], _: int) -> Answer:
    """The solver and the judges repeat what they were told, and say things of their own."""
    if body["model"] == "solver":
        return Answer(content=f'{{"answer": "{SAID}", "justification": "{REASON}"}}')
    right = "false" if body["model"] == "j3" else "true"
    return Answer(
        content=f'{{"is_answer_correct": true, "is_justification_correct": {right}}}', headers={"X-Thought": THOUGHT}
    )


def quoting(body: dict[str, object], _: int) -> Answer:
    """One judge fails, and its service quotes the whole request in the error, as some do."""
    if body["model"] != "j2":
        return talkative(body, 1)
    return Answer(status=400, raw=str(body).encode())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sealed split, whose key the environment holds, and everything a run writes inside it."""
    file, recipient = key(tmp_path / "keys", "own")
    write(riddles(), tmp_path / "all/splits", recipient)
    hold(monkeypatch, file)
    monkeypatch.setenv("DEERSTALKER_STORE", str(tmp_path / "all/results.duckdb"))
    return tmp_path / "all"


def test_a_sealed_split_runs_and_leaves_ciphertext_and_aggregates(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(talkative) as server:
        assert submit(options(home, server.url)) == 0
        calls = len(server.requests)
        assert calls == 4 * (1 + 3)
        assert submit(options(home, server.url)) == 0
        assert len(server.requests) == calls, "the sealed journal was read again"
    said = capsys.readouterr().out
    assert "both_correct" in said
    assert "66.7" in said, "two judges of three say yes to each of the answers"
    folder = home / "runs/one/bundle"
    names = {"aggregates.jsonl", "submission.yaml", "transcripts.jsonl.zst.age", "verdicts.jsonl.zst.age"}
    assert {p.name for p in folder.iterdir()} == names
    with open_store(store_path()) as store:
        (stored,) = store.sealed()
        assert store.submissions() == ()
        assert store.clusters("sample-llm", "1.0.0") == {}
    assert stored.estimates == read_sealed_bundle(folder).estimates
    assert round(stored.estimates[0].value, 3) == 0.667
    secrets = runs_of(riddles().items) | DERIVED
    assert leaks(secrets, home) == []
    opened = open_bundle(folder)
    assert {t.answer.answer for t in opened.transcripts} == {SAID}
    assert len(opened.verdicts) == 12


def test_evidence_of_a_sealed_run_opens_for_nobody_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(talkative) as server:
        assert submit(options(home, server.url)) == 0
    folder = home / "runs/one/bundle"
    hold(monkeypatch, None)
    assert read_sealed_bundle(folder).estimates, "aggregates need no key"
    with pytest.raises(BundleError, match="no identity"):
        open_bundle(folder)
    hold(monkeypatch, key(home.parent / "keys", "other")[0])
    with pytest.raises(BundleError, match="not sealed for the identity"):
        open_bundle(folder)
    with pytest.raises(BundleError, match="the evidence is encrypted"):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["transcripts.jsonl.zst.age", "aggregates.jsonl"])
def test_a_changed_file_of_a_sealed_bundle_is_refused_without_a_key(home: Path, name: str) -> None:
    with ModelServer(talkative) as server:
        assert submit(options(home, server.url)) == 0
    folder = home / "runs/one/bundle"
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(BundleError, match="its sha256 is not the one"):
        read_sealed_bundle(folder)


def test_the_leaderboard_shows_aggregates_and_needs_no_key(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(talkative) as server:
        assert submit(options(home, server.url)) == 0
    hold(monkeypatch, None)
    store_path().unlink()
    (home / "submissions").mkdir()
    places = [
        "--submissions",
        str(home / "submissions"),
        "--runs",
        str(home / "runs"),
        "--splits",
        str(home / "splits"),
    ]
    assert leaderboard(["build", *places, "--out", str(home / "site")]) == 0
    page = (home / "site/_build/sealed-sample-llm.html").read_text()
    assert "openai/solver" in page
    assert "66.7" in page
    assert leaks(runs_of(riddles().items) | DERIVED, home) == []
    capsys.readouterr()


def test_a_store_on_disk_takes_no_evidence_of_a_sealed_split(home: Path) -> None:
    split = load_split("sample-llm", root=home / "splits", sealed=True)
    run = made_run("acme-1", ["3+"], split="sample-llm", benchmark="samples")
    with open_store(store_path()) as store:
        store.write_split(split.manifest, split.items)
        with pytest.raises(StoreError, match="is sealed"):
            store.write_submission(*run, tier="scored-here")


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (calibrate, ["--split", "sample-llm@1.0", "--judges", JUDGES]),
        (extract_points, ["--split", "sample-llm@1.0", "--judge", "openai/j1"]),
    ],
)
def test_a_command_that_keeps_nothing_secret_does_not_open_a_sealed_split(
    home: Path, command: Callable[[list[str]], int], argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command([*argv, "--splits", str(home / "splits"), "--out", str(home / "runs")]) == 1
    assert "is sealed, and this command does not keep what it makes" in capsys.readouterr().err
    assert leaks(runs_of(riddles().items), home) == []


def test_the_search_before_publishing_opens_a_sealed_split_and_finds_its_nested_texts(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipient = next(m for m in list_built(home / "splits")).sealed_for[0]
    write(cases(), home / "splits", recipient)
    (home / "page").mkdir()
    (home / "page/clean.html").write_text("<p>Nothing to see.</p>")
    argv = ["leaks", str(home / "page"), "--splits", str(home / "splits"), "--keep-out", "watson-holmes", "sample-llm"]
    assert leaderboard(argv) == 0
    (home / "page/leaky.html").write_text(f"<p>{cases().items[0].questions[0].examples[2].why}</p>")
    assert leaderboard(argv) == 1
    assert "leaky.html': 8 words in a row of an unpublished item" in capsys.readouterr().err


def test_what_would_spill_to_a_temporary_file_fails_instead(home: Path) -> None:
    manifest = next(m for m in list_built(home / "splits"))
    before = tempfile.gettempdir()
    with pytest.raises(SealedRunError, match="/dev/null"), discreet(manifest), tempfile.TemporaryFile():
        pass
    assert tempfile.gettempdir() == before


CHILD = """
    import logging, os, sys
    os.environ |= {{"LITELLM_LOG": "DEBUG", "OPENAI_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}}
    logging.basicConfig(level=logging.DEBUG)
    import litellm
    litellm.set_verbose = True
    litellm._turn_on_debug()
    litellm.success_callback = [lambda *a: print(a, file=sys.stderr)]
    import evaluators.protocols.riddle as riddle
    from evaluators.submit import main
    from evaluators.values import Counts

    def crash(item, transcript, complete, **_):
        raise RuntimeError(f"crashed on {{item!r}} with {{transcript!r}}")

    def refuse(item, transcript, complete, **_):
        Counts.model_validate({{"expected": item.description, transcript.answer.answer: 1}})

    for broken in {broken}:
        riddle.judge = broken or riddle.judge
        print("exit code", main({argv!r}))
"""


@pytest.mark.parametrize(
    ("reply", "broken", "says"),
    [
        (quoting, "(None,)", ("exit code 0", "4 with an incomplete jury")),
        (talkative, "(crash, refuse)", ("exit code 1", "RuntimeError at marking.py:", "ValidationError at")),
    ],
    ids=["a judge that fails", "a crash and a failed validation"],
)
def test_nothing_leaks_at_debug_level_whatever_fails(
    home: Path, reply: Callable[[dict[str, object], int], Answer], broken: str, says: tuple[str, ...]
) -> None:
    (home / "tmp").mkdir()
    with ModelServer(reply) as server:
        script = textwrap.dedent(CHILD).format(broken=broken, argv=options(home, server.url))
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            env=os.environ | {"TMPDIR": str(home / "tmp")},
            check=False,
        )
        assert server.requests
    said = (done.stdout + done.stderr).decode()
    assert all(text in said for text in says), said[-2000:]
    (home / "stdout").write_bytes(done.stdout)
    (home / "stderr").write_bytes(done.stderr)
    assert leaks(runs_of(riddles().items) | DERIVED, home) == []


def test_what_a_service_says_as_it_refuses_is_withheld(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(lambda body, _: Answer(status=401, raw=str(body).encode())) as server:
        assert submit(options(home, server.url)) == 3
    said = capsys.readouterr().err
    assert "the service refuses every call" in said
    assert "run the same model on a public split" in said
    assert not [s for s in runs_of(riddles().items) if s in said.encode()]


def test_the_search_for_leaks_finds_what_a_public_run_leaves(home: Path) -> None:
    """The same run on the same riddles in the open: without this, an empty list above would prove little."""
    from builders.splits import write_split

    write_split(riddles(), root=home / "open")
    with ModelServer(talkative) as server:
        assert (
            submit([*options(home, server.url), "--splits", str(home / "open"), "--out", str(home / "runs/open")]) == 0
        )
    found = leaks(runs_of(riddles().items) | DERIVED, home)
    assert any("journal" in path for path in found)
    assert any("transcripts" in path for path in found)
    assert any(path.endswith(".duckdb") for path in found)
