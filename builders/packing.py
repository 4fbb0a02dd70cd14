"""What of a built split may leave the machine: its rows, only ids and digests, or only ciphertext; never more.

Everything that forbids a publication is refused here, before the Hub is asked anything.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from builders import BENCHMARKS, CANARIES
from builders.novels import check_novels
from builders.sealed import CIPHERTEXT, check_sealed
from builders.splits import NOVELS, Split, read_folder, read_manifest
from builders.values import Benchmark, SplitManifest
from builders.versions import Fingerprint, Form, fingerprint

if TYPE_CHECKING:
    import pyarrow as pa

# Licences that let anyone pass a copy on; what is not listed is refused until somebody has read it.
REDISTRIBUTABLE = frozenset(
    {
        *("CC0-1.0", "MIT", "Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0"),
        *("CC-BY-NC-4.0", "CC-BY-NC-SA-4.0"),
    }
)


class PackError(ValueError):
    """A split that must not be published as it is."""


class Packed(NamedTuple):
    """A split as it will lie on the Hub: the files of its folder by name, and the loadable configs among them."""

    fingerprint: Fingerprint
    files: Mapping[str, bytes]
    configs: Mapping[str, str]

    @property
    def manifest(self) -> SplitManifest:
        """Manifest of the split."""
        return self.fingerprint.manifest

    @property
    def form(self) -> Form:
        """Whether rows, ids or ciphertext are published."""
        return self.fingerprint.form


def find_benchmark(name: str) -> Benchmark:
    """Find what is published as one: a benchmark with all its splits.

    Raises:
        PackError: If there is none of that name.
    """
    for benchmark in BENCHMARKS:
        if name == benchmark.name:
            return benchmark
        if name in benchmark.splits:
            raise PackError(f"{name} is published with its benchmark, all splits at one version: {benchmark.name}")
    raise PackError(f"unknown benchmark {name!r}; there are {', '.join(b.name for b in BENCHMARKS)}")


def pack(root: Path, name: str, version: str, *, prompts_sha256: str | None, ids_only: bool = False) -> Packed:
    """Read a built split, check that it may be published, and return its files.

    Args:
        root: Folder of the built splits.
        name: Split.
        version: Version to publish, `1.0.0`.
        prompts_sha256: Digest of the prompts of its protocol.
        ids_only: Publish ids and row digests instead of rows, as for a licence that forbids redistribution.

    Raises:
        builders.splits.SplitError: If the split is not built, damaged, or not what its manifest says.
        PackError: If it must not be published; the message says why and what to do.
    """
    folder = root / name / version
    manifest = read_manifest(folder, name, version) if folder.is_dir() else None
    if manifest is None:
        raise PackError(f"{name}@{version} is not built in {root}: python -m builders build {name} --version {version}")
    _check_manifest(manifest, find_benchmark_of(name))
    if manifest.sealed:
        return _sealed(folder, manifest, prompts_sha256)
    if not ids_only:
        check_licence(manifest)
    split = read_folder(folder, name, version)
    found = fingerprint(split, prompts_sha256=prompts_sha256)
    text = (folder / "manifest.json").read_bytes()
    if ids_only:
        found = found._replace(gold={}, form="ids")
        return Packed(found, {"manifest.json": text, "ids.parquet": _ids(split, found)}, {f"{name}-ids": "ids.parquet"})
    files, configs = {"manifest.json": text}, {}
    tables = {name: "items.parquet", f"{name}-gold": "gold.parquet"}
    if manifest.protocol == "novel":
        check_novels(split, root)
        tables[f"{name}-novels"] = NOVELS
    for config, file in tables.items():
        if file != "gold.parquet" or split.gold:
            files[file], configs[config] = (folder / file).read_bytes(), file
            if manifest.canary.encode() not in files[file]:
                raise PackError(f"{folder / file} does not carry the canary of {name}; build the split again")
    return Packed(found, files, configs)


def find_benchmark_of(split: str) -> Benchmark:
    """The benchmark with a split of that name; every packed split has one."""
    return next(b for b in BENCHMARKS if split in b.splits)


def check_licence(manifest: SplitManifest) -> None:
    """Refuse a split whose rows may not be passed on.

    Raises:
        PackError: If a licence of the split or its sources is not known to allow it.
    """
    for licence in (manifest.licence, *(source.licence for source in manifest.sources)):
        if licence not in REDISTRIBUTABLE:
            raise PackError(
                f"{manifest.ref} has the licence {licence!r}, which is not known to let anyone pass its rows on; "
                "publish ids and digests with --ids-only"
            )


def _check_manifest(manifest: SplitManifest, benchmark: Benchmark) -> None:
    known: dict[str, object] = {
        "benchmark": benchmark.name,
        "protocol": benchmark.protocol,
        "licence": benchmark.sources[0].licence,
        "canary": CANARIES[manifest.split],
    }
    for field in ("licence", "canary"):
        if not str(getattr(manifest, field)).strip():
            raise PackError(f"{manifest.ref} has no {field}; no split is published without one: build it again")
    for field, value in known.items():
        if getattr(manifest, field) != value:
            raise PackError(
                f"manifest.json of {manifest.ref} says {field} {getattr(manifest, field)!r}, the code {value!r}: "
                "somebody changed it by hand, or it is of another release of this code; build the split again"
            )


def _sealed(folder: Path, manifest: SplitManifest, prompts_sha256: str | None) -> Packed:
    clear = sorted(p.name for p in folder.iterdir() if p.name not in {"manifest.json", CIPHERTEXT})
    if clear:
        raise PackError(
            f"{manifest.ref} is sealed, but {', '.join(clear)} lie in {folder} in clear; only manifest.json and "
            f"{CIPHERTEXT} of a sealed split are published: move the others away"
        )
    manifest, data = check_sealed(folder, manifest.split, manifest.version)
    found = Fingerprint(manifest, {}, {}, prompts_sha256, "sealed")
    return Packed(found, {"manifest.json": (folder / "manifest.json").read_bytes(), CIPHERTEXT: data}, {})


def _ids(split: Split, found: Fingerprint) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": i.id, "cluster": i.cluster, "sha256": found.items[i.id]} for i in split.items]
    features = {name: {"dtype": "string", "_type": "Value"} for name in ("id", "cluster", "sha256")}
    metadata = {"huggingface": json.dumps({"info": {"features": features}}), "canary": split.manifest.canary}
    schema = pa.schema([(name, pa.string()) for name in features], metadata=metadata)
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out, compression="zstd")
    return out.getvalue()


class Shape(NamedTuple):
    """What a card says about a Parquet file."""

    features: list[dict[str, Any]]
    rows: int
    unfolded_bytes: int


def shape(data: bytes) -> Shape:
    """Read features, row count and unfolded size of a Parquet file that `builders` wrote."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(io.BytesIO(data)) as file:
        schema: pa.Schema = file.schema_arrow
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        unfolded = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        return Shape([{"name": n, **_yaml_feature(f)} for n, f in features.items()], file.metadata.num_rows, unfolded)


def _yaml_feature(feature: Mapping[str, Any]) -> dict[str, Any]:
    """A feature as a card's header spells it; `datasets` reads both spellings."""
    match feature:
        case {"_type": "Value", "dtype": dtype}:
            return {"dtype": dtype}
        case {"_type": "List", "feature": {"_type": "Value", "dtype": dtype}}:
            return {"list": dtype}
        case {"_type": "List", "feature": inner} if "_type" not in inner:
            return {"list": [{"name": n, **_yaml_feature(f)} for n, f in inner.items()]}
        case {"_type": "Image"}:
            return {"dtype": "image"}
        case _ if "_type" not in feature:
            return {"struct": [{"name": n, **_yaml_feature(f)} for n, f in feature.items()]}
    raise PackError(f"no card can spell the feature {feature!r} yet; add it to builders/packing.py")
