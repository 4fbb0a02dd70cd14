"""Drift: a judge that moved is found, one that is merely noisy is not, and another prompt can be set against ours."""

import argparse
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders.__main__ import main as builders
from evaluators.drift import drift, stands_apart
from evaluators.jury import load_panel, raised
from evaluators.recheck import main as recheck
from evaluators.rechecks import RecheckError, read
from leaderboard.__main__ import main as leaderboard
from leaderboard.pages import write_pages
from leaderboard.raise_jury import raise_jury
from leaderboard.records import History, RecordError, read_history
from tests.made_bundle import write_made_bundle
from tests.servers.model_server import Answer, ModelServer


def judge(rng: np.random.Generator, size: int, *, moved: float, noise: float) -> tuple[Any, Any, Any]:
    """Verdicts of then and twice of today: some changed for good, and each of the three noisy by itself."""
    truth = rng.random(size) < 0.6
    today = truth ^ (rng.random(size) < moved)
    return tuple((x ^ (rng.random(size) < noise)).astype(float) for x in (truth, today, today))  # type: ignore[return-value]


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_a_judge_that_changed_its_mind_on_five_percent_is_found_at_200_rechecks(noise: float) -> None:
    rng = np.random.default_rng(11)
    found = [drift("j", *judge(rng, 200, moved=0.05, noise=noise)).detected for _ in range(300)]
    assert np.mean(found) >= 0.8


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05, 0.2])
def test_a_judge_that_is_only_noisy_is_rarely_called_moved(noise: float) -> None:
    rng = np.random.default_rng(12)
    found = [drift("j", *judge(rng, 200, moved=0.0, noise=noise)).detected for _ in range(400)]
    # An exact test: the share is at most 5 %, and 400 worlds may show a little more.
    assert np.mean(found) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_figures_are_those_of_the_verdicts() -> None:
    then, first, second = np.array([0.0, 0, 1, 1, 1]), np.array([1.0, 0, 1, 1, 0]), np.array([1.0, 0, 1, 0, 0])
    found = drift("j", then, first, second)
    assert (found.compared, found.changed.point, found.noise) == (5, 0.4, 0.2)
    assert found.moved == pytest.approx((1 + 0 + 0 - 0.5 - 1) / 5)
    assert (found.odd, found.odd_then) == (3, 2)
    assert found.p_value == pytest.approx(7 / 27), "two or three of three, at one in three"


@given(arrays(float, (3, 6), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
def test_who_stands_apart_does_not_depend_on_the_order(table: Any) -> None:
    odd, turned = stands_apart(table), stands_apart(table[::-1])
    assert ((odd < 0) == (turned < 0)).all()
    assert (odd[odd >= 0] == 2 - turned[odd >= 0]).all()


def test_missing_verdicts_are_refused() -> None:
    with pytest.raises(ValueError, match="three verdicts"):
        drift("j", np.array([np.nan]), np.ones(1), np.ones(1))


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    assert builders(["build", "sample-llm", "--out", str(root)]) == 0
    return root


SEATS = ("smollm2-135m-seed-1", "smollm2-135m-seed-2", "smollm2-135m-seed-3")


def asked(tmp_path: Path, splits: Path, server: ModelServer, *more: str) -> list[str]:
    folder = tmp_path / "board/samples/acme-1"
    if not folder.exists():
        write_made_bundle(tmp_path / "board", epochs=3, judges=SEATS, jury="tiny-local", right=lambda *_: True)
    where = ("--jury", "tiny-local", "--judge-api-base", server.url, "--splits", str(splits))
    return [str(folder), *where, "--journal", str(tmp_path / "journal"), "--spend-cap", "1", *more]


def verdicts(share: float) -> Any:
    """A judge that says yes to everything but a share of the answers, which a digest chooses."""

    def reply(body: dict[str, Any], _: int) -> Answer:
        number = int(sha256(json.dumps(body["messages"]).encode()).hexdigest()[:8], 16) / 2**32
        right = bool(number >= share)
        return Answer(content=json.dumps({"is_answer_correct": right, "is_justification_correct": right}))

    return reply


def test_a_judge_on_loopback_that_moved_is_told_and_one_that_did_not_is_left_in_peace(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(verdicts(0.0)) as server:
        assert recheck(asked(tmp_path, splits, server, "--sample", "20")) == 0
        paid = len(server.requests)
        # Equal answers of two repeats are one question: asked once where the first reply is there before the second.
        assert 3 * 20 < paid <= 3 * 20 * 2
        assert recheck(asked(tmp_path, splits, server, "--sample", "20")) == 0
        assert len(server.requests) == paid, "the journal holds what was paid for"
    assert capsys.readouterr().out.count("has not moved") == 6
    with ModelServer(verdicts(0.25)) as server:
        assert recheck(asked(tmp_path, splits, server, "--sample", "60", "--round", "2")) == 1
    said = capsys.readouterr()
    assert said.out.count("MOVED") >= 2
    assert "raise-jury with the same options retires tiny-local" in said.err


def test_what_came_of_each_judge_is_written_down_once_and_shown(tmp_path: Path, splits: Path) -> None:
    path = tmp_path / "rechecks.jsonl"
    more = ("--sample", "20", "--rechecks", str(path), "--date", "2026-11-22")
    with ModelServer(verdicts(0.0)) as server:
        for _ in range(2):
            assert recheck(asked(tmp_path, splits, server, *more)) == 0
        assert recheck(asked(tmp_path, splits, server, *more, "--prompts", str(tmp_path))) == 1, (
            "no drift, a comparison"
        )
    found = read(path)
    assert [(r.judge, r.compared, r.changed, r.detected) for r in found] == [(j, 20, 0.0, False) for j in SEATS]
    assert {(r.jury, r.date, r.splits) for r in found} == {("tiny-local", "2026-11-22", ("sample-llm@1.0.0",))}
    page, none = (rendered(tmp_path / n, History(rechecks=r)) for n, r in (("some", found), ("none", ())))
    assert page.count('<td>not moved</td><td class="ds-num">1.000') == 3
    assert "Not measured yet" in none
    path.write_text(path.read_text() + '{"judge": "x"}\n')
    with pytest.raises(RecheckError, match=r"rechecks\.jsonl:4: date: Field required"):
        read(path)


def rendered(folder: Path, history: History) -> str:
    write_pages((), folder, history)
    return (folder / "calibration.md").read_text(encoding="utf-8")


def raising(tmp_path: Path, splits: Path, server: ModelServer, *more: str) -> list[str]:
    """The options of a recheck, with places of its own for panels and records."""
    (tmp_path / "juries").mkdir(exist_ok=True)
    places = ("--submissions", tmp_path / "board", "--records", tmp_path / "records.jsonl")
    places += ("--rechecks", tmp_path / "rechecks.jsonl")
    where = [str(x) for x in (*places, "--juries", tmp_path / "juries", "--date", "2026-11-22")]
    return ["raise-jury", *asked(tmp_path, splits, server, *more), *where]


def test_a_jury_that_moved_retires_and_sits_again_under_the_next_name(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(verdicts(0.0)) as server:
        assert leaderboard(raising(tmp_path, splits, server, "--sample", "20")) == 0
    assert "nothing to raise" in capsys.readouterr().err
    assert not (tmp_path / "records.jsonl").exists()
    with ModelServer(verdicts(0.25)) as server:
        assert leaderboard(raising(tmp_path, splits, server, "--sample", "60", "--round", "2")) == 0
        asked_for = len(server.requests)
        assert leaderboard(raising(tmp_path, splits, server, "--sample", "60", "--round", "3")) == 1
        assert len(server.requests) == asked_for, "a jury retires once; nothing more is paid for"
    assert "has retired already" in capsys.readouterr().err
    assert [r.detected for r in read(tmp_path / "rechecks.jsonl")].count(True) >= 2
    (record,) = read_history(tmp_path / "records.jsonl").records
    assert (record.action, record.subject) == ("jury-retired", "tiny-local")
    assert "tiny-local-2 sits from now on" in record.reason
    assert "verdicts changed by" in record.reason
    old, new = load_panel("tiny-local"), load_panel(str(tmp_path / "juries/tiny-local-2.yaml"))
    assert new == old.model_copy(update={"name": "tiny-local-2"})
    assert raised(new, {"tiny-local-3"}).name == "tiny-local-4"


def test_no_panel_is_written_for_a_jury_that_cannot_retire(tmp_path: Path) -> None:
    (tmp_path / "juries").mkdir()
    jury = {"jury": "tiny-local", "subject": "tiny-local", "juries": tmp_path / "juries"}
    (tmp_path / "board").mkdir()
    places = argparse.Namespace(**jury, records=tmp_path / "r.jsonl", submissions=tmp_path / "board", date=None)
    with pytest.raises(RecordError, match="no row was judged"):
        raise_jury(places, [drift("j", np.zeros(9), np.ones(9), np.ones(9))])
    assert list((tmp_path / "juries").iterdir()) == []


def test_another_order_of_the_prompt_is_a_comparison_and_no_alarm(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = Path(__file__).resolve().parent.parent / "evaluators/prompts/answer_first"
    with ModelServer(verdicts(0.25)) as server:
        assert recheck(asked(tmp_path, splits, server, "--sample", "40", "--prompts", str(prompts))) == 0
        places = Counter(b["messages"][1]["content"].find("Official answer:") for b in server.requests)
        users = [b["messages"][1]["content"] for b in server.requests]
    assert min(places) > 0
    assert all(text.find("The participant wrote") < text.find("Official answer:") for text in users)
    assert "MOVED" in capsys.readouterr().out


def test_caps_and_strangers_are_refused_before_anything_is_sent(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(verdicts(0.0)) as server:
        assert recheck(asked(tmp_path, splits, server, "--most-calls", "5")) == 1
        assert recheck(asked(tmp_path, splits, server, "--jury", "layton")) == 1
        assert server.requests == []
    err = capsys.readouterr().err
    assert "--most-calls allows 5" in err
    assert "no stored verdict is of a judge" in err
