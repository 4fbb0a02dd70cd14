"""Novels beside a split: pinned by their questions, read one at a time, and never where questions alone may go."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.novels import Novels, Paragraph, open_novels, paragraphs_sha256, parse_novel, pinned_novels, write_novels
from builders.packing import PackError, pack
from builders.splits import Split, SplitError, load_split, make_split, write_split
from builders.values import NovelQuestion
from tests.made import SOURCE
from tests.made_novel import novel_question, paragraphs

LENGTHS = {7: 40, 8: 50, 9: 60}


def made(name: str = "detectiveqa-en") -> Split:
    items = [novel_question(n, novel, count) for novel, count in LENGTHS.items() for n in range(2)]
    return make_split(name, items, version="1.0.0", sources=[SOURCE])


def written(root: Path, split: Split) -> Path:
    def also(folder: Path) -> None:
        write_novels(((f"en/{n}", paragraphs(count)) for n, count in LENGTHS.items()), split, folder)

    return write_split(split, root=root, also=also)


def test_questions_and_novels_come_back_from_disk(tmp_path: Path) -> None:
    split = made()
    written(tmp_path, split)
    assert load_split("detectiveqa-en", root=tmp_path) == split
    novels = open_novels(split, root=tmp_path)
    assert novels.loads == 0
    assert {key: novels.paragraphs(key) for key in pinned_novels(split)} == {
        f"en/{n}": paragraphs(count) for n, count in LENGTHS.items()
    }


def test_a_novel_is_read_once_while_it_is_in_flight_and_the_oldest_goes_first(tmp_path: Path) -> None:
    split = made()
    written(tmp_path, split)
    novels = open_novels(split, root=tmp_path, in_flight=2)
    for key in ("en/7", "en/8", "en/7", "en/8"):
        novels.paragraphs(key)
    assert novels.loads == 2
    novels.paragraphs("en/9")
    novels.paragraphs("en/8")
    assert novels.loads == 3
    novels.paragraphs("en/7")
    assert novels.loads == 4


def test_only_the_novels_own_row_group_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path, made())
    with pq.ParquetFile(folder / "novels.parquet") as file:
        assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [40, 50, 60]
        assert file.schema_arrow.names == ["novel", "label", "text"]
        assert b"canary" in file.schema_arrow.metadata


def test_an_unknown_novel_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    split = made()
    written(tmp_path, split)
    with pytest.raises(SplitError, match=r"'en/99'; there are en/7, en/8, en/9"):
        open_novels(split, root=tmp_path).paragraphs("en/99")


def test_a_text_that_is_not_the_pinned_one_is_never_given_out(tmp_path: Path) -> None:
    split = made()
    path = written(tmp_path, split) / "novels.parquet"
    table = pq.read_table(path)
    texts = table["text"].to_pylist()
    texts[3] += " And the answer is B."
    pq.write_table(table.set_column(2, "text", pa.array(texts)), path, row_group_size=40)
    with pytest.raises(SplitError, match="is damaged"):
        open_novels(split, root=tmp_path).paragraphs("en/7")
    path.write_bytes(b"PAR1")
    with pytest.raises(SplitError, match="is damaged"):
        open_novels(split, root=tmp_path)
    path.unlink()
    with pytest.raises(SplitError, match="without their novels; build the split again"):
        open_novels(split, root=tmp_path)
    written(tmp_path, split)
    assert open_novels(split, root=tmp_path).paragraphs("en/7") == paragraphs(40)


def test_no_half_of_a_split_is_written_where_a_novel_is_missing_or_another_one(tmp_path: Path) -> None:
    split = made()

    def lacks(folder: Path) -> None:
        write_novels([("en/7", paragraphs(40))], split, folder)

    def other(folder: Path) -> None:
        write_novels([("en/7", paragraphs(39))], split, folder)

    for also, message in ((lacks, "'en/8' is missing"), (other, "is not the one its questions were built from")):
        with pytest.raises(SplitError, match=message):
            write_split(split, root=tmp_path, also=also)
        assert not list((tmp_path / "detectiveqa-en").glob("[!.]*"))
    pinned = [novel_question(0), novel_question(1, novel_sha256="0" * 64)]
    with pytest.raises(SplitError, match="pins another text of novel 'en/7'"):
        pinned_novels(make_split("detectiveqa-en", pinned, version="1.0.0", sources=[SOURCE]))


def test_detectiveqa_goes_out_as_ids_only_and_its_novels_never(tmp_path: Path) -> None:
    from builders import BENCHMARKS

    source = next(b for b in BENCHMARKS if b.name == "detectiveqa").sources[0]
    items = made().items
    split = make_split("detectiveqa-en", items, version="1.0.0", sources=[source])
    written(tmp_path, split)
    with pytest.raises(PackError, match="--ids-only"):
        pack(tmp_path, "detectiveqa-en", "1.0.0", prompts_sha256=None)
    found = pack(tmp_path, "detectiveqa-en", "1.0.0", prompts_sha256=None, ids_only=True)
    assert set(found.files) == {"manifest.json", "ids.parquet"}
    sent = b"".join(found.files.values())
    for item in items:
        assert isinstance(item, NovelQuestion)
        assert not [t for t in (item.question, *item.options, *item.reasoning, item.title) if t.encode() in sent]
    assert pq.read_table(pa.BufferReader(found.files["ids.parquet"])).column_names == ["id", "cluster", "sha256"]


def test_novels_of_our_own_go_out_in_full_with_a_config_of_their_own(tmp_path: Path) -> None:
    from builders import BENCHMARKS

    source = next(b for b in BENCHMARKS if b.name == "novel-samples").sources[0]
    split = make_split("sample-novel", made().items, version="1.0.0", sources=[source])
    folder = written(tmp_path, split)
    found = pack(tmp_path, "sample-novel", "1.0.0", prompts_sha256=None)
    assert found.configs == {"sample-novel": "items.parquet", "sample-novel-novels": "novels.parquet"}
    assert found.files["novels.parquet"] == (folder / "novels.parquet").read_bytes()
    (folder / "novels.parquet").unlink()
    with pytest.raises(SplitError, match="without their novels"):
        pack(tmp_path, "sample-novel", "1.0.0", prompts_sha256=None)


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1).filter(lambda t: t[0] != "[")))
def test_paragraphs_survive_the_releases_form(texts: list[str]) -> None:
    there = tuple(Paragraph(n, text) for n, text in enumerate(["One", *texts], 1))
    parsed = parse_novel("\r\n".join(f"[{p.label}] {p.text}" for p in there), "t")
    assert parsed.paragraphs == there
    assert paragraphs_sha256(parsed.paragraphs) == paragraphs_sha256(there)


@given(st.lists(st.tuples(st.integers(1, 50), st.text(max_size=5)), min_size=1))
def test_another_text_or_label_is_another_digest(there: list[tuple[int, str]]) -> None:
    before = tuple(Paragraph(*p) for p in there)
    label, words = before[-1]
    assert paragraphs_sha256(before) != paragraphs_sha256((*before[:-1], Paragraph(label + 1, words)))
    assert paragraphs_sha256(before) != paragraphs_sha256((*before[:-1], Paragraph(label, f"{words}.")))
    assert paragraphs_sha256(before) != paragraphs_sha256(before[:-1])


def test_a_novels_file_of_a_stranger_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "novels.parquet"
    mixed = pa.table({"novel": ["en/7", "en/8"], "label": [1, 1], "text": ["a", "b"]})
    for table in (mixed, mixed.drop_columns("novel")):
        pq.write_table(table, path)
        with pytest.raises(SplitError, match="row group 0 is not one novel"):
            Novels(path, {"en/7": "0" * 64})
