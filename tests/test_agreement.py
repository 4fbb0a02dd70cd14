"""Agreement of judges with people, the exchangeability test and leave-one-provider-out."""

import numpy as np
import pytest

from evaluators.agreement import agreement, by_group, effective_labels, kappa, leave_one_provider_out, mean_labels
from evaluators.exchange import exchangeability
from evaluators.ppi import Interval, wilson_fpc
from evaluators.rows import Rows
from leaderboard.coverage_world import scenario, simulate


def flags(regime, condition, replications=60):
    rng = np.random.default_rng(9)
    world = simulate(scenario(regime, condition), replications, rng)
    found = []
    for r in range(replications):
        jury, human = world.bins[r] / 3, world.human[r]
        known = ~np.isnan(human[:-1])
        test = exchangeability(jury[-1], human[-1], jury[:-1][known], human[:-1][known], rng=rng)
        found.append(test.flagged)
    return np.mean(found)


def test_kappa_of_a_worked_table():
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: agreement 0.7, by chance 0.5, kappa 0.4."""
    assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)
    rater, human = np.repeat([1.0, 1, 0, 0], [20, 5, 10, 15]), np.repeat([1.0, 0, 1, 0], [20, 5, 10, 15])
    found = agreement(rater, human)
    assert found[:2] == (50, 0.7)
    assert found[3:] == (20, 5, 10, 15)
    assert found.sensitivity == pytest.approx(2 / 3)
    assert found.specificity == 0.75


def test_agreement_leaves_out_what_was_not_rated():
    found = agreement(np.array([1, np.nan, 0, 0.5, 2 / 3]), np.array([1, 1, np.nan, 1, 0]))
    assert (found.rows, found.right_right, found.right_wrong) == (2, 1, 1)
    assert np.isnan(agreement(np.ones(3), np.ones(3)).kappa)
    assert np.isnan(agreement(np.ones(3), np.ones(3)).specificity)


def test_groups_without_labels_are_left_out():
    found = by_group(np.array([1.0, 0, 1]), np.array([1.0, 1, np.nan]), np.array(["a", "a", "b"]))
    assert set(found) == {"a"}
    assert found["a"].exact == 0.5


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no row has a verdict and a label"):
        agreement(np.array([np.nan]), np.array([1.0]))
    with pytest.raises(ValueError, match="same rows in one order"):
        agreement(np.ones(2), np.ones(3))


def test_several_labels_of_a_row_become_their_mean():
    found = mean_labels(np.array([0, 0, 2, 2, 2]), np.array([1.0, 0, 1, 1, 1]), 4)
    np.testing.assert_equal(found, [0.5, np.nan, 1.0, np.nan])


def test_effective_labels_of_a_random_sample_are_about_the_sample():
    """Wilson's own interval of 60 of 186 labels is worth 60 labels."""
    labels = np.repeat([0.0, 1.0], [20, 40])
    assert effective_labels(wilson_fpc(labels, 186), 186) == pytest.approx(60, abs=3)
    assert effective_labels(Interval(0.5, 0.5, 0.5), 186) == 186


@pytest.mark.parametrize("regime", ["vlm", "weak"])
def test_a_shifted_model_is_flagged_and_an_exchangeable_one_is_not(regime):
    assert flags(regime, "SHIFT") >= 0.8
    assert flags(regime, "EX") <= 0.06


def test_a_weaker_model_that_the_jury_treats_alike_is_not_flagged():
    assert flags("weak", "LOW") <= 0.12


def test_the_exchangeability_test_says_what_it_needs():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no labels of its own"):
        exchangeability(np.ones(3), np.full(3, np.nan), np.ones(2), np.array([0.0, 1]), rng=rng)
    with pytest.raises(ValueError, match="right and wrong labels"):
        exchangeability(np.ones(3), np.ones(3), np.ones(2), np.ones(2), rng=rng)


def test_a_provider_whose_wrong_answers_pass_shows_a_bias():
    rng = np.random.default_rng(1)
    truth = rng.random((4, 200)) < 0.6
    jury = np.where(truth, 1.0, 0.0)
    jury[3] = np.where(truth[3], 1.0, rng.random(200) < 0.5)
    model, item = (x.ravel() for x in np.indices(truth.shape))
    rows = Rows(model, item, jury.ravel(), truth.astype(float).ravel())
    found = {x.provider: x for x in leave_one_provider_out(rows, np.array(["a", "a", "b", "odd"]))}
    assert found["a"].labels == 400
    assert found["odd"].bias > 0.1
    assert found["odd"].predicted.low > found["odd"].right
    assert abs(found["b"].bias) < 0.1
