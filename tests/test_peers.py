"""Logs of Inspect and lm-eval as predictions: what is read, what is no answer, and every refusal with its place."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evaluators import peers
from evaluators.answers import NovelAnswer
from evaluators.bundle import read_bundle
from evaluators.predictions import PredictionError, read_choices, read_predictions
from evaluators.submit import main as submit
from evaluators.values import Transcript
from tests.made import write_made_split
from tests.made_logs import eval_log, json_log, lm_eval_row, sample
from tests.made_novel import novel_question
from tests.servers.model_server import ModelServer
from tests.test_predictions import HEADING, ITEMS

REPLY = json.dumps({"answer": "7", "justification": "so"})


def three(**fields: Any) -> list[dict[str, Any]]:
    return [sample(f"r-{n:03}", REPLY, **fields) for n in range(3)]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def predictions(
    folder: Path, data: bytes, *, epochs: int = 1, allow_missing: bool = False
) -> dict[tuple[str, int], Transcript]:
    path = folder / "brought"
    path.write_bytes(data)
    return read_predictions(path, ITEMS, heading=HEADING, epochs=epochs, allow_missing=allow_missing)


LOGS = {
    "eval": eval_log(three()),
    "eval, deflated": eval_log(three(), compression=zipfile.ZIP_DEFLATED),
    "json": json_log(three()),
    "lm-eval": lines([lm_eval_row(n, {"id": f"r-{n:03}"}, [REPLY]) for n in range(3)]),
    "lm-eval, two filters": lines(
        [lm_eval_row(n, {"item_id": f"r-{n:03}"}, [REPLY], filter_name=f) for f in ("raw", "strict") for n in range(3)]
    ),
}


@pytest.mark.parametrize("data", LOGS.values(), ids=LOGS.keys())
def test_a_log_is_told_by_its_content_and_its_replies_are_answers(tmp_path: Path, data: bytes) -> None:
    found = predictions(tmp_path, data)
    assert sorted(found) == [("r-000", 0), ("r-001", 0), ("r-002", 0)]
    assert {t.answer.answer for t in found.values() if t.answer} == {"7"}


def test_repeats_are_counted_from_one_there_and_from_zero_here(tmp_path: Path) -> None:
    inspect = eval_log([sample(f"r-{n:03}", REPLY, epoch=e) for n in range(3) for e in (1, 2)])
    lm_eval = lines([lm_eval_row(n, {"id": f"r-{n:03}"}, [REPLY, REPLY]) for n in range(3)])
    for data in (inspect, lm_eval):
        assert {epoch for _, epoch in predictions(tmp_path, data, epochs=2)} == {0, 1}


def test_a_sample_that_failed_is_missing_and_never_a_wrong_answer(tmp_path: Path) -> None:
    failed = sample("r-001", "", error={"message": "connection lost", "traceback": "..."})
    data = eval_log([three()[0], failed, three()[2]])
    with pytest.raises(PredictionError, match=r"no answer to 1 item\(s\): r-001"):
        predictions(tmp_path, data)
    assert ("r-001", 0) not in predictions(tmp_path, data, allow_missing=True)


def test_a_reply_that_was_declined_or_cannot_be_read_is_no_answer_as_in_our_own_run(tmp_path: Path) -> None:
    data = eval_log([three()[0], sample("r-001", "", stop_reason="content_filter"), sample("r-002", "It is 7.")])
    found = predictions(tmp_path, data)
    assert [t.failure for _, t in sorted(found.items())] == [None, "refused", "unparsed"]
    assert [t.no_answer for _, t in sorted(found.items())] == [False, True, True]


def test_a_log_made_with_another_prompt_is_refused_rather_than_scored_as_wrong(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="2 of 3 replies hold no JSON object with answer and justification"):
        predictions(tmp_path, eval_log([three()[0], sample("r-001", "7"), sample("r-002", "The answer is 7.")]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (eval_log(three())[:900], "brought: a damaged archive"),
        (eval_log(three()).replace(b"(\xb5/\xfd", b"xxxx"), "a damaged archive"),
        (eval_log([]), "brought: no samples"),
        (json_log([]), "brought: no samples"),
        (json_log(three()).replace(b'"eval"', b'"eval", :'), "brought: not JSON"),
        (b'{\n"eval": ' + b"[" * 100_000, "brought: not JSON"),
        (eval_log([{"id": 7, "epoch": 1}]), r"samples/7_epoch_1\.json: no sample with id \(a text\)"),
        (json_log([three()[0], {"id": "r-001", "epoch": 1, "output": {}}]), r"samples\[1\]: the output has no compl"),
        (eval_log([*three(), sample("r-009", REPLY)]), r"r-009_epoch_1\.json: the split has no item 'r-009'"),
        (eval_log(three(epoch=3)), r"r-000_epoch_3\.json: epoch is 2, with --epochs 1"),
        (eval_log(three(epoch=0)), "epoch is -1"),
        (lines([lm_eval_row(0, {"question": "x"}, [REPLY])]), "brought:1: doc has no id"),
        (lines([lm_eval_row(0, {"id": "r-000"}, [])]), "brought:1: no sample with a doc and one list of texts"),
        (lines([lm_eval_row(0, {"id": "r-000"}, [REPLY])]) + b"{oops\n", "brought:2: not JSON"),
        (lines([lm_eval_row(0, {"id": "r-000"}, [REPLY])] * 2), "brought:2: a second answer to 'r-000'"),
    ],
)
def test_each_fault_of_a_log_is_refused_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        predictions(tmp_path, data)


def test_a_log_that_unpacks_to_more_than_a_log_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = eval_log([sample("r-000", "x" * 100_000)])
    assert len(bomb) < 2_000
    monkeypatch.setattr(peers, "MOST_SAMPLE_BYTES", 10_000)
    with pytest.raises(peers.PeerError, match="larger than"):
        list(peers.replies("p", bomb) or ())
    monkeypatch.setattr(peers, "MOST_LOG_BYTES", 10_000)
    with pytest.raises(peers.PeerError, match="more than 200,000 samples"):
        list(peers.replies("p", bomb) or ())


RUN = HEADING._replace(split="detectiveqa-en@1.0.0", protocol="novel", condition="brought;setting=question-only")
CHOICES = {
    "our own form": ('{"reasoning": ["One.", "Two."], "answer": "b"}', ("One.", "Two.")),
    "reasoning in one piece": ('Well: {"answer": "B", "reasoning": "One. Two."}', ("One. Two.",)),
    "a marked line": ("One.\nTwo.\n\n**ANSWER: B**", ("One.\nTwo.",)),
    "the same line twice": ("Answer: (B)\nOne.\nANSWER: B", ("One.",)),
    "a letter alone": (" (B). ", ("(B).",)),
    "a marked line alone": ("ANSWER: B", ("ANSWER: B",)),
}


def choices(folder: Path, data: bytes) -> dict[tuple[str, int], Transcript]:
    path = folder / "brought"
    path.write_bytes(data)
    items = [novel_question(n) for n in range(3)]
    return read_choices(path, items, heading=RUN, epochs=1, allow_missing=False)


def about(text: str, **fields: Any) -> list[dict[str, Any]]:
    return [sample(novel_question(n).id, text, **fields) for n in range(3)]


@pytest.mark.parametrize(("text", "steps"), CHOICES.values(), ids=CHOICES.keys())
def test_letters_of_a_log_are_read_with_their_steps_or_with_the_reasoning_as_one(
    tmp_path: Path, text: str, steps: tuple[str, ...]
) -> None:
    rows = [
        lm_eval_row(n, {"id": novel_question(n).id, "choices": list(novel_question(n).options)}, [text])
        for n in range(3)
    ]
    for data in (eval_log(about(text)), lines(rows)):
        answers = [t.answer for t in choices(tmp_path, data).values()]
        assert answers == [NovelAnswer(kind="novel", letter="B", steps=steps)] * 3


@pytest.mark.parametrize("text", ["B or C", "ANSWER: B\nANSWER: C", "It was the sister.", "ANSWER: E", "Answer: B. No"])
def test_a_reply_without_one_letter_is_no_answer_and_a_log_of_such_replies_is_refused(
    tmp_path: Path, text: str
) -> None:
    one_unread = [sample(novel_question(0).id, text), *about("ANSWER: B")[1:]]
    found = choices(tmp_path, eval_log(one_unread))
    assert [t.failure for t in found.values()] == ["unparsed", None, None]
    with pytest.raises(PredictionError, match="3 of 3 replies hold no one letter as their answer"):
        choices(tmp_path, eval_log(about(text)))


def test_letters_that_stand_for_shuffled_options_are_refused_rather_than_marked(tmp_path: Path) -> None:
    in_order = list(novel_question().options)
    assert choices(tmp_path, eval_log(about("ANSWER: B", choices=in_order)))
    with pytest.raises(PredictionError, match="or in another order, so its letters say something else"):
        choices(tmp_path, eval_log(about("ANSWER: B", choices=in_order[::-1])))


def test_an_inspect_log_goes_through_the_jury_like_any_brought_answers(tmp_path: Path) -> None:
    write_made_split(tmp_path / "splits", 3)
    log = tmp_path / "log.eval"
    log.write_bytes(eval_log(three()))
    with ModelServer() as server:
        command = ["--model", "openai/x", "--provider", "maker", "--split", "sample-llm", "--predictions", str(log)]
        where = ["--splits", str(tmp_path / "splits"), "--out", str(tmp_path / "out")]
        judges = ["--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--judge-api-base", server.url]
        assert submit([*command, *where, *judges]) == 0
        assert len(server.requests) == 9
    submission = read_bundle(tmp_path / "out/bundle").submission
    assert (submission.evidence, submission.counts.scored) == ("answers brought", 3)
