"""Splits on disk: what is written is what is read, and nothing that is damaged, half or outside the root is."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import BENCHMARKS
from builders.splits import (
    Split,
    SplitError,
    canonical_line,
    list_built,
    load_split,
    make_split,
    rows_sha256,
    write_split,
)
from builders.values import GoldAnswer, Riddle, Source

SOURCE = Source(title="made up", url="file:tests", licence="CC-BY-4.0", citation="nobody")
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
riddles = st.builds(
    Riddle,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,20}", fullmatch=True),
    cluster=text,
    category=text,
    description=text.filter(bool),
    image=st.none() | st.binary(max_size=60),
    url=st.none() | text,
    picarats=st.none() | st.integers(0, 10**6),
    first_hint=st.none() | text,
    solution=st.none() | text,
    answer=text.filter(bool),
    justification=text,
)


def riddle(name: str = "a", **changes: object) -> Riddle:
    row = {"id": name, "cluster": name, "category": "logic", "description": "?", "answer": "x", "justification": ""}
    return Riddle.model_validate({**row, **changes})


def gold(item: str = "a", name: str = "right") -> GoldAnswer:
    return GoldAnswer(
        item_id=item,
        name=name,
        answer="x",
        justification="y",
        is_answer_correct=True,
        is_justification_correct=False,
        annotator="author",
    )


def split(version: str = "1.0.0", name: str = "sample-llm", **changes: object) -> Split:
    items = (riddle("a", **changes), riddle("b", image=b"\xff\xd8\xff\x00"))
    return make_split(name, items, (gold(), gold("b", "wrong")), version=version, sources=[SOURCE])


@given(riddles)
def test_a_canonical_line_reads_back_as_the_row_it_stands_for(row: Riddle) -> None:
    line = canonical_line(row)
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert Riddle.model_validate_json(line) == row
    assert list(json.loads(line)) == sorted(Riddle.model_fields)


@given(riddles, riddles)
def test_rows_differ_in_digest_exactly_where_they_differ(one: Riddle, other: Riddle) -> None:
    assert (rows_sha256([one]) == rows_sha256([other])) == (one == other)
    assert (rows_sha256([one, other]) == rows_sha256([other, one])) == (one == other)


@settings(max_examples=25)
@given(st.lists(riddles, min_size=1, max_size=5, unique_by=lambda r: r.id))
def test_any_rows_come_back_from_disk_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Riddle]
) -> None:
    root = tmp_path_factory.mktemp("splits")
    made = make_split("sample-vlm", rows, version="1.0.0", sources=[SOURCE])
    write_split(made, root=root)
    assert load_split("sample-vlm", root=root) == made


def test_a_split_is_written_with_manifest_items_and_gold(tmp_path: Path) -> None:
    folder = write_split(split(), root=tmp_path)
    assert folder == tmp_path / "sample-llm" / "1.0.0"
    assert {p.name for p in folder.iterdir()} == {"items.parquet", "gold.parquet", "manifest.json"}
    manifest = load_split("sample-llm@1.0.0", root=tmp_path).manifest
    assert (manifest.items, manifest.gold, manifest.protocol, manifest.licence) == (2, 2, "riddle", "CC-BY-4.0")
    assert manifest.sources == (SOURCE,)


def test_the_same_split_makes_the_same_bytes(tmp_path: Path) -> None:
    one, other = (write_split(split(), root=tmp_path / name) for name in ("one", "other"))
    for path in one.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes()


def test_an_equal_version_is_left_alone_and_another_is_refused_unless_forced(tmp_path: Path) -> None:
    folder = write_split(split(), root=tmp_path)
    before = (folder / "items.parquet").stat().st_mtime_ns
    write_split(split(), root=tmp_path)
    assert (folder / "items.parquet").stat().st_mtime_ns == before
    changed = split(description="another text")
    with pytest.raises(SplitError, match="higher --version"):
        write_split(changed, root=tmp_path)
    assert load_split("sample-llm", root=tmp_path) == split()
    write_split(changed, root=tmp_path, force=True)
    assert load_split("sample-llm", root=tmp_path) == changed
    assert [p.name for p in folder.parent.iterdir()] == ["1.0.0"]


def test_a_write_that_fails_half_way_leaves_the_old_version_whole(tmp_path: Path) -> None:
    folder = write_split(split(), root=tmp_path)
    changed = split(description="another text")
    # Parquet cannot hold a lone surrogate: the items are written, the gold answers are not.
    unwritable = GoldAnswer.model_construct(**{**gold().model_dump(), "answer": "\ud800"})
    with pytest.raises(UnicodeEncodeError):
        write_split(changed._replace(gold=(unwritable,)), root=tmp_path, force=True)
    assert load_split("sample-llm", root=tmp_path) == split()
    assert [p.name for p in folder.parent.iterdir()] == ["1.0.0"]


@pytest.mark.parametrize(
    ("ref", "version"),
    [
        ("sample-llm", "10.0.0"),
        ("sample-llm@1", "1.10.0"),
        ("sample-llm@1.2", "1.2.3"),
        ("sample-llm@1.2.0", "1.2.0"),
        ("sample-llm@10", "10.0.0"),
    ],
)
def test_a_ref_means_the_highest_built_version_that_fits(many: Path, ref: str, version: str) -> None:
    assert load_split(ref, root=many).manifest.version == version


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many")
    for version in ("1.2.0", "1.2.3", "1.10.0", "10.0.0"):
        write_split(split(version), root=root)
    return root


def test_list_built_names_every_version_in_order(many: Path, tmp_path: Path) -> None:
    assert [m.ref.partition("@")[2] for m in list_built(many)] == ["1.2.0", "1.2.3", "1.10.0", "10.0.0"]
    assert list_built(tmp_path / "nowhere") == ()


def test_a_version_that_is_not_built_is_named_with_the_command_that_builds_it(many: Path) -> None:
    with pytest.raises(SplitError, match=r"build it with: python -m builders build sample-llm --version 3\.1\.0 --out"):
        load_split("sample-llm@3.1", root=many)
    with pytest.raises(SplitError, match="python -m builders build sample-vlm"):
        load_split("sample-vlm", root=many)
    with pytest.raises(SplitError, match=r"build layton-llm --out .* --revision"):
        load_split("layton-llm", root=many)


def test_an_unknown_split_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SplitError) as caught:
        load_split("layton", root=tmp_path)
    for name in (n for b in BENCHMARKS for n in b.splits):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "../sample-llm",
        "sample-llm@../../1.0.0",
        "sample-llm/../x",
        "/etc/passwd",
        "sample-llm@1.0.0/..",
        "sample-llm@",
        "sample-llm@1.0.0.0",
        "sample-llm@01.0.0",
        "sample-llm@1.0.0\n",
        "sample-llm@١.٠.٠",
        "sample-llm@" + "9" * 5000,
        "Sample-LLM",
        "sample-llm\x00",
        "a" * 10_000,
        "sample-llm@*",
    ],
)
def test_a_hostile_ref_is_refused(many: Path, ref: str) -> None:
    with pytest.raises(SplitError):
        load_split(ref, root=many)


@settings(max_examples=200)
@given(st.text(max_size=40) | st.from_regex(r"sample-llm@.{0,12}", fullmatch=True))
def test_no_ref_gets_more_than_a_split_or_a_refusal(many: Path, ref: str) -> None:
    try:
        found = load_split(ref, root=many)
    except SplitError:
        return
    assert found.manifest.ref.startswith(ref)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return write_split(split(), root=tmp_path)


@pytest.mark.parametrize("name", ["items.parquet", "gold.parquet"])
def test_a_table_of_other_rows_is_damaged(built: Path, tmp_path: Path, name: str) -> None:
    items = (riddle("a", answer="y"), riddle("b"))
    other = make_split("sample-llm", items, (gold(), gold("b", "right")), version="1.0.0", sources=[SOURCE])
    shutil.copy(write_split(other, root=tmp_path / "other") / name, built / name)
    with pytest.raises(SplitError, match=rf"{name} is damaged .*delete .* and build"):
        load_split("sample-llm", root=tmp_path)


@pytest.mark.parametrize("name", ["items.parquet", "gold.parquet", "manifest.json"])
def test_a_file_that_is_missing_or_cut_short_is_damaged(built: Path, tmp_path: Path, name: str) -> None:
    data = (built / name).read_bytes()
    for spoil in (data[: len(data) // 2], b"", b"not a table"):
        (built / name).write_bytes(spoil)
        with pytest.raises(SplitError, match=f"{name} is damaged"):
            load_split("sample-llm", root=tmp_path)
    (built / name).unlink()
    with pytest.raises(SplitError, match=f"{name} is damaged"):
        load_split("sample-llm", root=tmp_path)


def test_a_flipped_byte_never_changes_what_is_read(built: Path, tmp_path: Path) -> None:
    whole = load_split("sample-llm", root=tmp_path)
    refused = 0
    for name in ("items.parquet", "gold.parquet", "manifest.json"):
        data = (built / name).read_bytes()
        for position in range(0, len(data), 41):
            (built / name).write_bytes(data[:position] + bytes([data[position] ^ 0x01]) + data[position + 1 :])
            try:
                read = load_split("sample-llm", root=tmp_path)
            except SplitError:
                refused += 1
                continue
            # What a flip may reach without notice: bytes that no row is read from, and the manifest's prose.
            assert (read.items, read.gold) == (whole.items, whole.gold)
        (built / name).write_bytes(data)
    assert refused > 20


def test_a_manifest_of_another_version_is_damaged(built: Path, tmp_path: Path) -> None:
    built.rename(built.with_name("2.0.0"))
    with pytest.raises(SplitError, match=r"it says it is sample-llm@1\.0\.0"):
        load_split("sample-llm", root=tmp_path)


def test_a_damaged_version_is_replaced_only_by_force(built: Path, tmp_path: Path) -> None:
    (built / "items.parquet").write_bytes(b"")
    with pytest.raises(SplitError, match="damaged"):
        write_split(split(), root=tmp_path)
    write_split(split(), root=tmp_path, force=True)
    assert load_split("sample-llm", root=tmp_path) == split()


def test_a_split_of_no_items_twins_or_stray_gold_cannot_be_made() -> None:
    with pytest.raises(SplitError, match="0 items"):
        make_split("sample-llm", (), version="1.0.0", sources=[SOURCE])
    with pytest.raises(SplitError, match="2 items with 1 ids"):
        make_split("sample-llm", (riddle(), riddle()), version="1.0.0", sources=[SOURCE])
    with pytest.raises(SplitError, match="unknown items 'z'"):
        make_split("sample-llm", (riddle(),), (gold("z"),), version="1.0.0", sources=[SOURCE])
    with pytest.raises(SplitError, match="unknown split 'nope'"):
        make_split("nope", (riddle(),), version="1.0.0", sources=[SOURCE])


def test_the_image_column_is_one_that_datasets_decodes(built: Path) -> None:
    import pyarrow.parquet as pq
    from datasets import Features, Image

    schema = pq.read_schema(built / "items.parquet")
    features = Features.from_arrow_schema(schema)
    assert isinstance(features["image"], Image)
    assert features.arrow_schema.field("image").type == schema.field("image").type
    assert schema.metadata[b"canary"].decode() == split().manifest.canary
