import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators.estimate import half_width
from evaluators.store import open_store, store_path
from leaderboard.__main__ import main
from leaderboard.import_layton import layton_table, to_evidence
from leaderboard.release import LONGEST_LINE, ReleaseError, read_release

JUDGES = ("alpha", "beta", "gamma")
MODELS = {"m-one": "p1", "m-two": "p2", "m-three": "p3"}


def row(
    model: str = "m-one", n: int = 0, votes: str = "111", human: bool | None = None, **fields: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "riddle_id": f"r-{n:03}",
        "provider": MODELS.get(model, "p1"),
        "model": model,
        "n_hints": 0,
        "answer": "a",
        "justification": "b",
    }
    for judge, vote in zip(JUDGES, votes, strict=True):
        mark = {"1": True, "0": False, "-": None}[vote]
        for part in ("is_answer_correct", "is_justification_correct", "both_correct"):
            made[f"{part}_{judge}"] = mark
    for part in ("human_answer_correct", "human_justification_correct", "human_both_correct"):
        made[part] = human
    return made | fields


def release() -> list[dict[str, Any]]:
    votes = {"m-one": ["111", "111", "011", "000"], "m-two": ["111", "000", "000", "001"], "m-three": ["000"] * 4}
    return [
        row(model, n, vote, human=None if n == 3 else vote.count("1") > 1)
        for model, said in votes.items()
        for n, vote in enumerate(said)
    ]


def write(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def run(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["import-layton", str(path), "--split", "layton-llm", *options, "--json"])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_json_is_one_object_a_line_best_first_and_notes_go_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines, err = run(write(tmp_path / "f.jsonl", release()), capsys)
    assert code == 0
    assert list(lines[0]) == ["model", "provider", "n", "score", "half_width", "best_rank", "worst_rank"]
    assert [line["model"] for line in lines] == ["m-one", "m-two", "m-three"]
    assert [line["provider"] for line in lines] == ["p1", "p2", "p3"]
    assert {line["n"] for line in lines} == {4}
    assert "'qwen-qwen3-vl-235b-a22b-instruct-fp8' is in the published table and has no rows in this file" in err


def test_a_second_import_and_another_order_of_lines_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = []
    for order in (release(), release(), release()[::-1]):
        _, lines, _ = run(write(tmp_path / "f.jsonl", order), capsys)
        with open_store(store_path()) as store:
            contents.append((lines, store.attempts("layton-llm", "1.0.0", "layton")))
    assert contents[0][0] == contents[1][0] == contents[2][0]
    for name, attempts in contents[0][1].items():
        for values, again in zip(attempts, contents[2][1][name], strict=True):
            np.testing.assert_array_equal(values, again)  # NaN, where there is no label, equals NaN


def test_what_is_stored_is_released_evidence_with_its_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = release()
    rows[0] |= {"is_justification_correct_alpha": False, "both_correct_alpha": False, "answer": ""}
    run(write(tmp_path / "f.jsonl", rows), capsys)
    with open_store(store_path(), read_only=True) as store:
        stored = {s.submission.model.name: s for s in store.submissions()}
        attempts = store.attempts("layton-llm", "1.0.0", "layton")
    one = stored["m-one"].submission
    assert {s.tier for s in stored.values()} == {"released"}
    assert (one.ref, one.condition, one.jury, one.judges) == ("layton-llm@1.0.0", "hints=0", "layton", JUDGES)
    assert "recomputed" in (one.note or "")
    own = attempts[one.submission_id]
    assert own.jury.tolist() == pytest.approx([2 / 3, 1, 2 / 3, 0])
    assert not own.by_rule.any(), "an empty answer keeps the verdicts that were released for it"


def test_known_judges_have_their_makers_and_unknown_ones_none(tmp_path: Path) -> None:
    known = {name.replace("alpha", "gpt-5.1-2025-11-13"): value for name, value in row(human=True).items()}
    (evidence,) = to_evidence(read_release(write(tmp_path / "f.jsonl", [known])), "layton-llm")
    assert {v.judge: v.provider for v in evidence.verdicts} == {
        "gpt-5.1-2025-11-13": "openai",
        "beta": None,
        "gamma": None,
        "layton-human": None,
    }


def test_a_null_judge_is_skipped_and_any_number_of_judges_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = release()
    rows[0] = row("m-one", 0, "1-0", human=True)
    code, _, err = run(write(tmp_path / "f.jsonl", rows), capsys)
    assert code == 0
    assert "1 answers have not exactly three verdicts" in err
    with open_store(store_path()) as store:
        jury = store.attempts("layton-llm", "1.0.0", "layton")["layton-llm.released.m-one.hints0"].jury
    assert jury[0] == 0.5


def test_hints_make_tables_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = release() + [r | {"n_hints": 2} for r in release()]
    code, lines, _ = run(write(tmp_path / "f.jsonl", rows), capsys)
    assert code == 0
    assert [line["model"] for line in lines] == ["m-one", "m-two", "m-three"] * 2


def without(name: str) -> dict[str, Any]:
    return {k: v for k, v in row().items() if k != name}


SECOND: dict[str, tuple[object, str]] = {
    "no JSON": ("{\n", "not a row of JSON"),
    "no object": ("[1, 2]\n", "no JSON object"),
    "NaN": (json.dumps(row(n=1, n_hints=math.nan)) + "\n", "NaN is no JSON number"),
    "deep": ("[" * 100_000 + "\n", "not a row of JSON"),
    "a name twice": ('{"riddle_id": "a", "riddle_id": "b"}\n', "stands twice"),
    "long line": (json.dumps(row(n=1, answer="x" * LONGEST_LINE)) + "\n", "a line of more than"),
    "duplicate": (row(), "a second answer of 'm-one' to riddle 'r-000' with 0 hints, after line 1"),
    "no verdict": (row(n=1, votes="---"), "no verdict"),
    "missing column": ({k: v for k, v in row(n=1).items() if k != "provider"}, "no column 'provider'"),
    "missing judge": ({k: v for k, v in row(n=1).items() if k != "both_correct_beta"}, "'both_correct_beta'"),
    "number for a mark": (row(n=1, both_correct_alpha=1), "'both_correct_alpha' is 1; give true, false or null"),
    "text for a mark": (row(n=1, human_both_correct="yes"), "'human_both_correct' is 'yes'"),
    "parts disagree": (row(n=1, is_answer_correct_alpha=False), "'both_correct_alpha' is True, its parts say False"),
    "half a verdict": (row(n=1, both_correct_alpha=None), "is null although a part of it is not"),
    "hints": (row(n=1, n_hints=True), "n_hints is True"),
    "many hints": (row(n=1, n_hints=9), "n_hints is 9"),
    "bidi model": (row(n=1, model="gpt\u202e"), "line 2|model is"),
    "hidden letter": (row(n=1, model="gpt\u200b4"), "cannot be seen"),
    "control in id": (row(n=1, riddle_id="a\nb"), "riddle_id is"),
    "path as id": (row(n=1, riddle_id="../x"), "riddle_id is"),
    "provider": (row(n=1, provider="P 1"), "provider is 'P 1'"),
    "two makers": (row(n=1, provider="p9"), "provider 'p9' of model 'm-one' was 'p1'"),
    "answer": (row(n=1, answer=7), "'answer' is '7', no text"),
    "surrogate": (json.dumps(row(n=1, answer="\ud800")) + "\n", "surrogate"),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_bad_second_line_is_refused_by_number_and_nothing_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    bad, said = SECOND[name]
    path = write(tmp_path / "f.jsonl", [row(human=True), bad])
    code, lines, err = run(path, capsys)
    assert (code, lines) == (1, [])
    assert f"error: {path}:2: " in err
    assert err.count("\n") == 1
    with pytest.raises(ReleaseError, match=said):
        read_release(path)
    assert not store_path().exists()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no rows"),
        ([row()], "null in every row"),
        ([without("human_both_correct")], "no column 'human_both_correct'"),
        ([{k: v for k, v in row().items() if "correct_" not in k}], "both_correct_<judge>"),
        ([row(is_answer_correct_delta=True)], "'is_answer_correct_delta' without 'both_correct_delta'"),
        ([row(**{"both_correct_\u202ex": True})], "judge in a column name"),
        (["\ufeff" + json.dumps(row()) + "\n"], "not a row of JSON"),
    ],
)
def test_a_file_that_is_no_release_is_refused(tmp_path: Path, rows: list[object], said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        read_release(write(tmp_path / "f.jsonl", rows))


def test_bytes_that_are_no_text_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'{"answer": "\xff"}\n')
    with pytest.raises(ReleaseError, match=r"f\.jsonl:1: not a row of JSON"):
        read_release(tmp_path / "f.jsonl")
    with pytest.raises(ReleaseError, match="No such file"):
        read_release(tmp_path / "none.jsonl")


def test_the_split_is_asked_for_where_the_number_of_riddles_does_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "f.jsonl", release())
    assert main(["import-layton", str(path)]) == 1
    assert "4 riddles, and layton-llm has 186, layton-vlm has 317: say which with --split" in capsys.readouterr().err
    vlm = [row(model, n, human=n % 2 == 0) for model in MODELS for n in range(317)]
    assert main(["import-layton", str(write(path, vlm)), "--json"]) == 0
    with open_store(store_path()) as store:
        assert {s.submission.split for s in store.submissions()} == {"layton-vlm"}


def test_the_table_shows_names_as_they_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [r | {"model": r["model"].replace("m-one", "[red]m[/red]")} for r in release()]
    assert main(["import-layton", str(write(tmp_path / "f.jsonl", rows)), "--split", "layton-llm"]) == 0
    assert "[red]m[/red]" in capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    check = "import sys, leaderboard.__main__ as m\ntry: m.main(['--help'])\nexcept SystemExit: pass\n"
    check += "print(sorted({'duckdb', 'numpy', 'scipy', 'pyarrow', 'rich', 'mkdocs', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_released_labels_give_the_published_table_to_the_digit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], real_data: Callable[[str], Path]
) -> None:
    """Table 1 of the layton-eval paper, but its tenth row, which has no released verdicts."""
    source = real_data("layton_eval/ppi/ppi_llm.jsonl")
    printed = real_data("layton_eval/benchmark_results/results_llm.jsonl").read_text().splitlines()
    assert main(["import-layton", str(source), "--json"]) == 0
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    expected = []
    for line in map(json.loads, printed[:9]):
        best, worst = map(int, line["rank_spread"].split(" <--> "))
        expected.append((line["model"], line["provider"], 186, line["score"], line["95% CI (±)"], best, worst))
    assert [tuple(line.values()) for line in found] == expected
    assert "score, half-width and rank spread equal the published table's for 9 of 9 models" in err
    with open_store(store_path(), read_only=True) as store:
        began = time.process_time()
        table = layton_table(store, "layton-llm")
        seconds = time.process_time() - began
    assert len([half_width(e) for e in table]) == 9
    assert seconds < 1, f"{seconds:.2f} s of CPU for nine models; about 0.02 s on a quiet core"


def test_released_rows_kept_as_bundles_make_the_store_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "ppi.jsonl", release())
    code, _, _ = run(path, capsys, "--bundles", str(tmp_path / "kept"))
    assert code == 0
    with open_store(store_path()) as store:
        imported = {s.submission.submission_id: s.tier for s in store.submissions()}
        estimates = layton_table(store, "layton-llm")
    store_path().unlink()
    build = ["build", "--submissions", str(tmp_path / "kept"), "--out", str(tmp_path / "site")]
    assert main([*build, "--splits", str(tmp_path / "none")]) == 0
    with open_store(store_path()) as store:
        assert {s.submission.submission_id: s.tier for s in store.submissions()} == imported
        assert layton_table(store, "layton-llm") == estimates
