"""The joint fit of a split: who may move whose interval, and what an attempt without a verdict is."""

from pathlib import Path

import numpy as np

from evaluators.estimate import estimate_split, headline, rows
from evaluators.fit import columns_of, fit_split
from evaluators.store import open_store
from tests.made_runs import Run, made_run

KEY = ("layton-llm", "1.0.0", "three")
GOOD = made_run("good", ["3+", "3+", "2+", "0-"] * 3 + ["3"] * 8, provider="a")
BAD = made_run("bad", ["0-", "0-", "1-", "3+"] * 3 + ["0"] * 8, provider="b")


def filled(path: Path, *sent: Run) -> Path:
    with open_store(path) as store:
        for run in (GOOD, BAD):
            store.write_submission(*run, tier="scored-here")
        for run in sent:
            store.write_submission(*run, tier="self-reported")
    return path


def test_a_self_reported_row_moves_nobody_else_and_the_same_rows_give_the_same_draws(tmp_path: Path) -> None:
    liar = made_run("liar", ["0+"] * 12 + ["3+"] * 8, provider="c")
    with open_store(filled(tmp_path / "alone")) as store:
        alone = fit_split(rows(store, *KEY), draws=100, max_sweeps=200)
    with open_store(filled(tmp_path / "beside", liar)) as store:
        data = rows(store, *KEY)
        beside = fit_split(data, draws=100, max_sweeps=200)
        shown = headline(estimate_split(store, *KEY, "hints=0", fits=beside))
    assert alone
    assert beside
    assert {name: beside.intervals[name] for name in alone.intervals} == dict(alone.intervals)
    assert np.array_equal(alone.ranked.fit.like, beside.ranked.fit.like)
    (sent,) = {e for e in shown if e.submission_id == "liar" and e.estimand == "items like these"}
    assert sent.best_rank is None
    assert sent.value < 0.75, "labels of its own, twenty of twenty right, do not count"


def test_nothing_labelled_is_nothing_to_fit(tmp_path: Path) -> None:
    with open_store(tmp_path / "s") as store:
        store.write_submission(*made_run("only", ["3", "0"] * 4), tier="scored-here")
        data = rows(store, *KEY)
        assert fit_split(data) is None
        assert {e.method for e in headline(estimate_split(store, *KEY, "hints=0", fits=None))} == {"betabin"}


def test_failed_and_missing_attempts_are_rows_without_a_verdict_and_no_answer_is_known(tmp_path: Path) -> None:
    partial = made_run("partial", ["3+", "none", "fail", "2?"], provider="c", expected=8)
    with open_store(tmp_path / "s") as store:
        store.write_submission(*GOOD, tier="scored-here")
        store.write_submission(*partial, tier="scored-here")
        data = rows(store, *KEY)
        columns = columns_of(data.rows, data.clusters)
    mine = columns.model == [r.submission.submission_id for r in data.rows].index("partial")
    assert mine.sum() == 8
    assert len(set(columns.item[mine].tolist())) == 8, "a missing attempt stands at an item that was left out"
    assert np.isnan(columns.jury[mine]).sum() == 7
    assert columns.human[mine][~np.isnan(columns.human[mine])].tolist() == [1.0, 0.0]
