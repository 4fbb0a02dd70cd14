"""Answers and verdicts that people bring: what is read, and every refusal with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluators.heading import Heading
from evaluators.jury import load_panel
from evaluators.predictions import PredictionError, read_judge_files, read_predictions
from evaluators.values import Model, Transcript, Verdict
from tests.made import riddle as made

ITEMS = [made(n) for n in range(3)]
HEADING = Heading("key", "sample-llm@1.0.0", Model(name="a/b", provider="maker"), "riddle", "hints=0")


def row(n: int, **fields: Any) -> dict[str, Any]:
    return {"item_id": f"r-{n:03}", "answer": str(n), "justification": "so"} | fields


def predictions(
    tmp_path: Path, rows: list[Any], *, epochs: int = 1, allow_missing: bool = False
) -> dict[tuple[str, int], Transcript]:
    path = tmp_path / "p.jsonl"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return read_predictions(path, ITEMS, heading=HEADING, epochs=epochs, allow_missing=allow_missing)


def test_answers_are_read_in_our_form_and_in_layton_evals(tmp_path: Path) -> None:
    reply = json.dumps({"answer": "2", "justification": "so"})
    found = predictions(tmp_path, [row(0), row(1), {"custom_id": "r-002", "answer": reply, "model": "x"}])
    assert [t.answer.answer for t in found.values() if t.answer] == ["0", "1", "2"]
    assert len({t.transcript_id for t in found.values()}) == 3


def test_an_empty_answer_is_no_answer(tmp_path: Path) -> None:
    found = predictions(tmp_path, [row(0, answer=""), row(1), row(2)])
    assert [t.no_answer for t in found.values()] == [True, False, False]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(0), "{oops", row(1)], r"p\.jsonl:2: not a JSON object"),
        ([row(0), "[1]"], r"p\.jsonl:2: a JSON object is expected"),
        ([row(0), "[" * 100_000], r"p\.jsonl:2: not a JSON object"),
        ([{"answer": "x", "justification": "y"}], r"p\.jsonl:1: no id"),
        ([row(0), row(1), row(2), row(9)], r"p\.jsonl:4: the split has no item 'r-009'"),
        ([row(0), row(1), row(2), row(1)], r"p\.jsonl:4: a second answer to 'r-001'"),
        ([row(0, answer=7)], r"p\.jsonl:1: answer is 7, a string is expected"),
        ([row(0, justification=None)], r"p\.jsonl:1: justification is None"),
        ([{"item_id": "r-000", "answer": "just 0"}], r"p\.jsonl:1: no justification"),
        ([row(0, epoch=1)], r"p\.jsonl:1: epoch is 1, with --epochs 1 it is 0 to 0"),
        ([row(0, epoch=True)], r"epoch is True"),
        ([row(0)], r"no answer to 2 item\(s\): r-001, r-002"),
        ([], "no answer to 3 item"),
        ([row(0, answer="x" * 2**21)], "longer than"),
    ],
)
def test_each_fault_is_refused_with_file_line_and_remedy(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        predictions(tmp_path, rows)


def test_missing_answers_may_be_submitted_as_missing(tmp_path: Path) -> None:
    assert len(predictions(tmp_path, [row(0)], allow_missing=True)) == 1


def test_repeats_have_an_epoch(tmp_path: Path) -> None:
    found = predictions(tmp_path, [row(n, epoch=e) for n in range(3) for e in range(2)], epochs=2)
    assert len({t.transcript_id for t in found.values()}) == 6


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match=r"none\.jsonl: No such file"):
        read_predictions(tmp_path / "none.jsonl", ITEMS, heading=HEADING, epochs=1, allow_missing=False)


JUDGES = ("gemini-3-pro-preview", "claude-opus-4-5-20251101", "mistral-large-2512")


def verdict(n: int, judge: str, *, a: object = True, j: object = True) -> dict[str, Any]:
    reply = json.dumps({"is_answer_correct": a, "is_justification_correct": j})
    return {"custom_id": f"r-{n:03}", "answer": reply, "model": judge}


def judged(
    tmp_path: Path, files: list[list[dict[str, Any]]], transcripts: list[Transcript] | None = None
) -> tuple[Verdict, ...]:
    if transcripts is None:
        transcripts = list(predictions(tmp_path, [row(n) for n in range(3)]).values())
    paths = []
    for n, rows in enumerate(files):
        paths.append(tmp_path / f"judge{n}.jsonl")
        paths[-1].write_text("".join(json.dumps(r) + "\n" for r in rows))
    return read_judge_files(paths, transcripts, panel=load_panel("layton"), provider="openai")


def whole(judge: str) -> list[dict[str, Any]]:
    return [verdict(n, judge) for n in range(3)]


def test_three_files_in_layton_evals_format_are_nine_verdicts(tmp_path: Path) -> None:
    files = [whole(j) for j in JUDGES]
    files[0][1] = verdict(1, JUDGES[0], j=False)
    files[1][2]["answer"] = "I cannot say"
    verdicts = judged(tmp_path, files)
    assert len(verdicts) == 9
    assert sum(v.score or 0 for v in verdicts) == 7
    assert [v.failure for v in verdicts if v.score is None] == ["unparsed"]
    assert {v.provider for v in verdicts} == {"gemini", "anthropic", "mistral"}


def test_marks_as_fields_are_read_too(tmp_path: Path) -> None:
    flat = [
        {"riddle_id": f"r-{n:03}", "model": JUDGES[0], "is_answer_correct": True, "is_justification_correct": n > 0}
        for n in range(3)
    ]
    verdicts = judged(tmp_path, [flat, whole(JUDGES[1]), whole(JUDGES[2])])
    assert [v.score for v in verdicts[:3]] == [0, 1, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([whole(j) for j in JUDGES[:2]], "takes three files, one a judge, not 2"),
        ([whole(j) for j in (*JUDGES, "gpt-5.1-2025-11-13")], "not 4"),
        ([whole(JUDGES[0]), whole(JUDGES[1]), whole(JUDGES[0])], r"judge2\.jsonl: judge 'gemini.*' again"),
        ([whole(JUDGES[0]), whole(JUDGES[1]), whole("gpt-5.1-2025-11-13")], "model's own provider 'openai'"),
        ([whole(JUDGES[0]), whole(JUDGES[1]), whole(JUDGES[2])[:2]], r"judge2\.jsonl: no verdict on 1 item.*r-002"),
        ([[*whole(JUDGES[0]), verdict(1, JUDGES[0])], whole("b"), whole("c")], r"judge0\.jsonl:4: a second verdict"),
        ([[*whole(JUDGES[0]), verdict(7, JUDGES[0])], whole("b"), whole("c")], "no item 'r-007'"),
        ([[verdict(0, "a"), verdict(1, "b")], whole("c"), whole("d")], r"judge0\.jsonl:2: judge 'b' in the file"),
        ([[], whole("c"), whole("d")], r"judge0\.jsonl: holds no verdict"),
    ],
)
def test_each_fault_of_a_judge_file_is_refused(tmp_path: Path, files: list[list[dict[str, Any]]], message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        judged(tmp_path, files)


def test_no_verdict_is_needed_where_there_is_no_answer(tmp_path: Path) -> None:
    transcripts = list(predictions(tmp_path, [row(0, answer=""), row(1), row(2)]).values())
    assert len(judged(tmp_path, [whole(j)[1:] for j in JUDGES], transcripts)) == 6
