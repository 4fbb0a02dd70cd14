"""Scores by the layton definition, plain PPI, the beta-binomial fall-back and Wilson's interval."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln, gammaln

from evaluators.bins import beta_binomial_pmf, bin_of, binomial_pmf, lattice_quantile
from evaluators.ppi import betabin, layton, layton_rank_spread, overlap_rank_spread, ppi, wilson_fpc

GOLDEN = Path(__file__).parent / "golden"
REAL = Path(os.environ.get("DEERSTALKER_REAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "layton_eval"
STEPS = np.array([0, 1 / 3, 2 / 3, 1])


def rows_of(counts):
    """Jury and human columns with NaN for no label, from counts by jury bin."""
    parts = [("right", 1.0), ("wrong", 0.0), ("unlabelled", np.nan)]
    jury = np.concatenate([np.repeat(STEPS, counts[name]) for name, _ in parts])
    human = np.concatenate([np.repeat(label, sum(counts[name])) for name, label in parts])
    return jury, human


def layton_table(models):
    """{model: Layton} from {model: (provider, jury, human)}, each against the labels of all other providers."""
    table = {}
    for name, (provider, jury, _) in models.items():
        others = [(j, h) for p, j, h in models.values() if p != provider]
        pool_jury, pool_human = (np.concatenate(column) for column in zip(*others, strict=True))
        known = ~np.isnan(pool_human)
        table[name] = layton(jury, pool_jury[known], pool_human[known])
    return table


def assert_published(table, published):
    names = list(table)
    for name in names:
        assert (table[name].score, table[name].half_width) == published[name][:2], name
        assert table[name].empty_bins == ()
    spread = layton_rank_spread(
        np.array([table[n].score for n in names]), np.array([table[n].half_width for n in names])
    )
    assert dict(zip(names, spread, strict=True)) == {n: published[n][2] for n in names}


def test_the_published_table_follows_from_its_counts():
    """layton-eval, table 1 (LLM split): scores, half-widths and rank spreads to the printed digit."""
    golden = json.loads((GOLDEN / "layton_llm_counts.json").read_text())["models"]
    table = layton_table({m: (c["provider"], *rows_of(c)) for m, c in golden.items()})
    assert_published(table, {m: (c["score"], c["half_width"], tuple(c["rank_spread"])) for m, c in golden.items()})


def test_the_published_table_follows_from_the_released_rows():
    if not (REAL / "ppi" / "ppi_llm.jsonl").exists():
        pytest.skip(f"no release at {REAL}; set DEERSTALKER_REAL_DATA to a folder that has layton_eval/")
    rows = [json.loads(line) for line in (REAL / "ppi" / "ppi_llm.jsonl").read_text().splitlines()]
    models = {}
    for model in {r["model"] for r in rows}:
        mine = [r for r in rows if r["model"] == model]
        votes = [[v for k, v in r.items() if k.startswith("both_correct_") and v is not None] for r in mine]
        human = [np.nan if r["human_both_correct"] is None else float(r["human_both_correct"]) for r in mine]
        models[model] = (mine[0]["provider"], np.array([np.mean(v) for v in votes]), np.array(human))
    printed = (REAL / "benchmark_results" / "results_llm.jsonl").read_text().splitlines()
    published = {}
    for row in map(json.loads, printed):
        best, worst = row["rank_spread"].split(" <--> ")
        published[row["model"]] = (row["score"], row["95% CI (±)"], (int(best), int(worst)))
    assert_published(layton_table(models), published)


def test_layton_equals_a_bootstrap_of_pool_labels():
    """The released procedure: give each row a random label of its own bin, average, take percentiles."""
    rng = np.random.default_rng(3)
    jury = rng.choice(STEPS, 60, p=[0.3, 0.1, 0.2, 0.4])
    pool_jury = rng.choice(STEPS, 300, p=[0.3, 0.15, 0.15, 0.4])
    pool_human = (rng.random(300) < 0.1 + 0.8 * pool_jury).astype(float)
    sums = np.zeros(40_000, dtype=int)
    for score, count in zip(*np.unique(jury, return_counts=True), strict=True):
        sums += rng.choice(pool_human[pool_jury == score], (40_000, count)).sum(1).astype(int)
    result = layton(jury, pool_jury, pool_human)
    low, high = np.quantile(sums, [0.025, 0.975], method="inverted_cdf")
    assert abs(result.low * 0.6 - low) <= 1
    assert abs(result.high * 0.6 - high) <= 1


def test_a_jury_score_computed_two_ways_is_one_bin():
    one, other = 1 / 3, (0.1 + 0.2 + 0.7) / 3 * 1.0000000000000002
    assert bin_of(np.array([one, other, np.nan])).tolist() == [333333, 333333, -1]
    assert layton(np.array([one]), np.array([other]), np.array([1.0])).empty_bins == ()


def test_a_bin_without_labels_takes_those_of_all_bins_and_is_named():
    result = layton(np.array([0.0, 1 / 3, np.nan]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert result.empty_bins == (0.333333,)
    both = betabin(np.array([0.0, 1 / 3, np.nan]), np.full(3, np.nan), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert both.empty_bins == (0.333333,)
    assert both.these.low == 0.0
    assert both.these.high == 1.0


def test_a_constant_jury_score_is_no_error():
    result = layton(np.ones(10), np.ones(5), np.array([1.0, 1, 1, 0, 1]))
    assert result.low < result.score < result.high
    flat = ppi(np.array([1.0, 0, 1]), np.ones(3), np.ones(9))
    assert flat.lam == 0
    assert flat.point == pytest.approx(2 / 3)


def test_a_width_of_zero_prints_a_tenth():
    assert layton(np.ones(10), np.ones(5), np.ones(5))[:2] == (100.0, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layton(np.ones(3), np.ones(0), np.ones(0)), "pool is empty"),
        (lambda: layton(np.ones(0), np.ones(1), np.ones(1)), "jury has 0 values"),
        (lambda: layton(np.ones(3), np.ones(1), np.array([0.5])), "labels 0 and 1"),
        (lambda: layton(np.ones(3), np.ones(2), np.ones(1)), "pool_jury has shape"),
        (lambda: layton(np.ones(3), np.ones(1), np.array([np.nan])), r"pool_human\[0\] is nan"),
        (lambda: ppi(np.array([0.0, 2.0]), np.zeros(2), np.zeros(2)), r"human\[1\] is 2.0"),
        (lambda: ppi(np.zeros(1), np.zeros(1), np.zeros(2)), "human has 1 values and needs at least 2"),
        (lambda: ppi(np.zeros(3), np.zeros(2), np.zeros(2)), "same rows in one order"),
        (lambda: betabin(np.zeros(3), np.zeros(3), np.zeros(0), np.zeros(0), repeats=2), "does not divide 3 rows"),
        (lambda: betabin(np.zeros(3), np.zeros(3), np.zeros(0), np.zeros(0), level=95), "level is 95"),
        (lambda: wilson_fpc(np.zeros(3), 2), "fewer than the 3 labels"),
        (lambda: wilson_fpc(np.zeros(0), 2), "human has 0 values"),
    ],
)
def test_input_that_cannot_be_used_is_refused_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rank_spreads_compare_printed_tenths_not_binary_fractions():
    """82.1 + 1.1 and 83.3 - 0.1 print as 83.2: the two reach each other."""
    assert layton_rank_spread(np.array([83.3, 82.1]), np.array([0.1, 1.1])) == [(1, 2), (1, 2)]
    assert layton_rank_spread(np.array([83.3, 82.1]), np.array([0.1, 1.0])) == [(1, 1), (2, 2)]
    assert overlap_rank_spread(np.array([0.8, 0.5, 0.1]), np.array([0.9, 0.85, 0.2])) == [(1, 2), (1, 2), (3, 3)]


CASES = json.loads((GOLDEN / "ppi_py.json").read_text())


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda c: c["name"])
def test_ppi_agrees_with_ppi_py(case):
    result = ppi(*(np.array(case[k]) for k in ("human", "jury", "jury_only")), level=case["level"])
    for name in ("point", "low", "high", "lam", "se"):
        assert getattr(result, name) == pytest.approx(case[name], abs=1e-9), name


def test_ppi_py_is_wrong_about_one_sided_intervals():
    """Its `alternative="larger"` without a weight returns the two-sided interval; ours has no such option."""
    case = next(c for c in CASES["cases"] if c["name"] == CASES["larger"]["case"])
    assert (CASES["larger"]["low"], CASES["larger"]["high"]) == (case["low"], case["high"])


def test_betabin_sums_are_exact():
    """All outcomes of four rows in two bins, enumerated."""
    jury, human = np.array([0.0, 0, 0, 1]), np.array([np.nan, np.nan, 1, np.nan])
    right, wrong = {0.0: 1 + 0.5, 1.0: 2.5}, {0.0: 2 + 0.5, 1.0: 0.5}
    result = betabin(jury, human, np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]))
    mean = 1.0
    for score, rows in ((0.0, 2), (1.0, 1)):
        mean += rows * right[score] / (right[score] + wrong[score])
    assert result.these.point == pytest.approx(mean / 4)
    chance = {}
    for first, last in itertools.product(range(3), range(2)):
        weight = 1.0
        for score, rows, k in ((0.0, 2, first), (1.0, 1, last)):
            a, b = right[score], wrong[score]
            ways = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
            weight *= np.exp(ways + betaln(k + a, rows - k + b) - betaln(a, b))
        chance[1 + first + last] = chance.get(1 + first + last, 0) + weight
    cumulative = np.cumsum([chance[k] for k in sorted(chance)])
    assert result.these.low == (sorted(chance)[int(np.argmax(cumulative >= 0.025))]) / 4


def test_betabin_works_with_no_pool_one_label_and_all_labels():
    nothing = betabin(np.ones(4), np.full(4, np.nan), np.zeros(0), np.zeros(0))
    assert nothing.these == (0.5, 0.0, 1.0)
    one = betabin(np.ones(4), np.full(4, np.nan), np.ones(1), np.ones(1))
    assert 0 <= one.like.low < one.like.point < one.like.high <= 1
    known = betabin(np.ones(4), np.array([1.0, 1, 0, 1]), np.zeros(0), np.zeros(0))
    assert known.these == (0.75, 0.75, 0.75)
    assert known.like.low < 0.75 < known.like.high


def test_repeats_narrow_these_items_but_not_items_like_these():
    jury, human = np.repeat([0.0, 1.0], 20), np.full(40, np.nan)
    pool = np.repeat([0.0, 1.0], 200)
    once, thrice = (betabin(np.repeat(jury, k), np.repeat(human, k), pool, pool, repeats=k) for k in (1, 3))
    assert thrice.like.high - thrice.like.low == pytest.approx(once.like.high - once.like.low, abs=0.01)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 40))
def test_estimates_ignore_row_order_and_hold_their_point(seed, rows, pool):
    rng = np.random.default_rng(seed)
    jury, human = rng.choice(STEPS, rows), rng.choice([0.0, 1.0, np.nan], rows)
    pool_jury, pool_human = rng.choice(STEPS, pool), rng.choice([0.0, 1.0], pool)
    first = betabin(jury, human, pool_jury, pool_human)
    order, other = rng.permutation(rows), rng.permutation(pool)
    again = betabin(jury[order], human[order], pool_jury[other], pool_human[other])
    np.testing.assert_allclose(first.these + first.like, again.these + again.like, atol=1e-12)
    for interval in first[:2]:
        assert 0 <= interval.low <= interval.point <= interval.high <= 1


def test_wilson_narrows_to_a_point_as_all_rows_are_labelled():
    """Without correction: Wilson's interval for 30 of 60, [0.3773, 0.6227]."""
    labels = np.repeat([0.0, 1.0], 30)
    assert wilson_fpc(labels, 10**9)[1:] == pytest.approx((0.37734, 0.62266), abs=1e-4)
    widths = [wilson_fpc(labels, total).high - wilson_fpc(labels, total).low for total in (60, 61, 90, 1000)]
    assert widths == sorted(widths)
    assert widths[0] == 0


def test_pmfs_add_up_even_where_a_share_is_certain():
    for pmf in (binomial_pmf(186, 0.0), binomial_pmf(186, 1.0), beta_binomial_pmf(500, 0, 700)):
        assert pmf.sum() == pytest.approx(1)
        assert np.isfinite(pmf).all()
    assert lattice_quantile(binomial_pmf(186, 1.0), 0.025) == 186


def test_importing_the_estimators_leaves_scipy_stats_alone():
    code = "import evaluators.ppi, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[1]).returncode == 0
