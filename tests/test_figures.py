"""What is kept of puzzles, novels and cases: only new or changed submissions are worked out again."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluators.store import Store, open_store
from leaderboard import figures, novel_runs, settled, standings
from leaderboard.case_boards import case_boards
from leaderboard.novel_boards import novel_boards
from leaderboard.soup_boards import soup_boards
from tests import test_case_boards, test_novel_boards, test_soup_boards
from tests.made_case import CASES, run
from tests.made_readings import write
from tests.test_novel_boards import ITEMS

# Imported by what makes numbers, and making none: tables of others, errors, the names of the first list.
NO_NUMBERS = {"builders.values", "evaluators.responders", "evaluators.store_errors", "evaluators.tables"}
NO_NUMBERS |= {"leaderboard.standings"}
ROOT = Path(__file__).resolve().parent.parent


def imported(path: Path) -> set[str]:
    """Modules of this project that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in {
            "builders",
            "evaluators",
            "leaderboard",
        }:
            folder = ROOT / str(node.module).replace(".", "/")
            found |= {
                f"{node.module}.{a.name}" if (folder / f"{a.name}.py").exists() else str(node.module)
                for a in node.names
            }
    return found


@pytest.mark.parametrize("module", [standings, figures, novel_runs, settled], ids=lambda m: m.__name__)
def test_a_change_to_anything_that_numbers_are_made_with_makes_what_is_kept_out_of_date(module: Any) -> None:
    listed = {str(path.relative_to(ROOT).with_suffix("")).replace("/", ".") for path in module.CODE}
    assert module.__name__ in listed
    missing = {name for path in module.CODE for name in imported(path)} - listed - NO_NUMBERS
    assert not missing


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Submissions and lines that are worked out from here on."""
    names: list[str] = []

    def watch(module: Any, name: str, told: Callable[..., str]) -> None:
        whole = getattr(module, name)

        def call(*args: Any, **options: Any) -> Any:
            names.append(told(*args))
            return whole(*args, **options)

        monkeypatch.setattr(module, name, call)

    watch(figures, "estimate_run", lambda stored, _: stored.submission.submission_id)
    watch(figures, "estimate_player", lambda one, _: one.stored.submission.submission_id)
    watch(novel_runs, "side_by_side", lambda model, *_: f"line {model}")
    return names


def test_a_new_game_is_estimated_alone_and_ranks_are_those_of_all(tmp_path: Path, seen: list[str]) -> None:
    condition = f"agent=full;responder=openai/host;{test_soup_boards.POINTS}"
    with open_store(tmp_path / "s.duckdb") as store:
        test_soup_boards.fill(store)
        first = soup_boards(store)
        assert sorted(seen) == ["ada", "failing", "good", "good-none"]
        assert soup_boards(store) == first
        assert len(seen) == 4, "a second build estimates nothing"
        test_soup_boards.write(store, "Best", [0.95] * 12, condition=condition)
        board = next(b for b in soup_boards(store) if b.split == "sample-soup-en")
        assert seen[4:] == ["best"]
        section = next(s for s in board.sections if s.condition == condition)
        assert [line.like.model for line in section.ranked] == ["Best", "Failing", "Good"]
        assert section.ranked[0].rank is not None
        store.remove_submission("best")
        assert soup_boards(store) == first
        assert seen[5:] == []


def test_places_are_worked_out_again_for_the_board_that_a_new_game_is_on_and_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[list[str]] = []
    whole = settled._stands

    def watch(store: Store, key: tuple[str, str, str], protocol: str, rows: Any) -> Any:
        ranked.append([group[0].submission_id for group in rows])
        return whole(store, key, protocol, rows)

    monkeypatch.setattr(settled, "_stands", watch)
    condition = f"agent=full;responder=openai/host;{test_soup_boards.POINTS}"
    with open_store(tmp_path / "s.duckdb") as store:
        test_soup_boards.fill(store)
        first = soup_boards(store)
        assert sorted(ranked) == [["ada"], ["failing", "good"], ["good-none"]]
        assert soup_boards(store) == first
        assert len(ranked) == 3, "a second build ranks nothing"
        test_soup_boards.write(store, "Best", [0.95] * 12, condition=condition)
        soup_boards(store)
        assert ranked[3:] == [["best", "failing", "good"]]


def test_labels_categories_and_code_make_what_is_kept_out_of_date(
    tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        test_soup_boards.fill(store)
        soup_boards(store)
        store.query("INSERT INTO labels SELECT submission_id, transcript_id, 'human', 1 FROM scores "
                    "WHERE submission_id = 'good' AND metric = 'overall' LIMIT 1")  # fmt: skip
        board = next(b for b in soup_boards(store) if b.split == "sample-soup-en")
        assert seen[4:] == ["good"]
        assert [s.labelled for s in board.sections if s.condition.startswith("agent=full")] == [1]
        store.query("UPDATE items SET category = 'Mind_Game' WHERE split = 'sample-soup-en'")
        soup_boards(store)
        assert len(seen) == 4 + 1 + 4
        changed = tmp_path / "means.py"
        changed.write_text("another estimator")
        monkeypatch.setattr(figures, "CODE", (*figures.CODE, changed))
        soup_boards(store)
        assert len(seen) == 4 + 1 + 4 + 4


def test_a_new_setting_of_a_novel_works_out_its_own_line_alone(tmp_path: Path, seen: list[str]) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        test_novel_boards.fill(store)
        first = novel_boards(store)
        del seen[:]
        assert novel_boards(store) == first
        assert seen == []
        write(store, ITEMS, ["B1"] * 24, name="Lost-question-only", model="Lost", setting="question-only")
        board = next(b for b in novel_boards(store) if b.split == "sample-novel")
        assert sorted(seen) == ["line Lost", "lost-question-only"]
        lost = next(line for line in board.sections[0].ranked if line.model == "Lost")
        assert lost.win is not None
        held = store.query("SELECT count(*) FROM figures WHERE kind = 'settings'").fetchone()
        assert held == (5,), "the line that Lost had without it is forgotten"


def test_a_new_person_moves_the_percentiles_of_everybody(tmp_path: Path, seen: list[str]) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        test_case_boards.fill(store, tmp_path / "splits")
        first = case_boards(store)
        assert len(seen) == 6
        assert case_boards(store) == first
        store.write_submission(*run("Late", test_case_boards.every(1)), tier="scored-here")
        case_boards(store)
        assert seen[6:] == ["late"]
        store.write_submission(*run("Dee", test_case_boards.every(3), provider="human"), tier="scored-here")
        board = next(b for b in case_boards(store) if b.split == "sample-case")
        assert len(seen) == 7 + 8
    good = next(line for line in board.sections[0].ranked if line.submission.submission_id == "good")
    assert good.percentile.split()[0] == "67", "mean 1.5 and deviation 1.12 of four people: 2 is 0.45 above it"
    assert set(CASES) == {"a", "b", "c"}


def test_estimates_stand_in_the_store_for_everybody_who_reads_it(tmp_path: Path) -> None:
    def held(store: Store) -> list[tuple[Any, ...]]:
        query = "SELECT submission_id, metric, value, best_rank FROM estimates WHERE metric IN ('overall', 'win_rate')"
        return sorted(store.query(query).fetchall(), key=str)

    with open_store(tmp_path / "s.duckdb") as store:
        test_case_boards.fill(store, tmp_path / "splits")
        boards = [*case_boards(store), *novel_boards(store)]
        shown = [e for b in boards for e in b.estimates if e.metric in ("overall", "win_rate")]
        assert held(store) == sorted(((e.submission_id, e.metric, e.value, e.best_rank) for e in shown), key=str)
        store.query("DELETE FROM figures")
    with open_store(tmp_path / "s.duckdb", read_only=True) as store:
        assert [*case_boards(store), *novel_boards(store)] == boards, "a store for reading is only read"
        assert store.query("SELECT count(*) FROM figures").fetchone() == (0,)
