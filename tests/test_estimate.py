import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evaluators.estimate import LIKE, THESE, estimate_layton, estimate_split, half_width, pool_for, rows
from evaluators.ppi import betabin, layton, ppi, wilson_fpc
from evaluators.store import open_store
from evaluators.values import Estimate
from tests.made import made_split
from tests.made_runs import Run, made_run

STRONG = made_run("strong", ["3+", "3+", "3", "2+", "1-", "3", "3", "0-"], provider="a")
MIDDLE = made_run("middle", ["3+", "0-", "0", "2+", "1-", "3", "3-", "0"], provider="b")
WEAK = made_run("weak", ["0-", "0-", "0", "0", "1", "0", "3+", "0"], provider="c")
KEY = ("layton-llm", "1.0.0", "three")


def estimates(runs: Sequence[Run], tmp_path: Path, *, tiers: dict[str, str] | None = None) -> tuple[Estimate, ...]:
    with open_store(tmp_path / "s.duckdb") as store:
        for run in runs:
            store.write_submission(*run, tier=(tiers or {}).get(run.submission.submission_id, "scored-here"))
        return estimate_split(store, *KEY, "hints=0")


def of(found: Sequence[Estimate], name: str, method: str = "betabin", estimand: str = LIKE) -> Estimate:
    return next(e for e in found if (e.submission_id, e.method, e.estimand) == (name, method, estimand))


def arrays(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Jury score and label of each attempt, worked out from the verdicts without the store."""
    jury, human = [], []
    for transcript in run.transcripts:
        own = [v for v in run.verdicts if v.transcript_id == transcript.transcript_id]
        votes = [v.score for v in own if v.kind == "model"]
        jury.append(sum(votes) / 3 if len(votes) == 3 else np.nan)
        human.append(next((v.score for v in own if v.kind == "human"), np.nan))
    return np.array(jury), np.array(human)


def pool(*runs: Run) -> tuple[np.ndarray, np.ndarray]:
    jury, human = (np.concatenate(x) for x in zip(*map(arrays, runs), strict=True))
    return jury[np.isfinite(human)], human[np.isfinite(human)]


def test_each_method_gets_the_right_rows_of_the_right_models(tmp_path: Path) -> None:
    found = estimates([STRONG, MIDDLE, WEAK], tmp_path)
    jury, human = arrays(MIDDLE)
    labelled = np.isfinite(human)
    both = betabin(jury, human, *pool(STRONG, WEAK))
    line = layton(jury, *pool(STRONG, WEAK))
    for estimand, expected in ((LIKE, both.like), (THESE, both.these)):
        e = of(found, "middle", "betabin", estimand)
        assert (e.value, e.low, e.high) == pytest.approx(expected)
        assert (e.n, e.n_human, e.n_pool, e.labels) == (8, int(labelled.sum()), 8, "human")
    e = of(found, "middle", "layton", THESE)
    assert (round(100 * e.value, 1), half_width(e)) == (line.score, line.half_width)
    e = of(found, "middle", "wilson", THESE)
    assert (e.value, e.low, e.high) == pytest.approx(wilson_fpc(human[labelled], 8))
    e = of(found, "middle", "ppi", LIKE)
    assert (e.value, e.low, e.high) == pytest.approx(ppi(human[labelled], jury[labelled], jury[~labelled])[:3])


def test_estimates_ignore_the_order_of_rows_and_submissions(tmp_path: Path) -> None:
    expected = estimates([STRONG, MIDDLE, WEAK], tmp_path)
    for n, order in enumerate(itertools.permutations([STRONG, MIDDLE, WEAK])):
        mixed = [Run(r.submission, r.transcripts[::-1], r.verdicts[::-1]) for r in order]
        folder = tmp_path / str(n)
        folder.mkdir()
        assert estimates(mixed, folder) == expected


def test_models_of_the_same_provider_do_not_calibrate_each_other(tmp_path: Path) -> None:
    sibling = made_run("sibling", ["3-"] * 8, provider="a")
    alone = estimates([STRONG, MIDDLE, WEAK], tmp_path)
    with_sibling = estimates([STRONG, MIDDLE, WEAK, sibling], tmp_path)
    assert of(with_sibling, "strong").value == of(alone, "strong").value
    assert of(with_sibling, "middle").n_pool == of(alone, "middle").n_pool + 8


def test_the_pool_takes_other_conditions_and_gold_but_no_other_jury_and_no_self_reported_labels(tmp_path: Path) -> None:
    model = made_run("model", ["3", "0"], provider="a")
    hinted = made_run("hinted", ["3+"], provider="b", condition="hints=4")
    gold = made_run("gold", ["0-"], provider="c", kind="gold")
    other_jury = made_run("other", ["3-"], provider="d", jury="four")
    sent = made_run("sent", ["3-"], provider="e")
    with open_store(tmp_path / "s.duckdb") as store:
        for run in (model, hinted, gold, other_jury):
            store.write_submission(*run, tier="scored-here")
        store.write_submission(*sent, tier="self-reported")
        data = rows(store, *KEY)
        own = next(r for r in data.rows if r.submission.submission_id == "model")
        jury, label = pool_for(own, data.rows)
        assert sorted(zip(jury, label, strict=True)) == [(0, 0), (1, 1)]
        assert {e.submission_id for e in estimate_split(store, *KEY, "hints=0")} == {"model", "sent"}


def test_self_reported_rows_have_no_rank_and_move_nobody_elses(tmp_path: Path) -> None:
    runs = [STRONG, MIDDLE, WEAK]
    alone = estimates(runs, tmp_path)
    best = made_run("best", ["3"] * 200, provider="z")
    found = estimates([*runs, best], tmp_path, tiers={"best": "self-reported"})
    assert of(found, "best").best_rank is None
    assert [of(found, r.submission.submission_id).best_rank for r in runs] == [
        of(alone, r.submission.submission_id).best_rank for r in runs
    ]


def test_an_attempt_without_an_answer_is_wrong_and_calibrates_nobody(tmp_path: Path) -> None:
    mute = made_run("mute", ["none"] * 6 + ["3", "3"], provider="a")
    found = estimates([mute, MIDDLE, WEAK], tmp_path)
    assert of(found, "mute", "betabin", THESE).high <= 2 / 8
    assert of(found, "middle").n_pool == 3
    assert "6 of 8 attempts without an answer, wrong by rule" in of(found, "mute").notes
    assert of(found, "mute").n_human == 0


@pytest.mark.parametrize("lost", [["fail"] * 4, []], ids=["failed", "missing"])
def test_a_failed_or_missing_attempt_is_neither_dropped_nor_wrong(tmp_path: Path, lost: list[str]) -> None:
    answered = ["3", "3", "3", "3"]
    clear = made_run("clear", ["3+", "0-"] * 60, provider="b")
    whole = made_run("whole", answered, provider="a")
    part = made_run("part", [*answered, *lost], provider="a", expected=8)
    wrong = made_run("wrong", [*answered, *["0"] * 4], provider="a")
    found = estimates([whole, part, wrong, clear], tmp_path)
    values = [of(found, name, "betabin", THESE) for name in ("wrong", "part", "whole")]
    assert values[0].value < values[1].value < values[2].value
    assert values[1].high - values[1].low > max(v.high - v.low for v in (values[0], values[2])) + 0.2
    assert values[1].n == 8
    assert any("4 of 8 attempts" in note and "unknown" in note for note in values[1].notes)
    assert of(found, "part", "layton", THESE).n == 4


def test_an_incomplete_jury_is_counted_apart(tmp_path: Path) -> None:
    found = estimates([made_run("odd", ["2?", "3", "3"], provider="a"), MIDDLE], tmp_path)
    assert of(found, "odd").notes == ("1 of 3 attempts with an incomplete jury, unknown",)


def test_author_labels_serve_only_where_there_is_no_human_label(tmp_path: Path) -> None:
    gold = made_run("gold", ["3+", "0-", "2-"], kind="gold", provider="authors", labels="author")
    model = made_run("model", ["3", "0", "1"], provider="a")
    found = estimates([gold, model], tmp_path)
    assert {(e.labels, e.n_human, e.n_pool, e.provisional) for e in found} == {("author", 0, 3, True)}
    assert {e.method for e in found} == {"betabin", "layton"}
    found = estimates([gold, model, MIDDLE], tmp_path)
    assert of(found, "model").labels == "human"
    assert of(found, "model").n_pool == 5


def test_a_model_nobody_labelled_anything_for_still_has_an_honest_interval(tmp_path: Path) -> None:
    found = estimates([made_run("alone", ["3", "0", "1"], provider="a")], tmp_path)
    assert {e.method for e in found} == {"betabin"}
    only = of(found, "alone")
    assert only.labels == "none"
    assert only.low < 0.2 < 0.8 < only.high
    assert any("no label calibrates" in note for note in only.notes)


def test_thirty_own_labels_end_the_provisional_state(tmp_path: Path) -> None:
    runs = [made_run(f"m{n}", ["3+"] * n + ["0"] * 5, provider=f"p{n}") for n in (29, 30)]
    found = estimates(runs, tmp_path)
    assert (of(found, "m29").provisional, of(found, "m30").provisional) == (True, False)


def test_epochs_of_an_item_are_one_item_for_items_like_these(tmp_path: Path) -> None:
    once = made_run("once", ["3", "0"] * 8, provider="a")
    twice = made_run("twice", ["3", "3", "0", "0"] * 8, provider="a", epochs=2)
    thrice = made_run("thrice", ["3", "3", "3"] * 4, provider="a", epochs=3, expected=15)
    found = estimates([once, twice, thrice, MIDDLE, WEAK], tmp_path)
    widths = {name: of(found, name).high - of(found, name).low for name in ("once", "twice")}
    assert widths["twice"] == pytest.approx(widths["once"], abs=0.05)
    assert of(found, "thrice").n == 15


def test_rank_spreads_follow_the_overlap_of_intervals_for_items_like_these(tmp_path: Path) -> None:
    high = made_run("high", ["3+"] * 90 + ["0-"] * 10, provider="a")
    near = made_run("near", ["3+"] * 85 + ["0-"] * 15, provider="b")
    low = made_run("low", ["3+"] * 10 + ["0-"] * 90, provider="c")
    found = estimates([low, near, high], tmp_path)
    board = [e for e in found if (e.method, e.estimand) == ("betabin", LIKE)]
    assert [(e.submission_id, e.best_rank, e.worst_rank) for e in board] == [
        ("high", 1, 2),
        ("near", 1, 2),
        ("low", 3, 3),
    ]
    assert {(e.method, e.estimand) for e in found if e.best_rank} == {("betabin", LIKE), ("layton", THESE)}


def test_a_partial_run_says_how_many_items_it_covers(tmp_path: Path) -> None:
    split = made_split(6)
    run = made_run("part", ["3", "0"], provider="a", split="sample-llm", benchmark="samples")
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_split(split.manifest, split.items)
        store.write_submission(*run, tier="scored-here")
        (first, *_) = estimate_split(store, "sample-llm", "1.0.0", "three", "hints=0")
    assert "run on 2 of the split's 6 items" in first.notes


def test_graded_labels_leave_out_the_layton_definition(tmp_path: Path) -> None:
    torn = made_run("torn", ["3+", "0-"], provider="b")
    second = torn.verdicts[3].model_copy(update={"judge": "human-2", "score": 0.0})
    torn = torn._replace(verdicts=(*torn.verdicts, second))
    found = estimates([torn, made_run("model", ["3", "0"], provider="a")], tmp_path)
    assert {e.method for e in found if e.submission_id == "model"} == {"betabin"}


def test_the_layton_table_alone_equals_the_rows_among_all_estimates(tmp_path: Path) -> None:
    found = estimates([STRONG, MIDDLE, WEAK], tmp_path)
    with open_store(tmp_path / "s.duckdb") as store:
        alone = estimate_layton(store, *KEY, "hints=0")
    assert sorted(alone, key=lambda e: e.model) == sorted(
        (e for e in found if e.method == "layton"), key=lambda e: e.model
    )
    assert [e.value for e in alone] == sorted((e.value for e in alone), reverse=True)
