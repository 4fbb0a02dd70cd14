"""What a board can be narrowed to: categories and genres with ranks of their own, and languages."""

import json
from pathlib import Path

import jsonschema
import pytest

from evaluators.estimate import LIKE
from evaluators.fit import fit_split
from evaluators.kept import Standing, keep_standings
from evaluators.store import open_store, store_path
from leaderboard.api import schema
from leaderboard.boards import Board, boards
from leaderboard.downloads import QUERIES
from leaderboard.outputs import Outputs
from leaderboard.pages import render_board, write_pages
from leaderboard.part_files import write_parts
from leaderboard.parts import parts_of
from leaderboard.soup_boards import soup_boards
from tests.made_site import CATEGORIES, fill_rich, fill_soups


def quick(data: object) -> object:
    return fit_split(data, draws=200, max_sweeps=200)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    with open_store(tmp_path_factory.mktemp("parts") / "s.duckdb") as store:
        fill_rich(store)
        return boards(store, fit=quick)[0]  # type: ignore[arg-type]


def test_ranks_within_a_category_are_those_of_the_joint_draws_on_it(board: Board) -> None:
    (chosen,) = parts_of(board, [board])
    assert (chosen.kind, tuple(part.name for part in chosen.parts)) == ("category", CATEGORIES)
    logic, tiles = ({r.like.model: r for r in part.rows} for part in chosen.parts)
    assert logic["rich/b"].rank is not None
    assert logic["rich/b"].rank[0] == 1, "right on every riddle of logic"
    assert tiles["rich/b"].rank is not None
    assert tiles["rich/b"].rank[0] > 1, "and wrong on every one with tiles"
    for part in chosen.parts:
        assert [r.like.value for r in part.rows] == sorted((r.like.value for r in part.rows), reverse=True)
        assert sum(r.like.n for r in part.rows) == 4 * 12
        for row in part.rows:
            assert row.rank == (row.like.best_rank, row.like.worst_rank)
            assert 1 <= row.rank[0] <= row.rank[1] <= 4


def test_the_first_example_query_gives_the_ranks_of_the_board_and_not_those_of_its_categories(
    board: Board, tmp_path: Path
) -> None:
    (section,) = board.sections
    with open_store(tmp_path / "s.duckdb") as store:
        found = {section.condition: Standing(section.estimates, {})}
        keep_standings(store, board.split, section.version, section.jury, digest="d", found=found)
        (_, query), *_ = QUERIES
        rows = store.query(query).fetchall()
    assert len(rows) == len(section.ranked)


def test_a_board_without_several_categories_offers_none(board: Board) -> None:
    (section,) = board.sections
    one = section._replace(estimates=tuple(e for e in section.estimates if not e.metric.endswith(CATEGORIES[1])))
    (chosen,) = parts_of(board._replace(sections=(one,)), [board])
    assert chosen.parts == ()
    assert "data-parts" not in render_board(board._replace(sections=(one,)))
    assert "data-parts" in render_board(board)


def test_self_reported_rows_have_figures_for_a_part_but_no_rank(board: Board) -> None:
    (section,) = board.sections
    last = section.ranked[-1]
    own = last.like.submission_id
    told = [e.model_copy(update={"tier": "self-reported"}) if e.submission_id == own else e for e in section.estimates]
    moved = section._replace(
        ranked=section.ranked[:-1],
        self_reported=(last._replace(rank=None, like=last.like.model_copy(update={"tier": "self-reported"})),),
        estimates=tuple(told),
    )
    (chosen,) = parts_of(board._replace(sections=(moved,)), [board])
    assert chosen.parts[0].by_run[own].rank is None
    assert all(row.rank for name, row in chosen.parts[0].by_run.items() if name != own)


def test_documents_of_parts_hold_to_their_schema_and_to_the_estimates(board: Board, tmp_path: Path) -> None:
    outputs = Outputs(tmp_path)
    write_parts([board], outputs, code="c")
    files = sorted(tmp_path.rglob("*.json"))
    assert [path.stem for path in files] == list(CATEGORIES)
    known = {(e.submission_id, e.metric): e for e in board.estimates if e.estimand == LIKE}
    described = json.loads(schema())
    for path in files:
        found = json.loads(path.read_text())
        jsonschema.validate(found, {"$ref": "#/$defs/ApiPart", **described})
        assert found["key"] == path.parent.name == board.sections[0].key
        for row in found["rows"]:
            e = known[row["submission_id"], f"both_correct/{path.stem}"]
            assert (row["value"], row["low"], row["high"]) == tuple(round(x, 6) for x in (e.value, e.low, e.high))


def test_genres_have_a_page_with_intervals_and_ranks_and_languages_point_at_each_other(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        fill_soups(store)
        found = soup_boards(store)
        write_pages(found, tmp_path)
    english, chinese = (next(b for b in found if b.split == f"sample-soup-{code}") for code in ("en", "zh"))
    (there,), (here,) = parts_of(english, found), parts_of(chinese, found)
    assert [(x.name, x.href, x.carry) for x in there.languages] == [
        ("English", "", False),
        ("Chinese", "sample-soup-zh.html#s1", True),
    ]
    assert [x.name for x in here.languages if x.href] == ["English"]
    assert there.kind == "genre"
    assert here.key != there.key
    text = (tmp_path / "breakdown-sample-soup-zh.md").read_text()
    assert "by genre" in text
    row = here.parts[0].by_run["sample-soup-zh-late"]
    assert row.rank is not None
    assert f"{100 * row.like.low:.1f}–{100 * row.like.high:.1f}" in text


def test_a_board_whose_condition_nobody_ran_in_another_language_offers_none() -> None:
    with open_store(store_path()) as store:
        fill_soups(store)
        english, chinese = soup_boards(store)
    other = chinese.sections[0]._replace(condition="agent=none;responder=openai/host")
    (chosen,) = parts_of(english, [english, chinese._replace(sections=(other,))])
    assert chosen.languages == ()
