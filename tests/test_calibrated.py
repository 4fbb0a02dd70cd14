"""Own labels with the pool-calibrated jury as a proxy."""

import numpy as np
import pytest

from evaluators.calibrated import calibrated_ppi
from leaderboard.coverage_world import scenario, simulate


def test_limits_hold_whatever_the_pool_says():
    """SHIFT with weak judges, where `betabin` covers one time in six; 0.90 of 400 in a longer run."""
    rng = np.random.default_rng(3)
    world = simulate(scenario("weak", "SHIFT"), 150, rng)
    held = []
    for r in range(150):
        jury, human = world.bins[r] / 3, world.human[r]
        pool = ~np.isnan(human[:-1])
        found = calibrated_ppi(jury[-1], human[-1], jury[:-1][pool], human[:-1][pool])
        held.append(
            (found.these.low <= world.these[r] <= found.these.high, found.like.low <= world.like <= found.like.high)
        )
    assert np.mean(held, axis=0).min() >= 0.87


def test_continuous_scores_gain_from_a_good_jury():
    rng = np.random.default_rng(1)
    score = rng.random(300)
    jury = np.clip(score + rng.normal(0, 0.05, 300), 0.01, 0.99)
    human = np.where(np.arange(300) < 60, score, np.nan)
    found = calibrated_ppi(jury, human, jury, score).these
    alone = 2 * score[:60].std() / np.sqrt(60)
    assert found.low <= score.mean() <= found.high
    assert found.high - found.low < alone


def test_all_rows_labelled_leave_no_doubt_about_these_items():
    labels = np.repeat([0.0, 1.0], [30, 70])
    found = calibrated_ppi(labels, labels, np.zeros(0), np.zeros(0))
    assert found.these == pytest.approx((0.7, 0.7, 0.7))
    assert found.like.high - found.like.low == pytest.approx(2 * 1.984 * np.sqrt(0.21 / 100), rel=0.02)


def test_labels_that_all_agree_with_the_jury_leave_some_doubt():
    jury = np.repeat([0.0, 1.0], 93)
    human = np.where(np.arange(186) % 6 == 0, jury, np.nan)
    found = calibrated_ppi(jury, human, jury, jury).these
    assert 0.02 < found.high - found.low < 0.2


def test_one_label_is_refused():
    with pytest.raises(ValueError, match="has 1 labels of its own"):
        calibrated_ppi(np.ones(3), np.array([1, np.nan, np.nan]), np.ones(1), np.ones(1))
    with pytest.raises(ValueError, match="one entry a row"):
        calibrated_ppi(np.ones(3), np.ones(2), np.ones(1), np.ones(1))
