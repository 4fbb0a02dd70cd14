"""Statistics of cases: the paper's tables first, then laws."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluators.grades import scores
from evaluators.people import EVERY, percentile, percentile_interval
from evaluators.units import place_of, unit_of
from leaderboard.case_analysis import achievable, order_agreement, order_correlation, outliers, regress, trend
from leaderboard.published import read_published_correlations, read_published_models, read_published_scores
from leaderboard.similarity import matrix, places, similarity

TABLE4 = [p for p in read_published_scores() if p.table == "Table 4"]
PLAYERS = np.array([1.80, 1.61, 1.55, 1.29, 0.89])  # overall scores of the paper's five people


def column(metric: str) -> dict[str, float]:
    return {p.model: p.score for p in TABLE4 if p.metric == metric}


def world(rng: np.random.Generator, score: float) -> tuple[np.ndarray, np.ndarray]:
    """Five runs and five people on 37 questions, with the paper's means and standard deviations (sections 4.1, 4.2).

    0.89 is the deviation of question scores, 0.08 that of run means; most of the former is shared by all solvers.
    """
    hard, own = rng.normal(0, 0.7, 37), np.sqrt(0.89**2 - 0.7**2)
    people = hard + rng.normal(0, own, (5, 37))
    people += (PLAYERS - people.mean(axis=1))[:, None]
    runs = hard + rng.normal(0, own, 37) + rng.normal(0, 0.08 * np.sqrt(37), (5, 37))
    return runs + score - runs.mean(), people


def test_the_percentile_column_of_table_4_comes_out_of_its_five_players() -> None:
    """Leelawat & Griffin 2026, Table 4: all 30 rows within a point; rounding of the printed scores moves two."""
    overall, printed = column("overall"), column("percentile")
    people = np.array([overall[f"Player{n}"] for n in range(1, 6)])
    assert sorted(people) == sorted(PLAYERS)
    found = {model: float(percentile(score, people)) for model, score in overall.items()}
    assert len(found) == 30
    assert all(abs(found[model] - printed[model]) <= 1 for model in found)
    moved = {model for model in found if round(found[model]) != printed[model]}
    assert moved == {"Claude Sonnet 4", "Gemini 2.5 Flash"}


def test_overall_is_the_mean_of_progressive_and_final_in_every_row_of_table_4() -> None:
    progressive, final, overall = (column(m) for m in ("progressive", "final", "overall"))
    assert all(abs((progressive[m] + final[m]) / 2 - overall[m]) <= 0.0101 for m in overall)


@pytest.mark.parametrize(
    ("score", "widths"),
    [(2.10, (7, 10, 2, 14)), (1.45, (81, 37, 16, 91))],
    ids=["GPT-5", "GPT-4.1"],
)
def test_intervals_have_the_order_of_widths_of_table_5(score: float, widths: tuple[int, ...]) -> None:
    """Leelawat & Griffin 2026, Table 5: widths over people, questions, runs and all three, on simulated data."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        runs, people = world(rng, score)
        intervals = [
            percentile_interval(runs, people, over=over, rng=rng, draws=2000)
            for over in (("people",), ("questions",), ("runs",), EVERY)
        ]
        assert all(i.low <= i.point <= i.high for i in intervals)
        found.append([i.high - i.low for i in intervals])
    mean = np.mean(found, axis=0)
    assert np.argsort(mean).tolist() == np.argsort(widths).tolist()
    assert np.abs(mean - widths).max() < 12, mean


def test_people_who_all_score_alike_have_everyone_above_or_below_them() -> None:
    assert percentile(np.array([1.0, 2.0, 3.0]), np.full(4, 2.0)).tolist() == [0.0, 50.0, 100.0]
    with pytest.raises(ValueError, match="two or more"):
        percentile(1.0, np.array([1.0]))
    with pytest.raises(ValueError, match="unknown"):
        percentile_interval(np.array([[np.nan]]), np.ones((2, 1)), rng=np.random.default_rng(0))


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.sampled_from([0.0, 1.0, 2.0, 3.0])))
def test_overall_lies_between_progressive_and_final_and_in_range(table: np.ndarray) -> None:
    s = scores(table)
    assert s.instantaneous.shape == (len(table),)
    assert np.isclose(s.instantaneous.mean(), s.progressive.mean())
    assert (np.minimum(s.progressive, s.final) - 1e-9 <= s.overall).all()
    assert (s.overall <= np.maximum(s.progressive, s.final) + 1e-9).all()
    assert s.overall.min() >= 0
    assert s.overall.max() <= 3


def test_a_missing_grade_makes_its_own_question_unknown_and_no_other() -> None:
    s = scores(np.array([[0.0, np.nan], [3.0, 2.0]]))
    assert s.overall[0] == 2.25
    assert np.isnan(s.overall[1])
    assert s.final.tolist() == [3.0, 2.0]
    with pytest.raises(ValueError, match="outside"):
        scores(np.array([[4.0]]))


@given(st.integers(0, 199), st.integers(1, 99))
def test_units_name_stage_and_question_and_are_read_back(stage: int, question: int) -> None:
    assert place_of(unit_of(stage, question)) == (stage, question - 1)
    assert [place_of(odd) for odd in ("item", "s1.q1", "s01.q0", "s01.q1 ", "logic")] == [None] * 5


def test_orders_of_visit_correlate_as_ranks_do() -> None:
    assert order_correlation([0, 1, 2, 3], [0, 1, 2, 3]) == pytest.approx(1)
    assert order_correlation([0, 1, 2, 3], [3, 2, 1, 0]) == pytest.approx(-1)
    # Spearman by hand: turns (1, 2, 3, 4) and (2, 1, 4, 3), 1 - 6 * 4 / (4 * 15).
    assert order_correlation([0, 1, 2, 3], [1, 0, 3, 2]) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="every location"):
        order_correlation([0, 1, 1], [0, 1, 2])


def test_agreement_is_over_pairs_of_players_and_shared_cases() -> None:
    a, b, c = {"x": [0, 1, 2]}, {"x": [0, 1, 2], "y": [1, 0]}, {"y": [0, 1]}
    alone = order_agreement([a, b, c])
    assert alone is not None
    assert (alone.pairs, alone.mean, alone.sd) == (2, pytest.approx(0), pytest.approx(1))
    between = order_agreement([a], [b, c])
    assert between is not None
    assert (between.pairs, between.mean) == (1, pytest.approx(1))
    assert order_agreement([a], [c]) is None


def test_a_regression_finds_the_coefficients_that_made_the_data() -> None:
    """Paper-sized: 37 questions in 11 cases; a real effect of length, none of the ratings (as in Table 8)."""
    rng = np.random.default_rng(8)
    words = np.repeat(rng.normal(2.9, 0.6, 11), 4)[:37]
    ratings = {name: rng.integers(0, 5, 37).astype(float) for name in ("induction", "deduction", "abduction")}
    difference = 1.5 - 0.42 * words + rng.normal(0, 0.3, 37)
    found = {c.feature: c for c in regress(difference, {"words": words, **ratings}, rng=rng)}
    assert found["words"].low < -0.42 < found["words"].high
    assert found["words"].significant
    assert not found["abduction"].significant
    narrower = {c.feature: c for c in regress(difference, {"words": words, **ratings}, rng=rng, level=0.9)}
    assert narrower["words"].high - narrower["words"].low < found["words"].high - found["words"].low
    with pytest.raises(ValueError, match="apart"):
        regress(difference, {"words": words, "again": 2 * words}, rng=rng)
    with pytest.raises(ValueError, match="apart"):
        regress(difference[:4], {"words": words[:4], **{k: v[:4] for k, v in ratings.items()}}, rng=rng)


def test_one_odd_question_is_called_so_and_noise_is_not() -> None:
    rng = np.random.default_rng(9)
    people = rng.uniform(0, 3, 37)
    model = 0.5 + 0.8 * people + rng.normal(0, 0.2, 37)
    assert outliers(people, model).found == ()
    assert outliers(people, model + 1.5 * (np.arange(37) == 7)).found == (7,)
    assert outliers(people, 2 * people).found == ()
    called = sum(bool(outliers(people, people + rng.normal(0, 0.2, 37)).found) for _ in range(200))
    assert called < 25, "a set without outliers has one called so in one of 20"


def test_the_highest_achievable_is_the_mean_of_the_best_on_each_question() -> None:
    assert achievable(np.array([[1.0, 3.0], [2.0, np.nan]])) == 2.5
    with pytest.raises(ValueError, match="no known score"):
        achievable(np.array([[1.0, np.nan]]))


def test_a_trend_is_the_line_through_the_points() -> None:
    line = trend(np.array([0.0, 1, 2]), np.array([1.0, 3, 5]))
    assert line is not None
    assert (line.slope, line.start, line.r) == (pytest.approx(2), pytest.approx(1), pytest.approx(1))
    assert trend(np.array([1.0, 1, 1]), np.array([1.0, 2, 3])) is None


def test_table_1_dates_every_model_of_table_4() -> None:
    dated = {m.model for m in read_published_models()}
    assert dated == {p.model for p in TABLE4 if p.condition != "player=human"}
    assert len(dated) == 24


def test_the_map_of_table_10_keeps_correlated_benchmarks_close() -> None:
    """Leelawat & Griffin 2026, Table 10 and Figure 15: Chatbot Arena stands apart, Watson & Holmes less so."""
    names, r = matrix([(c.first, c.second, c.r) for c in read_published_correlations()])
    spot = places(r)
    apart = np.linalg.norm(spot[:, None] - spot[None], axis=2)
    upper = np.triu_indices(len(names), 1)
    ranks = [np.argsort(np.argsort(x)) for x in (apart[upper], -r[upper])]
    assert np.corrcoef(*ranks)[0, 1] > 0.9, "more correlated is closer"
    reach = dict(zip(names, apart.sum(axis=1), strict=True))
    assert sorted(reach, key=reach.__getitem__)[-2:] == ["Watson & Holmes", "Chatbot Arena"]


def test_three_benchmarks_are_placed_at_their_very_distances() -> None:
    r = np.array([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]])
    spot = places(r)
    apart = np.linalg.norm(spot[:, None] - spot[None], axis=2)
    assert np.allclose(apart, np.sqrt(2 * (1 - r)))
    with pytest.raises(ValueError, match="symmetric"):
        places(np.array([[1, 0.5], [0.2, 1]]))


def test_benchmarks_are_compared_on_models_they_all_scored() -> None:
    a = {"m1": 1.0, "m2": 2.0, "m3": 3.0, "m4": 9.0}
    b = {"m1": 2.0, "m2": 4.0, "m3": 6.0}
    found = similarity({"a": a, "b": b, "alone": {"x": 1.0, "y": 2.0}})
    assert found is not None
    assert (found.names, found.models) == (("a", "b"), ("m1", "m2", "m3"))
    assert found.r[0, 1] == pytest.approx(1)
    assert similarity({"a": a, "c": {"m1": 1.0, "m2": 2.0}}) is None


def test_the_public_site_and_table_4_agree_where_both_have_a_model(real_data: Callable[[str], Path]) -> None:
    """The file of the site that is cited by its digest: 24 scores are Table 4's, the rest are our cited rows."""
    data = json.loads(real_data("watson_holmes/leaderboardData.json").read_text())
    site = {row["model"]: float(row["score"]) for row in data}
    overall = column("overall")
    assert all(overall[model] == score for model, score in site.items() if model in overall)
    ours = {p.model: p.score for p in read_published_scores() if p.table.startswith("public site")}
    assert ours == {model: score for model, score in site.items() if model not in overall}
    assert len(ours) == 7
