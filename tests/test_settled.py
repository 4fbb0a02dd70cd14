"""Ranks, ties and leads of puzzles, novels and cases: what they promise together, and that they agree with pairs."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evaluators.means import Bounded, cluster_mean, paired_mean, reach
from evaluators.placed import overlap_ranks
from evaluators.store import Store, open_store, store_path
from evaluators.values import Estimate
from leaderboard.case_boards import case_boards
from leaderboard.contests import contests
from leaderboard.novel_boards import novel_boards
from leaderboard.pages import render_board
from leaderboard.ranks import claims_of, sets_of
from leaderboard.sealed_boards import sealed_boards
from leaderboard.settled import Stand, joint_leads, leads_over_first, stands_apart
from leaderboard.soup_boards import soup_boards
from tests import test_case_boards, test_novel_boards, test_soup_boards

Floats = NDArray[np.float64]


def known(scores: Floats) -> Bounded:
    """Scores of one row, NaN where unknown."""
    return Bounded(scores, np.nan_to_num(scores, nan=0.0), np.nan_to_num(scores, nan=1.0))


def ranks_of(rows: Sequence[Bounded], clusters: Sequence[str], seed: int = 0) -> list[tuple[int, int]]:
    least = reach(len(set(clusters)))
    assert least is not None
    leads = joint_leads(rows, clusters, rng=np.random.default_rng(seed), draws=400)
    return sets_of(leads, rng=np.random.default_rng(seed), least=least)


def estimates(low: Floats, value: Floats, high: Floats) -> list[list[Estimate]]:
    """Headlines of rows of which only intervals are known."""
    about = {"benchmark": "b", "split": "s", "version": "1.0.0", "condition": "", "provider": "p", "metric": "overall"}
    about |= {"estimand": "items like these", "method": "cluster-t", "level": 0.95, "n": 9, "n_human": 0, "n_pool": 0}
    about |= {"labels": "none", "jury": "three", "tier": "scored-here", "provisional": True}
    return [
        [
            Estimate.model_validate(
                {**about, "submission_id": f"m{n}", "model": f"m{n}", "low": a, "value": b, "high": c}
            )
        ]
        for n, (a, b, c) in enumerate(zip(low.tolist(), value.tolist(), high.tolist(), strict=True))
    ]


def world(
    rng: np.random.Generator, abilities: Floats, *, stories: int, each: int, graded: bool
) -> tuple[list[Bounded], list[str]]:
    """Scores of models on items whose stories are easy or hard for all, some of them easier for some."""
    count = len(abilities)
    size = rng.integers(1, 2 * each, stories)
    story = np.repeat(np.arange(stories), size)
    hard = rng.normal(0, 0.15, stories)[story] + rng.normal(0, 0.1, len(story))
    own = rng.normal(0, 0.1, (count, stories))[:, story]
    chance = np.clip(abilities[:, None] - hard + own, 0.02, 0.98)
    scores = np.clip(chance + rng.normal(0, 0.15, chance.shape), 0, 1) if graded else rng.random(chance.shape) < chance
    return [known(row.astype(np.float64)) for row in scores], [str(s) for s in story]


@pytest.mark.parametrize(("stories", "each", "graded"), [(12, 8, False), (40, 3, True), (100, 1, False), (4, 3, True)])
@pytest.mark.parametrize("field", ["spread", "tight", "two fields"])
def test_true_ranks_are_inside_together_in_at_least_95_of_100_boards(
    field: str, stories: int, each: int, graded: bool
) -> None:
    """Few stories with many items each, as novels, to many with one, as puzzles; 160 boards of 8 models, seeded."""
    rng = np.random.default_rng(123)
    held = []
    for _ in range(160):
        abilities = {
            "spread": rng.uniform(0.25, 0.75, 8),
            "tight": 0.5 + rng.normal(0, 0.005, 8),
            "two fields": np.repeat([0.35, 0.65], 4) + rng.normal(0, 0.005, 8),
        }[field]
        found = ranks_of(*world(rng, abilities, stories=stories, each=each, graded=graded))
        true = (-abilities).argsort().argsort() + 1
        held.append(all(best <= rank <= worst for (best, worst), rank in zip(found, true, strict=True)))
    assert np.mean(held) >= 0.95


def test_on_the_same_items_ranks_are_narrower_than_overlapping_intervals_leave_them() -> None:
    rng = np.random.default_rng(3)
    rows, clusters = world(rng, np.linspace(0.3, 0.7, 12), stories=80, each=3, graded=True)
    intervals = [cluster_mean(row.point, clusters) for row in rows]
    point, low, high = (np.array(side) for side in zip(*intervals, strict=True))
    heads = [group[0] for group in estimates(low, point, high)]
    overlap = overlap_ranks(heads)
    apart = stands_apart([[e] for e in heads])
    together = ranks_of(rows, clusters)
    width = [sum(worst - best for best, worst in found) for found in (
        together, [s.rank for s in apart.values()], overlap.values()
    )]  # fmt: skip
    assert width[0] < min(width[1:])


rows_of = st.integers(2, 5).flatmap(
    lambda models: st.lists(
        st.tuples(
            st.integers(0, 3), st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=models, max_size=models)
        ),
        min_size=3,
        max_size=14,
    )
)


@settings(deadline=None, max_examples=60)
@given(rows_of)
def test_no_rank_and_no_group_claims_a_lead_that_the_pair_by_itself_leaves_open(
    items: list[tuple[int, list[float]]],
) -> None:
    clusters = [str(story) for story, _ in items]
    least = reach(len(set(clusters)))
    assume(least is not None)
    assert least is not None
    rows = [known(column) for column in np.array([scores for _, scores in items]).T]
    leads = joint_leads(rows, clusters, rng=np.random.default_rng(0), draws=200)
    beyond = claims_of(leads, least=least)
    sets = sets_of(leads, rng=np.random.default_rng(0), least=least)
    ahead = np.zeros((len(rows), len(rows)), dtype=bool)
    for i, j in permutations(range(len(rows)), 2):
        if np.isfinite(rows[i].point - rows[j].point).any():
            low = paired_mean(rows[i], rows[j], clusters).low
            ahead[i, j] = low > 1e-9
            if abs(low) > 1e-9:  # at 0 itself rounding decides
                assert (leads.t[i, j] > least) == ahead[i, j]
    assert not (beyond & ~ahead).any()
    for i, (best, worst) in enumerate(sets):
        assert best <= 1 + ahead[:, i].sum()
        assert worst >= len(rows) - ahead[i].sum()


def test_the_draws_of_a_pair_have_the_quantiles_of_its_interval() -> None:
    rows, clusters = world(np.random.default_rng(1), np.array([0.7, 0.4]), stories=50, each=1, graded=False)
    rng = np.random.default_rng(0)
    noise = np.concatenate([joint_leads(rows, clusters, rng=rng).noise for _ in range(20)]).astype(np.float64)
    pair = paired_mean(*rows, clusters)
    low, high = pair.point + np.quantile(noise[:, 0] - noise[:, 1], [0.025, 0.975])
    assert (low, high) == pytest.approx((pair.low, pair.high), abs=0.01 * (pair.high - pair.low))


def test_ranks_are_the_same_whatever_the_order_of_rows_items_and_names_of_stories() -> None:
    rng = np.random.default_rng(2)
    rows, clusters = world(rng, np.linspace(0.3, 0.7, 6), stories=30, each=4, graded=True)
    order, items = rng.permutation(6), rng.permutation(len(clusters))
    plain = joint_leads(rows, clusters, rng=np.random.default_rng(0)).t
    moved = [Bounded(*(side[items] for side in rows[n])) for n in order]
    other = joint_leads(moved, [f"x{clusters[n]}" for n in items], rng=np.random.default_rng(0)).t
    assert other == pytest.approx(plain[np.ix_(order, order)])


def test_two_hundred_players_on_five_hundred_items_take_no_more_than_seconds() -> None:
    rng = np.random.default_rng(0)
    rows = [known(row) for row in rng.random((200, 500))]
    clusters = [str(n // 2) for n in range(500)]
    began = process_time()
    leads = joint_leads(rows, clusters, rng=rng)
    sets_of(leads, rng=rng)
    claims_of(leads)
    leads_over_first(rows, clusters)
    assert process_time() - began < 10


def test_rows_of_which_only_intervals_are_known_have_ranks_and_no_leads() -> None:
    high = np.array([0.95, 0.9, 0.3])
    found = stands_apart(estimates(high - 0.1, high - 0.05, high))
    assert {name: (s.rank, s.group, s.lead, s.low) for name, s in found.items()} == {
        "m0": ((1, 2), 1, None, None),
        "m1": ((1, 2), 1, None, None),
        "m2": ((3, 3), 2, None, None),
    }
    assert stands_apart([]) == {}
    told = [[e.model_copy(update={"tier": "self-reported"}) for e in row] for row in estimates(high, high, high)]
    assert stands_apart(told) == {}


def places(store: Store) -> dict[str, Stand]:
    boards = [*soup_boards(store), *novel_boards(store), *case_boards(store)]
    lines = [line for board in boards for section in board.sections for line in section.ranked]
    return {line.like.submission_id: line.place for line in lines if line.place}


def test_leads_on_boards_are_those_of_the_page_for_pairs(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        test_novel_boards.fill(store)
        test_case_boards.fill(store, tmp_path / "splits")
        found = places(store)
        paired = contests(store, [*soup_boards(store), *novel_boards(store), *case_boards(store)])
    leads = {row.like.submission_id: row for c in paired for row in c.rows if c.condition != "setting=evidence"}
    shared = found.keys() & leads.keys()
    assert {"good", "failing", "good-context", "knows-context", "rising", "ada"} <= shared
    for name in shared:
        stand, row = found[name], leads[name]
        assert stand[1:4] == row.lead
        assert (stand.group, stand.rank) == (row.group, (row.like.best_rank, row.like.worst_rank))
    # 18 questions right against 13 of 24: the difference of the pair, clustered by the six novels.
    assert found["knows-context"].lead == pytest.approx(-5 / 24)


def test_ranks_within_a_genre_come_from_its_puzzles() -> None:
    condition = f"agent=full;responder=openai/host;{test_soup_boards.POINTS}"
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        test_soup_boards.write(store, "Half", [0.0] * 6 + [0.6] * 6, condition=condition)
        board = next(b for b in soup_boards(store) if b.split == "sample-soup-en")
    own = {(e.submission_id, e.metric): (e.best_rank, e.worst_rank) for e in board.estimates}
    assert own["half", "overall/Crime_Thriller"] == (1, 3), "two puzzles are no proof"
    section = next(s for s in board.sections if s.condition == condition)
    assert {line.like.submission_id for line in section.ranked} == {"good", "failing", "half"}
    assert all(own[name, f"overall/{genre}"][0] for name in ("good", "half") for genre in section.genres)


def test_on_one_story_alone_nothing_can_be_told() -> None:
    with open_store(store_path()) as store:
        items = test_novel_boards.questions(novels=1, each=6)
        test_novel_boards.write_split(store, items)
        for name, letters in (("Right", ["B1"] * 6), ("Wrong", ["A"] * 6)):
            test_novel_boards.write(store, items, letters, name=name)
        found = places(store)
    assert {name: (s.rank, s.group) for name, s in found.items()} == {"right": ((1, 2), 1), "wrong": ((1, 2), 1)}
    assert found["wrong"][1:4] == (-1, -1, 1)


def test_published_rows_are_not_ranked_and_move_nobody() -> None:
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        cited = [b for b in soup_boards(store) if b.published]
        with_papers = places(store)
        store.query("DELETE FROM published_scores")
        assert places(store) == with_papers
    assert cited
    assert not any(e.tier == "published" for b in cited for e in b.estimates)


def test_the_board_of_a_sealed_split_says_that_its_ranks_come_from_intervals() -> None:
    with open_store(store_path()) as store:
        test_soup_boards.fill(store)
        (board, *_) = (b for b in soup_boards(store) if b.split == "sample-soup-en")
        for stored in store.submissions("sample-soup-en"):
            s = stored.submission
            new = {"submission_id": f"sealed-{s.submission_id}", "condition": "agent=full"}
            own = [e.model_copy(update=new) for e in board.estimates if e.submission_id == s.submission_id]
            store.write_sealed(s.model_copy(update=new), own, tier="scored-here")
        (sealed,) = sealed_boards(store)
    (section,) = sealed.sections
    found = {line.like.submission_id: line.place for line in section.ranked if line.place}
    assert {name.removeprefix("sealed-"): s.lead for name, s in found.items()} == dict.fromkeys(
        ("ada", "good", "failing", "good-none")
    )
    assert found["sealed-ada"].rank[1] < found["sealed-good-none"].rank[0], "0.9 on every puzzle, and 0.2"
    assert [line.rank for line in section.ranked] == [found[line.like.submission_id].rank for line in section.ranked]
    page = render_board(sealed)
    assert "taken for independent" in page
    assert "To leader" not in page
    assert f"group {found['sealed-good-none'].group}" in page
