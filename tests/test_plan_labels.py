"""Which answers to label next."""

import json

import numpy as np
import pytest

from evaluators.plan_labels import main, plan, widths
from evaluators.rows import Rows
from evaluators.store import open_store, store_path
from tests.made_runs import made_run


def board(models=3, items=90, labelled=()):
    rng = np.random.default_rng(0)
    jury = rng.choice([0, 1 / 3, 2 / 3, 1], (models, items), p=[0.3, 0.1, 0.1, 0.5])
    human = np.full((models, items), np.nan)
    for model in labelled:
        human[model, ::2] = jury[model, ::2] > 0.5
    model, item = (x.ravel() for x in np.indices(jury.shape))
    return Rows(model, item, jury.ravel(), human.ravel())


def write(path, rows):
    lines = [
        {"item_id": f"i{i}", "model": f"m{m}", "provider": "p", "jury": j, "human": None if np.isnan(h) else h}
        for m, i, j, h in zip(*(c.tolist() for c in rows[:4]), strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_models_with_the_fewest_labels_come_first():
    rows = board(labelled=[0])
    picks = plan(rows, 60, rng=np.random.default_rng(1))
    count = np.bincount(rows.model[[p.row for p in picks]], minlength=3)
    assert count.tolist() == [0, 30, 30]
    assert np.isnan(rows.human[[p.row for p in picks]]).all()
    assert len({p.row for p in picks}) == 60


def test_two_thirds_go_to_split_verdicts_while_there_are_any():
    rows = board(models=3, items=400)
    picks = plan(rows, 180, rng=np.random.default_rng(1))
    jury = rows.jury[[p.row for p in picks]]
    assert ((jury > 0) & (jury < 1)).sum() == 120
    assert {p.reason for p in picks} == {"split", "audit"}


def test_the_first_hundred_labels_are_spread_as_the_rows_are():
    rows = board(models=2, items=400)
    jury = rows.jury[[p.row for p in plan(rows, 100, rng=np.random.default_rng(1))]]
    assert 12 <= ((jury > 0) & (jury < 1)).sum() <= 28


def test_a_budget_beyond_the_open_rows_takes_them_all():
    rows = board(models=2, items=10, labelled=[0])
    assert len(plan(rows, 1000, rng=np.random.default_rng(0))) == 15
    with pytest.raises(ValueError, match="budget is 0"):
        plan(rows, 0, rng=np.random.default_rng(0))


def test_more_labels_mean_narrower_intervals_and_all_labels_none_at_all():
    rows = board(labelled=[0, 1])
    rng = np.random.default_rng(0)
    few, many, all_ = (widths(rows, plan(rows, n, rng=rng)) for n in (30, 120, 300))
    for small, large, whole in zip(few, many, all_, strict=True):
        assert small.now >= small.then >= large.then
        assert whole.then == 0


def test_the_command_prints_a_plan_that_names_no_jury_score(tmp_path, capsys):
    path = write(tmp_path / "rows.jsonl", board())
    assert main(["--rows", str(path), "--budget", "12"]) == 0
    out, err = capsys.readouterr()
    first = [json.loads(line) for line in out.splitlines()]
    assert len(first) == 12
    assert set(first[0]) == {"item_id", "model", "reason"}
    assert "m2: 0 labels, 4 planned" in err
    main(["--rows", str(path), "--budget", "12"])
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        ('{"item_id": "a"}', "rows.jsonl:1: no field 'jury'"),
        ('{"item_id": "a", "model": "m", "jury": 3, "human": null}', "rows.jsonl:1: jury is 3"),
        ("{", "rows.jsonl:1: "),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, capsys, text, message):
    path = tmp_path / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    assert main(["--rows", str(path), "--budget", "3"]) == 1
    assert message in capsys.readouterr().err


def test_a_plan_comes_from_the_store_and_an_authors_label_is_no_human_one(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store_path()) as store:
        for name in ("one", "two"):
            run = made_run(name, ["3+", "2", "1", "0-", "3", "0"], provider=name, labels="author")
            store.write_submission(*run, tier="scored-here")
    assert main(["--split", "layton-llm", "--budget", "6"]) == 0
    said = capsys.readouterr()
    picks = [json.loads(line) for line in said.out.splitlines()]
    assert len({(p["item_id"], p["model"]) for p in picks}) == 6
    assert {p["model"] for p in picks} == {"one", "two"}
    assert said.err.count(": 0 labels, 3 planned") == 2
    assert main(["--split", "no-such", "--budget", "6"]) == 1
    assert "it has layton-llm" in capsys.readouterr().err
