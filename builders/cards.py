"""What stands beside the rows on the Hub: the card (header generated, prose from data_cards/), eval.yaml, changelog."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders.packing import Packed, PackError, shape
from builders.values import Benchmark
from builders.versions import Change, largest

FOLDER = Path(__file__).parent.parent / "data_cards"
# Names that the Hub has for a licence; for the others the header says `other` and names the licence itself.
_HUB_LICENCES = frozenset(
    {"cc0-1.0", "mit", "apache-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0"}
    | {"cc-by-nc-sa-4.0"}
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_TASKS: Mapping[str, Sequence[str]] = {"riddle": ("question-answering",), "novel": ("question-answering",)}
_TAGS: Mapping[str, Sequence[str]] = {
    "riddle": ("riddles", "lateral-thinking"),
    "soup": ("lateral-thinking", "situation-puzzles"),
    "novel": ("detective-fiction", "long-context"),
    "case": ("detective-reasoning",),
}
GATE = "By asking for access you agree to keep the contents out of training data and away from the public."


def card(benchmark: Benchmark, packed: Mapping[str, Packed], *, repo: str, version: str) -> str:
    """Write README.md of a release.

    Args:
        benchmark: What is published.
        packed: Its splits by name.
        repo: `namespace/name` on the Hub.
        version: Version without `v`.

    Raises:
        PackError: If data_cards/ has no prose for the benchmark.
    """
    if not (FOLDER / f"{benchmark.name}.md").is_file():
        raise PackError(f"data_cards/{benchmark.name}.md is missing; nothing is published without a card")
    return render(
        benchmark.name,
        header(benchmark, packed),
        benchmark=benchmark,
        packed=packed,
        repo=repo,
        version=version,
        configs=_configs(packed),
    )


def render(name: str, head: Mapping[str, Any], **values: Any) -> str:
    """Fill in the prose of `data_cards/<name>.md` and put the YAML header before it."""
    import jinja2
    import yaml

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  Markdown for the Hub, which cleans it; all values are the project's own
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    prose = environment.get_template(f"{name}.md").render(**values)
    text = yaml.safe_dump(dict(head), sort_keys=False, allow_unicode=True, width=110)
    return f"---\n{text}---\n\n{prose}"


def header(benchmark: Benchmark, packed: Mapping[str, Packed]) -> dict[str, Any]:
    """The YAML header of the card: licence, languages, size, tags, and every config with its features."""
    manifests = [p.manifest for p in packed.values()]
    found = {"pretty_name": benchmark.title, **licence_fields(manifests[0].licence, benchmark.sources[0].url)}
    found["language"] = sorted({m.language for m in manifests})
    found["size_categories"] = [size_category(sum(m.items for m in manifests))]
    if tasks := _TASKS.get(benchmark.protocol):
        found["task_categories"] = list(tasks)
    found["tags"] = ["benchmark", "reasoning", *_TAGS[benchmark.protocol]]
    configs = _configs(packed)
    if configs:
        found |= config_fields(configs)
    else:
        found["viewer"] = False
    if any(p.form == "sealed" for p in packed.values()):
        found["extra_gated_prompt"] = GATE
    return found


def licence_fields(licence: str, url: str) -> dict[str, Any]:
    """Name a licence as the Hub does; one that it does not know is `other`, with its name and page."""
    if licence.lower() in _HUB_LICENCES:
        return {"license": licence.lower()}
    return {"license": "other", "license_name": licence.lower(), "license_link": url}


def size_category(rows: int) -> str:
    """The Hub's word for a number of rows."""
    return next((name for limit, name in _SIZES if rows < limit), "100K<n<1M")


def config_fields(configs: Mapping[str, tuple[str, bytes]]) -> dict[str, Any]:
    """Configs and their features, read off the Parquet files: path and bytes by config."""
    listed = [
        {"config_name": name, "data_files": [{"split": "test", "path": path}]} for name, (path, _) in configs.items()
    ]
    return {"configs": listed, "dataset_info": [_info(name, data) for name, (_, data) in configs.items()]}


def eval_yaml(benchmark: Benchmark, packed: Mapping[str, Packed]) -> str | None:
    """Describe the tasks that the Hub's Community Evals can run; None where there is none.

    Only riddles in words: the task form takes an image as a text column, and the columns here hold real images.
    """
    import yaml

    names = [n for n, p in packed.items() if benchmark.protocol == "riddle" and p.form == "full" and not _pictured(p)]
    if not names:
        return None
    solvers: list[dict[str, Any]] = [
        {
            "name": "prompt_template",
            "args": {"template": "Solve this riddle. Say the answer, then why it is right.\n\n{prompt}\n"},
        },
        {"name": "generate"},
    ]
    tasks = [
        {
            "id": name,
            "config": name,
            "split": "test",
            "field_spec": {"input": "description", "target": "answer", "metadata": ["justification"]},
            "solvers": solvers,
            "scorers": [{"name": "model_graded_qa", "args": {}}],
        }
        for name in names
    ]
    about = f"{benchmark.title}. One judge marks the answer; the leaderboard's own score takes a jury of three."
    content = {"name": benchmark.title, "description": about, "evaluation_framework": "inspect-ai", "tasks": tasks}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def changelog(version: str, changes: Mapping[str, Change], before: str | None) -> str:
    """Put the entry of a version on top of the changelog of the version before it; None: there was none."""
    title = "# Changes\n\nPatch: metadata. Minor: items added. Major: items or prompts changed or removed.\n"
    if before is None:
        lines = [f"- {split}: {change.lines[0]}" for split, change in changes.items()]
        return f"{title}\n## {version}\n\nFirst release.\n\n" + "\n".join(lines) + "\n"
    size = largest("patch", *(c.size for c in changes.values()))
    lines = [f"- {split}: {line}" for split, change in changes.items() for line in change.lines]
    lines = lines or ["- No row changed."]
    return f"{title}\n## {version} ({size})\n\n" + "\n".join(lines) + "\n" + before.removeprefix(title)


def _configs(packed: Mapping[str, Packed]) -> dict[str, tuple[str, bytes]]:
    return {
        config: (f"{split}/{file}", p.files[file]) for split, p in packed.items() for config, file in p.configs.items()
    }


def _info(name: str, data: bytes) -> dict[str, Any]:
    found = shape(data)
    return {
        "config_name": name,
        "features": found.features,
        "splits": [{"name": "test", "num_bytes": found.unfolded_bytes, "num_examples": found.rows}],
        "download_size": len(data),
        "dataset_size": found.unfolded_bytes,
    }


def _pictured(packed: Packed) -> bool:
    import io

    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(packed.files["items.parquet"])) as file:
        names = file.schema_arrow.names
        return "image" in names and file.read(["image"])["image"].null_count < file.metadata.num_rows
