"""The gap between a public and a sealed split: worked by hand, and nothing where runs are not alike."""

import json
from math import sqrt

import pytest

from builders.sealed import seal_split
from evaluators.bundle import Bundle
from evaluators.sealing import aggregates
from evaluators.store import open_store, store_path
from leaderboard.__main__ import main as leaderboard
from leaderboard.gap import gaps
from tests.made import made_split
from tests.made_runs import Run, made_run
from tests.made_sealed import key

PUBLIC = ["3"] * 9 + ["0"] * 1
SEALED = ["3"] * 5 + ["0"] * 5


def write(public: Run, sealed: Run, keys) -> None:
    _, recipient = key(keys, "own")
    split = made_split(10)
    closed = split._replace(manifest=seal_split(split, [recipient])[0])
    with open_store(store_path()) as store:
        store.write_submission(*public, tier="scored-here")
        store.write_sealed(sealed.submission, aggregates(closed, Bundle(*sealed)), tier="scored-here")


def run(name: str, attempts: list[str], split: str, **fields: object) -> Run:
    return made_run(name, attempts, model="acme/solver", split=split, benchmark="samples", **fields)


def test_the_gap_is_the_difference_with_the_limits_of_both(tmp_path) -> None:
    write(run("open-1", PUBLIC, "sample-vlm"), run("closed-1", SEALED, "sample-llm"), tmp_path)
    with open_store(store_path(), read_only=True) as store:
        (gap,) = gaps(store, "sample-vlm", "sample-llm")
    assert (gap.public.value, gap.sealed.value) == (0.9, 0.5)
    assert gap.value == pytest.approx(0.4)
    assert gap.low == pytest.approx(0.4 - sqrt((0.9 - gap.public.low) ** 2 + (gap.sealed.high - 0.5) ** 2))
    assert gap.high == pytest.approx(0.4 + sqrt((gap.public.high - 0.9) ** 2 + (0.5 - gap.sealed.low) ** 2))
    assert gap.undecided == (gap.low <= 0)


@pytest.mark.parametrize(
    "other", [{"condition": "hints=1"}, {"jury": "another"}, {"provider": "emca"}], ids=["condition", "jury", "maker"]
)
def test_runs_that_were_not_measured_alike_have_no_gap(tmp_path, other, capsys) -> None:
    write(run("open-1", PUBLIC, "sample-vlm"), run("closed-1", SEALED, "sample-llm", **other), tmp_path)
    assert leaderboard(["gap", "sample-vlm", "sample-llm"]) == 1
    assert "no model was run on sample-vlm and sample-llm with one jury and condition" in capsys.readouterr().err


def test_the_command_prints_lines_or_json_without_a_key(tmp_path, capsys) -> None:
    write(run("open-1", PUBLIC, "sample-vlm"), run("closed-1", SEALED, "sample-llm"), tmp_path)
    assert leaderboard(["gap", "sample-vlm@1.0.0", "sample-llm@1.0.0"]) == 0
    assert "acme/solver: public  90.0, sealed  50.0, gap +40.0 [" in capsys.readouterr().out
    assert leaderboard(["gap", "sample-vlm", "sample-llm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(0.4)
