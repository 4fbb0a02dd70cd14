"""Rank sets: what they promise together, and the layton rule."""

import numpy as np
import pytest
from scipy.special import expit

from leaderboard.ranks import claims, layton_rank_spread, max_t_ranks, overlap_rank_spread, rank_sets, ranks_each


def board(abilities, rng, items=186, draws=300):
    """Joint draws of scores on items like these, for models whose answers are known."""
    abilities = np.asarray(abilities)
    scores = (rng.random((items, len(abilities))) < expit(abilities - rng.normal(0, 2.5, (items, 1)))).astype(float)
    return rng.dirichlet(np.ones(items), draws) @ scores


def true_ranks(abilities):
    return (-np.asarray(abilities)).argsort().argsort() + 1


def covered(sets, ranks):
    return all(best <= rank <= worst for (best, worst), rank in zip(sets, ranks, strict=True))


def mean_width(sets):
    return np.mean([worst - best + 1 for best, worst in sets])


@pytest.mark.parametrize("field", ["spread", "tight", "two fields"])
def test_true_ranks_are_inside_together_in_at_least_94_of_100_boards(field):
    rng = np.random.default_rng(11)
    held, widths, plain = [], [], []
    for _ in range(120):
        abilities = {
            "spread": rng.normal(0, 1.5, 10),
            "tight": rng.normal(0, 0.1, 10),
            "two fields": np.repeat([-2.0, 1.0], 5) + rng.normal(0, 0.05, 10),
        }[field]
        draws = board(abilities, rng)
        sets = rank_sets(draws, items=186, rng=rng)
        held.append(covered(sets, true_ranks(abilities)))
        widths.append(mean_width(sets))
        plain.append(mean_width(max_t_ranks(draws, items=186)))
    # Seeded, so it cannot fail by chance; the full study is in tests/bench_stats.py.
    assert np.mean(held) >= 0.94
    assert np.mean(widths) <= np.mean(plain)


def test_sets_of_one_model_are_narrower_and_overlap_of_intervals_is_wider():
    rng = np.random.default_rng(5)
    draws = board(rng.normal(0, 1.5, 30), rng)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    together, each = rank_sets(draws, items=186, rng=rng), ranks_each(draws, items=186)
    assert mean_width(each) < mean_width(max_t_ranks(draws, items=186))
    assert mean_width(together) < mean_width(overlap_rank_spread(low, high))


def test_models_far_apart_have_one_rank_each():
    draws = np.array([0.9, 0.1, 0.5]) + np.random.default_rng(0).normal(0, 0.01, (500, 3))
    assert rank_sets(draws, items=186, rng=np.random.default_rng(1)) == [(1, 1), (3, 3), (2, 2)]
    assert claims(draws, items=186).tolist() == [[False, True, True], [False] * 3, [False, True, False]]


def test_models_that_agree_on_every_item_are_not_told_apart():
    draws = np.repeat(np.random.default_rng(0).normal(0.5, 0.03, (500, 1)), 3, axis=1)
    assert rank_sets(draws, items=186, rng=np.random.default_rng(1)) == [(1, 3)] * 3
    assert not claims(draws, items=186).any()


def test_ranks_do_not_depend_on_the_order_of_models():
    rng = np.random.default_rng(2)
    draws, order = board(rng.normal(0, 1, 12), rng), rng.permutation(12)
    plain = np.array(max_t_ranks(draws, items=186))
    assert (np.array(max_t_ranks(draws[:, order], items=186)) == plain[order]).all()


def test_one_model_is_first():
    assert rank_sets(np.random.default_rng(0).random((300, 1)), items=10, rng=np.random.default_rng(0)) == [(1, 1)]


def test_the_layton_rule_is_kept_under_its_own_name():
    """The first three rows of layton-eval's table 1 by themselves."""
    assert layton_rank_spread(np.array([85.2, 83.9, 83.3]), np.array([1.4, 1.1, 0.1])) == [(1, 2), (1, 3), (2, 3)]


def test_draws_that_cannot_be_ranked_are_refused():
    with pytest.raises(ValueError, match="at least 200"):
        rank_sets(np.zeros((10, 3)), items=5, rng=np.random.default_rng(0))
    bad = np.zeros((300, 3))
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="model 1 are not all finite"):
        max_t_ranks(bad, items=5)
