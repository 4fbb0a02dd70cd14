"""Pages of items beyond riddles: games turn by turn, cases stage by stage, steps of novels, and what is not told."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from builders.samples.soups import read_soups
from builders.splits import make_split
from evaluators.answers import SoupBelief, SoupTurn
from evaluators.store import Store, open_store, store_path
from leaderboard.build import build_site
from leaderboard.evidence import OpenSplit, items, open_splits, page_of, shards, slug
from tests import test_soup_boards
from tests.made_case import CASES, SCRIPT, built, case, flat, run
from tests.made_readings import questions, write, write_split


def rows(store: Store, split: OpenSplit) -> dict[str, list[list[Any]]]:
    """Rows of every shard, by item."""
    found: dict[str, list[list[Any]]] = {}
    for item, _, text in shards(store, split, items(store, split), [0, 1, 2]):
        found.setdefault(item, []).extend(json.loads(text)["rows"])
    return found


def test_a_game_is_told_turn_by_turn_with_what_the_player_believed() -> None:
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        split = next(s for s in open_splits(store) if s.split == "sample-soup-en")
        first = rows(store, split)["en/Crime_Thriller/0"]
    good = next(row for row in first if (row[1], row[5]) == ("Good", 0.8))
    parts, turns = good[10:]
    assert parts == {"conclusion": 0.8, "details": 0.8, "logic": 0.8}
    assert [(n, answer, mark) for n, _, answer, mark, _ in turns] == [(1, "yes", "key clue"), (2, "unknown", None)]
    assert turns[0][1].startswith("Is it <script>")
    named = {name: text for name, text, _ in turns[0][4]}
    assert named["logic"] == "l"
    assert named["doubts"] == "Why there?"
    assert named["strategy"] == "Mind Game"
    assert {row[1] for row in first} == {"Good", "Failing", "Ada"}


def test_a_case_is_told_stage_by_stage_with_every_grade_where_its_split_is_public(tmp_path: Path) -> None:
    split = built(tmp_path / "splits", [case(name, *size) for name, size in CASES.items()])
    tables = {name: flat(2, *size) for name, size in CASES.items()}
    with open_store(store_path()) as store:
        store.write_submission(*run("Early", tables), tier="scored-here")
        assert store.query("SELECT count(*) FROM stages").fetchone() == (0,), "nobody has said that it is public"
        assert open_splits(store) == ()
        store.write_split(split.manifest, split.items)
        orders = {"a": (3, 0, 2, 1)}
        store.write_submission(*run("Good", tables, human={"a": flat(3, 4, 2)}, orders=orders), tier="scored-here")
        (opened,) = open_splits(store)
        listed = {row.item_id: row for row in items(store, opened)}
        found = rows(store, opened)["case-a"]
    row = listed["case-a"]
    assert (row.mean, row.band, row.labels, row.right) == (pytest.approx(2 / 3), "middling", 1, 1.0)
    early, good = found
    assert (early[5], good[5]) == (0.6667, 0.6667)
    assert [notes for *_, notes in early[11]] == [[]] * 5, "what was said before the split was known was not kept"
    assert [(n, read, mean) for n, read, mean, *_ in good[11]] == [
        (0, "The introduction", "2.00 of 3"),
        (1, "The Inn a3", "2.00 of 3"),
        (2, "The Inn a0", "2.00 of 3"),
        (3, "The Inn a2", "2.00 of 3"),
        (4, "The Inn a1", "2.00 of 3"),
    ]
    name, said, grades = good[11][0][4][1]
    assert (name, grades) == ("question 2", "person h 3, x 2, y 2, z 2")
    assert said == f"So. {SCRIPT}"


def test_steps_of_a_novel_question_are_votes_with_marks() -> None:
    asked = questions(2, 1)
    with open_store(store_path()) as store:
        write_split(store, asked)
        write(store, asked, ["B12", "A"], name="Good")
        (split,) = open_splits(store)
        listed = items(store, split)
        (row,) = rows(store, split)[asked[0].id]
    assert [item.mean for item in listed] == [1.0, 0.0], "right or wrong, by the letter"
    assert row[5] == 1
    assert row[10] == {"reasoning": 0.6667}
    assert row[7] == "B"
    assert row[9][1][:2] == ["a", "model"]
    assert row[9][1][4] == {"step_1": True, "step_2": True, "step_3": False}


def test_of_a_release_without_a_licence_scores_are_shown_and_no_word(tmp_path: Path) -> None:
    asked = questions(2, 1)
    with open_store(store_path()) as store:
        write_split(store, asked, "detectiveqa-en")
        write(store, asked, ["B12", "A"], name="Good", split="detectiveqa-en", benchmark="detectiveqa")
        soups = [s for s in test_soup_boards.EVERY if s.language == "en"]
        closed = make_split("turtlesoup-en", soups, version="1.0.0", sources=[read_soups()[1]])
        store.write_split(closed.manifest, closed.items)
        made = {"split": "turtlesoup-en", "condition": "agent=full;responder=openai/host"}
        test_soup_boards.write(store, "Asks", [0.5] * 12, **made)
        site = build_site(store, tmp_path / "out", fit=lambda _: None).parent
    found = "".join(p.read_text(encoding="utf-8") for p in (site / "items").rglob("*") if p.is_file())
    assert "scores and votes only" in found
    assert '"model",0.6666' in found
    said = ("She left", "So it was", "Is he dead", "Why there", "Who left at", "piano tuner")
    assert not [words for words in said if words in found]


def test_pages_of_puzzles_and_cases_hold_their_games_and_run_nothing(tmp_path: Path) -> None:
    split = built(tmp_path / "splits", [case(name, *size) for name, size in CASES.items()])
    tables = {name: flat(2, *size) for name, size in CASES.items()}
    with open_store(store_path()) as store:
        store.write_split(split.manifest, split.items)
        for name in ("Holmes", "Watson"):
            store.write_submission(*run(name, tables), tier="scored-here")
        test_soup_boards.fill(store)
        site = build_site(store, tmp_path / "out", fit=lambda _: None).parent
    page = (site / "items/sample-case-1.0.0/case-a.html").read_text(encoding="utf-8")
    assert "Solution of a: it was the sexton." in page
    assert "The Inn a1\nText of a, place 1." in page
    assert page.count("<summary>Turn by turn: 5</summary>") == 2
    assert "x 2, y 2, z 2" in page
    games = "".join(p.read_text(encoding="utf-8") for p in (site / "items/sample-soup-en-1.0.0").glob("*.html"))
    assert "key clue</span>" in games
    assert "Why there?" in games
    for text in (page, games):
        assert not re.search(r"<script>alert|href=.javascript", text)
        assert not {"\u061c", "\u202e"} & set(text)
        assert "{{ 7*7 }}" in text
    model = (site / f"models/{slug('Holmes')}.html").read_text(encoding="utf-8")
    assert re.search(r"<dt>progressive</dt><dd>2\.00</dd>", model)
    assert "compare.html?board=sample-case-1.0.0-" in model
    assert "items/sample-case-1.0.0/index.html" in model
    told = json.loads((site / f"api/v1/models/{slug('Holmes')}.json").read_text())
    assert {"overall", "progressive", "final", "after 00"} <= {e["metric"] for e in told["estimates"]}
    board = (site / "sample-case.html").read_text(encoding="utf-8")
    assert "items/sample-case-1.0.0/index.html" in board
    assert re.search(r'compare\.html\?board=sample-case-1\.0\.0-\w{6}"', board)


def test_a_page_of_long_games_loads_in_under_300_kb_however_many_players_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [SoupTurn(question="Did anybody in the house hear it? " * 4, answer="no") for _ in range(30)]
    held = [
        SoupBelief(turn=n, logic=("It was so. " * 9,) * 4, details=("A fact. " * 9,) * 6, conclusion="The whole. " * 50)
        for n in range(5, 31, 5)
    ]
    long = test_soup_boards.game(turns=tuple(asked), beliefs=tuple(held))
    monkeypatch.setattr(test_soup_boards, "game", lambda: long)
    with open_store(store_path()) as store:
        soups = [s for s in test_soup_boards.EVERY if s.language == "en"]
        made = make_split("sample-soup-en", soups, version="1.0.0", sources=[read_soups()[1]])
        store.write_split(made.manifest, made.items)
        for n in range(20):
            test_soup_boards.write(store, f"player-{n}", [0.5], condition="agent=full;responder=openai/host")
        site = build_site(store, tmp_path / "out", fit=lambda _: None).parent
    folder, name = site / "items/sample-soup-en-1.0.0", page_of(soups[0].id)
    shown = [(folder / f"{name}.html").stat().st_size, (folder / f"{name}-0.json").stat().st_size]
    scripts = sum(p.stat().st_size for p in (site / "assets").glob("*.js"))
    assert sum(shown) + scripts < 300_000, shown
    assert len(list(folder.glob(f"{name}-*.json"))) == 3
