"""Agreement of raters: published examples to nine decimals, laws, and intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.agreement import kappa
from evaluators.raters import bootstrap, cohen, compare, correlation, counted, fleiss, krippendorff_alpha, rms

NONE = float("nan")
# Fourteen raters, ten subjects, five categories: the worked example that follows Fleiss 1971.
SUBJECTS = np.array(
    [
        *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
        *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
    ]
)
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", part C: four observers, twelve units, gaps.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T


def test_fleiss_kappa_is_that_of_the_worked_example() -> None:
    """0.210 in print; all digits are those of statsmodels 0.15.0, inter_rater.fleiss_kappa."""
    assert fleiss(SUBJECTS) == pytest.approx(0.20993070442195522, abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "alpha"),
    [("nominal", 0.743421052631579), ("ordinal", 0.8153875037548814), ("interval", 0.8491071428571428)],
)
def test_krippendorffs_alpha_is_that_of_his_own_example(scale: str, alpha: float) -> None:
    """0.743, 0.815 and 0.849 in print."""
    assert krippendorff_alpha(OBSERVERS, scale=scale) == pytest.approx(alpha, abs=1e-9)  # type: ignore[arg-type]


def test_alpha_of_two_raters_is_the_published_figure() -> None:
    """Krippendorff 2011, part A: two observers, ten units of 0 and 1; alpha is 0.095 in print."""
    first = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], dtype=float)
    second = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    assert krippendorff_alpha(np.stack([first, second], axis=1)) == pytest.approx(0.095238095238, abs=1e-9)


def test_cohens_kappa_is_that_of_the_worked_example_and_of_the_confusion_matrix() -> None:
    """Fifty proposals, 20 and 15 agreed, 5 and 10 not: 0.4; statsmodels 0.15.0 has 0.3999999999999999."""
    first = np.repeat([1.0, 1.0, 0.0, 0.0], [20, 5, 10, 15])
    second = np.repeat([1.0, 0.0, 1.0, 0.0], [20, 5, 10, 15])
    assert cohen(first, second) == pytest.approx(0.4, abs=1e-9)
    assert cohen(first, second) == pytest.approx(kappa(np.array([[20, 5], [10, 15]])), abs=1e-12)


def test_the_root_mean_square_is_in_grades() -> None:
    """Three of a hundred grades off by one, one off by two: sqrt(7/100)."""
    first, second = np.full(100, 2.0), np.array([1.0] * 3 + [0.0] + [2.0] * 96)
    assert rms(first, second) == pytest.approx(np.sqrt(0.07))


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([0.0, 1.0, 2.0])), min_size=2, max_size=40))
def test_figures_do_not_depend_on_who_is_first_nor_on_the_order(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    for figure in (cohen, rms, correlation):
        assert figure(a, b) == pytest.approx(figure(b, a), nan_ok=True)
        assert figure(a, b) == pytest.approx(figure(a[::-1], b[::-1]), nan_ok=True)
    both = np.stack([a, b], axis=1)
    assert krippendorff_alpha(both) == pytest.approx(krippendorff_alpha(both[:, ::-1]), nan_ok=True)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=2), min_size=2, max_size=40))
def test_two_raters_of_one_unit_each_make_scotts_pi_of_fleiss_kappa(rows: list[list[float]]) -> None:
    """Fleiss' kappa of two raters is Scott's pi; alpha is it with a correction for small samples."""
    table = np.array(rows)
    pi, alpha, n = fleiss(counted(table)), krippendorff_alpha(table), 2 * len(rows)
    if not np.isnan(pi):
        assert alpha == pytest.approx(1 - (1 - pi) * (n - 1) / n)


def test_nothing_to_disagree_about_has_no_kappa_and_gaps_are_refused_where_they_matter() -> None:
    ones = np.ones(9)
    assert np.isnan([cohen(ones, ones), correlation(ones, ones), krippendorff_alpha(np.ones((9, 2)))]).all()
    with pytest.raises(ValueError, match="equally many raters"):
        fleiss(np.array([[2, 0], [1, 0]]))
    with pytest.raises(ValueError, match="no unit has a grade of both"):
        compare(np.array([1.0, NONE]), np.array([NONE, 0.0]), "ab", rng=np.random.default_rng(0))


def test_perfect_agreement_on_few_items_is_no_certainty() -> None:
    same = np.array([0.0, 1.0] * 10)
    found = compare(same, same, [str(n) for n in range(20)], rng=np.random.default_rng(0), resamples=50)
    assert (found.exact.point, found.kappa.point, found.bias) == (1, 1, 0)
    assert found.exact.low < 0.97


def test_repeats_of_one_item_make_the_interval_wider() -> None:
    rng = np.random.default_rng(1)
    right = rng.random(40) < 0.8
    a = np.repeat(np.ones(40), 5)
    b = np.repeat(right.astype(float), 5)
    alone = compare(a, b, [str(n) for n in range(200)], rng=rng, resamples=50).exact
    grouped = compare(a, b, [str(n // 5) for n in range(200)], rng=rng, resamples=50).exact
    assert grouped.high - grouped.low > 1.8 * (alone.high - alone.low)


def test_the_bootstrap_covers() -> None:
    """Of 120 worlds with a known mean, 95 % intervals of 200 draws hold it in 88 % or more."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(120):
        values = np.repeat(rng.normal(size=60), 2)
        clusters = np.repeat(np.arange(60), 2).astype(str)
        low, high = bootstrap(lambda rows: float(values[rows].mean()), clusters, rng=rng, resamples=200)[1:]  # noqa: B023
        held += low <= 0 <= high
    assert held / 120 >= 0.88
