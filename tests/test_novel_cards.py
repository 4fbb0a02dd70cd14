"""Novels on the Hub: our own go out with their questions and load without our code, others' as ids and digests only."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from builders import BENCHMARKS, CANARIES
from builders.__main__ import main
from builders.cards import card
from builders.novels import open_novels, pinned_novels
from builders.packing import find_benchmark, pack
from builders.publish import carry_out, plan
from builders.splits import SplitError, load_split
from builders.values import NovelQuestion
from tests.made_hub import child_environment, point_at
from tests.made_novel import release
from tests.servers.hub import Hub, serve, validate
from tests.test_cards import ROOT, SECTIONS, run

REPO = "deer/novel-samples"
LOAD = """
import json
from datasets import load_dataset

for name in ("sample-novel", "sample-novel-novels"):
    whole = load_dataset("deer/novel-samples", name, split="test", revision="v1.0.0")
    flow = load_dataset("deer/novel-samples", name, split="test", revision="v1.0.0", streaming=True)
    rows = list(whole)
    assert rows == list(flow)
    print(json.dumps([name, {k: str(v) for k, v in whole.features.items()}, rows]))
"""


def built(name: str, root: Path) -> Path:
    if name == "detectiveqa":
        for language in ("en", "zh"):
            release(root / "release", language=language)
        assert main(["build", name, str(root / "release"), "--out", str(root / "splits")]) == 0
    else:
        assert main(["build", name, "--out", str(root / "splits")]) == 0
    return root / "splits"


def unpacked(data: bytes) -> bytes:
    """Every value of a Parquet file, and its metadata: compressed, no word could be found in it."""
    with pq.ParquetFile(io.BytesIO(data)) as file:
        return f"{file.read().to_pylist()} {file.schema_arrow.metadata}".encode()


def write_card(name: str, root: Path) -> str:
    benchmark, splits = find_benchmark(name), built(name, root)
    ids_only = name == "detectiveqa"
    packed = {s: pack(splits, s, "1.0.0", prompts_sha256=None, ids_only=ids_only) for s in benchmark.splits}
    return card(benchmark, packed, repo="deer/x", version="1.0.0")


@pytest.mark.parametrize("name", [b.name for b in BENCHMARKS if b.protocol == "novel"])
def test_a_card_says_everything_a_reader_needs_and_the_hub_takes_it(name: str, tmp_path: Path) -> None:
    text, benchmark = write_card(name, tmp_path), find_benchmark(name)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(SECTIONS)
    for split in benchmark.splits:
        assert CANARIES[split] in text
        assert f"`{split}`" in text
        assert load_split(split, root=tmp_path / "splits").manifest.sha256 in text
    assert all(source.citation in text and source.licence in text for source in benchmark.sources)
    section = text.partition("## Fields")[2].partition("\n## ")[0]
    tables = [re.findall(r"^\| `(\w+)` \|", block, re.MULTILINE) for block in section.split("| field |")[1:]]
    novel = ["novel", "label", "text"]
    wanted = {
        "detectiveqa": [["id", "cluster", "sha256"], list(NovelQuestion.model_fields)],
        "novel-samples": [list(NovelQuestion.model_fields), novel],
    }
    assert tables == wanted[name]
    assert validate(text) == {"errors": [], "warnings": []}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Path]]:
    root = tmp_path_factory.mktemp("published")
    built("novel-samples", root)
    with serve(Hub()) as hub, pytest.MonkeyPatch.context() as patch:
        point_at(hub, root / "hf", patch)
        carry_out(plan("novel-samples", version="1.0.0", repo=REPO, root=root / "splits"))
        yield hub, root


def test_a_fresh_process_loads_questions_and_novella_as_two_configs(published: tuple[Hub, Path]) -> None:
    hub, root = published
    told = [json.loads(line) for line in run([sys.executable, "-c", LOAD], hub, root).splitlines()]
    split = load_split("sample-novel", root=root / "splits")
    (name, features, rows), (novels, columns, paragraphs) = told
    assert (name, novels) == ("sample-novel", "sample-novel-novels")
    assert rows == [json.loads(item.model_dump_json()) for item in split.items]
    assert (features["answer_position"], features["evidence_position"]) == ("Value('int64')", "List(Value('int64'))")
    assert list(columns) == ["novel", "label", "text"]
    mine = open_novels(split, root=root / "splits").paragraphs("en/1")
    assert [(r["novel"], r["label"], r["text"]) for r in paragraphs] == [("en/1", p.label, p.text) for p in mine]


def test_the_published_split_opens_with_its_novels_and_needs_the_hub_once(published: tuple[Hub, Path]) -> None:
    hub, root = published
    ref = f"hub:{REPO}/sample-novel@1.0.0"
    split = load_split(ref)
    novels = open_novels(split, ref=ref)
    assert novels.paragraphs("en/1") == open_novels(split, root=root / "splits").paragraphs("en/1")
    environment = child_environment(hub, root / "home") | {"HF_HUB_CACHE": str(root / "hf"), "HF_HUB_OFFLINE": "1"}
    code = (
        "from builders.splits import load_split; from builders.novels import open_novels; ref = "
        f"{ref!r}; print(len(open_novels(load_split(ref), ref=ref).paragraphs('en/1')))"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(len(novels.paragraphs("en/1"))), done.stderr[-1000:]
    assert main(["verify", "novel-samples@1.0.0", "--hub", "--repo", REPO, "--out", str(root / "splits")]) == 0
    before = len(hub.requests)
    again = plan("novel-samples", version="1.0.0", repo=REPO, root=root / "splits")
    assert carry_out(again).endswith("nothing was changed")
    assert not [r for r in hub.requests[before:] if r.startswith("PUT") or "/commit/" in r]


def test_detectiveqa_is_published_as_ids_and_no_word_of_a_novel_or_question_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = built("detectiveqa", tmp_path)
    with serve(Hub()) as hub:
        point_at(hub, tmp_path / "hf", monkeypatch)
        carry_out(plan("detectiveqa", version="1.0.0", repo="deer/dqa", root=splits, ids_only=True))
        repo = hub.repos["dataset", "deer/dqa"]
        files = repo.commits[repo.refs["refs/tags/v1.0.0"]]
        with pytest.raises(SplitError, match="cannot be loaded from there"):
            load_split("hub:deer/dqa/detectiveqa-en@1.0.0")
        split = load_split("detectiveqa-en", root=splits)
        with pytest.raises(SplitError, match=r"has no detectiveqa-en/novels\.parquet"):
            open_novels(split, ref="hub:deer/dqa/detectiveqa-en@1.0.0")
        assert main(["verify", "detectiveqa@1.0.0", "--hub", "--repo", "deer/dqa", "--out", str(splits)]) == 0
    assert not [name for name in files if "novels" in name or "items" in name]
    everything = b"\n".join(data if data[:4] != b"PAR1" else unpacked(data) for data in files.values())
    assert b"en/AIsup_anno/7/0" in everything
    novels = open_novels(split, root=splits)
    words = {p.text for key in pinned_novels(split) for p in novels.paragraphs(key)}
    for item in split.items:
        assert isinstance(item, NovelQuestion)
        words |= {item.question, *item.options, *item.reasoning, item.title, item.author}
    assert not [word for word in words if word.encode() in everything]
