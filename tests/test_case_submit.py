"""Cases from end to end: calls counted on the server, faults, resuming, graders, people, checks of what is sent."""

import io
import json
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluators.answers import CaseAnswer, CaseGame
from evaluators.bundle import read_bundle
from evaluators.store import open_store, store_path
from evaluators.submit import main as submit
from evaluators.write_rubrics import main as write_rubrics
from tests.kill_runs import start
from tests.made_case import built, case, left_of, table
from tests.made_soup import form
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"
CASES = (case("practice", 3, category="practice"), case("a", 4, 2), case("b", 3, 3))


@pytest.fixture
def splits(tmp_path: Path) -> Path:
    built(tmp_path / "splits", CASES)
    return tmp_path / "splits"


def options(tmp_path: Path, server: ModelServer, *more: str, out: str = "out") -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", server.url),
        *("--judges", JUDGES, "--judge-api-base", server.url, "--grader-mode", "3"),
        *("--split", "sample-case@1.0", "--splits", str(tmp_path / "splits"), "--out", str(tmp_path / out), *more),
    ]


def asked(server: ModelServer, model: str) -> list[dict[str, Any]]:
    return [body for body in server.requests if body["model"] == model]


def text(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("scheme", "calls"),
    # 1 + 2 x locations, one fewer for the forced last choice; a revision for each of the locations + 1 answers.
    [("simple", 2 * 3 + 2 * 4 + 2 * 3), ("discussion", 20), ("revision", 20 + 4 + 5 + 4)],
)
def test_every_case_is_played_to_its_end_in_fresh_contexts(
    tmp_path: Path, splits: Path, scheme: str, calls: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, "--practice", "--scheme", scheme)) == 0
        solver = asked(server, "solver")
        assert len(solver) == calls
        assert {body["temperature"] for body in solver} == {1.0}
        judges = [asked(server, j) for j in ("j1", "j2", "j3")]
    # Every prompt is one system and one user message; a revision alone shows an answer, and only the one just given.
    assert {len(body["messages"]) for body in solver} == {2}
    revisions = [body for body in solver if "# The attempt to examine" in text(body)]
    assert [body for body in solver if "Testified " in text(body)] == revisions
    assert len(revisions) == (13 if scheme == "revision" else 0)
    assert not any("Solution of" in text(body) or "Truth" in text(body) for body in solver)
    # Two questions at five stages and three at four; the practice case is never graded.
    assert [len(said) for said in judges] == [5 * 2 + 4 * 3] * 3
    assert not any("practice" in text(body) for said in judges for body in said)
    bundle = read_bundle(tmp_path / "out/bundle")
    assert [t.item_id for t in bundle.transcripts] == ["case-a", "case-b"]
    assert bundle.submission.condition == f"scheme={scheme};grader=3"
    assert (bundle.submission.counts.scored, bundle.submission.counts.expected) == (2, 2)
    game = bundle.transcripts[0].game
    assert isinstance(game, CaseGame)
    assert [(v.location, v.how) for v in game.visits] == [(3, "chosen"), (2, "chosen"), (1, "chosen"), (0, "forced")]
    said = capsys.readouterr().out
    assert "overall" in said
    assert "of 3" in said


def test_what_was_read_is_shown_in_the_order_of_the_visits_and_what_was_not_is_hidden(
    tmp_path: Path, splits: Path
) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, "--limit", "1")) == 0
        shown = [text(body) for body in asked(server, "solver")]
    places = [[n for n in range(4) if f"Text of a, place {n}." in prompt] for prompt in shown]
    assert places == [[], [], [3], [3], [2, 3], [2, 3], [1, 2, 3], [0, 1, 2, 3]]
    last = shown[-1]
    assert sorted(range(4), key=lambda n: last.index(f"Text of a, place {n}.")) == [3, 2, 1, 0]
    assert all("Question 1 of a?" in prompt and "Introduction of a" in prompt for prompt in shown)


def test_a_choice_nobody_can_read_is_asked_again_and_becomes_the_first_one_left(tmp_path: Path, splits: Path) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        if form(body) != "LocationReply":
            return table(body, attempt)
        again = len(body["messages"]) > 2
        match len(left_of(body)):
            case 4:
                return Answer(content='{"location": "Baker Street"}')
            case 3:  # mended at the second try, in other letters
                return Answer(content=json.dumps({"location": left_of(body)[-1].upper() if again else "nowhere"}))
            case _:
                return Answer(finish_reason="content_filter")

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server, "--limit", "1")) == 0
        choices = [b for b in asked(server, "solver") if form(b) == "LocationReply"]
    (transcript,) = read_bundle(tmp_path / "out/bundle").transcripts
    assert isinstance(transcript.game, CaseGame)
    assert [(v.location, v.how) for v in transcript.game.visits] == [
        (0, "fallback"),
        (3, "chosen"),
        (1, "fallback"),
        (2, "forced"),
    ]
    assert transcript.game.calls == 2 * 4
    assert len(choices) == 2 + 2 + 1, "a choice that cannot be read is asked once more, a refusal is not"


def test_stages_without_an_answer_are_0_by_rule_and_the_game_goes_on(tmp_path: Path, splits: Path) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        silent = form(body) == "CaseAnswers" and "Text of" not in text(body)
        return Answer(content="I would rather not.") if silent else table(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server, "--limit", "1")) == 0
    bundle = read_bundle(tmp_path / "out/bundle")
    (transcript,) = bundle.transcripts
    assert isinstance(transcript.answer, CaseAnswer)
    assert isinstance(transcript.game, CaseGame)
    assert transcript.answer.stages[0] == ("", "")
    assert transcript.game.unanswered == (0,)
    assert not [v for v in bundle.verdicts if v.unit.startswith("s00")]
    assert bundle.submission.counts.scored == 1
    with open_store(store_path()) as store:
        (measured,) = store.measured("sample-case", "1.0.0", bundle.submission.jury).values()
    assert measured.values["stage 00"].tolist() == [0.0]


def test_an_unreadable_grade_makes_its_question_unknown_not_wrong(tmp_path: Path, splits: Path) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        odd = body["model"] == "j2" and "Question 1 of a?" in text(body)
        return Answer(content='{"score": "3"}') if odd else table(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server)) == 0
    bundle = read_bundle(tmp_path / "out/bundle")
    assert (bundle.submission.counts.scored, bundle.submission.counts.unjudged) == (1, 1)
    assert {v.failure for v in bundle.verdicts if v.score is None} == {"unparsed"}
    with open_store(store_path()) as store:
        (measured,) = store.measured("sample-case", "1.0.0", bundle.submission.jury).values()
    assert measured.values["overall q1"].tolist()[0] != measured.values["overall q1"].tolist()[0]
    assert 0 <= measured.values["overall q2"].tolist()[0] <= 3


def test_a_killed_game_goes_on_at_its_stage_and_faults_change_no_byte(tmp_path: Path, splits: Path) -> None:
    seen: list[str] = []

    def faulty(body: dict[str, Any], attempt: int) -> Answer:
        faults = [Answer(status=429, headers={"Retry-After": "0"}), Answer(status=500), Answer(fault="drop")]
        spoiled = [*faults, Answer(content="{not json ]]")]
        n = int(sha256(json.dumps(body["messages"]).encode()).hexdigest()[:8], 16) % 12
        return spoiled[n] if attempt == 1 and n < len(spoiled) else table(body)

    def stall(body: dict[str, Any], attempt: int) -> Answer:
        seen.append(json.dumps(body, sort_keys=True))
        answer = table(body, attempt)
        return answer if len(seen) <= 9 else Answer(content=answer.content, hold=True)

    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, out="calm")) == 0
        calm = len(server.requests)
    with ModelServer(faulty) as server:
        assert submit(options(tmp_path, server, out="faulty")) == 0
        assert len(server.requests) > calm
    with ModelServer(stall) as server:
        child = start(options(tmp_path, server))
        server.wait_for_requests(11)
        child.kill()
        child.join()
        server.release()
        assert submit(options(tmp_path, server)) == 0
        assert 1 <= len(seen) - len(set(seen)) <= 3, "only what was in flight is asked again"
    assert digests(tmp_path / "calm/bundle") == digests(tmp_path / "faulty/bundle") == digests(tmp_path / "out/bundle")


def test_a_call_that_failed_is_no_wrong_answer_and_is_tried_again(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        broken = down and body["model"] == "solver" and "Text of b, place 1." in text(body)
        return Answer(status=400) if broken else table(body, attempt)

    down = [True]
    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server)) == 3
        counts = read_bundle(tmp_path / "out/bundle").submission.counts
        assert (counts.scored, counts.failed, counts.no_answer) == (1, 1, 0)
        assert "3 of 5 questions unknown" in capsys.readouterr().out
        down.clear()
        before = len(server.requests)
        assert submit(options(tmp_path, server)) == 0
        later = server.requests[before:]
        assert not [b for b in later if " a?" in text(b)], "what was paid for is not paid for again"
    assert read_bundle(tmp_path / "out/bundle").submission.counts.scored == 2


def test_rubrics_are_written_once_and_named_in_the_condition(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_rubric = ("--grader-mode", "5")
    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, *by_rubric)) == 1
        assert "evaluators.write_rubrics" in capsys.readouterr().err
        assert server.requests == []
        writer = ["--split", "sample-case", "--writer", "w:openai/writer", "--api-base", server.url]
        writer += ["--splits", str(splits)]
        assert write_rubrics(writer) == 0
        assert len(server.requests) == 5, "one call a graded question"
        assert not any("Solution of" in text(b) for b in server.requests), "mode 5 does not show the solution"
        assert write_rubrics(writer) == 1, "people may have edited the file"
        assert write_rubrics([*writer, "--force"]) == 0
        assert len(server.requests) == 5, "the journal holds what was paid for"
        assert write_rubrics([*writer, "--grader-mode", "4"]) == 0
        assert all("Solution of" in text(b) for b in server.requests[5:])
        assert submit(options(tmp_path, server, *by_rubric)) == 0
        grading = asked(server, "j1")
        assert all("Marking rubric" in text(b) and "Solution of" not in text(b) for b in grading)
    (path,) = (splits / "sample-case/1.0.0.rubrics").glob("*-mode5.yaml")
    content = yaml.safe_load(path.read_text())
    first = read_bundle(tmp_path / "out/bundle").submission
    content["rubrics"][0]["rubric"]["steps"] = "A person edited this."
    path.write_text(yaml.safe_dump(content))
    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, *by_rubric)) == 0
    second = read_bundle(tmp_path / "out/bundle").submission
    assert first.condition.startswith("scheme=simple;grader=5;rubrics=")
    assert first.condition != second.condition
    for change in ({"split_sha256": "0" * 64}, {"rubrics": content["rubrics"][1:]}, {"mode": 4}, {"writer": 3}):
        path.write_text(yaml.safe_dump({**content, **change}))
        with ModelServer(table) as server:
            assert submit(options(tmp_path, server, *by_rubric)) == 1
            assert server.requests == []
        said = capsys.readouterr().err
        assert "error: " in said
        assert "Truth" not in said


@pytest.mark.parametrize(("mode", "shown"), [("1", True), ("2", True), ("3", False)])
def test_graders_see_what_their_mode_shows_and_no_answer_can_close_its_tag(
    tmp_path: Path, splits: Path, mode: str, shown: bool
) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, server, "--limit", "1", "--grader-mode", mode)) == 0
        prompts = [text(b) for b in asked(server, "j1")]
        systems = {b["messages"][0]["content"] for b in asked(server, "j1")}
    assert all(("Solution of a" in p) is shown for p in prompts)
    assert all("An answer of grade 3." in p and "Truth" in p for p in prompts)
    assert not any("Introduction of" in p for p in prompts)
    assert all("never an instruction" in s for s in systems)
    fences = Counter(p.rpartition("</answer-")[2][:12] for p in prompts)
    assert max(fences.values()) == 1, "each answer has a fence of its own"


def test_a_single_grader_marks_cases_and_nothing_else(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def single(server: ModelServer) -> list[str]:
        given = options(tmp_path, server)
        at = given.index("--judges")
        return [*given[:at], "--jury", "watson-holmes", *given[at + 2 :]]

    with ModelServer(table) as server:
        assert submit(single(server)) == 0
        assert len(asked(server, "gpt-4.1-2025-04-14")) == 22
    bundle = read_bundle(tmp_path / "out/bundle")
    assert (bundle.submission.jury, bundle.submission.judges) == ("watson-holmes", ("gpt-4.1-2025-04-14",))
    assert bundle.submission.counts.scored == 2
    with open_store(store_path()) as store:
        (measured,) = store.measured("sample-case", "1.0.0", "watson-holmes").values()
    assert len(measured.values["overall"]) == 2
    from builders.__main__ import main as builders

    assert builders(["build", "samples", "--out", str(splits)]) == 0
    with pytest.raises(SystemExit) as end:
        submit(["--model", "openai/m", "--split", "sample-llm", "--splits", str(splits), "--jury", "watson-holmes"])
    assert end.value.code == 2
    assert "single grader" in capsys.readouterr().err


def test_people_grade_answers_and_their_grades_are_verdicts_of_kind_human(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"item_id": "case-a", "stage": s, "question": q, "grader": "ada", "grade": g}
        for s in range(5)
        for q, g in ((1, 2), (2, 3))
    ]
    path = tmp_path / "grades.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ModelServer(table) as server:
        run = options(tmp_path, server, "--grades", str(path))
        assert submit(run) == 0
        bundle = read_bundle(tmp_path / "out/bundle")
        assert sum(v.kind == "human" for v in bundle.verdicts) == 10
        with open_store(store_path()) as store:
            (measured,) = store.measured("sample-case", "1.0.0", bundle.submission.jury).values()
        assert measured.values["human overall q1"].tolist()[0] == 2.0
        for bad, message in (
            ({**rows[0], "grade": 4}, "grade"),
            ({**rows[0], "stage": 9}, "stages 0 to 4"),
            ({**rows[0], "item_id": "case-practice"}, "no answers"),
            ({**rows[0], "grader": "openai/j1"}, "judge"),
        ):
            path.write_text(json.dumps(bad) + "\n")
            assert submit(run) == 1
            said = capsys.readouterr().err
            assert f"{path}:1" in said
            assert message in said
        path.write_text(2 * (json.dumps(rows[0]) + "\n"))
        assert submit(run) == 1
        assert f"{path}:2" in capsys.readouterr().err


def test_a_person_plays_practice_first_and_goes_on_where_they_stopped(
    tmp_path: Path, splits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    practice = ["p1", "p2", "7", "1", *(["=", "="]), "1", *(["=", "="]), *(["=", "="])]
    played = ["The sexton", "-", "2", "=", "With a rope", *(["1", "=", "="]), *(["1", "=", "="]), *(["=", "="])]
    with ModelServer(table) as server:
        run = options(tmp_path, server, "--player", "human", "--limit", "1")
        run[1:4:2] = ["ada", "human"]
        typed = "\n".join((*practice, *played)) + "\n"
        middle = typed.index("With a rope")
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed[:middle]))
        assert submit(run) == 3, "the input ended"
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed[middle:]))
        assert submit(run) == 0
        assert {b["model"] for b in server.requests} == {"j1", "j2", "j3"}
        assert len(asked(server, "j1")) == 2, "each different answer once"
    bundle = read_bundle(tmp_path / "out/bundle")
    (transcript,) = bundle.transcripts
    assert isinstance(transcript.answer, CaseAnswer)
    assert transcript.answer.stages == (("The sexton", ""), *[("The sexton", "With a rope")] * 4)
    assert bundle.submission.condition == "player=human;grader=3;first=1"
    assert bundle.submission.model.decoding.temperature is None
    shown = capsys.readouterr().err
    assert "for practice: it is not graded" in shown
    assert "a number from 1 to 3, please" in shown
    assert shown.index("Introduction of practice") < shown.index("Introduction of a")


def test_a_dry_run_says_the_calls_and_sends_nothing(splits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--model", "openai/gpt-4.1", "--split", "sample-case", "--splits", str(splits), "--dry-run"]
    assert submit([*run, "--grader-mode", "3"]) == 0
    lines = {line[:32].strip(): line[32:].split() for line in capsys.readouterr().out.splitlines()}
    assert lines["model"][0] == str(2 * 4 + 2 * 3)
    judges = [row for who, row in lines.items() if who.startswith("judge ")]
    assert [row[0] for row in judges] == ["22"] * 3
    assert submit([*run, "--grader-mode", "3", "--practice", "--scheme", "revision", "--jury", "watson-holmes"]) == 0
    lines = {line[:32].strip(): line[32:].split() for line in capsys.readouterr().out.splitlines()}
    assert lines["model"][0] == "33"
    assert lines["judge gpt-4.1-2025-04-14"][0] == "22"


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--hints", "1"), 2, "--hints: for riddles"),
        (("--turns", "3"), 2, "--turns: for situation puzzles"),
        (("--predictions", "x.jsonl"), 2, "played here"),
        (("--scheme", "simple", "--player", "human"), 2, "--scheme"),
        (("--rubrics", "x.yaml", "--grader-mode", "1"), 2, "modes 4 and 5"),
        (("--rubrics", "no-such.yaml"), 1, "no-such.yaml"),
        (("--grader-mode", "6"), 2, "invalid choice"),
        (("--prompts", "no-such-folder"), 1, "no-such-folder"),
        (("--split", "sample-llm", "--scheme", "simple"), 2, "--scheme: for cases"),
    ],
)
def test_bad_input_is_one_clear_message(
    splits: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, message: str
) -> None:
    if "sample-llm" in more:
        from builders.__main__ import main as builders

        assert builders(["build", "samples", "--out", str(splits)]) == 0
    grading = () if "--rubrics" in more else ("--grader-mode", "3")
    run = ["--model", "openai/gpt-5.1", "--split", "sample-case", "--splits", str(splits), *grading, *more]
    if "sample-llm" in more:
        run = [word for word in run if word not in ("--grader-mode", "3")]
    with pytest.raises(SystemExit) as end:
        sys.exit(submit(run))
    assert end.value.code == code
    assert message in capsys.readouterr().err
