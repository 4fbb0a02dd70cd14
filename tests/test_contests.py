"""Rows of puzzles, novels and cases in pairs: differences clustered by story, on the site and in the terminal."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluators.means import Bounded, cluster_mean, paired_mean
from evaluators.store import Store, open_store, store_path
from leaderboard.__main__ import main
from leaderboard.case_boards import case_boards
from leaderboard.contests import Contest, contests
from leaderboard.novel_boards import novel_boards
from leaderboard.soup_boards import soup_boards
from tests import test_case_boards, test_novel_boards, test_soup_boards


def settled(values: list[float]) -> Bounded:
    scores = np.array(values)
    return Bounded(scores, np.nan_to_num(scores, nan=0.0), np.nan_to_num(scores, nan=1.0))


def all_contests(store: Store) -> tuple[Contest, ...]:
    return contests(store, [*soup_boards(store), *novel_boards(store), *case_boards(store)])


def test_where_items_stand_alone_the_interval_is_that_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0, 1, 60), rng.uniform(0, 0.6, 60)
    found = paired_mean(settled(first.tolist()), settled(second.tolist()), [str(n) for n in range(60)])
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.point == pytest.approx((first - second).mean())


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 3)), min_size=2, max_size=12))
def test_turned_round_a_pair_gives_the_difference_turned_round(rows: list[tuple[float, float, int]]) -> None:
    first, second, story = (list(column) for column in zip(*rows, strict=True))
    clusters = [str(n) for n in story]
    there = paired_mean(settled(first), settled(second), clusters)
    back = paired_mean(settled(second), settled(first), clusters)
    assert there == pytest.approx((-back.point, -back.high, -back.low))
    assert -1 <= there.low <= there.point <= there.high <= 1


def test_against_a_model_that_never_scores_the_lead_is_the_score_itself() -> None:
    """All of a lead's interval then comes from one model, so it is `cluster_mean`'s where that is not at its floor."""
    scores, clusters = [0.9, 0.1, 0.6, 0.3, 0.7, 0.2] * 5, [str(n % 10) for n in range(30)]
    own = cluster_mean(np.array(scores), clusters)
    lead = paired_mean(settled(scores), settled([0.0] * 30), clusters)
    assert lead.point == pytest.approx(own.point)
    assert lead.low <= own.low
    assert lead.high >= own.high


def test_equal_leads_on_few_stories_are_no_proof_and_one_story_says_nothing() -> None:
    ahead, behind = settled([0.6] * 4), settled([0.5] * 4)
    assert paired_mean(ahead, behind, list("abcd")).low < 0
    assert paired_mean(ahead, behind, ["one"] * 4)[1:] == (-1, 1)


def test_a_model_gains_nothing_in_a_pair_by_failing_where_it_is_hard() -> None:
    clusters = [str(n) for n in range(20)]
    whole = [0.8] * 10 + [0.1] * 10
    failing = [0.8] * 10 + [float("nan")] * 10
    found = paired_mean(settled(failing), settled(whole), clusters)
    assert found.point == 0, "on what both answered they are alike"
    assert found.low < -0.05 + found.point
    assert found.high > 0.4
    with pytest.raises(ValueError, match="no item has a score of both"):
        paired_mean(settled([float("nan")] * 20), settled(whole), clusters)


def test_puzzles_are_compared_by_story_with_unknown_games_at_either_end() -> None:
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        (contest,) = all_contests(store)
    assert (contest.split, contest.most) == ("sample-soup-en", 1.0)
    assert contest.condition.startswith("agent=full"), "the other conditions have one row each"
    assert [row.like.model for row in contest.rows] == ["Failing", "Good"]
    failing, good = contest.rows
    assert len(contest.units) == len(set(contest.clusters)) == 12
    assert np.isnan(failing.scores.point).sum() == 6
    assert (failing.scores.low[-1], failing.scores.high[-1]) == (0, 1)
    assert good.lead.point == pytest.approx(0.0), "where both have a score they are alike"
    assert good.lead.low < -0.2
    assert good.lead.high > 0.2
    assert failing.lead == (0, 0, 0)


def test_every_setting_of_a_novel_is_compared_by_itself() -> None:
    with open_store(store_path()) as store:
        test_novel_boards.fill(store)
        found = {c.condition: c for c in all_contests(store)}
    assert {c: [row.like.model for row in contest.rows] for c, contest in found.items()} == {
        "setting=context": ["Good", "Knows", "Lost"],
        "setting=evidence": ["Good", "Lost"],
        "setting=question-only": ["Good", "Knows"],
    }
    context = found["setting=context"]
    assert len(set(context.clusters)) == 6
    knows = context.rows[1]
    assert knows.lead.point == pytest.approx(-5 / 24)
    assert knows.lead.low < knows.lead.point < knows.lead.high


def test_cases_are_compared_question_by_question_and_with_people(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        test_case_boards.fill(store, tmp_path / "splits")
        (contest,) = all_contests(store)
    assert contest.most == 3
    assert len(contest.units) == 2 + 3 + 2
    assert contest.units[0].label == "case-a, question 1"
    rows = {row.like.submission_id: row for row in contest.rows}
    assert set(rows) == {"good", "rising", "failing", "ada", "ben", "cy"}
    assert rows["good"].scores.point == pytest.approx([2 / 3] * 7)
    failing = rows["failing"].scores
    assert failing.point[:2] == pytest.approx([1, 1])
    assert np.isnan(failing.point[2:]).all(), "one case failed and one is missing"
    assert (set(failing.low[2:]), set(failing.high[2:])) == ({0.0}, {1.0})


def test_the_terminal_compares_rows_of_every_board(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        test_case_boards.fill(store, tmp_path / "splits")
    assert main(["compare", "sample-case", "Good", "Ben"]) == 0
    said = capsys.readouterr().out
    assert "Good minus Ben, 7 items of sample-case@1.0.0, jury three" in said
    assert "these items           +1.00  [+1.00, +1.00]  beyond doubt" in said
    assert "7 won, 0 lost, 0 tied" in said
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
    assert main(["compare", "sample-soup-en", "Good", "Failing"]) == 1
    assert "name of 2 submissions; say which: good, good-none" in capsys.readouterr().err
    assert main(["compare", "sample-soup-en", "good", "good-none"]) == 0
    assert "+50.00  [" in capsys.readouterr().out
    assert main(["compare", "sample-soup-en", "good", "nobody"]) == 1
    assert "no ranked model 'nobody'" in capsys.readouterr().err
