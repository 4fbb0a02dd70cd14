"""Questions about novels from end to end: submit in every setting, faults, brought answers, refusals, and no leak."""

import json
import re
import shutil
import sys
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard

from builders.__main__ import main as builders
from evaluators.answers import NovelAnswer
from evaluators.bundle import read_bundle, write_bundle
from evaluators.readings import readings
from evaluators.rejudge import main as rejudge
from evaluators.store import open_store, store_path
from evaluators.submit import main as submit
from tests.made_novel import annotated, paragraph, release, text
from tests.made_soup import form, number
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"
NOVELS = {"7-The Quiet House-A. Nobody.txt": text(60), "8-The Loud House-B. Nobody.txt": text(50)}
QUESTIONS = {
    "AIsup_anno_7": [annotated(answer_position=n, question=f"Who left before {n}?") for n in (55, 25, 40)],
    "human_anno_8": [annotated(5, -1, answer="C"), annotated(40, -1, answer_position=45, question="Who came back?")],
}


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("novels")
    release(folder / "release", texts=NOVELS, **QUESTIONS)
    built = ["build", "detectiveqa-en", "--source", str(folder / "release"), "--out", str(folder / "splits")]
    assert builders(built) == 0
    return folder / "splits"


def options(tmp_path: Path, splits: Path, server: ModelServer, *more: str, out: str = "out") -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", server.url),
        *("--judges", JUDGES, "--judge-api-base", server.url),
        *("--split", "detectiveqa-en", "--splits", str(splits), "--out", str(tmp_path / out), *more),
    ]


def table(body: dict[str, Any], _: int = 1) -> Answer:
    """A solver that says B, and judges that find the first step."""
    if form(body) == "SolverReply":
        return Answer(content=json.dumps({"reasoning": [f"She left, {number(body)}."], "answer": "B"}))
    return Answer(content=json.dumps({"explanation": "Half of it.", "found": [1]}))


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def solver_prompts(server: ModelServer) -> list[str]:
    return [str(body["messages"][1]["content"]) for body in server.requests if form(body) == "SolverReply"]


@pytest.mark.parametrize("setting", ["context", "question-only", "evidence"])
def test_each_setting_ends_with_letters_by_rule_and_reasoning_by_the_jury(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--setting", setting)
        assert submit(run) == 0
        calls = len(server.requests)
        before = digests(tmp_path / "out/bundle")
        assert submit(run) == 0
        assert (len(server.requests), digests(tmp_path / "out/bundle")) == (calls, before), "nothing is paid for twice"
    assert "accuracy              80.0" in capsys.readouterr().out
    bundle = read_bundle(tmp_path / "out/bundle")
    assert (bundle.submission.condition, bundle.submission.counts.scored) == (f"setting={setting}", 5)
    with open_store(store_path()) as store:
        own = store.measured("detectiveqa-en", "1.0.0", bundle.submission.jury)[bundle.submission.submission_id]
        found = readings(store, "detectiveqa-en", "1.0.0", bundle.submission.jury)
    assert sorted(own.values["accuracy"]) == [0, 1, 1, 1, 1]
    assert sorted(own.values["reasoning"]) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.5, 0.5])
    assert [r.found(1) for r in found] == [1.0] * 5
    assert [r.found(2) for r in found] == [0.0] * 5
    depths = [r.shown.depths for r in found if r.shown]
    assert all(depths) if setting == "context" else not any(depths)


def test_no_word_of_a_novel_or_of_a_closed_release_is_in_bundle_journal_or_store(tmp_path: Path, splits: Path) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server)) == 0
        assert all(paragraph(3) in prompt for prompt in solver_prompts(server)), "it was sent"
    written = b"".join(
        zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
        if path.suffix == ".zst"
        else path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    )
    with open_store(store_path()) as store:
        tables = [name for (name,) in store.query("SELECT table_name FROM duckdb_tables()").fetchall()]
        kept = repr([store.query(f"FROM {name}").fetchall() for name in tables]).encode()
    for words in (paragraph(3), paragraph(17), "tells of the", "Who left before"):
        assert words.encode() not in written
        assert words.encode() not in kept
    assert b"She left" in written
    assert b"en/7" in kept, "what was shown is there in numbers"


def test_one_question_of_a_novel_is_asked_at_a_time_and_each_prompt_begins_with_the_one_before(
    tmp_path: Path, splits: Path
) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, "--concurrency", "8")) == 0
        prompts = solver_prompts(server)
    # The two novels run side by side, and only their questions tell their prompts apart.
    for novel in (
        {"Who left before 25?", "Who left before 40?", "Who left before 55?"},
        {"Who left the garden?", "Who came back?"},
    ):
        shown = [
            text
            for text, _, question in (p.partition("\n\nQuestion:") for p in prompts)
            if any(q in question for q in novel)
        ]
        assert len(shown) == len(novel)
        assert all(later.startswith(earlier) for earlier, later in pairwise(shown))


def test_faults_change_no_byte_and_a_spoiled_reply_is_never_a_wrong_answer(tmp_path: Path, splits: Path) -> None:
    def faulty(body: dict[str, Any], attempt: int) -> Answer:
        faults = [
            Answer(status=429, headers={"Retry-After": "0"}),
            Answer(status=500),
            Answer(fault="drop"),
            Answer(content="{not json ]]"),
        ]
        return faults[number(body) % 4] if attempt == 1 else table(body)

    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, out="calm")) == 0
    with ModelServer(faulty) as server:
        assert submit(options(tmp_path, splits, server, out="faulty")) == 0
    assert digests(tmp_path / "calm/bundle") == digests(tmp_path / "faulty/bundle")


@pytest.mark.parametrize("found", [[4], [0], [1, 1], ["1"], [True], [1.5], "1", None])
def test_a_judge_whose_indexes_cannot_be_is_unparsed_and_marks_nothing(
    tmp_path: Path, splits: Path, found: object
) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        if body["model"] == "j2":
            return Answer(content=json.dumps({"explanation": "All.", "found": found}))
        return table(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, splits, server, "--limit", "1")) == 0
    bundle = read_bundle(tmp_path / "out/bundle")
    assert (bundle.submission.counts.scored, bundle.submission.counts.unjudged) == (0, 1)
    (spoiled,) = [v for v in bundle.verdicts if v.judge == "openai/j2"]
    assert (spoiled.score, spoiled.failure, spoiled.marks) == (None, "unparsed", {})
    with open_store(store_path()) as store:
        own = store.measured("detectiveqa-en", "1.0.0", bundle.submission.jury)[bundle.submission.submission_id]
    assert own.values["accuracy"].tolist() == [1.0], "a letter needs no jury"
    assert "reasoning" not in own.values


def test_no_answer_is_not_right_and_a_failed_call_is_neither_right_nor_wrong(tmp_path: Path, splits: Path) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        if "Who came back?" in str(body):
            return Answer(content="It was the butler, I think.")
        if "before 25" in str(body):
            return Answer(status=400)
        return table(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, splits, server)) == 3
    bundle = read_bundle(tmp_path / "out/bundle")
    counts = bundle.submission.counts
    assert (counts.scored, counts.no_answer, counts.failed) == (3, 1, 1)
    with open_store(store_path()) as store:
        own = store.measured("detectiveqa-en", "1.0.0", bundle.submission.jury)[bundle.submission.submission_id]
    assert sorted(x for x in own.values["accuracy"] if x == x) == [0, 0, 1, 1]
    assert sorted(x for x in own.values["reasoning"] if x == x) == pytest.approx([0, 1 / 3, 1 / 3, 0.5])


def test_cached_tokens_are_recorded(tmp_path: Path, splits: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909}

    def reply(body: dict[str, Any], attempt: int) -> Answer:
        cached = {**usage, "prompt_tokens_details": {"cached_tokens": 512}}
        return Answer(content=table(body, attempt).content, usage=cached)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, splits, server, "--limit", "1")) == 0
    (transcript,) = read_bundle(tmp_path / "out/bundle").transcripts
    assert transcript.usage.cached_tokens == 512


def test_a_long_novel_is_refused_before_anything_is_sent_or_cut_on_request_and_recorded(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--max-context", "2000")
        assert submit(run) == 1
        assert server.requests == []
        said = capsys.readouterr().err
        assert "1 of 5 questions" in said
        assert "en/AIsup_anno/7/0" in said
        assert submit([*run, "--truncate", "front"]) == 0
        longest = max(solver_prompts(server), key=lambda p: p.count("\n["))
    bundle = read_bundle(tmp_path / "out/bundle")
    assert bundle.submission.condition == "setting=context;truncate=front@2000"
    shown = {t.item_id: t.novel for t in bundle.transcripts if t.novel}
    cut = shown["en/AIsup_anno/7/0"]
    assert cut.cut > 0
    assert (cut.first, cut.last) == (cut.cut + 1, 54)
    assert f"[{cut.first}] " in longest
    assert [record.cut for name, record in shown.items() if name != "en/AIsup_anno/7/0"] == [0] * 4


def test_a_limit_that_nothing_reaches_leaves_the_condition_as_it_is(tmp_path: Path, splits: Path) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, "--max-context", "9000", "--truncate", "front")) == 0
    assert read_bundle(tmp_path / "out/bundle").submission.condition == "setting=context"


def test_brought_answers_are_marked_by_the_same_rule_and_jury(tmp_path: Path, splits: Path) -> None:
    mine = tmp_path / "answers.jsonl"
    rows = [{"item_id": f"en/AIsup_anno/7/{n}", "answer": "B", "reasoning": ["She left."]} for n in range(3)]
    mine.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--limit", "3", "--predictions", str(mine))
        assert submit(run) == 0
        assert {body["model"] for body in server.requests} == {"j1", "j2", "j3"}
        for bad in ({"answer": "E"}, {"reasoning": []}, {"reasoning": "She left."}, {"answer": ["B"]}):
            mine.write_text(json.dumps({**rows[0], **bad}) + "\n")
            assert submit(run) == 1
    submission = read_bundle(tmp_path / "out/bundle").submission
    assert submission.condition == "brought;setting=context;first=3"
    assert (submission.counts.scored, submission.evidence) == (3, "answers brought")


def test_brought_answers_that_repeat_the_novel_lose_it_before_a_judge_reads_them_and_say_so(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passage = " ".join(paragraph(n) for n in (3, 4, 5, 6))
    mine = tmp_path / "answers.jsonl"
    steps = [f"As it says: {passage} So it was.", "She left."]
    mine.write_text(json.dumps({"item_id": "en/AIsup_anno/7/0", "answer": "B", "reasoning": steps}) + "\n")
    brought = ("--predictions", str(mine), "--allow-missing")
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, *brought)) == 0
        assert not [body for body in server.requests if paragraph(4) in str(body)]
        elsewhere = tmp_path / "elsewhere"
        shutil.copytree(splits, elsewhere)
        next(elsewhere.rglob("novels.parquet")).unlink()
        assert submit([*options(tmp_path, elsewhere, server, *brought, out="second")]) == 1
        assert "novels.parquet is missing" in capsys.readouterr().err
    (transcript,) = read_bundle(tmp_path / "out/bundle").transcripts
    assert isinstance(transcript.answer, NovelAnswer)
    words = len(re.findall(r"\w+", passage))
    assert transcript.answer.steps == (f"As it says:[{words} words of the novel]So it was.", "She left.")


def test_a_dry_run_counts_the_novels_and_sends_nothing(splits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["--model", "openai/gpt-5.1", "--split", "detectiveqa-en", "--splits", str(splits), "--dry-run"]
    totals = {}
    for setting in ("context", "evidence", "question-only"):
        assert submit([*run, "--setting", setting]) == 0
        said = capsys.readouterr().out
        line = next(x for x in said.splitlines() if x.startswith("model"))
        assert line.split()[1] == "5"
        totals[setting] = int(line.split()[2].replace(",", ""))
        assert ("0 tokens are text of novels" in said) == (setting == "question-only")
    assert totals["context"] > totals["evidence"] > totals["question-only"]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--hints", "1"), 2, "--hints: for riddles; this split has questions about novels"),
        (("--turns", "3"), 2, "for situation puzzles"),
        (("--setting", "title"), 2, "invalid choice"),
        (("--setting", "evidence", "--truncate", "front"), 2, "for --setting context"),
        (("--truncate", "front", "--model", "openai/unheard-of", "--provider", "me"), 2, "say it with --max-context"),
        (("--max-context", "0"), 2, "1 or more"),
        (("--prompts", "no-such-folder"), 1, "no-such-folder"),
    ],
)
def test_bad_input_is_one_clear_message(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, message: str
) -> None:
    run = ["--model", "openai/gpt-5.1", "--split", "detectiveqa-en", "--splits", str(splits), "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as end:
        sys.exit(submit([*run, *more]))
    assert end.value.code == code
    assert message in capsys.readouterr().err


def test_novels_that_are_gone_are_named(tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(splits, tmp_path / "splits")
    (gone,) = (tmp_path / "splits").rglob("novels.parquet")
    gone.unlink()
    run = ["--model", "openai/gpt-5.1", "--split", "detectiveqa-en", "--splits", str(tmp_path / "splits")]
    assert submit([*run, "--out", str(tmp_path / "out")]) == 1
    assert "novels.parquet is missing" in capsys.readouterr().err
    assert submit([*run, "--setting", "question-only", "--dry-run"]) == 0, "title and author need no novel"


def test_a_bundle_passes_the_check_and_letters_records_and_scores_that_cannot_be_do_not(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server)) == 0
    whole = read_bundle(tmp_path / "out/bundle")
    check = ["--check", str(tmp_path / "out/bundle"), "--splits", str(splits)]
    assert submit(check) == 0
    answer = whole.transcripts[0]
    assert answer.novel is not None
    wrong_letter = [v.model_copy(update={"score": 1 - v.score}) if v.judge == "letter" else v for v in whole.verdicts]  # type: ignore[operator]
    more = [v.model_copy(update={"score": 1.0}) if v.kind == "model" else v for v in whole.verdicts]
    without = [v for v in whole.verdicts if v.judge != "letter"]
    leaked = answer.model_copy(update={"novel": answer.novel.model_copy(update={"last": 60})})
    other = answer.model_copy(update={"novel": answer.novel.model_copy(update={"setting": "evidence"})})
    for transcripts, verdicts, said in (
        (whole.transcripts, wrong_letter, "is not what the rule says of the letter"),
        (whole.transcripts, more, "not the share of the steps"),
        (whole.transcripts, without, "no rule's verdict on the letter"),
        ((leaked, *whole.transcripts[1:]), whole.verdicts, "the paragraph of the answer, was shown"),
        ((other, *whole.transcripts[1:]), whole.verdicts, "not that of the condition"),
    ):
        write_bundle(tmp_path / "out/bundle", whole.submission, transcripts, verdicts)
        capsys.readouterr()
        assert submit(check) == 1
        assert said in "".join(capsys.readouterr())


def test_our_jury_marks_the_reasoning_again_and_the_rule_every_letter(tmp_path: Path, splits: Path) -> None:
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server)) == 0
        again = [str(tmp_path / "out/bundle"), "--out", str(tmp_path / "judged"), "--splits", str(splits)]
        again += ["--jury", "tiny-local", "--judge-api-base", server.url, "--journal", str(tmp_path / "journal")]
        assert rejudge([*again, "--spend-cap", "1"]) == 0
    judged = read_bundle(tmp_path / "judged")
    assert (judged.submission.jury, judged.submission.counts.scored) == ("tiny-local", 5)
    assert sorted(v.score for v in judged.verdicts if v.judge == "letter") == [0, 1, 1, 1, 1]  # type: ignore[type-var]
    assert len([v for v in judged.verdicts if v.kind == "model"]) == 15
