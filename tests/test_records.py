"""The results changelog: promotion keeps history, withdrawal keeps evidence, and the chain shows every change."""

import json
from pathlib import Path

import pytest

from evaluators.bundle import read_bundle, renamed, write_bundle
from evaluators.store import open_store
from evaluators.values import Verdict
from leaderboard.__main__ import main
from leaderboard.boards import boards
from leaderboard.ingest import ingest
from leaderboard.pages import render_board
from leaderboard.records import RecordError, read_history
from tests.made_bundle import made_bundle, write_made_bundle


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the joint fit out, which takes seconds: the figure is then that of `betabin`."""
    monkeypatch.setattr("evaluators.fit.fit_split", lambda _: None)


def places(tmp_path: Path) -> list[str]:
    return [
        *("--submissions", str(tmp_path / "board"), "--records", str(tmp_path / "records.jsonl")),
        *("--splits", str(tmp_path / "splits"), "--date", "2026-11-21"),
    ]


def tiers(tmp_path: Path) -> dict[str, str]:
    with open_store(tmp_path / "s.duckdb") as store:
        ingest(store, tmp_path / "board", (), tmp_path / "splits", read_history(tmp_path / "records.jsonl"))
        return {s.submission.submission_id: s.tier for s in store.submissions()}


def judged(tmp_path: Path, jury: str = "layton-2", **options: object) -> Path:
    bundle = made_bundle("elsewhere-1", right=lambda n, _: n % 4 > 0, jury=jury, **options)  # type: ignore[arg-type]
    write_bundle(tmp_path / "judged", *bundle)
    return tmp_path / "judged"


def promote(tmp_path: Path, subject: str, tier: str, evidence: Path) -> int:
    words = ["promote", subject, "--with", str(evidence), "--tier", tier, "--reason", "because"]
    return main([*words, *places(tmp_path)])


def label(tmp_path: Path, jury: str) -> None:
    """A released row of another maker whose human labels calibrate a jury, so that its verdicts move a score."""
    bundle = made_bundle(f"labelled-{jury}", provider="other", model="other/m", jury=jury, right=lambda n, _: n % 2 > 0)
    right = {v.transcript_id: v.score for v in bundle.verdicts if v.judge == "a-1"}
    human = [
        Verdict(transcript_id=t.transcript_id, judge="person-1", kind="human", score=right[t.transcript_id])
        for t in bundle.transcripts
    ]
    folder = tmp_path / "board/samples" / bundle.submission.submission_id
    write_bundle(folder, bundle.submission, bundle.transcripts, [*bundle.verdicts, *human])
    (folder / "tier").write_text("released\n")


def test_promotion_writes_the_score_before_and_after(tmp_path: Path) -> None:
    write_made_bundle(tmp_path / "board")
    for jury in ("custom-made", "layton-2"):
        label(tmp_path, jury)
    assert promote(tmp_path, "acme-1", "rejudged", judged(tmp_path)) == 0
    (record,) = read_history(tmp_path / "records.jsonl").records
    assert record.before is not None
    assert record.after is not None
    assert abs(record.before - record.after) > 0.01


def test_a_row_climbs_and_its_history_stays(tmp_path: Path) -> None:
    sent = write_made_bundle(tmp_path / "board")
    before = {p.name: p.read_bytes() for p in sent.iterdir()}
    assert tiers(tmp_path) == {"acme-1": "self-reported"}
    assert promote(tmp_path, "acme-1", "rejudged", judged(tmp_path)) == 0
    assert tiers(tmp_path) == {"acme-1.rejudged": "rejudged"}
    ours = made_bundle("ours-1", answer=lambda n: (f"ours {n}", "our own run"), jury="layton-2")
    write_bundle(tmp_path / "ours", *ours)
    assert promote(tmp_path, "acme-1.rejudged", "scored-here", tmp_path / "ours") == 0
    assert tiers(tmp_path) == {"acme-1.scored-here": "scored-here"}
    assert {p.name: p.read_bytes() for p in sent.iterdir()} == before
    records = read_history(tmp_path / "records.jsonl").records
    assert [(r.action, r.subject, r.becomes) for r in records] == [
        ("rejudged", "acme-1", "acme-1.rejudged"),
        ("scored-here", "acme-1.rejudged", "acme-1.scored-here"),
    ]
    assert records[1].before == records[0].after


def test_a_rescored_row_keeps_its_tier(tmp_path: Path) -> None:
    write_made_bundle(tmp_path / "board")
    assert promote(tmp_path, "acme-1", "rejudged", judged(tmp_path)) == 0
    again = ["rescore", "acme-1.rejudged", "--with", str(judged(tmp_path, "layton-3")), "--reason", "jury moved"]
    assert main([*again, *places(tmp_path)]) == 0
    assert tiers(tmp_path) == {"acme-1.rescored": "rejudged"}
    bundle = read_bundle(tmp_path / "board/samples/acme-1.rescored")
    assert bundle == renamed(bundle, "acme-1.rescored")._replace(submission=bundle.submission)


def test_a_withdrawn_row_leaves_the_board_even_from_a_store_that_had_it(tmp_path: Path) -> None:
    write_made_bundle(tmp_path / "board")
    write_made_bundle(tmp_path / "board", "acme-2")
    assert set(tiers(tmp_path)) == {"acme-1", "acme-2"}
    assert main(["withdraw", "acme-1", "--reason", "copied", *places(tmp_path)]) == 0
    assert set(tiers(tmp_path)) == {"acme-2"}
    assert (tmp_path / "board/samples/acme-1/submission.yaml").is_file()
    assert main(["withdraw", "acme-1", "--reason", "copied", *places(tmp_path)]) == 1


def test_a_retired_jury_marks_its_sections_and_no_other(tmp_path: Path) -> None:
    write_made_bundle(tmp_path / "board")
    write_made_bundle(tmp_path / "board", "acme-2", jury="custom-other")
    assert main(["retire-jury", "custom-made", "--reason", "a judge is gone", *places(tmp_path)]) == 0
    history = read_history(tmp_path / "records.jsonl")
    with open_store(tmp_path / "s.duckdb") as store:
        ingest(store, tmp_path / "board", (), tmp_path / "splits", history)
        (board,) = (b for b in boards(store, history, fit=lambda _: None) if b.split == "sample-llm")
    assert {s.jury: s.retired is not None for s in board.sections} == {"custom-made": True, "custom-other": False}
    assert render_board(board).count("This jury retired on 2026-11-21.") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["withdraw", "nobody", "--reason", "x"], "no row 'nobody' is shown now; there are acme-1"),
        (["retire-jury", "nobody", "--reason", "x"], "no row was judged by 'nobody'"),
        (["withdraw", "acme-1", "--reason", ""], "reason"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    write_made_bundle(tmp_path / "board")
    assert main([*words, *places(tmp_path)]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "acme/other"}, "the evidence is about 'acme/other'"),
        ({"condition": "hints=2"}, "hints=2"),
        ({"answer": lambda n: ("changed", "by us")}, "other answers than 'acme-1'"),
    ],
)
def test_evidence_about_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, object], said: str
) -> None:
    write_made_bundle(tmp_path / "board")
    assert promote(tmp_path, "acme-1", "rejudged", judged(tmp_path, **options)) == 1
    assert said in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "board/samples").iterdir()] == ["acme-1"]


def test_no_line_of_the_changelog_can_be_changed_or_taken_out_unseen(tmp_path: Path) -> None:
    for n in range(3):
        write_made_bundle(tmp_path / "board", f"acme-{n}")
    for n in range(3):
        assert main(["withdraw", f"acme-{n}", "--reason", f"reason {n}", *places(tmp_path)]) == 0
    path = tmp_path / "records.jsonl"
    lines = path.read_text().splitlines()
    assert len(read_history(path).records) == 3
    for changed in (lines[1:], [lines[0], lines[2]], [lines[0].replace("reason 0", "reason 9"), *lines[1:]]):
        path.write_text("\n".join(changed) + "\n")
        with pytest.raises(RecordError, match=r"records\.jsonl:[12]: names another line"):
            read_history(path)
    path.write_text(json.dumps({"action": "promoted-by-friend"}) + "\n")
    with pytest.raises(RecordError, match=r"records\.jsonl:1: action"):
        read_history(path)
