"""Bundles of sealed runs as rows: what a check without and with a key proves, promotion, withdrawal, strangers."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from evaluators.check.sealed import check_sealed_bundle
from evaluators.sealed_bundle import open_bundle, read_sealed_bundle
from evaluators.store import open_store
from evaluators.submit import main as submit
from leaderboard.__main__ import main
from leaderboard.ingest import ingest
from leaderboard.records import read_history
from tests.hostile import Spoil, said
from tests.made_request import make_upstream
from tests.made_sealed import hold, key, leaks, riddles, runs_of, write
from tests.servers.model_server import ModelServer
from tests.test_sealed_runs import options, talkative


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on sealed riddles, whose key is the file `keys/own`."""
    root = tmp_path_factory.mktemp("sealed")
    file, recipient = key(root / "keys", "own")
    write(riddles(), root / "splits", recipient)
    with pytest.MonkeyPatch.context() as patch, ModelServer(talkative) as server:
        hold(patch, file)
        patch.setenv("DEERSTALKER_STORE", str(root / "results.duckdb"))
        assert submit(options(root, server.url)) == 0
    return root


@pytest.fixture
def bundle(run: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return shutil.copytree(run / "runs/one/bundle", tmp_path / "bundle")


def numbers(**fields: object) -> Spoil:
    """Change the first stated number, and the digest with it."""

    def spoil(folder: Path) -> None:
        path = folder / "aggregates.jsonl"
        first, *others = path.read_text().splitlines()
        path.write_text("\n".join([json.dumps(json.loads(first) | fields), *others]) + "\n")
        described = yaml.safe_load((folder / "submission.yaml").read_text())
        for file in described["files"]:
            if file["name"] == path.name:
                file["sha256"] = sha256(path.read_bytes()).hexdigest()
        said(files=described["files"])(folder)

    return spoil


SPOILT: dict[str, tuple[Spoil, str]] = {
    "another metric": (numbers(metric="guess"), "aggregates"),
    "by category": (numbers(metric="both_correct/logic"), "sealed"),
    "more than full marks": (numbers(value=7.0, high=8.0), "aggregates"),
    "a value beside its interval": (numbers(value=0.01, low=0.5, high=0.6), "aggregates"),
    "more attempts than there are": (numbers(n=400), "aggregates"),
    "ranked by itself": (numbers(best_rank=1), "aggregates"),
    "people among it": (numbers(n_human=4), "aggregates"),
    "of another model": (numbers(model="openai/other"), "mixed"),
    "of another split": (numbers(split="sample-vlm"), "sealed"),
    "not a number": (numbers(value=None), "sealed"),
    "another split's digest": (said(split_sha256="0" * 64), "split"),
    "another version": (said(version="2.0.0"), "sealed"),
    "answers that were brought": (said(evidence="answers brought"), "kind"),
    "mark-up in the name of its maker": (said(condition="<b>hints=0</b>"), "name"),
    "a clear file beside it": (lambda f: (f / "transcripts.jsonl").write_text("{}"), "sealed"),
    "no file of numbers": (lambda f: (f / "aggregates.jsonl").unlink(), "sealed"),
    "clear text for a ciphertext": (lambda f: (f / "verdicts.jsonl.zst.age").write_bytes(b"in clear"), "sealed"),
    "a link": (
        lambda f: ((f / "aggregates.jsonl").unlink(), (f / "aggregates.jsonl").symlink_to("/etc/passwd")),
        "sealed",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_bundle_of_a_sealed_run_is_refused_without_a_key(
    run: Path, bundle: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(monkeypatch, None)
    spoil, kind = SPOILT[name]
    spoil(bundle)
    assert submit(["--check", str(bundle), "--splits", str(run / "splits")]) == 1
    err = capsys.readouterr().err
    assert f"[{kind}]" in err, err
    assert all(len(line) <= 700 for line in err.splitlines())


def test_without_a_key_numbers_are_only_stated_and_with_one_they_are_worked_out_again(
    run: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["--check", str(bundle), "--splits", str(run / "splits")]
    hold(monkeypatch, None)
    assert submit(check) == 0
    assert "stated, not worked out again" in capsys.readouterr().out
    hold(monkeypatch, run / "keys/own")
    assert submit(check) == 0
    assert "0 reported" in capsys.readouterr().out
    numbers(value=0.7)(bundle)
    hold(monkeypatch, None)
    assert check_sealed_bundle(bundle, splits=run / "splits").accepted, "a lie within bounds needs the key"
    hold(monkeypatch, run / "keys/own")
    assert submit(check) == 1
    said_here = capsys.readouterr()
    assert "comes to other numbers" in said_here.err
    assert not [s for s in runs_of(riddles().items) if s.decode() in said_here.err + said_here.out]


def test_a_row_of_a_sealed_split_is_promoted_with_a_key_and_withdrawn_and_shows_no_more_than_before(
    run: Path, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = read_sealed_bundle(bundle).submission.submission_id
    board = tmp_path / "board"
    standing = shutil.copytree(bundle, board / "samples" / name)
    where = ["--submissions", str(board), "--records", str(tmp_path / "records.jsonl"), "--splits", str(run / "splits")]
    words = ["promote", name, "--with", str(bundle), "--tier", "scored-here", "--reason", "run again by us", *where]

    def tiers() -> dict[str, str]:
        with open_store(tmp_path / "s.duckdb") as store:
            ingest(store, board, (), run / "splits", read_history(tmp_path / "records.jsonl"))
            return {r.submission.submission_id: r.tier for r in store.sealed()}

    assert tiers() == {name: "self-reported"}
    hold(monkeypatch, None)
    assert main(words) == 1
    assert "no identity of the split is here" in capsys.readouterr().err
    hold(monkeypatch, run / "keys/own")
    assert main([w if w != "scored-here" else "rejudged" for w in words]) == 1
    assert main(words) == 0
    new = f"{name}.scored-here"
    assert tiers() == {new: "scored-here"}
    assert {t.split for t in open_bundle(board / "samples" / new).transcripts} == {"sample-llm@1.0.0"}
    assert check_sealed_bundle(board / "samples" / new, splits=run / "splits", proof=True).accepted
    (record,) = read_history(tmp_path / "records.jsonl").records
    assert (record.before, record.after) == (pytest.approx(2 / 3, abs=1e-5), pytest.approx(2 / 3, abs=1e-5))
    assert main(["withdraw", new, "--reason", "the model was mixed up", *where]) == 0
    assert tiers() == {}
    assert standing.exists()
    assert leaks(runs_of(riddles().items), board, tmp_path / "records.jsonl") == []


def test_a_strangers_sealed_bundle_is_refused_with_one_finding_a_file(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream = make_upstream(tmp_path / "hosted", {"README.md": b"made\n"})
    home = "leaderboard/submissions/samples/theirs"
    head = upstream.request(5, lambda root: shutil.copytree(bundle, root / home))
    monkeypatch.chdir(upstream.clone)
    assert main(["review", "--pull", "5", "--head", head, "--summary", str(tmp_path / "summary.md")]) == 1
    err = capsys.readouterr().err
    assert err.count("[sealed]") == 2
    assert "ask for a sealed run" in err
    assert "needs changes" in (tmp_path / "summary.md").read_text()
