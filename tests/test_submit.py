"""python -m evaluators.submit from end to end, against a loopback server that fails on demand."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from evaluators.bundle import read_bundle
from evaluators.calibrate import main as calibrate
from evaluators.store import open_store, store_path
from evaluators.submit import main as submit
from tests.kill_runs import start
from tests.made import write_made_split
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"


def options(tmp_path: Path, server: ModelServer, *more: str, out: str = "out") -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", server.url),
        *("--judges", JUDGES, "--judge-api-base", server.url),
        *("--split", "sample-llm@1.0", "--splits", str(tmp_path / "splits"), "--out", str(tmp_path / out), *more),
    ]


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def answers(body: dict[str, object], _: int) -> Answer:
    """The solver answers 7, one judge is strict: every answer has the jury score 2/3."""
    if body["model"] == "solver":
        return Answer(content='{"answer": "7", "justification": "because"}')
    said = "false" if body["model"] == "j3" else "true"
    return Answer(content=f'{{"is_answer_correct": true, "is_justification_correct": {said}}}')


def test_a_run_ends_with_score_interval_rank_and_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(answers) as server:
        assert submit(options(tmp_path, server, "--hints", "1", "--contact", "me")) == 0
        assert len(server.requests) == 6 * (1 + 3)
    said = capsys.readouterr()
    assert "6 attempts: 6 judged" in said.out
    assert "items like these" in said.out
    assert "provisional" in said.out
    assert "6/6" in said.err
    bundle = read_bundle(tmp_path / "out/bundle")
    assert bundle.submission.counts.scored == 6
    assert bundle.submission.contact == "me"
    assert bundle.submission.model.api_base is None, "an address on this machine says nothing to others"
    assert "127.0.0.1" not in (bundle.submission.command or "")
    assert str(tmp_path) not in (bundle.submission.command or "")
    with open_store(store_path()) as store:
        (stored,) = store.submissions("sample-llm", "1.0.0")
    assert stored.tier == "scored-here"


def test_running_it_again_costs_nothing_and_changes_nothing(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(answers) as server:
        assert submit(options(tmp_path, server)) == 0
        before, calls = digests(tmp_path / "out/bundle"), len(server.requests)
        assert submit(options(tmp_path, server)) == 0
        assert (digests(tmp_path / "out/bundle"), len(server.requests)) == (before, calls)
        with open_store(store_path()) as store:
            first = store.digest()
        assert submit(options(tmp_path, server)) == 0
    with open_store(store_path()) as store:
        assert store.digest() == first


def test_faults_lose_no_item_and_change_no_byte(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 40)

    def faulty(body: dict[str, object], attempt: int) -> Answer:
        die = int(sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:4], 16) % 100
        if attempt == 1 and die < 12:
            faults = [Answer(status=429), Answer(status=500), Answer(fault="drop"), Answer(content="{not json ]]")]
            return faults[die % 4]
        return Answer()

    with ModelServer() as calm:
        assert submit(options(tmp_path, calm, out="calm")) == 0
        assert len(calm.requests) == 160
    with ModelServer(faulty) as server:
        assert submit(options(tmp_path, server, out="faulty")) == 0
        assert len(server.requests) > 165
    assert digests(tmp_path / "calm/bundle") == digests(tmp_path / "faulty/bundle")
    counts = read_bundle(tmp_path / "faulty/bundle").submission.counts
    assert (counts.scored, counts.failed, counts.missing) == (40, 0, 0)


def test_a_killed_run_goes_on_and_repeats_only_what_was_in_flight(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 30)
    with ModelServer() as server:
        assert submit(options(tmp_path, server, out="whole")) == 0
    seen: list[str] = []

    def stall(body: dict[str, object], _: int) -> Answer:
        seen.append(json.dumps(body, sort_keys=True))
        return Answer(hold=len(seen) > 60)

    with ModelServer(stall) as server:
        child = start(options(tmp_path, server, "--concurrency", "4"))
        server.wait_for_requests(64)
        child.kill()
        child.join()
        server.release()
        assert not (tmp_path / "out/bundle").exists()
        assert submit(options(tmp_path, server, "--concurrency", "4")) == 0
        repeated = len(seen) - len(set(seen))
        assert 1 <= repeated <= 4
    assert digests(tmp_path / "out/bundle") == digests(tmp_path / "whole/bundle")


def test_ctrl_c_keeps_what_was_paid_for(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 10)
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > 8)) as server:
        command = [sys.executable, "-m", "evaluators.submit", *options(tmp_path, server, "--concurrency", "4")]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.wait_for_requests(12)
        child.send_signal(2)
        _, err = child.communicate(timeout=180)
        server.release()
    assert child.returncode == 3
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    assert len((tmp_path / "out/journal.jsonl").read_text().splitlines()) == 8


def test_calls_that_fail_are_counted_apart_and_never_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(lambda body, _: Answer(status=400) if "Riddle 3" in str(body) else answers(body, 1)) as server:
        assert submit(options(tmp_path, server)) == 3
    assert "1 calls failed and are not scored" in capsys.readouterr().err
    bundle = read_bundle(tmp_path / "out/bundle")
    counts = bundle.submission.counts
    assert (counts.scored, counts.no_answer, counts.failed) == (5, 0, 1)
    assert not [v for v in bundle.verdicts if v.transcript_id == bundle.transcripts[3].transcript_id]


def test_an_unreadable_answer_is_no_answer_and_an_unreadable_judge_is_no_mark(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits")

    def reply(body: dict[str, object], attempt: int) -> Answer:
        if body["model"] == "solver" and "Riddle 2" in str(body):
            return Answer(content="I would rather not say.")
        if body["model"] == "j2" and "Riddle 4" in str(body):
            return Answer(content="Who am I to judge?")
        return answers(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, server)) == 0
    counts = read_bundle(tmp_path / "out/bundle").submission.counts
    assert (counts.scored, counts.no_answer, counts.unjudged, counts.failed) == (4, 1, 1, 0)


def test_repeats_are_calls_of_their_own_and_a_limit_is_a_condition(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer() as server:
        assert submit(options(tmp_path, server, "--epochs", "2", "--limit", "3")) == 0
        assert len(server.requests) == 3 * 2 * 4
        submission = read_bundle(tmp_path / "out/bundle").submission
        assert (submission.condition, submission.counts.expected) == ("hints=0;first=3", 6)
        assert submit(options(tmp_path, server, "--epochs", "2")) == 0
        assert len(server.requests) == 6 * 2 * 4, "what was paid for with --limit is not paid for again"


@pytest.mark.parametrize(
    ("judges", "jury"),
    [
        (("gpt-5.1-2025-11-13", "gemini-3-pro-preview", "claude-opus-4-5-20251101"), "layton"),
        (("gpt-5.1-2025-11-13", "gemini-3-pro-preview", "my-own-judge"), "custom-"),
    ],
)
def test_brought_answers_and_verdicts_need_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judges: tuple[str, ...], jury: str
) -> None:
    write_made_split(tmp_path / "splits", 3)
    ids = [f"r-{n:03}" for n in range(3)]
    mine = tmp_path / "p.jsonl"
    mine.write_text("".join(json.dumps({"item_id": i, "answer": "x", "justification": "y"}) + "\n" for i in ids))
    reply = json.dumps({"is_answer_correct": True, "is_justification_correct": True})
    files = []
    for judge in judges:
        files.append(tmp_path / f"{judge}.jsonl")
        files[-1].write_text("".join(json.dumps({"custom_id": i, "answer": reply, "model": judge}) + "\n" for i in ids))
    where = ["--splits", str(tmp_path / "splits"), "--out", str(tmp_path / "out")]
    brought = ["--predictions", str(mine), "--judge-files", *map(str, files)]
    assert submit(["--model", "my-model", "--provider", "me", "--split", "sample-llm", *where, *brought]) == 0
    bundle = read_bundle(tmp_path / "out/bundle")
    assert bundle.submission.counts.scored == 3
    assert bundle.submission.jury.startswith(jury), "verdicts of other judges are another jury"
    assert "3 judged" in capsys.readouterr().out
    with open_store(store_path()) as store:
        (stored,) = store.submissions("sample-llm", "1.0.0")
    assert stored.tier == "self-reported"


def test_brought_answers_can_be_judged_here(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 2)
    mine = tmp_path / "p.jsonl"
    mine.write_text(json.dumps({"item_id": "r-000", "answer": "x", "justification": "y"}) + "\n")
    with ModelServer() as server:
        assert submit(options(tmp_path, server, "--predictions", str(mine))) == 1
        assert server.requests == []
        assert submit(options(tmp_path, server, "--predictions", str(mine), "--allow-missing")) == 0
        assert len(server.requests) == 3
    assert read_bundle(tmp_path / "out/bundle").submission.counts.missing == 1
    with open_store(store_path()) as store:
        assert [s.tier for s in store.submissions("sample-llm", "1.0.0")] == ["rejudged"]


def test_a_dry_run_tells_calls_tokens_and_price_and_sends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits")
    where = ["--split", "sample-llm", "--splits", str(tmp_path / "splits"), "--dry-run"]
    assert submit(["--model", "openai/gpt-5.1", *where]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("model")
    assert float(said[1].split()[-1]) > 0
    assert "judge gemini-3-pro-preview" in said[2]
    assert "24" in said[5]
    assert not Path("runs").exists()


def test_calibration_stores_labels_beside_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_made_split(tmp_path / "splits")
    shared = ["--split", "sample-llm", "--splits", str(tmp_path / "splits"), "--judges", JUDGES]
    with ModelServer(answers) as server:
        gold = [*shared, "--judge-api-base", server.url, "--limit", "4", "--out", str(tmp_path / "gold")]
        assert calibrate(gold) == 0
        assert len(server.requests) == 4 * 3
        assert "agree with the label: 6 of 12 (50 %)" in capsys.readouterr().out
        bundle = read_bundle(tmp_path / "gold/bundle")
        assert bundle.submission.kind == "gold"
        assert {v.kind for v in bundle.verdicts} == {"author", "model"}, "an author's label is never called human"
        assert submit(options(tmp_path, server)) == 0
    assert "4 labels by the items' authors calibrate the jury; they are not human" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--split", "no-such"], 1, "no-such"),
        (["--split", "layton-vlm"], 1, "python -m builders build"),
        (["--split", "../etc"], 1, "../etc"),
        (["--model", "openai/gpt-5.1", "--yes"], 1, "OPENAI_API_KEY"),
        (["--model", "openrouter/x/y"], 2, "--provider"),
        (["--model", "openai/x", "--provider", "Some Body"], 1, "provider"),
        (["--model", "x\x07y", "--provider", "me"], 1, "name"),
        (["--temperature", "9"], 1, "temperature"),
        (["--jury", "no-such"], 1, "known are"),
        (["--judges", "openai/a"], 1, "three judges"),
        (["--judge-files", "a", "b", "c"], 2, "--predictions"),
        (["--predictions", "no-such-file"], 1, "no-such-file"),
        (["--prompts", "no-such-folder"], 1, "no-such-folder"),
        (["--limit", "0"], 2, "1 or more"),
        (["--hints", "5"], 2, "invalid choice"),
        (["--judges", "a:openai/j1,b:openai/j2,c:openai/j3"], 2, "openai/j1, openai/j2, openai/j3 is unknown"),
        (["--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--yes", "--max-cost", "1"], 2, "--max-cost cannot hold"),
        (["--price", "cheap"], 1, "[MODEL=]IN,OUT"),
        (["--price", "x=1,-2"], 1, "[MODEL=]IN,OUT"),
        (["--limits", "openai", "rps=3"], 1, "known are in_flight=N, rpm=N, tpm=N"),
        (["--limits", "openai"], 1, "say what limit"),
        (["--max-cost", "0"], 2, "more than 0"),
        (["--max-seconds", "0"], 2, "more than 0"),
        (["--no-such-option"], 2, "unrecognized"),
    ],
)
def test_bad_input_is_one_clear_message_and_the_right_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    write_made_split(tmp_path / "splits", 2)
    where = ["--splits", str(tmp_path / "splits"), "--out", str(tmp_path / "out")]
    given = ["--model", "anthropic/claude-opus-4-5-20251101", "--split", "sample-llm", *where, *arguments]
    with pytest.raises(SystemExit) as end:
        sys.exit(submit(given))
    assert end.value.code == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "out/bundle").exists()


def test_a_wrong_key_is_said_once_and_what_was_paid_for_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits")
    with ModelServer(lambda body, _: Answer() if body["model"] == "solver" else Answer(status=401)) as server:
        assert submit(options(tmp_path, server)) == 3
    err = capsys.readouterr().err
    assert "scripted status 401" in err
    assert "goes on from there" in err
    assert (tmp_path / "out/journal.jsonl").read_text().count("\n") >= 1
    assert not (tmp_path / "out/bundle").exists()


def test_a_store_of_a_newer_schema_is_refused_before_a_call_is_paid_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import duckdb

    write_made_split(tmp_path / "splits")
    with open_store(store_path()):
        pass
    with duckdb.connect(str(store_path())) as connection:
        connection.execute("UPDATE meta SET schema_version = 99")
    with ModelServer() as server:
        assert submit(options(tmp_path, server)) == 1
        assert server.requests == []
    assert "99" in capsys.readouterr().err


def test_a_visual_split_shows_its_pictures_to_model_and_judges_and_keeps_only_their_digests(tmp_path: Path) -> None:
    from builders.__main__ import main as builders

    assert builders(["build", "sample-vlm", "--out", str(tmp_path / "splits")]) == 0
    with ModelServer(answers) as server:
        assert submit([*options(tmp_path, server), "--split", "sample-vlm", "--limit", "2"]) == 0
        shown = [[p["type"] for p in body["messages"][1]["content"]] for body in server.requests]
    assert shown == [["text", "image_url"]] * 8
    transcripts = read_bundle(tmp_path / "out/bundle").transcripts
    assert all(m.images[0].data is None for t in transcripts for m in t.messages if m.role == "user")
    assert (tmp_path / "out/journal.jsonl").stat().st_size < 20_000


@pytest.mark.parametrize("provider", ["google", "gemini"])
def test_a_maker_by_any_of_its_names_is_not_its_own_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], provider: str
) -> None:
    write_made_split(tmp_path / "splits", 2)
    given = ["--model", "openrouter/google/any", "--provider", provider, "--split", "sample-llm", "--dry-run"]
    assert submit([*given, "--splits", str(tmp_path / "splits")]) == 0
    judges = [line for line in capsys.readouterr().out.splitlines() if line.startswith("judge")]
    assert len(judges) == 3
    assert not any("gemini" in line for line in judges)
