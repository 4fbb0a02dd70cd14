"""The simulation study: its world, its table and its command."""

import json

import numpy as np
import pytest

from leaderboard.coverage import Task, main, run_cell, study, table
from leaderboard.coverage_world import scenario, simulate


def test_judges_err_as_often_as_the_regime_says():
    """Weak judges: right on about 80 % of right and of wrong answers (Phi(0.842) = 0.8)."""
    world = simulate(scenario("weak", "EX"), 40, np.random.default_rng(0))
    assert world.votes[world.truth].mean() == pytest.approx(0.8, abs=0.01)
    assert world.votes[~world.truth].mean() == pytest.approx(0.2, abs=0.01)


def test_the_true_score_on_items_like_these_is_the_mean_over_many_items():
    world = simulate(scenario("vlm", "LOW"), 400, np.random.default_rng(1))
    assert world.these.mean() == pytest.approx(world.like, abs=0.005)


def test_labels_are_bought_as_designed():
    world = simulate(scenario("weak", "EX"), 30, np.random.default_rng(2))
    known = ~np.isnan(world.human)
    assert (known[:, -1].sum(-1) == 60).all()
    split = (world.bins[:, -1] > 0) & (world.bins[:, -1] < 3)
    assert ((known[:, -1] & split).sum(-1) == np.minimum(split.sum(-1), 40)).all()
    assert known[:, :-1].sum((1, 2)).mean() == pytest.approx(186 * 3.23, abs=6)
    assert (known[:, :-1].sum(1) <= 4).all()
    assert (~np.isnan(world.audit)).sum(-1).tolist() == [60] * 30


@pytest.mark.parametrize(("condition", "wrong"), [("SHIFT", True), ("FPR", True), ("EX", False)])
def test_a_shift_lets_wrong_answers_of_the_evaluated_model_pass(condition, wrong):
    world = simulate(scenario("vlm", condition), 60, np.random.default_rng(3))
    passed = [world.votes[:, m][~world.truth[:, m]].mean() for m in (-1, 0)]
    assert (passed[0] > 1.8 * passed[1]) == wrong


def test_noise_flips_one_label_in_a_hundred():
    world = simulate(scenario("llm", "NOISE"), 60, np.random.default_rng(4))
    known = ~np.isnan(world.human)
    assert (world.human[known] != world.truth[known]).mean() == pytest.approx(0.01, abs=0.002)


def test_hard_items_mislead_judges_more():
    rng = np.random.default_rng(5)
    error = {}
    for condition in ("EX", "HARD"):
        world = simulate(scenario("weak", condition), 60, rng)
        wrong = world.votes[:, 0] != world.truth[:, 0][..., None]
        error[condition] = wrong[world.truth.sum(1) == 0].mean()
    assert error["HARD"] > error["EX"] + 0.02


def test_unknown_cells_are_refused_by_name():
    with pytest.raises(ValueError, match="unknown regime 'x'; known: llm, vlm, weak"):
        scenario("x", "EX")
    with pytest.raises(ValueError, match="unknown condition 'x'; known: EX, LOW"):
        scenario("vlm", "x")


def test_the_default_covers_where_the_layton_interval_does_not():
    """A small seeded sample of the study's SHIFT cell; the whole table is `python -m leaderboard coverage`."""
    cells, flagged = run_cell(Task("vlm", "SHIFT", 40, 60, 1000, np.random.SeedSequence(6)))
    found = {(c.method, c.estimand): c.coverage for c in cells}
    assert found["layton", "these items"] <= 0.1
    assert found["lsre", "these items"] >= 0.88
    assert found["lsre", "items like these"] >= 0.88
    assert found["wilson", "these items"] >= 0.88
    assert flagged is not None
    assert flagged >= 0.8


def test_the_table_does_not_depend_on_the_number_of_processes():
    cells = [("llm", "EX"), ("weak", "RE")]
    one, two = (study(cells, replications=2, seed=3, own_labels=0, sweeps=200, jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert one["flagged"] == {"llm EX": None, "weak RE": None}
    assert table(one).count("\n") == 3


def test_the_command_writes_what_it_prints(tmp_path, capsys, monkeypatch):
    out = tmp_path / "coverage.json"
    assert main(["--fast", "--replications", "1", "--out", str(out)]) == 0
    stored = json.loads(out.read_text())
    assert table(stored) == capsys.readouterr().out.strip()
    assert {"seed", "replications", "commit", "level"} < set(stored)
    with pytest.raises(SystemExit, match="2"):
        main(["--replications", "-1"])
    monkeypatch.setattr("leaderboard.coverage.study", lambda *_, **__: stored)
    assert main(["--fast", "--out", str(tmp_path / "no" / "such.json")]) == 1
