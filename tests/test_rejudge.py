"""Our jury on somebody's answers: what the submitter's jury said is left aside, and nothing is spent beyond a cap."""

from pathlib import Path

import pytest

from builders.__main__ import main as builders
from evaluators.bundle import read_bundle
from evaluators.rejudge import main as rejudge
from tests.fuzz_check import fuzz
from tests.hostile import HOSTILE
from tests.made_bundle import write_made_bundle
from tests.servers.model_server import Answer, ModelServer


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    assert builders(["build", "samples", "--out", str(root)]) == 0
    return root


def options(tmp_path: Path, splits: Path, server: ModelServer, *more: str) -> list[str]:
    return [
        *(str(tmp_path / "board/samples/acme-1"), "--out", str(tmp_path / "judged"), "--splits", str(splits)),
        *("--jury", "tiny-local", "--judge-api-base", server.url, "--journal", str(tmp_path / "journal"), *more),
    ]


def wrong(_body: object, _attempt: int) -> Answer:
    return Answer(content='{"is_answer_correct": true, "is_justification_correct": false}')


def test_only_the_answers_are_taken_and_judged_anew(tmp_path: Path, splits: Path) -> None:
    sent = read_bundle(
        write_made_bundle(tmp_path / "board", answer=lambda n: ("" if n == 3 else f"a {n}", f"clue {n}"))
    )
    with ModelServer(wrong) as server:
        assert rejudge(options(tmp_path, splits, server, "--spend-cap", "1")) == 0
        assert len(server.requests) == 3 * 23, "an empty answer is marked by rule"
        asked = str(server.requests)
        assert rejudge(options(tmp_path, splits, server, "--spend-cap", "1")) == 0
        assert len(server.requests) == 3 * 23, "what was paid for is in the journal"
    judged = read_bundle(tmp_path / "judged")
    assert [t.answer for t in judged.transcripts] == [t.answer for t in sent.transcripts]
    assert {v.score for v in judged.verdicts} == {0.0}
    assert judged.submission.jury == "tiny-local"
    assert not {"a-1", "b-1", "c-1"} & {v.judge for v in judged.verdicts}
    assert (judged.submission.counts.scored, judged.submission.counts.no_answer) == (23, 1)
    assert "custom-made" not in asked


@pytest.mark.parametrize(
    ("caps", "most"),
    [(["--spend-cap", "1", "--most-calls", "71"], 0), (["--spend-cap", "0.000001", "--concurrency", "2"], 12)],
)
def test_a_cap_stops_the_judging(
    tmp_path: Path,
    splits: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caps: list[str],
    most: int,
) -> None:
    from evaluators import models, prices

    # The loopback judge has no price in litellm's table; a made-up one stands in for a provider's.
    for home in (models, prices):
        monkeypatch.setattr(home, "price", lambda *_, **__: 0.01)
        monkeypatch.setattr(home, "is_loopback", lambda _: False)
    write_made_bundle(tmp_path / "board")
    with ModelServer(wrong) as server:
        assert rejudge(options(tmp_path, splits, server, *caps)) == 1
        assert len(server.requests) <= most
    err = capsys.readouterr().err
    assert "cap" in err or "--most-calls" in err
    assert not (tmp_path / "judged").exists()


def test_a_judge_without_a_known_price_is_refused_because_no_cap_could_hold(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluators import models

    monkeypatch.setattr(models, "is_loopback", lambda _: False)
    write_made_bundle(tmp_path / "board")
    with ModelServer(wrong) as server:
        assert rejudge(options(tmp_path, splits, server, "--spend-cap", "1")) == 1
        assert server.requests == []
    assert "no known price" in capsys.readouterr().err


def test_calls_without_a_price_count_as_what_the_maintainer_says(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluators import models

    monkeypatch.setattr(models, "is_loopback", lambda _: False)
    write_made_bundle(tmp_path / "board")
    caps = ["--spend-cap", "1", "--usd-per-unpriced-call", "0.25", "--concurrency", "2"]
    with ModelServer(wrong) as server:
        assert rejudge(options(tmp_path, splits, server, *caps)) == 1
        assert 5 <= len(server.requests) <= 5 + 2 * 3
    assert "1.25 USD spent" in capsys.readouterr().err


@pytest.mark.parametrize("cap", ["nan", "inf", "-1", "0", "", "1e9", "all"])
def test_a_cap_that_is_none_is_refused(cap: str) -> None:
    with pytest.raises(SystemExit) as end:
        rejudge(["bundle", "--out", "judged", f"--spend-cap={cap}"])
    assert end.value.code == 2


def test_a_bundle_that_is_refused_is_never_judged(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_made_bundle(tmp_path / "board")
    next(h for h in HOSTILE if h.name == "a score of 7").spoil(folder)
    with ModelServer(wrong) as server:
        assert rejudge(options(tmp_path, splits, server, "--spend-cap", "1")) == 1
        assert server.requests == []
    assert "[score]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\0a: [", b"\1" + b"[" * 9000, b"\2(\xb5/\xfd", b"\3{}\n\n", b"\4" + b"\xff" * 99]
)
def test_the_fuzz_target_runs(data: bytes) -> None:
    fuzz(data)
