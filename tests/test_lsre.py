"""The default estimator: agreement with its prototype, coverage in small, and odd input."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from evaluators.lsre import estimands, imputed, lsre
from evaluators.lsre_chain import link
from evaluators.rows import Rows, design_effect, jury_bins, strata, tally

GOLDEN = Path(__file__).parent / "golden" / "layton_llm_counts.json"
STEPS = np.array([0, 1 / 3, 2 / 3, 1])
# Mean and interval of (a), interval of (b), as the prototype of the design study found them on the same counts.
PROTOTYPE = {
    "gemini-3-flash-high": (86.0, 83.9, 87.1, 80.2, 90.7),
    "gemini-3-pro-high": (84.9, 84.4, 85.5, 79.3, 89.5),
    "gpt-5.1-2025-11-13-high": (83.3, 82.8, 83.9, 77.4, 88.1),
    "gpt-5.2-2025-12-11-high": (80.7, 80.1, 81.2, 74.5, 85.9),
    "claude-opus-4-5-20251101-thinking-32k": (80.5, 79.0, 81.7, 74.2, 85.8),
    "moonshotai-kimi-k2.5-thinking": (73.1, 71.0, 75.3, 66.1, 79.5),
    "claude-opus-4-5-20251101-no-thinking": (69.8, 68.3, 71.5, 62.6, 76.4),
    "moonshotai-kimi-k2-thinking": (66.9, 61.8, 71.0, 58.2, 74.7),
    "mistral-large-2512": (46.8, 46.2, 47.8, 39.8, 54.1),
}


def simulated(rng, accuracy, *, items=100, right=0.9, labels=30, judges=3):
    """Models of the given accuracies, judges of one quality, random labels."""
    truth = rng.random((len(accuracy), items)) < np.array(accuracy)[:, None]
    votes = rng.random((*truth.shape, judges)) < np.where(truth, right, 1 - right)[..., None]
    model, item = (x.ravel() for x in np.indices(truth.shape))
    human = np.where(rng.random(truth.shape) < labels / items, truth, np.nan).ravel()
    return truth, Rows(model, item, votes.mean(-1).ravel(), human)


def quick(rows, seed=0, **options):
    return lsre(rows, rng=np.random.default_rng(seed), draws=400, max_sweeps=400, **options)


def test_the_nine_layton_models_come_out_as_in_the_design_study():
    """The prototype had no strata (here no two models share an item), normal leniencies and chains of its own.

    Its leniencies varied less, so the two models without labels (kimi) were a little narrower there.
    """
    counts = json.loads(GOLDEN.read_text())["models"]
    parts = [
        (m, jury, label, n)
        for m, model in enumerate(counts)
        for name, label in (("right", 1.0), ("wrong", 0.0), ("unlabelled", np.nan))
        for jury, n in zip(STEPS, counts[model][name], strict=True)
    ]
    model, jury, human = (np.repeat([p[i] for p in parts], [p[3] for p in parts]) for i in range(3))
    item = np.arange(len(model))
    fit = lsre(Rows(model, item, jury, human), rng=np.random.default_rng(1), max_sweeps=4000)
    assert fit.rhat < 1.05
    for name, (these, like, empty) in zip(counts, estimands(fit), strict=True):
        ours = 100 * np.array([these.point, these.low, these.high, like.low, like.high])
        assert np.abs(ours - PROTOTYPE[name]).max() < (3 if "kimi" in name else 1.1), (name, ours)
        assert abs(ours[0] - PROTOTYPE[name][0]) < 0.5, (name, ours)
        assert empty == ()


def test_a_model_the_jury_flatters_is_corrected_by_its_own_labels():
    rng = np.random.default_rng(8)
    truth, rows = simulated(rng, [0.7, 0.6, 0.5, 0.4, 0.5], items=186, labels=60)
    odd = rows.model == 4
    no = np.rint(3 * (1 - rows.jury)).astype(int)
    flattered = np.where(odd, rows.jury + rng.binomial(no, 0.3) / 3, rows.jury)
    found = estimands(quick(rows._replace(jury=flattered)))[4].these
    assert flattered[odd].mean() - truth[4].mean() > 0.1
    assert found.low <= truth[4].mean() <= found.high
    assert found.high - found.low < 0.15


def test_a_model_without_labels_of_its_own_is_wider_than_one_with():
    _, rows = simulated(np.random.default_rng(2), [0.6, 0.6, 0.6, 0.6], right=0.8)
    bare = rows._replace(human=np.where(rows.model == 3, np.nan, rows.human))
    widths = [e.these.high - e.these.low for e in estimands(quick(bare))]
    assert widths[3] > 1.2 * np.mean(widths[:3])


def test_a_seed_decides_every_draw():
    _, rows = simulated(np.random.default_rng(2), [0.6, 0.4])
    few = {"draws": 40, "max_sweeps": 80}
    first, again, other = (lsre(rows, rng=np.random.default_rng(seed), **few) for seed in (1, 1, 2))
    assert (first.these == again.these).all()
    assert (first.these != other.these).any()


def test_imputed_scores_keep_labels_and_average_to_the_draws():
    _, rows = simulated(np.random.default_rng(5), [0.7, 0.3])
    fit = quick(rows)
    stack = np.stack(list(imputed(fit, rows, np.random.default_rng(0))))
    known = ~np.isnan(rows.human)
    assert (stack[:, rows.item[known], rows.model[known]] == rows.human[known]).all()
    assert np.abs(stack.mean((0, 1)) - fit.these.mean(0)).max() < 0.01
    assert set(np.unique(stack)) == {0.0, 1.0}


def test_graded_labels_are_estimated_on_their_own_scale():
    rng = np.random.default_rng(6)
    grades = (0.0, 1 / 3, 2 / 3, 1.0)
    truth = np.stack([rng.choice(grades, 200, p=p) for p in ([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1])])
    jury = np.clip(truth + rng.choice([-1 / 3, 0, 0, 0, 1 / 3], truth.shape), 0, 1)
    human = np.where(rng.random(truth.shape) < 0.4, truth, np.nan)
    model, item = (x.ravel() for x in np.indices(truth.shape))
    fit = quick(Rows(model, item, jury.ravel(), human.ravel()), grades=grades)
    for m, found in enumerate(estimands(fit)):
        assert found.these.low <= truth[m].mean() <= found.these.high
        assert found.these.high - found.these.low < 0.12
    stack = next(imputed(fit, Rows(model, item, jury.ravel(), human.ravel()), rng))
    assert np.isclose(stack[..., None], grades).any(-1).all()


def test_a_label_between_grades_counts_as_a_share_of_each():
    rows = Rows(np.zeros(2, int), np.arange(2), np.ones(2), np.array([0.25, 0.5]))
    bins, scores = jury_bins(rows.jury)
    labels = tally(rows, bins, len(scores), (0.0, 0.5, 1.0), strata(rows)).labels.sum((1, 2, 3, 4))
    assert labels.tolist() == [0.5, 1.5, 0.0]


def test_rows_without_a_jury_score_count_and_do_not_crash():
    _, rows = simulated(np.random.default_rng(3), [0.7, 0.5])
    blind = rows._replace(jury=np.where(np.arange(200) % 4 == 0, np.nan, rows.jury))
    found = estimands(quick(blind))
    sighted = estimands(quick(rows))
    assert found[0].these.high - found[0].these.low > sighted[0].these.high - sighted[0].these.low


def test_one_jury_score_for_everything_leaves_the_labels():
    _, rows = simulated(np.random.default_rng(3), [0.7, 0.5], labels=50)
    found = estimands(quick(rows._replace(jury=np.ones(200))))
    for m in range(2):
        share = np.nanmean(rows.human[rows.model == m])
        assert found[m].these.low <= share <= found[m].these.high


def test_many_jury_scores_are_grouped_into_eight_bins():
    jury = np.append(np.linspace(0, 1, 100), np.nan)
    bins, scores = jury_bins(jury)
    assert len(scores) == 8
    assert bins[-1] == 8
    assert (np.diff(bins[:-1]) >= 0).all()
    assert np.bincount(bins)[:8].min() >= 12


def test_a_jury_score_no_label_calibrates_is_named():
    rows = Rows(np.zeros(4, int), np.arange(4), np.array([0, 1, 2 / 3, 1]), np.array([0, 1, np.nan, np.nan]))
    assert quick(rows).empty_bins == (0.666667,)


def test_repeats_and_clusters_lessen_the_news_about_items_like_these():
    _, rows = simulated(np.random.default_rng(7), [0.6, 0.4], items=60)
    bins, _ = jury_bins(rows.jury)
    assert design_effect(rows, bins) == 1
    thrice = Rows(*(np.tile(column, 3) for column in rows[:4]))
    assert design_effect(thrice, np.tile(bins, 3)) == pytest.approx(3)
    once, again = (estimands(quick(r))[0].like for r in (rows, thrice))
    assert again.high - again.low == pytest.approx(once.high - once.low, abs=0.05)
    stories = rows._replace(cluster=np.arange(60) // 6)
    assert 1 <= design_effect(stories, bins) < 2.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"human": np.full(200, np.nan)}, "no row has a label"),
        ({"human": np.full(200, 3.0)}, r"human\[0\] is 3.0, not a share"),
        ({"jury": np.full(200, -1.0)}, r"jury\[0\] is -1.0"),
        ({"jury": np.ones(3)}, "columns of rows have shapes"),
        ({"model": np.repeat([0, 2], 100)}, "model 1 has no row"),
        ({"item": np.full(200, -1)}, "count from 0"),
        ({"cluster": np.zeros(3, int)}, "cluster names 3 items"),
    ],
)
def test_rows_that_cannot_be_fitted_are_refused_with_a_remedy(change, message):
    _, rows = simulated(np.random.default_rng(2), [0.6, 0.4])
    with pytest.raises(ValueError, match=message):
        quick(rows._replace(**change))


def test_grades_must_span_the_scale():
    _, rows = simulated(np.random.default_rng(2), [0.6, 0.4])
    with pytest.raises(ValueError, match="ascending from 0 to 1"):
        quick(rows, grades=(0.0, 3.0))


def test_the_fast_link_is_the_normal_distribution_function():
    x = np.linspace(-8, 8, 4001)
    assert np.abs(link(x.copy()) - ndtr(x)).max() < 1.5e-4
    assert (np.diff(link(x.copy())) >= 0).all()


def test_items_others_fail_on_make_a_lucky_verdict_less_likely():
    """One judge's worth of noise: knowing how hard an item is narrows the score without a label more."""
    rng = np.random.default_rng(9)
    difficulty = rng.normal(0, 3, 150)
    truth = rng.random((6, 150)) < 1 / (1 + np.exp(difficulty - np.array([[2], [1], [0], [0], [-1], [0.5]])))
    jury = (rng.random((*truth.shape, 3)) < np.where(truth, 0.75, 0.25)[..., None]).mean(-1)
    human = np.where(rng.random(truth.shape) < 0.25, truth, np.nan)
    model, item = (x.ravel() for x in np.indices(truth.shape))
    rows = Rows(model, item, jury.ravel(), human.ravel())
    apart = rows._replace(item=np.arange(900))
    level = strata(rows)
    assert set(np.unique(level)) == {0, 1, 2}
    assert difficulty[level[:, 0] == 0].mean() > difficulty[level[:, 0] == 2].mean() + 3
    assert (strata(apart) == 1).all()
    known, unknown = (estimands(lsre(r, rng=rng, draws=800, max_sweeps=1600)) for r in (rows, apart))
    width = [np.mean([e.these.high - e.these.low for e in found]) for found in (known, unknown)]
    assert width[0] < 0.95 * width[1]
    for found, true in zip(known, truth.mean(1), strict=True):
        assert found.these.low - 0.02 <= true <= found.these.high + 0.02


def test_an_items_stratum_leaves_the_models_own_answer_out():
    jury = np.array([[1.0, 1, 1, 0], [0, 0, 0, 1]])
    model, item = np.tile(np.arange(4), 2), np.repeat([0, 1], 4)
    rows = Rows(model, item, jury.ravel(), np.full(8, np.nan))
    assert strata(rows).tolist() == [[1, 1, 1, 2], [1, 1, 1, 0]]
    few = Rows(model[model < 3], item[model < 3], jury[:, :3].ravel(), np.full(6, np.nan))
    assert (strata(few) == 1).all()
