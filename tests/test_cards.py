"""Cards keep step with code and rows, the Hub takes them, and what they tell a reader to run runs."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from builders import BENCHMARKS, CANARIES
from builders.cards import FOLDER, card, eval_yaml, header
from builders.packing import Packed, find_benchmark, pack
from builders.publish import carry_out, plan
from builders.splits import load_split, make_split, write_split
from builders.values import Benchmark, GoldAnswer, Riddle
from tests.made import gold, riddle
from tests.made_hub import REPO, child_environment, point_at
from tests.servers.hub import Hub, serve, validate

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = (
    "How to load",
    "Configs",
    "How it was made",
    "Fields",
    "Known quirks",
    "How scoring works",
    "Version",
    "Contamination",
    "What is sealed",
    "Limitations",
    "Citation",
    "Contact",
)
every_benchmark = pytest.mark.parametrize("benchmark", [b for b in BENCHMARKS if b.protocol == "riddle"])


def packed(benchmark: Benchmark, root: Path, *, labelled: int = 1) -> dict[str, Packed]:
    for split in benchmark.splits:
        made = make_split(
            split,
            [riddle(n) for n in range(3)],
            [g for n in range(labelled) for g in gold(n)],
            version="1.0.0",
            sources=benchmark.sources,
        )
        write_split(made, root=root, force=True)
    return {s: pack(root, s, "1.0.0", prompts_sha256=None) for s in benchmark.splits}


def write_card(benchmark: Benchmark, root: Path) -> str:
    labelled = 1 if benchmark.name == "samples" else 0
    return card(benchmark, packed(benchmark, root, labelled=labelled), repo="deer/x", version="1.0.0")


def test_every_card_is_of_a_benchmark_and_every_riddle_benchmark_has_one() -> None:
    cards = {path.stem for path in FOLDER.glob("*.md")}
    assert cards <= {b.name for b in BENCHMARKS} | {"labels"}, "labels.md is the card of every `<benchmark>-ppi`"
    assert {b.name for b in BENCHMARKS if b.protocol == "riddle"} <= cards


@every_benchmark
def test_a_card_says_everything_a_reader_needs(benchmark: Benchmark, tmp_path: Path) -> None:
    text = write_card(benchmark, tmp_path)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(SECTIONS)
    for split in benchmark.splits:
        assert CANARIES[split] in text
        assert f"`{split}`" in text
        assert load_split(split, root=tmp_path).manifest.sha256 in text
    for source in benchmark.sources:
        assert source.citation in text
        assert source.licence in text


@every_benchmark
def test_the_fields_tables_name_the_columns_that_there_are(benchmark: Benchmark, tmp_path: Path) -> None:
    section = write_card(benchmark, tmp_path).partition("## Fields")[2].partition("\n## ")[0]
    tables = [re.findall(r"^\| (`.+?`) \|", block, re.MULTILINE) for block in section.split("| field |")[1:]]
    named = [[name for cell in table for name in re.findall(r"`(\w+)`", cell)] for table in tables]
    assert named[0] == list(Riddle.model_fields)
    assert named[1:] == ([list(GoldAnswer.model_fields)] if benchmark.name == "samples" else [])


@every_benchmark
def test_the_header_is_what_the_hub_takes(benchmark: Benchmark, tmp_path: Path) -> None:
    from huggingface_hub import DatasetCard

    text = write_card(benchmark, tmp_path)
    assert validate(text) == {"errors": [], "warnings": []}
    data = DatasetCard(text, ignore_metadata_errors=False).data.to_dict()
    assert data["license"] == benchmark.sources[0].licence.lower()
    assert data["language"] == ["en"]
    assert data["size_categories"] == ["n<1K"]
    assert "benchmark" in data["tags"]
    assert {c["config_name"] for c in data["configs"]} >= set(benchmark.splits)
    assert {path.rpartition(".")[2] for c in data["configs"] for path in [c["data_files"][0]["path"]]} == {"parquet"}


def test_a_licence_the_hub_does_not_know_is_named_in_full(tmp_path: Path) -> None:
    benchmark = find_benchmark("samples")
    found = packed(benchmark, tmp_path)
    for name, p in found.items():
        manifest = p.manifest.model_copy(update={"licence": "LicenseRef-own"})
        found[name] = p._replace(fingerprint=p.fingerprint._replace(manifest=manifest))
    head = header(benchmark, found)
    assert (head["license"], head["license_name"]) == ("other", "licenseref-own")


def test_eval_yaml_names_tasks_on_columns_that_exist_and_leaves_pictures_out(tmp_path: Path) -> None:
    benchmark = find_benchmark("samples")
    found = packed(benchmark, tmp_path)
    told = yaml.safe_load(eval_yaml(benchmark, found) or "")
    assert told["evaluation_framework"] == "inspect-ai"
    assert [t["id"] for t in told["tasks"]] == ["sample-llm", "sample-vlm"]
    for task in told["tasks"]:
        spec = task["field_spec"]
        assert {spec["input"], spec["target"], *spec["metadata"]} <= set(Riddle.model_fields)
        assert "{prompt}" in task["solvers"][0]["args"]["template"]
    seen = make_split("sample-vlm", [riddle(0, image=b"\x89PNG")], version="1.0.0", sources=benchmark.sources)
    write_split(seen, root=tmp_path, force=True)
    found["sample-vlm"] = pack(tmp_path, "sample-vlm", "1.0.0", prompts_sha256=None)
    assert [t["id"] for t in yaml.safe_load(eval_yaml(benchmark, found) or "")["tasks"]] == ["sample-llm"]


# --- the real samples, published, and read by people who have nothing but the card


@pytest.fixture(scope="module", params=[False, True], ids=["regular", "lfs"])
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Path]]:
    from builders.__main__ import main

    root = tmp_path_factory.mktemp("published")
    assert main(["build", "samples", "--out", str(root / "splits")]) == 0
    with serve(Hub(lfs=request.param)) as hub, pytest.MonkeyPatch.context() as patch:
        point_at(hub, root / "hf", patch)
        carry_out(plan("samples", version="1.0.0", repo=REPO, root=root / "splits"))
        yield hub, root


LOAD = """
import json, sys
from hashlib import sha256
from datasets import load_dataset

def told(row):
    image = row.pop("image", None)
    return json.dumps(row, sort_keys=True) + (sha256(image.convert("RGB").tobytes()).hexdigest() if image else "")

for name in sys.argv[1:]:
    whole = load_dataset("deer/samples", name, split="test", revision="v1.0.0")
    flow = load_dataset("deer/samples", name, split="test", revision="v1.0.0", streaming=True)
    rows = [told(dict(row)) for row in whole]
    assert rows == [told(dict(row)) for row in flow]
    assert whole.features == flow.features
    print(json.dumps([name, {k: str(v) for k, v in whole.features.items()}, rows]))
"""


# Arrow's threads now and then abort an interpreter that ends; what is tested has all run by then.
END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)"


def run(command: list[str], hub: Hub, root: Path) -> str:
    environment = os.environ | child_environment(hub, root / "home") | {"DEERSTALKER_STORE": str(root / "r.duckdb")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return done.stdout


def test_a_fresh_process_loads_every_config_with_equal_rows_and_real_images(published: tuple[Hub, Path]) -> None:
    import json
    from hashlib import sha256

    from PIL import Image

    hub, root = published
    names = ["sample-llm", "sample-vlm", "sample-llm-gold", "sample-vlm-gold"]
    told = [json.loads(line) for line in run([sys.executable, "-c", LOAD + END, *names], hub, root).splitlines()]
    assert [name for name, _, _ in told] == names
    for name, features, rows in told:
        split = load_split(name.removesuffix("-gold"), root=root / "splits")
        mine = []
        for value in split.gold if name.endswith("-gold") else split.items:
            row = value.model_dump()
            picture = row.pop("image", None)
            seen = sha256(Image.open(io.BytesIO(picture)).convert("RGB").tobytes()).hexdigest() if picture else ""
            mine.append(json.dumps(row, sort_keys=True) + seen)
        assert rows == mine
        if not name.endswith("-gold"):
            assert features["image"].startswith("Image(")


def test_every_command_of_the_card_runs(published: tuple[Hub, Path]) -> None:
    hub, root = published
    repo = hub.repos["dataset", REPO]
    text = repo.commits[repo.refs["refs/tags/v1.0.0"]]["README.md"].decode()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "python", "sh", "sh"]
    if not hub.lfs:  # the card is the same in both modes; its commands cost seconds
        run([sys.executable, "-c", "\n".join(block for kind, block in blocks if kind == "python") + END], hub, root)
        run(["bash", "-ec", "\n".join(block for kind, block in blocks if kind == "sh")], hub, root)
