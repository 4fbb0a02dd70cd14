"""layton-eval's builder: rows made up here in the release's schema, each spoiled in one way, and a Hub on loopback."""

import base64
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from builders import release
from builders.images import image_fault
from builders.layton import check, pick_files, read_release, to_riddles
from builders.release import Oddity, ReleaseError, Row, describe, files_sha256, group, read_rows, show, whole_number
from tests.servers.hub import Hub, serve

ROOT = Path(__file__).resolve().parent.parent
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/riddles"


def picture(kind: str = "JPEG", size: tuple[int, int] = (40, 30)) -> bytes:
    file = BytesIO()
    Image.effect_mandelbrot(size, (-2, -1, 1, 1), 20).save(file, kind)
    return file.getvalue()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def record(number: int = 1, split: str = "llm", **changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "id": f"{number:03}-{number}",
        "category": "Write Answer",
        "description": f"What is {number} plus {number}?",
        "img": b64(picture()) if split == "vlm" else None,
        "url": "https://example.org/wiki/Puzzle",
        "picarats": 30.0,
        "first_hint": "Count.",
        "second_hint": "Count again.",
        "third_hint": "Use fingers.",
        "special_hint": None,
        "solution": "Add them.",
        "answer": str(2 * number),
        "justification": "It is the sum.",
        "split": split,
    }
    return {**row, **changes}


def rows(*records: dict[str, object]) -> tuple[Row, ...]:
    return tuple(Row(f"made-up:{i}", data) for i, data in enumerate(records, 1))


def findings(*records: dict[str, object]) -> list[tuple[str, str, str]]:
    return [(o.severity, o.field, o.message) for o in check(rows(*records))]


def save(folder: Path, name: str, records: Sequence[dict[str, object]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


# --- from rows to riddles


def test_sound_rows_become_riddles_without_any_oddity() -> None:
    riddles, oddities = to_riddles(rows(record(1), record(2)))
    assert oddities == ()
    assert [r.id for r in riddles] == ["001-1", "002-2"]
    first = riddles[0]
    assert (first.cluster, first.picarats, first.answer, first.image) == ("001-1", 30, "2", None)
    assert first.hints == ("Count.", "Count again.", "Use fingers.")


def test_a_visual_row_keeps_its_image_byte_for_byte() -> None:
    for kind in ("JPEG", "PNG"):
        data = picture(kind)
        riddles, oddities = to_riddles(rows(record(1, "vlm", img=b64(data))))
        assert oddities == ()
        assert riddles[0].image == data


def test_text_stays_as_released_white_space_included() -> None:
    riddles, oddities = to_riddles(rows(record(description=" one\n\n two \n", first_hint="a\u00a0b")))
    assert riddles[0].description == " one\n\n two \n"
    assert riddles[0].first_hint == "a\u00a0b"
    assert {(o.severity, o.field) for o in oddities} == {("note", "description"), ("note", "first_hint")}


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"picarats": 0.0}, "picarats", "0 points"),
        ({"second_hint": ""}, "second_hint", "empty text"),
        ({"second_hint": None}, "hints", "missing before"),
        ({"first_hint": None, "second_hint": None, "third_hint": None}, "hints", "none of the three"),
        ({"solution": None}, "solution", "null"),
        ({"justification": None}, "justification", "null"),
        ({"answer": "2 "}, "answer", "white space"),
        ({"answer": "2\u200b"}, "answer", "U+200B"),
        ({"id": "puzzle"}, "id", "unlike"),
        ({"img": "xx"}, "img", "image in the text split"),
        ({"surrogate": 1}, "'surrogate'", "not a column"),
        ({"\x1b[31m": 1}, r"'\x1b[31m'", "not a column"),
    ],
)
def test_an_oddity_is_noted_and_the_riddle_built(changes: dict[str, object], field: str, message: str) -> None:
    riddles, oddities = to_riddles(rows(record(**changes)))
    assert len(riddles) == 1
    assert [o.severity for o in oddities] == ["note"] * len(oddities)
    assert any(o.field == field and message in o.message for o in oddities), oddities


def test_what_stands_for_unknown_or_is_never_shown_becomes_null() -> None:
    riddles, _ = to_riddles(rows(record(picarats=0, img=b64(picture()), justification=None, solution=None)))
    assert (riddles[0].picarats, riddles[0].image, riddles[0].justification) == (None, None, "")


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"answer": None}, "answer", "null"),
        ({"answer": "  "}, "answer", "empty"),
        ({"answer": 2}, "answer", "a int where text"),
        ({"description": ["What?"]}, "description", "a list where text"),
        ({"description": "x" * 20_001}, "description", "more than 20,000"),
        ({"description": "a\u202eb"}, "description", "U+202E"),
        ({"description": "a\u2066b"}, "description", "U+2066"),
        ({"description": "a\U000e0041"}, "description", "U+E0041"),
        ({"first_hint": "a\x00b"}, "first_hint", "U+0000"),
        ({"first_hint": "\x1b[2J"}, "first_hint", "U+001B"),
        ({"solution": "\ud800"}, "solution", "U+D800"),
        ({"url": "javascript:alert(1)"}, "url", "not an http address"),
        ({"url": "https://x/ y"}, "url", "not an http address"),
        ({"id": None}, "id", "None is not an id"),
        ({"id": "../../etc"}, "id", "not an id"),
        ({"id": "a" * 200}, "id", "not an id"),
        ({"id": "001-1\n"}, "id", "not an id"),
        ({"split": "text"}, "split", "neither 'llm' nor 'vlm'"),
        ({"split": None}, "split", "neither"),
        ({"picarats": -5}, "picarats", "not a whole number"),
        ({"picarats": 2.5}, "picarats", "not a whole number"),
        ({"picarats": float("nan")}, "picarats", "not a whole number"),
        ({"picarats": float("inf")}, "picarats", "not a whole number"),
        ({"picarats": True}, "picarats", "not a whole number"),
        ({"picarats": "30"}, "picarats", "not a whole number"),
        ({"picarats": 10**400}, "picarats", "not a whole number"),
        ({"split": "vlm", "img": None}, "img", "no image"),
        ({"split": "vlm", "img": 5}, "img", "a int where base64"),
        ({"split": "vlm", "img": "not base64!"}, "img", "not base64"),
        ({"split": "vlm", "img": "data:image/jpeg;base64,/9j/"}, "img", "not base64"),
        ({"split": "vlm", "img": b64(b"GIF89a")}, "img", "neither JPEG nor PNG"),
        ({"split": "vlm", "img": ""}, "img", "neither JPEG nor PNG"),
        ({"split": "vlm", "img": b64(picture()[:-200])}, "img", "cannot be decoded"),
        ({"split": "vlm", "img": b64(b"\xff\xd8\xff" + bytes(50))}, "img", "cannot be decoded"),
    ],
)
def test_a_row_that_must_not_be_built_is_refused_with_its_field(
    changes: dict[str, object], field: str, message: str
) -> None:
    riddles, oddities = to_riddles(rows(record(**changes), record(2)))
    assert [r.id for r in riddles] == ["002-2"]
    refused = [o for o in oddities if o.severity == "refused"]
    assert any(o.field == field and message in o.message for o in refused), refused


@pytest.mark.parametrize("column", ["id", "category", "description", "answer", "justification", "split"])
def test_a_column_that_a_riddle_needs_must_be_there(column: str) -> None:
    data = record()
    del data[column]
    assert to_riddles(rows(data))[0] == ()
    assert any(s == "refused" and f == column and "missing" in m for s, f, m in findings(data))


def test_the_second_row_of_an_id_is_refused_and_an_equal_description_noted() -> None:
    riddles, oddities = to_riddles(rows(record(1), record(1), record(3, description="What is 1 plus 1?")))
    assert [r.id for r in riddles] == ["001-1", "003-3"]
    assert [(o.item, o.severity, o.field) for o in oddities] == [
        ("001-1", "refused", "id"),
        ("001-1", "note", "description"),
        ("003-3", "note", "description"),
    ]
    assert "made-up:1" in oddities[0].message


def test_equal_oddities_are_grouped_with_the_refused_ones_first() -> None:
    found = check(rows(*(record(i, picarats=0) for i in range(1, 6)), record(6, answer=None)))
    groups = group(found)
    assert [(o.severity, len(items)) for o, items in groups] == [("refused", 1), ("note", 5)]
    assert describe(*groups[1]).endswith("(5 x: 001-1, 002-2, 003-3, ...)")


def test_a_strangers_value_cannot_steer_the_terminal() -> None:
    shown = show("\x1b[31m\u202e" + "x" * 500)
    assert shown.isascii()
    assert shown.isprintable()
    assert len(shown) == 60
    oddities: tuple[Oddity, ...] = check(rows(record(id="\x1b[31m", split="\x07")))
    assert all(f"{o.item}{o.field}{o.message}".isprintable() for o in oddities)


@pytest.mark.parametrize(
    ("value", "number"), [(30, 30), (30.0, 30), (-1, -1), (1e300, None), (None, None), ("3", None)]
)
def test_whole_numbers_are_read_as_such(value: object, number: int | None) -> None:
    assert whole_number(value) == number


# --- images


def test_an_image_that_unfolds_beyond_the_limit_is_refused_without_decoding_it() -> None:
    file = BytesIO()
    Image.new("1", (30_000, 20_000)).save(file, "PNG")
    assert len(file.getvalue()) < 1_000_000
    assert image_fault(file.getvalue()) == "image of more than 40,000,000 pixels"
    assert image_fault(b"\xff\xd8\xff" + bytes(10_000_000)) == "image of more than 10,000,000 bytes"


def test_a_png_with_a_text_bomb_or_a_wrong_checksum_is_refused() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_text("note", "x" * 80_000_000, zip=True)
    file = BytesIO()
    Image.new("1", (400, 400)).save(file, "PNG", pnginfo=info)
    assert "cannot be decoded" in str(image_fault(file.getvalue()))
    data = bytearray(picture("PNG"))
    data[len(data) // 2] ^= 0xFF
    assert "cannot be decoded" in str(image_fault(bytes(data)))


def test_no_random_damage_to_an_image_raises() -> None:
    draw = random.Random(7)
    for kind in ("PNG", "JPEG"):
        whole = picture(kind)
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(draw.randint(1, 6)):
                data[draw.randrange(8, len(data))] = draw.randrange(256)
            assert isinstance(image_fault(bytes(data)), str | None)


# --- files


def test_the_split_has_its_own_file_or_that_of_all_riddles_but_never_both(tmp_path: Path) -> None:
    both = [record(1), record(2, "vlm")]
    save(tmp_path, "layton_eval.jsonl", both)
    assert [r.where for r in read_release(tmp_path, "llm")[0]] == ["layton_eval.jsonl:1"]
    path = save(tmp_path, "layton_eval_llm.jsonl", both)
    found, source = read_release(tmp_path, "llm")
    assert [r.where for r in found] == ["layton_eval_llm.jsonl:1"]
    assert source.sha256 == sha256(path.read_bytes()).hexdigest()
    assert (source.revision, source.licence) == (None, "CC-BY-SA-3.0")
    assert [r.data["id"] for r in read_release(tmp_path, "vlm")[0]] == ["002-2"]
    assert read_release(path, "vlm")[0] == read_release(tmp_path, "vlm")[0][:0] + read_rows([path])[1:]


def test_parquet_and_jsonl_of_the_same_rows_make_the_same_riddles(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = [record(1, "vlm"), record(2, "vlm", picarats=None)]
    save(tmp_path, "a.jsonl", records)
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "b.parquet")
    one, other = (to_riddles(read_release(tmp_path / name, "vlm")[0]) for name in ("a.jsonl", "b.parquet"))
    assert one == other
    assert len(one[0]) == 2


def test_rows_of_no_known_split_are_kept_for_the_check_to_refuse(tmp_path: Path) -> None:
    save(tmp_path, "a.jsonl", [record(1), record(2, split="text"), record(3, "vlm")])
    found = read_release(tmp_path, "llm")[0]
    assert [r.data["split"] for r in found] == ["llm", "text"]
    assert any(o.severity == "refused" for o in check(found))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not a JSON object"),
        (b"[1]", "is not a JSON object"),
        (b'"\\ud800"', "is not a JSON object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 200_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not a JSON object"),
    ],
)
def test_a_broken_line_is_refused_with_file_and_line(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(json.dumps(record()).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(ReleaseError, match=message) as caught:
        read_release(tmp_path, "llm")
    assert str(caught.value).startswith("a.jsonl:3: ")
    assert len(str(caught.value)) < 400


def test_files_and_lines_and_row_counts_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, "a.jsonl", [record(i) for i in range(1, 6)])
    for limit, message in (
        ("MAX_ROWS", "more than 3 rows"),
        ("MAX_LINE_BYTES", "a.jsonl:1: line"),
        ("MAX_FILE_BYTES", "more"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(release, limit, 3)
            with pytest.raises(ReleaseError, match=message):
                read_rows([path])


def test_what_is_not_parquet_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for data in (b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"):
        path.write_bytes(data)
        with pytest.raises(ReleaseError, match=r"a\.parquet:1: not readable as Parquet"):
            read_rows([path])


def test_folders_without_the_release_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"no \.jsonl or \.parquet file"):
        read_release(tmp_path, "llm")
    save(tmp_path, "a.jsonl", [record(1)])
    with pytest.raises(ReleaseError, match="no row has 'vlm'"):
        read_release(tmp_path, "vlm")
    with pytest.raises(ReleaseError, match="has no revision"):
        read_release(tmp_path, "llm", revision=COMMIT)
    with pytest.raises(ReleaseError, match="neither a file or folder nor a Hub repository"):
        read_release(tmp_path / "nowhere", "llm")
    with pytest.raises(ReleaseError, match="no revision of the Hub repository rvienne/layton-eval is pinned"):
        read_release("rvienne/layton-eval", "llm")
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(ReleaseError, match=r"not a \.jsonl"):
        read_release(tmp_path / "a.csv", "llm")


def test_names_that_lead_out_of_the_repository_are_never_chosen() -> None:
    names = ["../layton_eval_llm.jsonl", "/x.jsonl", "a\n.jsonl", "data/x.jsonl", "README.md", "data/y.parquet"]
    assert pick_files(names, "llm") == ["data/x.jsonl", "data/y.parquet"]


def test_several_files_have_one_digest_whatever_their_order(tmp_path: Path) -> None:
    one, other = save(tmp_path, "a.jsonl", [record(1)]), save(tmp_path, "b.jsonl", [record(2)])
    assert files_sha256([one, other]) == files_sha256([other, one]) != files_sha256([one])


def test_the_real_rows_without_gold_answers_are_refused_and_otherwise_only_noted(
    real_data: Callable[[str], Path],
) -> None:
    found, _ = read_release(real_data("layton_eval/scrape"), "llm")
    riddles, oddities = to_riddles(found)
    assert (len(found), len(riddles)) == (186, 0)
    assert {o.field for o in oddities if o.severity == "refused"} == {"answer", "justification"}
    assert sum(o.field == "picarats" for o in oddities) == 20
    completed = tuple(Row(r.where, {**r.data, "answer": "x", "justification": "y"}) for r in found)
    assert len(to_riddles(completed)[0]) == 186


# --- the Hub


def build(hub: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "builders", "build", *arguments, "--out", str(tmp_path / "splits")]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


def release_files() -> dict[str, bytes]:
    text = [record(i) for i in range(1, 4)]
    visual = [record(i, "vlm") for i in range(4, 6)]
    named = {"layton_eval_llm.jsonl": text, "layton_eval_vlm.jsonl": visual, "layton_eval.jsonl": text + visual}
    files = {name: "".join(json.dumps(r) + "\n" for r in records).encode() for name, records in named.items()}
    return {"README.md": b"# riddles\n", **files}


def test_both_splits_are_built_from_the_hub_at_the_commit_that_a_branch_names(tmp_path: Path) -> None:
    from builders.splits import load_split

    with serve(Hub().hold(REPO, COMMIT, release_files())) as hub:
        done = build(hub.url, tmp_path, "layton", REPO, "--revision", "main")
        assert done.returncode == 0, done.stderr
        assert sorted(hub.downloads) == ["layton_eval_llm.jsonl", "layton_eval_vlm.jsonl"]
        again = build(hub.url, tmp_path, "layton", "--source", REPO, "--revision", COMMIT)
        assert again.returncode == 0, again.stderr
        assert len(hub.downloads) == 2
    for name, items in (("layton-llm", 3), ("layton-vlm", 2)):
        split = load_split(name, root=tmp_path / "splits")
        source = split.manifest.sources[0]
        assert (len(split.items), source.revision, source.hub_repo) == (items, COMMIT, REPO)
        assert all((item.image is not None) == (name == "layton-vlm") for item in split.items)


def test_a_repository_or_revision_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with serve(Hub().hold(REPO, COMMIT, release_files())) as hub:
        for repo, revision in (("someone/else", "main"), (REPO, "f" * 40)):
            done = build(hub.url, tmp_path, "layton-llm", repo, "--revision", revision)
            assert done.returncode == 1
            assert done.stderr.startswith(f"error: the Hub does not show {repo}@{revision}")
            assert done.stderr.count("\n") == 1


def test_a_hub_that_fails_or_is_not_there_is_an_outside_failure(tmp_path: Path) -> None:
    with serve(Hub(broken=True)) as hub:
        done = build(hub.url, tmp_path, "layton-llm", REPO, "--revision", COMMIT)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1)
        assert done.stderr.startswith(f"error: the Hub did not answer for {REPO}")
    gone = build(hub.url, tmp_path, "layton-llm", REPO, "--revision", COMMIT)
    assert gone.returncode == 3
    assert gone.stderr.startswith(f"error: the Hub did not answer for {REPO}")
    assert not (tmp_path / "splits").exists()
