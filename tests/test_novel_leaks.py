"""A passage of a novel is found in whatever is about to leave, and a quoted clue is none."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from builders.__main__ import main as builders
from leaderboard.__main__ import main
from leaderboard.leaks import find_passages

QUOTED = (
    "They rattled on. He had come down to the harbour at nine, as he did every night but Sunday, and stood with "
    "one foot on the chain and his pipe out, listening for the boat that did not come."
)
CHINESE = "他每天晚上九点都会来到港口，一只脚踩在铁链上，烟斗早已熄灭，侧耳倾听那艘再也没有回来的船。"


def leaked(tmp_path: Path, name: str, data: bytes, novel: str = QUOTED) -> list[str]:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_bytes(data)
    return sorted({leak.kind for leak in find_passages([out], [("en/7", f"Before. {novel} After.")])})


def test_a_passage_is_found_in_text_in_pages_in_json_and_in_packed_files(tmp_path: Path) -> None:
    page = f"<p>{QUOTED.replace(' ', '  ').upper()}</p>".encode()
    rows = pa.table({"answer": ["x", QUOTED]})
    pq.write_table(rows, tmp_path / "a.parquet", compression="zstd")
    lines = json.dumps({"answer": f"It says: {QUOTED}"}).encode()
    found = ["25 words in a row of novel en/7"]
    for n, (name, data) in enumerate(
        {
            "page.html": page,
            "row.jsonl": lines,
            "row.jsonl.zst": zstandard.compress(lines),
            "table.parquet": (tmp_path / "a.parquet").read_bytes(),
        }.items()
    ):
        (tmp_path / str(n)).mkdir()
        assert leaked(tmp_path / str(n), name, data) == found, name


def test_escaped_quotation_marks_hide_no_passage(tmp_path: Path) -> None:
    novel = QUOTED.replace("nine, as he did", 'nine, don\'t as he "did"')
    assert leaked(tmp_path, "p.html", novel.replace("'", "&#39;").replace('"', "&quot;").encode(), novel)


def test_labels_and_line_ends_between_short_paragraphs_hide_no_passage(tmp_path: Path) -> None:
    words = QUOTED.split()
    short = [" ".join(words[n : n + 6]) for n in range(0, len(words), 6)]
    reply = "\n".join(f"[{n}] {text}" for n, text in enumerate(short, 1))
    assert leaked(tmp_path, "row.jsonl", json.dumps({"answer": reply}).encode(), "\n".join(short))


def test_a_chinese_passage_is_counted_in_characters(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert leaked(tmp_path / "a", "t.json", json.dumps([CHINESE], ensure_ascii=False).encode(), CHINESE)
    (tmp_path / "b").mkdir()
    assert not leaked(tmp_path / "b", "t.txt", CHINESE[:24].encode(), CHINESE)


def test_a_clue_in_half_a_sentence_is_no_leak(tmp_path: Path) -> None:
    assert not leaked(tmp_path, "t.txt", " ".join(QUOTED.split()[3:26]).encode())


def test_the_command_names_file_and_novel_and_quotes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert builders(["build", "novel-samples", "--out", str(tmp_path / "splits")]) == 0
    (tmp_path / "out").mkdir()
    command = ["leaks", str(tmp_path / "out"), "--splits", str(tmp_path / "splits"), "--novels-of", "sample-novel"]
    page = tmp_path / "out/page.html"
    page.write_text("Number three was a sinker, and nobody would test it.")
    assert main(command) == 0
    page.write_text(
        "My employer has a saying that a lie is only a quantity that nobody has measured yet. " + "I had heard "
        "it in corn exchanges and coal yards up and down the coast"
    )
    assert main(command) == 1
    told = capsys.readouterr().err
    assert "page.html" in told
    assert "novel en/1" in told
    assert "employer" not in told
    (tmp_path / "out/broken.parquet").write_bytes(b"PAR1")
    assert main(command) == 1
    assert "cannot be searched and may not leave" in capsys.readouterr().err
