"""Boards of cases: grades, people, percentiles, progress, cited tables, sealed runs, and drawings."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.estimate_cases import estimate_cases
from evaluators.means import cluster_mean, cluster_ppi
from evaluators.store import Store, open_store, store_path
from leaderboard.build import build_site
from leaderboard.case_boards import CaseBoard, case_boards
from leaderboard.datafiles import as_csv, as_json
from leaderboard.drawings import board_charts
from leaderboard.pages import render_board, write_pages
from leaderboard.plots import Line, Series, Spot, line_plot, map_plot, spot_plot
from leaderboard.published import read_published_scores
from tests.made_case import CASES, SCRIPT, Grades, built, case, flat, run


def write(store: Store, name: str, tables: Mapping[str, Grades | None], **fields: Any) -> None:
    store.write_submission(*run(name, tables, **fields), tier="scored-here")


def every(grade: int) -> dict[str, Grades]:
    return {name: flat(grade, *size) for name, size in CASES.items()}


def rising() -> dict[str, Grades]:
    """0 until everything is read, then 3."""
    return {name: [*flat(0, n - 1, q), [3] * q] for name, (n, q) in CASES.items()}


def fill(store: Store, root: Path) -> None:
    split = built(root, [case(name, *size) for name, size in CASES.items()])
    store.write_split(split.manifest, split.items)
    write(store, "Good", every(2), cost_usd=3.0, release_date="2025-06-10", human={n: flat(3, *CASES[n]) for n in "ab"})
    write(store, "Rising", rising(), cost_usd=0.3, model=SCRIPT)
    write(store, "Failing", {"a": every(3)["a"], "b": None})
    for n, person in enumerate(("Ada", "Ben", "Cy")):
        write(store, person, every(n), provider="human")
    store.write_published_scores(read_published_scores())


@pytest.fixture
def board(tmp_path: Path) -> CaseBoard:
    with open_store(store_path()) as store:
        fill(store, tmp_path / "splits")
        return next(b for b in case_boards(store) if b.split == "sample-case")


def test_players_and_people_stand_in_one_table_with_grades_of_three(board: CaseBoard) -> None:
    (section,) = board.sections
    lines = {line.submission.submission_id: line for line in section.ranked}
    assert (lines["good"].score, lines["good"].progressive, lines["good"].final) == ("2.00", "2.00", "2.00")
    # 0 at every stage but the last: progressive is 3 over the stages, a mean over the 7 questions of 5, 4 and 3 stages.
    progressive = (2 * 3 / 5 + 3 * 3 / 4 + 2 * 3 / 3) / 7
    assert lines["rising"].progressive == f"{progressive:.2f}"
    assert lines["rising"].score == f"{(progressive + 3) / 2:.2f}"
    assert section.people == (2.0, 1.0, 0.0)
    # People's mean is 1 and their population deviation sqrt(2/3): a score of 2 is 1.22 deviations above it.
    assert lines["good"].percentile.startswith("89 [")
    assert lines["ada"].percentile == "–"
    assert lines["good"].tied == "3.00 [0.00–3.00]", "two cases tell little"


def test_what_failed_or_is_missing_widens_the_interval_and_counts_no_way(board: CaseBoard) -> None:
    (section,) = board.sections
    line = next(x for x in section.ranked if x.submission.submission_id == "failing")
    assert (line.score, line.like.n) == ("3.00", 2 + 3 + 2)
    assert any("5 of 7 questions unknown" in note for note in line.like.notes)
    assert float(line.interval[0]) < 1
    assert line.percentile == "–", "what failed might be what is hard"


def test_progress_is_aligned_at_the_start_and_at_the_end(board: CaseBoard) -> None:
    own = {e.metric: e for e in board.estimates if e.submission_id == "rising"}
    after = [round(own[f"after {n:02}"].value, 6) for n in range(5)]
    # After two locations the shortest case is solved: 2 of its questions among 7; then b (3 of 5), then a.
    assert after == [0, 0, round(3 * 2 / 7, 6), round(3 * 3 / 5, 6), 3]
    assert [own[f"left {n:02}"].value for n in range(5)] == [3, 0, 0, 0, 0]
    assert [own[f"left {n:02}"].n for n in range(5)] == [7, 7, 7, 5, 2]
    (section,) = board.sections
    assert [title for title, _ in section.plots] == [
        "Grades after each location",
        "The same, counted from the end",
    ]
    assert section.legend[-1] == ("ds-people", "people, on average")


def test_what_a_score_costs_and_when_models_came_is_drawn_once_with_the_level_of_people(board: CaseBoard) -> None:
    (cost,) = board_charts(board, most=3)[0]
    assert cost.title == "Score against cost", "one release date is known, and makes no chart"
    values = [x for layer in json.loads(cost.document)["layer"] for x in layer["data"]["values"]]
    assert {round(v["x"], 9) for v in values if "href" in v} == {1.0, 0.1}, "US dollars a case"
    # People's grades are 2, 1 and 0: the 95th percentile is 1.645 population deviations above their mean.
    level = round(1 + 1.6448536 * (2 / 3) ** 0.5, 3)
    assert {
        (v["name"], v["score"]) for v in values if "people" in v.get("name", "") or "person" in v.get("name", "")
    } == {
        ("average person", 1.0),
        ("95th percentile of people", level),
    }
    assert "Dashed: average person and 95th percentile of people." in cost.said
    page = render_board(board)
    assert page.count("Score against cost</summary>") == 1
    assert "Score by cost" not in page


def test_a_grade_nobody_could_read_leaves_its_question_out(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        tables = every(1)
        tables["a"] = [[None, 1], *tables["a"][1:]]
        write(store, "Odd", tables)
        found = estimate_cases(store, "sample-case", "1.0.0", "three", "scheme=simple;grader=3")
    overall = next(e for e in found if e.metric == "overall")
    assert overall.value == 1
    assert any(note.startswith("1 of 7 questions unknown") for note in overall.notes)


def test_published_rows_show_people_beside_models(board: CaseBoard, tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        paper = next(b for b in case_boards(store) if b.split == "watson-holmes")
    assert paper.sections == ()
    by_name = {line.model: line for line in paper.printed}
    assert len(by_name) == 30 + 7
    assert (by_name["o3-pro"].percentile, by_name["o3-pro"].again, by_name["o3-pro"].kind) == (
        "99",
        "99",
        "reasoning model",
    )
    assert by_name["Player1"].human
    assert by_name["Gemini 3.1 Pro"].source.startswith("public site at ")
    page = render_board(paper)
    assert "Score by release date" in page
    assert page.count("<circle") == 24
    assert "95th percentile of people" in page


def test_pages_run_nothing_that_names_say(board: CaseBoard, tmp_path: Path) -> None:
    write_pages((board,), tmp_path)
    page = render_board(board)
    for text in (page, (tmp_path / "similarity.md").read_text()):
        assert "<script>" not in text
        assert "\u061c" not in text
    assert "&lt;script&gt;" in page
    assert "So." not in page, "no answer to a case is on a page"
    data = json.loads(as_json(board))
    assert {e["metric"] for e in data["estimates"]} >= {"overall", "final", "percentile", "after 00", "left 02"}
    assert as_csv(board.estimates).count("\n") == len(board.estimates) + 1


def test_the_store_holds_no_answer_to_a_case_that_nobody_says_is_public() -> None:
    with open_store(store_path()) as store:
        write(store, "Good", every(2))
        assert case_boards(store)
    assert b"So. <script" not in store_path().read_bytes()


def test_a_sealed_run_has_the_same_board_without_the_rest(board: CaseBoard) -> None:
    with open_store(store_path()) as store:
        for name in ("good", "ada", "ben"):
            stored = next(s for s in store.submissions() if s.submission.submission_id == name)
            own = [e for e in board.estimates if e.submission_id == name and e.metric != "percentile"]
            hidden = {"split": "watson-holmes", "benchmark": "watson-holmes", "submission_id": f"sealed-{name}"}
            moved = [e.model_copy(update=hidden) for e in own]
            store.write_sealed(stored.submission.model_copy(update=hidden), moved, tier="scored-here")
        sealed = next(b for b in case_boards(store) if b.split == "watson-holmes")
    (section,) = sealed.sections
    assert [line.score for line in section.ranked] == ["2.00", "1.00", "0.00"]
    assert section.ranked[0].rank is not None
    assert section.ranked[0].percentile == "100", "3 deviations of people above their mean"
    assert [line.place.lead for line in section.ranked if line.place] == [None] * 3, "nothing is known by question"
    page = render_board(sealed)
    assert "taken for independent" in page
    assert "To leader" not in page


def test_the_site_builds_with_cases_and_benchmarks_compared(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        fill(store, tmp_path / "splits")
        index = build_site(store, tmp_path / "site")
    built_site = index.parent
    assert "Progressive" in (built_site / "sample-case.html").read_text()
    assert "Chatbot Arena" in (built_site / "similarity.html").read_text()
    assert (built_site / "data/watson-holmes.csv").exists()


def test_own_labels_move_the_mean_and_a_constant_bias_cancels() -> None:
    rng = np.random.default_rng(5)
    clusters = [f"c{n // 4}" for n in range(80)]
    jury = rng.uniform(0.2, 0.8, 80)
    human = np.where(np.arange(80) % 2, np.nan, jury - 0.15)
    found = cluster_ppi(human, jury, clusters)
    assert found.point == pytest.approx(jury.mean() - 0.15)
    assert found.low < found.point < found.high
    useless = cluster_ppi(np.where(np.isnan(human), np.nan, 0.5 + 0 * jury), np.full(80, 0.7), clusters)
    assert useless.point == pytest.approx(0.5)
    everything = cluster_ppi(jury, jury, clusters)
    assert everything.point == pytest.approx(jury.mean())
    assert everything.high - everything.low == pytest.approx(
        cluster_mean(jury, clusters).high - cluster_mean(jury, clusters).low, rel=0.02
    )
    with pytest.raises(ValueError, match="two or more"):
        cluster_ppi(np.where(np.arange(80) < 4, jury, np.nan), jury, clusters)


def test_intervals_of_own_labels_hold_in_a_world_where_the_jury_is_biased() -> None:
    """300 worlds of 30 cases with 4 questions, a quarter of the cases labelled: at least 90 in 100 hold the truth."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(300):
        true = np.repeat(rng.normal(0.5, 0.12, 30), 4) + rng.normal(0, 0.1, 120)
        jury = np.clip(true + 0.1 + rng.normal(0, 0.08, 120), 0, 1)
        human = np.where(np.repeat(np.arange(30) < 8, 4), np.clip(true, 0, 1), np.nan)
        found = cluster_ppi(human, jury, [str(n // 4) for n in range(120)])
        held += found.low <= 0.5 <= found.high
    assert held >= 270, held


def test_drawings_stay_within_their_frame_and_say_what_they_show() -> None:
    lines = line_plot([Series("a", (0.0, None, 9.0), 0), Series("p", (1.0,), -1)], label="L & l", top=3, caption="c")
    spots = spot_plot(
        [Spot(0.0, 1.0, "<b>", 0, 0.5, 1.5), Spot(2.0, 3.0, "two", 1)],
        ticks=[(0.0, "0"), (2.0, "2")],
        lines=[Line(0, 1.5, "level"), Line(1, 0, "rising", (0.0, 2.0))],
        label="S",
        top=3,
        caption="x",
    )
    plane = map_plot([(0.5, 0.1), (-0.5, -0.1)], ["one", "two"], label="M")
    for drawing in (lines, spots, plane):
        numbers = [float(x) for x in re.findall(r'[ "](?:x1?|x2|y1?|y2|cx|cy)="(-?[\d.]+)"', drawing)]
        assert numbers
        assert min(numbers) >= 0
        assert max(numbers) <= 340
        assert "aria-label" in drawing
    assert "L &amp; l" in lines
    assert "&lt;b&gt;: 1.00" in spots
