"""Our own graders on somebody's answers to cases: the rubrics of then, each text once, and recheck on single grades."""

import shutil
from pathlib import Path

import pytest

from evaluators.bundle import read_bundle
from evaluators.check import check_bundle
from evaluators.protocols.case.marking import read_condition
from evaluators.recheck import main as recheck
from evaluators.rejudge import main as rejudge
from evaluators.submit import main as submit
from evaluators.write_rubrics import main as write_rubrics
from leaderboard.__main__ import main as leaderboard
from leaderboard.records import read_history
from tests.made_case import built, table
from tests.servers.model_server import Answer, ModelServer
from tests.test_case_submit import CASES, options

FRESH = ("--split", "sample-case@7.0")  # 1.0.0 is the project's own, and its index is in git


def strict(_body: object, _attempt: int) -> Answer:
    return Answer(content='{"score": 1}')


def again(root: Path, url: str, *more: str) -> list[str]:
    where = ("--out", str(root / "judged"), "--splits", str(root / "splits"), "--journal", str(root / "rejudge"))
    return [
        str(root / "out/bundle"),
        *where,
        "--jury",
        "tiny-local",
        "--judge-api-base",
        url,
        "--spend-cap",
        "1",
        *more,
    ]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases played and graded by a rubric, each text that is said at a stage said again at no other."""
    root = tmp_path_factory.mktemp("case")
    built(root / "splits", CASES, "7.0.0")
    with pytest.MonkeyPatch.context() as patch, ModelServer(table) as server:
        patch.setenv("DEERSTALKER_STORE", str(root / "results.duckdb"))
        writer = [*FRESH, "--writer", "w:openai/writer", "--api-base", server.url, "--splits", str(root / "splits")]
        assert write_rubrics(writer) == 0
        assert submit([*options(root, server, *FRESH), "--grader-mode", "5"]) == 0
    return root


@pytest.fixture
def sent(played: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return shutil.copytree(played, tmp_path / "sent")


def test_our_graders_grade_their_answers_by_the_very_same_rubrics(
    sent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(strict) as server:
        assert rejudge(again(sent, server.url, "--most-calls", "65")) == 1
        assert server.requests == []
        assert "2 answers need 66 calls" in capsys.readouterr().err
        assert rejudge(again(sent, server.url)) == 0
        assert len(server.requests) == 3 * (5 * 2 + 4 * 3)
        asked = [str(body) for body in server.requests]
    assert all("Marking rubric" in body for body in asked)
    assert not any("practice" in body for body in asked)
    theirs, ours = read_bundle(sent / "out/bundle"), read_bundle(sent / "judged")
    assert [(t.answer, t.game) for t in ours.transcripts] == [(t.answer, t.game) for t in theirs.transcripts]
    assert {(v.score, v.kind) for v in ours.verdicts} == {(1.0, "model")}
    assert {v.unit for v in ours.verdicts} == {v.unit for v in theirs.verdicts}
    assert (ours.submission.counts.scored, ours.submission.counts.unjudged) == (2, 0)
    assert ours.submission.condition == theirs.submission.condition
    assert check_bundle(sent / "judged", splits=sent / "splits").accepted


def test_a_single_grader_judges_again_and_all_attempts_are_scored(sent: Path) -> None:
    with ModelServer(strict) as server:
        assert rejudge([*again(sent, server.url), "--jury", "watson-holmes"]) == 0
        assert len(server.requests) == 22
    judged = read_bundle(sent / "judged").submission
    assert (judged.counts.scored, len(judged.judges)) == (2, 1)
    assert check_bundle(sent / "judged", splits=sent / "splits").accepted


@pytest.mark.parametrize("left", ["edited", "none"])
def test_grades_by_other_rubrics_are_refused_before_anything_is_sent(
    sent: Path, left: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = (sent / "splits/sample-case/7.0.0.rubrics").glob("*.yaml")
    path.write_text(path.read_text().replace("definition: d", "definition: another")) if left == "edited" else (
        path.unlink()
    )
    with ModelServer(strict) as server:
        assert rejudge(again(sent, server.url)) == 1
        assert server.requests == []
    said = capsys.readouterr().err
    assert ("graded by other rubrics" if left == "edited" else "there are no rubrics") in said


def test_recheck_asks_single_grades_again_and_tells_a_grader_that_moved(
    sent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jury = sent / "same.yaml"
    seats = [f"{{judge: openai/j{n}, model: {{name: openai/j{n}, provider: {p}}}}}" for n, p in enumerate("abc", 1)]
    jury.write_text("name: custom\ntitle: those of then\nseats:\n" + "".join(f"  - {s}\n" for s in seats))
    where = ["--jury", str(jury), "--splits", str(sent / "splits"), "--journal", str(sent / "recheck")]
    argv = [str(sent / "out/bundle"), *where, "--spend-cap", "1", "--sample", "10", "--judge-api-base"]
    with ModelServer(table) as server:
        assert recheck([*argv, server.url]) == 0, "today's graders say what they said"
        assert len(server.requests) == 3 * 10 * 2, "one grade a call, asked twice, not a whole case"
    assert "has not moved" in capsys.readouterr().out

    def kinder(body: dict[str, object], attempt: int) -> Answer:
        return Answer(content='{"score": 3}') if body["model"] == "j2" else table(body, attempt)

    with ModelServer(kinder) as server:
        assert recheck([*argv, server.url, "--round", "2", "--sample", "22"]) == 1
    said = capsys.readouterr()
    assert "j2: MOVED" in said.out
    assert said.out.count("MOVED") == 1
    moved = float(said.out.split("j2: MOVED")[1].split("by +")[1].split(" points")[0])
    assert 0 < moved <= 100, "points are of full marks, which is a grade of 3"


@pytest.mark.parametrize("text", ["", "hints=0", "scheme=simple", "scheme=simple;grader=6", "grader=3;first=2", "x;y"])
def test_what_is_no_condition_of_cases_is_not_read_as_one(text: str) -> None:
    assert read_condition(text) is None


def test_a_condition_says_who_played_and_what_graders_saw() -> None:
    assert read_condition("player=human;grader=2") == (None, 2, None)
    assert read_condition("scheme=revision;grader=5;rubrics=01234567;first=3") == ("revision", 5, "01234567")


def test_a_row_of_cases_is_promoted_and_its_record_says_what_became_of_it(sent: Path) -> None:
    name = read_bundle(sent / "out/bundle").submission.submission_id
    shutil.copytree(sent / "out/bundle", sent / "board/case-samples" / name)
    with ModelServer(strict) as server:
        assert rejudge(again(sent, server.url)) == 0
    places = ("--submissions", str(sent / "board"), "--records", str(sent / "records.jsonl"))
    words = ["promote", name, "--with", str(sent / "judged"), "--tier", "rejudged", "--reason", "by our graders"]
    assert leaderboard([*words, *places, "--splits", str(sent / "splits")]) == 0
    (record,) = read_history(sent / "records.jsonl").records
    assert (record.becomes, record.after) == (f"{name}.rejudged", pytest.approx(1 / 3, abs=1e-5))
    assert record.before is not None
    assert 0 < record.before < 1
