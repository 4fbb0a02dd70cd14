"""Boards of questions about novels: settings side by side, bars, heat maps, known novels, questions, cited tables."""

import json
from collections.abc import Iterator
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from evaluators.estimate_means import estimate_means
from evaluators.store import Store, open_store, store_path
from leaderboard.build import build_site
from leaderboard.datafiles import as_csv, as_json
from leaderboard.novel_boards import NovelBoard, novel_boards
from leaderboard.pages import render_board, write_pages
from leaderboard.published import read_published_scores
from leaderboard.soup_boards import soup_boards
from tests.made_readings import SCRIPT, questions, write, write_split

ITEMS = questions()
N = len(ITEMS)


def fill(store: Store) -> None:
    """Good reads well, Lost finds nothing late in a text, Knows knows the first novel by heart."""
    write_split(store, ITEMS)
    runs = {
        ("Good", "context"): ["B12"] * 18 + ["A"] * 6,
        ("Good", "evidence"): ["B123"] * 20 + ["A1"] * 4,
        ("Good", "question-only"): ["B1"] * 6 + ["C"] * 18,
        ("Lost", "context"): ["B1"] * 8 + ["D1"] * 14 + ["none", "fail"],
        ("Lost", "evidence"): ["B12"] * 20 + ["A"] * 4,
        ("Knows", "context"): ["B12"] * 12 + ["A"] * 11 + ["B1?"],
        ("Knows", "question-only"): ["B12"] * 4 + ["C"] * 20,
    }
    for (model, setting), spelled in runs.items():
        write(store, ITEMS, spelled, name=f"{model}-{setting}", model=model, setting=setting)
    cut = "setting=context;truncate=front@32000"
    write(store, ITEMS, ["B"] * 12 + ["A"] * 12, name="Good-cut", model="Good", condition=cut)
    own = ["B123"] * N
    write(store, ITEMS, own, name="Told", model=f"Told {SCRIPT[:-1]}", tier="self-reported", url="javascript:alert(1)")
    store.write_published_scores(read_published_scores())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("store") / "s.duckdb") as store:
        fill(store)
        yield store


@pytest.fixture(scope="module")
def boards(filled: Store) -> dict[str, NovelBoard]:
    return {b.split: b for b in novel_boards(filled)}


@pytest.fixture
def board(boards: dict[str, NovelBoard]) -> NovelBoard:
    return boards["sample-novel"]


def test_the_settings_of_a_model_stand_side_by_side_with_its_win_rate(board: NovelBoard) -> None:
    section, cut = board.sections
    assert [(line.model, line.cut) for line in section.ranked] == [("Good", None), ("Knows", None), ("Lost", None)]
    assert [(line.model, line.cut) for line in cut.ranked] == [("Good", "32000")]
    assert cut.condition == "truncate=front@32000"
    beside = [s.figures[0].value for s in cut.ranked[0].settings if s]
    assert beside == ["50.0", "83.3", "25.0"], "runs without a context stand beside contexts of any length"
    good = section.ranked[0]
    context, evidence, alone = good.settings
    assert context is not None
    assert evidence is not None
    assert alone is not None
    assert [f.value for f in context.figures] == ["75.0", "50.0", f"{100 * sqrt(0.75 * 0.5):.1f}"]
    assert [s.figures[0].value for s in (evidence, alone)] == ["83.3", "25.0"]
    # 18 right with the context, of which 6 without it too, with fewer steps: 18 wins and nothing else to compare.
    assert good.win is not None
    assert good.win.value == "100.0"
    lost = section.ranked[2]
    assert (lost.settings[2], lost.win) == (None, None)
    assert lost.like.n == 24
    assert any("unknown" in note for note in lost.like.notes)
    assert [line.rank for line in section.self_reported] == [None]


def test_every_figure_is_in_the_data_files_with_its_interval(board: NovelBoard, filled: Store) -> None:
    found = {(e.submission_id, e.metric): e for e in board.estimates}
    gm = found["good-context", "gm"]
    assert gm.value == pytest.approx(sqrt(0.75 * 0.5))
    assert gm.low < gm.value < gm.high
    assert found["knows-context", "win_rate"].condition == "setting=context"
    assert "win_rate" in as_csv(board.estimates)
    assert len({(e.submission_id, e.metric) for e in board.estimates}) == len(board.estimates), "each once"
    content = json.loads(as_json(board))
    assert len(content["estimates"]) == len(board.estimates)
    ranked = estimate_means(filled, "sample-novel", "1.0.0", "three", "setting=context")
    assert [e.model for e in ranked if e.metric == "accuracy"][1:] == ["Good", "Knows", "Lost"]


def test_bars_say_what_the_novel_adds_and_where_a_model_loses(board: NovelBoard) -> None:
    section = board.sections[0]
    six = {stack.model: [part.questions for part in stack.parts] for stack in section.contamination}
    assert six["Good"] == [12, 6, 0, 0, 0, 6]
    assert six["Knows"] == [9, 0, 4, 0, 0, 11]
    four = {stack.model: stack for stack in section.bottlenecks}
    assert [part.questions for part in four["Lost"].parts] == [0, 8, 12, 3]
    assert four["Lost"].unknown == 1, "the call that failed is in no part of the bar"


def test_needles_are_found_by_length_and_depth(board: NovelBoard) -> None:
    section = board.sections[0]
    heats = {heat.model: heat for heat in section.heats}
    ((length, cells),) = heats["Lost"].rows
    # Both needles of 23 answers; the first is found in 22 of them, the second in none.
    assert (length, heats["Lost"].needles) == ("8k to 16k", 46)
    assert [cell.text for cell in cells] == ["96", "–", "–", "–", "0"]
    assert "of 23; 95 % interval" in cells[0].spoken


def test_a_novel_that_is_known_without_being_read_is_flagged(board: NovelBoard) -> None:
    section = board.sections[0]
    known = {k.novel: k for k in section.known}
    assert (known["10"].right.point, known["10"].questions, known["10"].answers) == (1.0, 4, 8)
    assert known["15"].right.point == 0
    assert section.known[0].novel == "10"


def test_published_tables_are_cited_on_the_boards_of_their_benchmark_only(
    boards: dict[str, NovelBoard], filled: Store
) -> None:
    assert not boards["sample-novel"].published
    soups = {b.split for b in soup_boards(filled)}
    assert set(boards) == {"detectiveqa-en", "detectiveqa-zh", "sample-novel"}
    assert not {s for s in soups if s.startswith("detectiveqa")}
    printed = {p.table: p for p in boards["detectiveqa-zh"].printed}
    assert printed["Table 6"].columns == ("accuracy", "reasoning", "gm", "win_rate")
    assert (len(printed["Table 6"].rows), len(printed["Table 8"].rows)) == (20, 8)
    assert "DetectiveQA: Evaluating Long-Context Reasoning" in render_board(boards["detectiveqa-en"])


def test_the_papers_geometric_means_follow_from_its_other_columns_but_for_two_misprints() -> None:
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for p in read_published_scores():
        if p.benchmark == "detectiveqa":
            rows.setdefault((p.model, p.condition), {})[p.metric] = p.score
    assert len(rows) == 28
    off = {
        key: (round(sqrt(row["accuracy"] * row["reasoning"]), 2), row["gm"])
        for key, row in rows.items()
        if abs(sqrt(row["accuracy"] * row["reasoning"]) - row["gm"]) > 0.011
    }
    assert off == {
        ("GLM3-6B-128k", "setting=context"): (29.93, 33.63),
        ("LongChat-v1.5-7B-32k", "setting=question-only"): (12.62, 12.59),
    }
    assert rows["GLM3-6B-128k", "setting=question-only"]["accuracy"] == 33.63


def test_pages_show_steps_found_and_missed_and_run_nothing_that_models_say(board: NovelBoard, tmp_path: Path) -> None:
    write_pages([board], tmp_path)
    page = (tmp_path / "sample-novel.md").read_text(encoding="utf-8")
    asked = (tmp_path / "questions-sample-novel.md").read_text(encoding="utf-8")
    for text in (page, asked):
        assert "<script" not in text
        assert "{{ 7*7 }}" in text
        assert "\u202e" not in text
    assert "javascript:alert" not in page.replace("<bdi>javascript:alert(1)</bdi>", "")
    assert "ds-found" in asked
    assert "ds-missed" in asked
    assert "3 of 3" in asked
    assert "0 of 3" in asked
    assert "no answer" in asked


def test_questions_of_a_closed_release_are_shown_in_numbers_only(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        write_split(store, ITEMS, "detectiveqa-en")
        where = {"split": "detectiveqa-en", "benchmark": "detectiveqa"}
        write(store, ITEMS, ["B12"] * N, name="One", **where)
        board = next(b for b in novel_boards(store) if b.split == "detectiveqa-en")
    write_pages([board], tmp_path)
    text = (tmp_path / "questions-detectiveqa-en.md").read_text(encoding="utf-8")
    assert "not confirmed" in text
    assert "en/human_anno/10/0" in text
    assert not [words for words in ("Who left", "She left", "The porter", "She knew") if words in text]


def test_equal_stores_make_equal_pages_and_mkdocs_takes_them(board: NovelBoard, tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        fill(store)
        front = build_site(store, tmp_path / "site", fit=lambda _: None)
        again = next(b for b in novel_boards(store) if b.split == "sample-novel")
    assert render_board(again) == render_board(board)
    assert (front.parent / "sample-novel.html").exists()
    assert (front.parent / "questions-sample-novel.html").exists()


def test_readings_keep_repeats_apart_and_an_unread_judge_leaves_the_letter(filled: Store) -> None:
    from evaluators.readings import readings

    rows = [r for r in readings(filled, "sample-novel", "1.0.0", "three") if r.submission_id == "knows-context"]
    last = next(r for r in rows if r.item_id == ITEMS[-1].id)
    assert (last.accuracy, last.reasoning, last.found(1)) == (1.0, None, None)
    assert len(last.marks) == 2
    assert np.isclose(np.mean([r.accuracy for r in rows]), 13 / 24)
