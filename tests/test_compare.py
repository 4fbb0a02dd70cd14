"""Two models on shared items, and groups a board cannot tell apart."""

import numpy as np
import pytest

from evaluators.lsre import lsre
from evaluators.rows import Rows
from leaderboard.compare import compare, compare_items, tie_groups
from leaderboard.paired import item_weights, paired_draws


def known(lead, draws=1000):
    return np.repeat(np.asarray(lead, dtype=float)[None], draws, axis=0)


def labelled_board():
    """Three models on 60 items, all labelled; the third attempted every second item only, twice."""
    rng = np.random.default_rng(4)
    truth = rng.random((60, 3)) < [0.9, 0.5, 0.6]
    item, model = (x.ravel() for x in np.indices((60, 3)))
    kept = (model < 2) | (item % 2 == 0)
    item, model = item[kept], model[kept]
    again = model == 2
    item, model = np.concatenate([item, item[again]]), np.concatenate([model, model[again]])
    human = truth[item, model].astype(float)
    return truth, Rows(model, item, human.copy(), human)


def test_known_scores_give_the_counted_difference():
    lead = np.array([1] * 30 + [-1] * 10 + [0] * 60)
    found = compare_items(known(lead), rng=np.random.default_rng(0))
    assert (found.wins, found.losses, found.ties, found.items) == (30, 10, 60, 100)
    assert found.these.interval == pytest.approx((0.2, 0.2, 0.2))
    # sqrt((0.4 - 0.04) / 100) = 0.06 on either side, 1.96 times
    assert found.like.interval == pytest.approx((0.2, 0.082, 0.318), abs=0.02)
    assert found.like.p_value < 0.01
    assert not found.like.undecided


def test_swapping_the_models_turns_every_sign():
    lead = known([1] * 12 + [-1] * 9 + [0] * 20)
    ahead = compare_items(lead, rng=np.random.default_rng(3))
    behind = compare_items(-lead, rng=np.random.default_rng(3))
    assert (ahead.wins, ahead.losses) == (behind.losses, behind.wins)
    assert ahead.like.interval.point == pytest.approx(-behind.like.interval.point, abs=0.01)
    assert ahead.like.undecided
    assert behind.like.undecided


def test_no_item_that_parts_two_models_does_not_prove_them_equal():
    found = compare_items(known(np.zeros(50)), rng=np.random.default_rng(0))
    assert found.these.p_value == 1
    assert found.like.interval.low < 0 < found.like.interval.high
    assert found.like.interval.high - found.like.interval.low < 0.2


def test_clusters_widen_the_difference_on_items_like_these():
    lead = known(np.repeat(np.random.default_rng(1).choice([-1, 0, 1], 12), 8))
    alone = compare_items(lead, rng=np.random.default_rng(0)).like.interval
    story = compare_items(lead, cluster=np.repeat(np.arange(12), 8), rng=np.random.default_rng(0)).like.interval
    assert story.high - story.low > 1.8 * (alone.high - alone.low)


def test_a_board_is_compared_on_shared_items_only():
    truth, rows = labelled_board()
    fit = lsre(rows, rng=np.random.default_rng(0), draws=400, max_sweeps=800)
    found = compare(fit, rows, 0, 2, rng=np.random.default_rng(1))
    shared = truth[::2]
    assert found.items == 30
    assert found.wins == (shared[:, 0] & ~shared[:, 2]).sum()
    assert found.losses == (~shared[:, 0] & shared[:, 2]).sum()
    assert found.these.interval.point == pytest.approx(shared[:, 0].mean() - shared[:, 2].mean())
    paired = paired_draws(fit, rows, rng=np.random.default_rng(2))
    assert paired.items == 60
    assert paired.these[:, 0] == pytest.approx(truth[:, 0].mean())
    assert paired.these[:, 2].std() > 0.01  # half of its answers are missing and drawn


def test_items_of_a_cluster_weigh_alike():
    weights = item_weights(np.array([0, 0, 1, 2]), 4, np.random.default_rng(0))
    assert weights.sum() == pytest.approx(1)
    assert weights[0] == weights[1] != weights[2]


def test_pairs_that_cannot_be_compared_are_refused():
    _, rows = labelled_board()
    fit = lsre(rows, rng=np.random.default_rng(0), draws=400, max_sweeps=400)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="unknown model 3; known: 0 to 2"):
        compare(fit, rows, 0, 3, rng=rng)
    with pytest.raises(ValueError, match="with itself"):
        compare(fit, rows, 1, 1, rng=rng)
    apart = rows._replace(item=np.where(rows.model == 2, rows.item + 60, rows.item))
    with pytest.raises(ValueError, match="share no item"):
        compare(fit, apart, 0, 2, rng=rng)


def test_a_tie_group_begins_where_its_leader_is_clearly_ahead():
    beats = np.zeros((4, 4), dtype=bool)
    beats[2, [0, 3]] = True
    beats[1, 3] = True
    assert tie_groups(np.array([0.6, 0.8, 0.9, 0.5]), beats) == [2, 1, 1, 2]
