"""Settings against each other, needles, known novels, geometric means with intervals, judges against people."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.splits import make_split, write_split
from evaluators.bundle import write_bundle
from evaluators.judge_baseline import main as judge_baseline
from evaluators.judge_baseline import rouge
from evaluators.means import cluster_geometric_mean, cluster_mean
from evaluators.protocols.novel.settings import (
    FOUR,
    SIX,
    Needle,
    Scores,
    contamination,
    four_ways,
    recall_map,
    six_ways,
    win_rate,
)
from tests.made_novel import novel_question
from tests.made_readings import SOURCE, questions, run

NAN = float("nan")


def scores(*pairs: tuple[float, float]) -> Scores:
    return Scores(np.array([a for a, _ in pairs], dtype=float), np.array([r for _, r in pairs], dtype=float))


def test_a_letter_that_one_setting_has_alone_decides_and_reasoning_only_where_both_have_it() -> None:
    first = scores((1, 0.1), (0, 0.9), (1, 0.6), (1, 0.5), (1, 0.4), (0, 0.8), (NAN, 0.5), (1, NAN), (1, NAN))
    other = scores((0, 0.9), (1, 0.1), (1, 0.5), (1, 0.5), (1, 0.5), (0, 0.1), (1, 0.5), (1, 0.2), (0, 0.2))
    ways = six_ways(first, other).tolist()
    assert [SIX[n] if n >= 0 else "unknown" for n in ways] == [
        "first alone",
        "other alone",
        "first reasons better",
        "alike",
        "other reasons better",
        "neither",
        "unknown",
        "unknown",
        "first alone",
    ]
    letters = four_ways(first, other).tolist()
    expected = ["first alone", "other alone", *["both"] * 3, "neither", "unknown", "both", "first alone"]
    assert [FOUR[n] if n >= 0 else "unknown" for n in letters] == expected


def test_the_win_rate_leaves_out_what_neither_has_and_counts_ties_half() -> None:
    first = scores((1, 0.5), (1, 0.5), (1, 0.5), (0, 0.5), (0, 0.5))
    other = scores((0, 0.5), (1, 0.5), (1, 0.9), (1, 0.1), (0, 0.1))
    rate = win_rate(first, other, ["a", "b", "c", "d", "e"])
    assert rate is not None
    assert rate.point == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert win_rate(scores((0, 1)), scores((0, 0)), ["a"]) is None


@settings(max_examples=50)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0])] * 2, *[st.floats(0, 1)] * 2), min_size=1, max_size=20))
def test_the_two_sides_of_a_comparison_mirror_each_other(rows: list[tuple[float, float, float, float]]) -> None:
    one, two = scores(*[(a, r) for a, _, r, _ in rows]), scores(*[(b, s) for _, b, _, s in rows])
    mirror = np.array([4, 3, 2, 1, 0, 5])
    assert six_ways(two, one).tolist() == mirror[six_ways(one, two)].tolist()
    clusters = [str(n % 4) for n in range(len(rows))]
    there, back = win_rate(one, two, clusters), win_rate(two, one, clusters)
    assert (there is None) == (back is None)
    if there and back:
        assert there.point == pytest.approx(1 - back.point)


def test_recall_stands_in_the_cell_of_its_length_and_depth() -> None:
    needles = [
        Needle(7_999, 0.0, 1.0, "a"),
        Needle(8_000, 0.19, 1.0, "a"),
        Needle(8_000, 0.2, 0.0, "b"),
        Needle(15_000, 0.3, 1 / 3, "a"),
        Needle(363_000, 1.0, 2 / 3, "c"),
    ]
    found = recall_map(needles)
    assert {length: [cell.needles for cell in cells] for length, cells in found.items()} == {
        0: [1, 0, 0, 0, 0],
        8_000: [1, 2, 0, 0, 0],
        256_000: [0, 0, 0, 0, 1],
    }
    recall = found[8_000][1].recall
    assert recall is not None
    assert recall.point == pytest.approx(1 / 6)
    assert found[0][1].recall is None


def test_a_novel_is_flagged_only_where_chance_is_left_behind_for_all_novels_at_once() -> None:
    novels = [n for n in ("known", "guessed", "chance") for _ in range(20)]
    right = np.array([1.0] * 19 + [0.0] + [1.0, 0.0] * 10 + [1.0, 0.0, 0.0, 0.0] * 5)
    ids = [f"{n}-{i}" for i, n in enumerate(novels)]
    found = {k.novel: k for k in contamination(novels, ids, right)}
    assert {name: k.flagged for name, k in found.items()} == {"known": True, "guessed": False, "chance": False}
    assert (found["known"].questions, found["known"].answers) == (20, 20)
    # Twenty models that all know one question are one question, not twenty.
    alone = contamination(["n"] * 20, ["q"] * 20, np.ones(20))
    assert (alone[0].flagged, alone[0].questions, alone[0].answers) == (False, 1, 20)


def test_the_interval_of_a_geometric_mean_covers_it_as_often_as_it_says() -> None:
    """300 worlds of 30 novels with 12 questions each, where novels differ and right letters come with better steps."""
    rng = np.random.default_rng(7)
    big = world(rng, novels=200_000)
    truth = np.sqrt(big[0].mean() * big[1].mean())
    inside = 0
    for _ in range(300):
        accuracy, reasoning = (x.ravel() for x in world(rng, novels=30))
        interval = cluster_geometric_mean(accuracy, reasoning, [str(n) for n in range(30) for _ in range(12)])
        inside += interval.low <= truth <= interval.high
    assert 0.92 <= inside / 300 <= 0.99


def world(rng: np.random.Generator, *, novels: int) -> tuple[np.ndarray, np.ndarray]:
    hard = rng.normal(0, 0.8, size=(novels, 1))
    accuracy = (rng.normal(0.4 - hard, 1, size=(novels, 12)) > 0).astype(float)
    found = rng.binomial(8, 1 / (1 + np.exp(1.5 + hard - 0.8 * accuracy)))
    return accuracy, found / 8


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=30))
def test_a_geometric_mean_is_the_mean_where_both_scores_are_equal_and_lies_in_its_interval(
    rows: list[tuple[float, float]],
) -> None:
    one, two = (np.array(column) for column in zip(*rows, strict=True))
    clusters = [str(n % 5) for n in range(len(rows))]
    same, mean = cluster_geometric_mean(one, one, clusters), cluster_mean(one, clusters)
    assert same.point == pytest.approx(mean.point, abs=1e-9)
    both = cluster_geometric_mean(one, two, clusters)
    assert 0 <= both.low <= both.point + 1e-12
    assert both.point <= both.high + 1e-12
    assert both.high <= 1


def test_unknown_scores_widen_a_geometric_mean_to_both_sides() -> None:
    known = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    clusters = list("aabbcc")
    lost = known.copy()
    lost[0] = NAN
    whole, less = (cluster_geometric_mean(x, known, clusters) for x in (known, lost))
    assert less.low <= whole.low
    assert less.high >= whole.high


def test_judges_and_rouge_are_held_against_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = questions(2, 2)
    split = make_split("sample-novel", items, version="1.0.0", sources=[SOURCE])
    write_split(split, root=tmp_path / "splits")
    submission, transcripts, verdicts = run(items, ["B12", "B1", "A", "B123?"], name="one")
    submission = submission.model_copy(update={"split_sha256": split.manifest.sha256})
    write_bundle(tmp_path / "bundle", submission, transcripts, verdicts)
    labels = tmp_path / "labels.jsonl"
    marks = [[1, 2], [1, 2], [], [1, 2, 3]]
    rows = [{"item_id": i.id, "annotator": "ada", "found": m} for i, m in zip(items, marks, strict=True)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [str(tmp_path / "bundle"), "--labels", str(labels), "--splits", str(tmp_path / "splits")]
    assert judge_baseline(command) == 0
    lines = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    # Judge a: 12 steps, 11 as the person said; kappa (11/12 - 1/2) / (1/2) = 0.83.
    assert lines["a"][1:] == ["12", "0.92", "0.83", "4", "0.92"]
    assert lines["c"][1:5] == ["9", "0.89", "0.77", "3"], "one of its replies could not be read"
    assert lines["the jury's majority"][3] == "9"
    assert {"rouge1", "rouge2", "rougeL"} <= set(lines)
    for bad in ({"found": [4]}, {"found": [1, 1]}, {"found": "1"}, {"item_id": "en/none"}, {"annotator": None}):
        labels.write_text(json.dumps({**rows[0], **bad}) + "\n")
        assert judge_baseline(command) == 1
        assert "labels.jsonl:1" in capsys.readouterr().err
    labels.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0]) + "\n")
    assert judge_baseline(command) == 1
    assert "again" in capsys.readouterr().err


def test_rouge_counts_shared_words_and_in_chinese_shared_characters() -> None:
    english = novel_question(reasoning=("The porter saw the sister.",), evidence_position=(3,))
    found = rouge(english, "The porter saw nobody.")
    assert found == pytest.approx({"rouge1": 3 / 5, "rouge2": 2 / 4, "rougeL": 3 / 5})
    chinese = novel_question(reasoning=("门房看见她。",), evidence_position=(3,), language="zh")
    assert rouge(chinese, "门房没看见他") == pytest.approx({"rouge1": 4 / 5, "rouge2": 2 / 4, "rougeL": 4 / 5})
