import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.bundle import write_bundle
from evaluators.estimate import RANKED
from evaluators.store import open_store, store_path
from evaluators.values import Published
from leaderboard.__main__ import main
from leaderboard.boards import Board, boards, describe
from leaderboard.build import MARK, build_site
from leaderboard.charts import axis, bar, place
from leaderboard.datafiles import as_csv, as_json, write_data
from leaderboard.ingest import IngestError, ingest
from leaderboard.pages import render_board, write_pages
from leaderboard.published import read_published
from leaderboard.records import Record, append
from leaderboard.shown import visible
from tests.made_board import FORMULA, HOSTILE, IMAGE, fill
from tests.made_runs import Run, made_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Board]]:
    with open_store(tmp_path_factory.mktemp("store") / "s.duckdb") as store:
        fill(store)
        yield {board.split: board for board in boards(store, fit=unfitted)}


def unfitted(_: object) -> None:
    """In place of the sampler: its draws need not be the same on another machine, and golden pages must be."""


def put(folder: Path, run: Run) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, *run)


@given(st.lists(st.floats(-20, 120), max_size=8))
def test_an_axis_holds_all_points_and_ends_on_whole_tens(points: list[float]) -> None:
    scale = axis(points)
    assert 0 <= scale.low < scale.high <= 100
    assert all(scale.low <= min(max(p, 0), 100) <= scale.high for p in points)
    assert scale.low % 10 == scale.high % 10 == 0
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks)
    assert 2 <= len(scale.ticks) <= 7


@given(st.floats(-10, 110), st.floats(-10, 110))
def test_a_bar_stays_inside_its_cell(a: float, b: float) -> None:
    drawn = bar(axis([20, 70]), min(a, b), max(a, b))
    left, width = float(drawn.left[:-1]), float(drawn.width[:-1])
    assert 0 <= left <= 100
    assert 0 <= width <= 100.01 - left


def test_the_middle_of_an_axis_is_in_the_middle_of_the_cell() -> None:
    assert place(axis([40, 100]), 70) == "50.00%"


def test_a_board_ranks_only_what_may_be_ranked(made: dict[str, Board]) -> None:
    (section,) = made["layton-llm"].sections
    assert {line.like.tier for line in section.ranked} == {"released", "rejudged", "scored-here"} <= RANKED
    assert {line.like.tier for line in section.self_reported} == {"self-reported"}
    assert all(line.rank for line in section.ranked)
    assert not any(line.rank for line in section.self_reported)
    assert {line.estimate.tier for line in section.layton} <= RANKED
    scores = [line.like.value for line in section.ranked]
    assert scores == sorted(scores, reverse=True)


def test_versions_juries_and_conditions_never_share_a_table(tmp_path: Path) -> None:
    variants = [{}, {"version": "2.0.0"}, {"version": "10.0.0"}, {"jury": "four"}, {"condition": "hints=4"}]
    with open_store(tmp_path / "s.duckdb") as store:
        for n, fields in enumerate(variants):
            store.write_submission(*made_run(f"m{n}", ["3"], **fields), tier="scored-here")
        (board,) = boards(store, fit=unfitted)
    assert [(s.version, s.jury, s.condition) for s in board.sections] == [
        ("10.0.0", "three", "hints=0"),
        ("2.0.0", "three", "hints=0"),
        ("1.0.0", "four", "hints=0"),
        ("1.0.0", "three", "hints=0"),
        ("1.0.0", "three", "hints=4"),
    ]
    assert all(line.rank == (1, 1) for section in board.sections for line in section.ranked)


def test_hostile_names_are_text_on_every_page(made: dict[str, Board], tmp_path: Path) -> None:
    write_pages(tuple(made.values()), tmp_path)
    for page in tmp_path.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(script|img)|href=.javascript|11111103", text), page
    board = (tmp_path / "layton-llm.md").read_text(encoding="utf-8")
    assert "&lt;img src=x onerror=alert(1)&gt;" in board
    assert "[U+061C]" in board
    assert "\u061c" not in board


@given(st.text())
def test_nothing_invisible_or_turning_survives_in_a_name(text: str) -> None:
    shown = visible(text)
    assert isinstance(shown, str)
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]", shown
    )


def test_the_page_of_a_sample_split_says_loudly_that_it_is_no_result(made: dict[str, Board]) -> None:
    sample, real = render_board(made["sample-llm"]), render_board(made["layton-llm"])
    warning = "A proof that the machinery runs, not a result."
    assert warning in sample
    assert warning not in real
    assert "author, not human" in sample
    assert "No score on this page says anything about a model." in sample


def test_published_figures_are_cited_and_stand_apart(made: dict[str, Board]) -> None:
    text = render_board(made["layton-vlm"])
    assert "No model has been scored here yet" in text
    assert "Published by others" in text
    assert text.count("Table 2") == 9
    assert "R. Vienne, layton-eval: Sideways: a Benchmark for LLM/VLM Reasoning, 5 February 2026." in text


def test_the_numbers_of_the_page_are_those_of_the_data_files(made: dict[str, Board]) -> None:
    board = made["layton-llm"]
    text = render_board(board)
    data = json.loads(as_json(board))["estimates"]
    likes = [e for e in data if (e["method"], e["estimand"]) == ("betabin", "items like these")]
    shown = re.findall(r'ds-score" data-label="Score">([\d.]+)<', text)
    assert sorted(shown) == sorted(f"{100 * e['value']:.1f}" for e in likes)
    for e in likes:
        assert f"{100 * e['low']:.1f}–{100 * e['high']:.1f}<small" in text


def test_the_three_data_files_hold_the_same_rows_in_the_same_order(made: dict[str, Board], tmp_path: Path) -> None:
    board = made["layton-llm"]
    write_data(board, tmp_path)
    rows = json.loads((tmp_path / "layton-llm.json").read_text(encoding="utf-8"))["estimates"]
    assert pq.read_table(tmp_path / "layton-llm.parquet").to_pylist() == rows
    with (tmp_path / "layton-llm.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert [float(c["value"]) for c in cells] == [r["value"] for r in rows]
    assert [c["model"].lstrip("'") for c in cells] == [r["model"].lstrip("'") for r in rows]


def test_a_spreadsheet_runs_no_cell_of_the_csv(made: dict[str, Board]) -> None:
    text = as_csv(made["layton-llm"].estimates)
    assert FORMULA in {e.model for e in made["layton-llm"].estimates}
    cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
    assert not [c for c in cells if c.startswith(("=", "+", "@", "\t", "\r")) or re.match(r"-[^\d]", c)]
    assert f"'{FORMULA}" in cells


def test_the_board_page_is_the_golden_one(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        runs = [
            made_run("first", ["3+"] * 31 + ["2", "0-", "0"], provider="a", url="https://models.example/first"),
            made_run("second", ["3+", "0-"] * 8 + ["fail", "none"], provider="b", contamination="read in 2025"),
        ]
        for run in runs:
            store.write_submission(*run, tier="scored-here")
        store.write_submission(*made_run("sent", ["3"] * 6, provider="c"), tier="self-reported")
        (board,) = boards(store, fit=unfitted)
    golden("board.md", render_board(board))


def test_build_ingests_bundles_and_prints_the_front_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "sent" / "layton" / "one", made_run("one", ["3+", "0-"]))
    put(tmp_path / "sent" / "layton" / "two", made_run("two", ["3", "0"], provider="b"))
    put(tmp_path / "runs" / "three", made_run("three", ["3", "3"], provider="c"))
    out = tmp_path / "site"
    options = ["--submissions", str(tmp_path / "sent"), "--runs", str(tmp_path / "runs"), "--out", str(out)]
    records = tmp_path / "records.jsonl"
    append(Record(action="rejudged", date="2026-11-21", subject="sent", becomes="two", reason="judged"), records)
    options += ["--splits", str(tmp_path / "splits"), "--records", str(records)]
    assert main(["build", *options]) == 0
    assert capsys.readouterr().out == f"{out / '_build' / 'index.html'}\n"
    with open_store(store_path()) as store:
        tiers = {s.submission.submission_id: s.tier for s in store.submissions()}
    assert tiers == {"one": "self-reported", "two": "rejudged", "three": "scored-here"}
    first = contents(out)
    store_path().unlink()
    assert main(["build", *options]) == 0
    assert contents(out) == first, "a store made again from the bundles makes the same bytes"
    names = {"index.html", "layton-llm.html", "layton-vlm.html", "method.html", "data.html", "data/layton-llm.csv"}
    names |= {"submit.html", "history.html", "bundle.schema.json"}
    assert {f"_build/{name}" for name in names} <= set(first)
    with (out / "data.txt").open("w") as file:
        file.write("kept by nobody: the folder is replaced whole")
    assert main(["build", *options]) == 0
    assert contents(out) == first


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_folder_that_was_not_made_here_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "sent").mkdir()
    assert main(["build", "--submissions", str(tmp_path / "sent"), "--out", str(tmp_path / "mine")]) == 1
    assert "something that this command did not make" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_page_that_mkdocs_refuses_leaves_the_old_site_standing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from leaderboard import build

    out, site = tmp_path / "site", tmp_path / "source"
    out.mkdir()
    (out / MARK).touch()
    shutil.copytree(build.SITE, site)
    (site / "docs" / "method.md").write_text("[a page that is not there](nowhere.md)")
    monkeypatch.setattr(build, "SITE", site)
    with open_store(tmp_path / "s.duckdb") as store, pytest.raises(build.SiteError, match="nowhere"):
        build_site(store, out, fit=unfitted)
    assert [p.name for p in out.iterdir()] == [MARK]


def refused(tmp_path: Path, said: str) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        before = store.digest()
        with pytest.raises(ValueError, match=said):
            ingest(store, tmp_path / "sent", [], tmp_path / "splits")
        assert store.digest() == before


def test_one_refused_bundle_keeps_all_others_out(tmp_path: Path) -> None:
    put(tmp_path / "sent" / "a", made_run("one", ["3"]))
    put(tmp_path / "sent" / "b", made_run("two", ["3"]))
    (tmp_path / "sent" / "b" / "verdicts.jsonl.zst").write_bytes(b"tampered")
    refused(tmp_path, r"verdicts\.jsonl\.zst: its sha256")


def test_two_bundles_of_one_name_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "sent" / "a", made_run("one", ["3"]))
    put(tmp_path / "sent" / "b", made_run("one", ["0"]))
    refused(tmp_path, "are both named 'one'")


@pytest.mark.parametrize("text", ["published", "rejudged", "scored-here", "released\nrejudged", "x" * 1000])
def test_a_tier_file_marks_released_rows_only(tmp_path: Path, text: str) -> None:
    put(tmp_path / "sent" / "a", made_run("one", ["3"]))
    (tmp_path / "sent" / "a" / "tier").write_text(text)
    refused(tmp_path, "is no tier that a file may give, only 'released' is")


def test_a_sent_bundle_cannot_take_the_place_of_a_ranked_row(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_submission(*made_run("one", ["3"]), tier="released")
    put(tmp_path / "sent" / "a", made_run("one", ["0", "0"]))
    refused(tmp_path, "the store holds other evidence under 'one' with tier 'released'")


def test_a_folder_of_bundles_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--submissions", str(tmp_path / "none"), "--out", str(tmp_path / "site")]) == 1
    assert "none' of submission bundles" in capsys.readouterr().err


def test_the_published_tables_are_those_of_the_paper() -> None:
    """Tables 1 and 2 of the layton-eval paper: rows, first and last scores."""
    found = read_published()
    tables = {split: [p for p in found if p.split == split] for split in ("layton-llm", "layton-vlm")}
    assert {split: len(rows) for split, rows in tables.items()} == {"layton-llm": 10, "layton-vlm": 9}
    assert [(tables[s][n].score, tables[s][n].half_width) for s in tables for n in (0, -1)] == [
        (85.2, 1.4),
        (39.0, 1.4),
        (46.4, 1.9),
        (9.3, 1.5),
    ]
    assert {(p.split, p.table) for p in found} == {("layton-llm", "Table 1"), ("layton-vlm", "Table 2")}
    for rows in tables.values():
        assert [p.rank for p in rows] == list(range(1, len(rows) + 1))
        assert all(p.best_rank <= p.rank <= p.worst_rank for p in rows)


def test_a_published_row_with_a_bad_figure_is_named_by_line(tmp_path: Path) -> None:
    fields = list(Published.model_fields)
    bad = ["layton", "layton-llm", "hints=0", "m", "p", "850", "1", "1", "1", "1", "Table 1", "paper"]
    (tmp_path / "t.csv").write_text(",".join(fields) + "\n" + ",".join(bad) + "\n")
    with pytest.raises(ValueError, match=r"t\.csv:2: score is '850'"):
        read_published(tmp_path)


def test_every_hostile_name_is_in_the_data_as_it_was_given(made: dict[str, Board]) -> None:
    models = {e["model"] for e in json.loads(as_json(made["layton-llm"]))["estimates"]}
    assert set(HOSTILE) <= models
    assert IMAGE in models


def test_an_unknown_tier_is_an_error_of_its_own_kind() -> None:
    assert issubclass(IngestError, ValueError)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("hints=0", "no hints"),
        ("hints=1", "1 hint"),
        ("hints=4;first=6", "4 hints, first 6 items"),
        ("setting=evidence", "setting=evidence"),
    ],
)
def test_a_condition_is_said_in_words(condition: str, words: str) -> None:
    assert describe(condition) == words


def test_a_fitted_board_shows_lsre_with_ranks_that_hold_together(tmp_path: Path) -> None:
    runs = [("weak", ["3+", "0-"] * 5 + ["0"] * 30), ("strong", ["3+", "0-"] * 5 + ["3"] * 30)]
    with open_store(tmp_path / "s.duckdb") as store:
        for name, votes in runs:
            store.write_submission(*made_run(name, votes, provider=name), tier="scored-here")
        (board,) = boards(store)
    (section,) = board.sections
    assert section.method == "lsre"
    assert [(line.like.model, line.rank) for line in section.ranked] == [
        ("strong/strong", (1, 1)),
        ("weak/weak", (2, 2)),
    ]
    assert [line.group for line in section.ranked] == [1, 2]
    assert all(0 <= line.like.low < line.like.value < line.like.high <= 1 for line in section.ranked)


def test_published_figures_stand_beside_what_their_released_evidence_gives_here(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_published(read_published())
        run = made_run("one", ["3+", "0-", "3"] * 5, provider="openai", model="gpt-5.1-2025-11-13-high")
        store.write_submission(*run, tier="released")
        found = boards(store, fit=unfitted)
        (row,) = next(b.reread for b in found if b.split == "layton-llm")
        assert (row.published.score, row.published.half_width) == (83.3, 0.1)
        assert row.line.submission.submission_id == "one"
        front = build_site(store, tmp_path / "site", fit=unfitted)
    page = (front.parent / "reanalysis.html").read_text()
    assert "83.3 ± 0.1" in page
    assert row.line.score in page
    assert "Re-analysis" in front.read_text()
