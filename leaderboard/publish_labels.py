"""Publishes what calibrates a jury: answers, every judge's verdict and every label, as the dataset `<benchmark>-ppi`.

python -m leaderboard publish-labels layton --repo NAMESPACE/layton-ppi --version 1.0.0 [--no-dry-run]

One commit and its tag, in the way in which splits are published; the store is read, nothing in it is changed.
"""

import argparse
import io
import json
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from builders.values import Benchmark, FileSha256, Name, Sha256, Value, Version
from leaderboard.label_rows import LabelRows, label_rows, read_digests

if TYPE_CHECKING:
    from builders.publish import Plan
    from builders.versions import Change
    from evaluators.store import Store

MANIFEST = "labels.json"
CARD = "labels"


class LabelError(ValueError):
    """Nothing can be published as it is; the message says what to do."""


class LabelledSplit(Value):
    """What a release of labels holds of one split."""

    split: Name
    rows: int = Field(ge=1)
    human: int = Field(ge=0, description="Rows that people labelled.")
    author: int = Field(ge=0, description="Rows that only the item's author labelled; never called human.")
    sha256: Sha256 = Field(description="Digest of the digests of its rows, in order.")


class LabelRelease(Value):
    """One version of the labels of a benchmark; `labels.json` at the tag `v<version>`."""

    schema_version: Literal[1] = 1
    benchmark: Name
    version: Version
    splits: tuple[LabelledSplit, ...] = Field(min_length=1)
    files: tuple[FileSha256, ...]


class Held(NamedTuple):
    """A release of labels as the Hub holds it."""

    files: Mapping[str, bytes]
    digests: Mapping[str, Mapping[str, str]]  # of each row, by split


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `publish-labels`."""
    parser.add_argument("name", metavar="NAME", help="benchmark, for example layton")
    parser.add_argument("--repo", required=True, metavar="NAMESPACE/NAME", help="dataset repository of the labels")
    parser.add_argument("--version", default="1.0.0", help="version to publish (default: %(default)s)")
    parser.add_argument(
        "--dry-run", action=argparse.BooleanOptionalAction, default=True, help="only say what would be done (default)"
    )
    parser.add_argument("--create-pr", action="store_true", help="propose it as a pull request, without the tag")
    parser.add_argument("--private", action="store_true", help="only you and your organisation may read it")


def main(arguments: argparse.Namespace) -> int:
    """Say what would be published, and publish it when told; 3 if the Hub fails.

    Raises:
        ValueError: If it must not be published, or not under this version.
        OSError: If the store cannot be read.
    """
    from builders.hub import REPO, HubError
    from builders.publish import carry_out, describe
    from evaluators.store import open_store, store_path

    if REPO.fullmatch(arguments.repo) is None:
        raise LabelError(f"--repo {arguments.repo!r} is not a repository such as deerstalker/layton-ppi")
    try:
        with open_store(store_path(), read_only=True) as store:
            made = plan_labels(store, arguments.name, version=arguments.version, repo=arguments.repo)
        print(*describe(made), sep="\n")
        if arguments.dry_run:
            print("nothing was sent; --no-dry-run does it")
        else:
            print(carry_out(made, private=arguments.private, create_pr=arguments.create_pr))
    except HubError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


def plan_labels(store: "Store", name: str, *, version: str, repo: str) -> "Plan":
    """Work out what publishing the labels of a benchmark would do; nothing is written anywhere.

    Raises:
        LabelError, PackError, VersionError: If it must not be published, or not under this version.
        builders.release.ReleaseError, builders.hub.HubError: If the Hub refuses or fails.
    """
    from builders import hub
    from builders.packing import find_benchmark
    from builders.publish import Plan, check_equal, stand
    from builders.versions import check_version, largest, numbers

    numbers(version)
    benchmark = find_benchmark(name)
    found = _rows(store, benchmark)
    there = hub.look(repo)
    base, published = stand(there, repo, version)
    old = _read(repo, f"v{base}") if base else Held({}, {})
    changes = _changes(old.digests, found)
    if base and not published:
        check_version(base, version, largest("none", *(c.size for c in changes.values())))
    files = _files(benchmark, found, changes, repo=repo, version=version, before=old.files)
    if published and there:
        same = _read(repo, f"v{version}")
        # Equal rows are the same release, whatever bytes another library version would write.
        if same.digests == {split: rows.digests for split, rows in found.items()}:
            files = dict(same.files)
        check_equal(files, hub.blobs(repo, there.tags[f"v{version}"]), repo, version)
    stale = tuple(sorted(old.files.keys() - files.keys()))
    return Plan(repo, version, files, stale, changes, base, there, published)


def _rows(store: "Store", benchmark: Benchmark) -> dict[str, LabelRows]:
    from builders.packing import REDISTRIBUTABLE

    licence = benchmark.sources[0].licence
    if licence not in REDISTRIBUTABLE:
        raise LabelError(
            f"{benchmark.name} has the licence {licence!r}: answers retell its items, so they are not passed on either"
        )
    sealed = {m.split for m in store.splits() if m.visibility == "sealed"} & set(benchmark.splits)
    if sealed:
        raise LabelError(f"{', '.join(sorted(sealed))} is sealed: nothing about its single answers is published")
    rows = {split: label_rows(store, split, benchmark.protocol) for split in benchmark.splits}
    found = {split: r for split, r in rows.items() if r is not None}
    if not any(r.labelled or r.authored for r in found.values()):
        raise LabelError(
            f"the store holds no labelled answer of {benchmark.name}; label some, or import released labels first"
        )
    return found


def _changes(old: Mapping[str, Mapping[str, str]], found: Mapping[str, LabelRows]) -> "dict[str, Change]":
    from builders.versions import Change

    changes: dict[str, Change] = {}
    for split, rows in found.items():
        before = old.get(split, {})
        added = len(rows.digests.keys() - before.keys())
        lost = len(before.keys() - rows.digests.keys())
        other = sum(before[name] != digest for name, digest in rows.digests.items() if name in before)
        said = ((added, "added"), (other, "changed"), (lost, "removed"))
        lines = tuple(f"{n:,} row{'s' * (n > 1)} {verb}" for n, verb in said if n)
        changes[split] = Change("major" if other or lost else "minor" if added else "none", lines)
    return changes | {split: Change("major", ("split removed",)) for split in old.keys() - found.keys()}


def _files(
    benchmark: Benchmark,
    found: Mapping[str, LabelRows],
    changes: "Mapping[str, Change]",
    *,
    repo: str,
    version: str,
    before: Mapping[str, bytes],
) -> dict[str, bytes]:
    import pyarrow.parquet as pq

    from builders.cards import changelog

    files: dict[str, bytes] = {}
    for split, rows in found.items():
        out = io.BytesIO()
        pq.write_table(rows.table, out, compression="zstd")
        files[f"{split}/rows.parquet"] = out.getvalue()
    splits = tuple(
        LabelledSplit(split=s, rows=r.rows, human=r.labelled, author=r.authored, sha256=_digest(r.digests))
        for s, r in found.items()
    )
    log = before.get("CHANGELOG.md")
    told = {split: c if c.lines else c._replace(lines=("nothing changed",)) for split, c in changes.items()}
    files["CHANGELOG.md"] = changelog(version, told, log.decode() if log else None).encode()
    files["README.md"] = _card(benchmark, files, splits, repo=repo, version=version).encode()
    release = LabelRelease(
        benchmark=benchmark.name,
        version=version,
        splits=splits,
        files=tuple(FileSha256(path=p, sha256=sha256(data).hexdigest()) for p, data in sorted(files.items())),
    )
    text = json.dumps(release.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    return files | {MANIFEST: text.encode()}


def _card(
    benchmark: Benchmark, files: Mapping[str, bytes], splits: tuple[LabelledSplit, ...], *, repo: str, version: str
) -> str:
    from builders import CANARIES
    from builders.cards import config_fields, licence_fields, render, size_category

    configs = {s.split: (f"{s.split}/rows.parquet", files[f"{s.split}/rows.parquet"]) for s in splits}
    head: dict[str, Any] = {"pretty_name": f"{benchmark.title}: verdicts and labels"}
    head |= licence_fields(benchmark.sources[0].licence, benchmark.sources[0].url)
    head |= {"size_categories": [size_category(sum(s.rows for s in splits))]}
    head |= {"tags": ["llm-as-a-judge", "human-labels", "prediction-powered-inference"], **config_fields(configs)}
    return render(
        CARD, head, benchmark=benchmark, splits=splits, configs=configs, repo=repo, version=version, canaries=CANARIES
    )


def _digest(digests: Mapping[str, str]) -> str:
    return sha256("".join(f"{name} {digest}\n" for name, digest in sorted(digests.items())).encode()).hexdigest()


def _read(repo: str, tag: str) -> Held:
    """Read a release of labels and check it against its manifest."""
    import pyarrow.parquet as pq

    from builders.hub import fetch

    def ours(name: str) -> bool:
        return name in (MANIFEST, "README.md", "CHANGELOG.md") or name.endswith("/rows.parquet")

    paths, _ = fetch(repo, tag, lambda names: [n for n in names if ours(n)])
    manifests = [path for path in paths if path.name == MANIFEST]
    if not manifests:
        raise LabelError(f"{repo}@{tag} has no {MANIFEST}: it is no release of labels; give another --repo")
    top: Path = min(manifests, key=lambda path: len(path.parts)).parent
    try:
        release = LabelRelease.model_validate_json((top / MANIFEST).read_bytes())
    except ValidationError as error:
        raise LabelError(f"{repo}@{tag}: {MANIFEST} cannot be read: {str(error).splitlines()[0]}") from error
    files = {MANIFEST: (top / MANIFEST).read_bytes()}
    for file in release.files:
        data = (top / file.path).read_bytes() if (top / file.path) in paths else b""
        if sha256(data).hexdigest() != file.sha256:
            raise LabelError(f"{repo}@{tag}: {file.path} has not the sha256 that {MANIFEST} says; do not use it")
        files[file.path] = data
    tables = {s.split: pq.read_table(io.BytesIO(files[f"{s.split}/rows.parquet"])) for s in release.splits}
    return Held(files, {split: read_digests(table.to_pylist()) for split, table in tables.items()})
