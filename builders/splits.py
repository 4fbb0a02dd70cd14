"""The form of a split on disk: `splits/<split>/<version>/` with items.parquet, gold.parquet and manifest.json."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import ValidationError

from builders import BENCHMARKS, CANARIES, benchmark_of
from builders.columns import column
from builders.release import MAX_FILE_BYTES
from builders.values import ITEMS, GoldAnswer, Item, Riddle, Source, SplitManifest, Value

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_ROOT = Path("splits")
# The table of novels that lies beside questions about them; `builders/novels.py` writes and opens it.
NOVELS = "novels.parquet"
# Numbers are ASCII and without leading zeros, so that one version has one spelling and stays inside its folder.
_NUMBER = r"(?:0|[1-9][0-9]{0,5})"
_REF = re.compile(rf"([a-z0-9][a-z0-9-]{{0,63}})(?:@({_NUMBER}(?:\.{_NUMBER}){{0,2}}))?(?:#([0-9a-f]{{12,64}}))?")
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_V = TypeVar("_V", bound=Value)


class SplitError(ValueError):
    """A split that is unknown, not built, damaged, or not to be overwritten."""


class Split(NamedTuple):
    """A built split: its manifest, its items and the labelled answers that come with it."""

    manifest: SplitManifest
    items: tuple[Item, ...]
    gold: tuple[GoldAnswer, ...]


def canonical_line(row: Value) -> str:
    """The one JSON line that stands for a row: sorted keys, no spaces, bytes as URL-safe base64, newline at the end."""
    return json.dumps(row.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def rows_sha256(rows: Iterable[Value]) -> str:
    """Digest rows in their order; equal rows give equal digests whatever wrote or stored them."""
    digest = sha256()
    for row in rows:
        digest.update(canonical_line(row).encode())
    return digest.hexdigest()


def make_split(
    name: str,
    items: Sequence[Item],
    gold: Sequence[GoldAnswer] = (),
    *,
    version: str,
    sources: Sequence[Source],
    language: str = "en",
) -> Split:
    """Put items and gold answers together under a manifest with their digests.

    Raises:
        SplitError: If the split is unknown, has no items, items of another protocol or two of one id, or a gold answer
            is about no item.
    """
    try:
        benchmark = benchmark_of(name)
    except KeyError as error:
        raise SplitError(error.args[0]) from error
    ids = {item.id for item in items}
    if not items or len(ids) != len(items):
        raise SplitError(
            f"{name}: {len(items)} items with {len(ids)} ids; a split has items, each with an id of its own"
        )
    kind = ITEMS[benchmark.protocol]
    if other := next((item for item in items if type(item) is not kind), None):
        raise SplitError(f"{name}: item {other.id!r} is a {type(other).__name__}, the split holds {kind.__name__}s")
    if strays := sorted({g.item_id for g in gold} - ids):
        raise SplitError(f"{name}: gold answers are about unknown items {', '.join(map(repr, strays[:5]))}")
    manifest = SplitManifest(
        benchmark=benchmark.name,
        split=name,
        version=version,
        protocol=benchmark.protocol,
        language=language,
        licence=benchmark.sources[0].licence,
        items=len(items),
        sha256=rows_sha256(items),
        gold=len(gold),
        gold_sha256=rows_sha256(gold) if gold else None,
        canary=CANARIES[name],
        sources=tuple(sources),
    )
    return Split(manifest, tuple(items), tuple(gold))


def write_split(
    split: Split, *, root: Path = DEFAULT_ROOT, force: bool = False, also: Callable[[Path], None] | None = None
) -> Path:
    """Write a split to `root/<split>/<version>/` and return that folder.

    An equal split that is already there is left alone. The folder appears whole or not at all.

    Args:
        split: What is written.
        root: Folder of the built splits.
        force: Overwrite a version with other content.
        also: Writes what else belongs into the folder; what it makes hangs on the items alone.

    Raises:
        SplitError: If the version exists with other content, or is damaged, and `force` is not set.
        OSError: If the folder cannot be written; what was there before is then still there.
    """
    from builders.folders import replace_folder

    manifest = split.manifest
    folder = root / manifest.split / manifest.version
    if not force and (folder / "manifest.json").exists():
        if read_manifest(folder, manifest.split, manifest.version).sealed:
            raise SplitError(f"{folder} holds a sealed split; give another --version: what is sealed stays sealed")
        if _read(folder) != split:
            raise SplitError(
                f"{folder} exists with other content; published versions do not change: give a higher --version, "
                "or --force where nobody has used this one"
            )
        if also is None:
            return folder
    with replace_folder(folder) as new:
        _write_table(_items_table(split), new / "items.parquet")
        if split.gold:
            _write_table(_gold_table(split), new / "gold.parquet")
        if also is not None:
            also(new)
        text = json.dumps(manifest.model_dump(mode="json", exclude={"seal"}), indent=2, ensure_ascii=False)
        (new / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return folder


def load_split(ref: str, *, root: Path = DEFAULT_ROOT, sealed: bool = False) -> Split:
    """Read a built split and check it against its digests.

    Args:
        ref: `name`, `name@1`, `name@1.0` or `name@1.0.0`; the highest built version that fits is read. Or
            `hub:namespace/repository/name@1.0.0` for a published one, at its tag. `#` and 12 or more hex digits
            after either pin the digest of its items.
        root: Folder of the built splits.
        sealed: Open a sealed split, too, in memory: only for a caller who keeps what he makes of it as secret.

    Raises:
        SplitError: If the ref is malformed, the split unknown or not built, a file damaged, or the split sealed and not
            to be opened here, or no identity of the environment opens it.
        builders.release.ReleaseError, builders.hub.HubError: If a published split cannot be had.
    """
    if ref.startswith("hub:"):
        from builders.remote import load_published

        return load_published(ref, sealed=sealed)
    folder = find_built(ref, root=root)
    return check_pin(_read(folder, sealed=sealed), ref.partition("#")[2] or None)


def find_built(ref: str, *, root: Path = DEFAULT_ROOT) -> Path:
    """The folder of a built split, the highest version that fits.

    Raises:
        SplitError: If the ref is malformed, or the split unknown or not built.
    """
    match = _REF.fullmatch(ref)
    if match is None:
        raise SplitError(f"{ref!r} is not a split; write it as name, name@1, name@1.0 or name@1.0.0")
    name, wanted = match[1], match[2] or ""
    try:
        benchmark_of(name)
    except KeyError as error:
        raise SplitError(error.args[0]) from error
    built = _versions(root / name)
    fitting = [v for v in built if f"{v}.".startswith(f"{wanted}.") or not wanted]
    if not fitting:
        have = f"; built are {', '.join(built)}" if built else ""
        raise SplitError(f"{ref} is not built in {root}{have}; build it with: {_build_command(name, wanted, root)}")
    return root / name / fitting[-1]


def check_pin(split: Split, pin: str | None) -> Split:
    """Return the split if the digest of its items begins with `pin`, or no pin is given.

    Raises:
        SplitError: If it begins otherwise.
    """
    if pin and not split.manifest.sha256.startswith(pin):
        raise SplitError(
            f"{split.manifest.ref} has items with sha256 {split.manifest.sha256[: len(pin)]}, not {pin}: it is not the "
            "split that was cited; build or load that one"
        )
    return split


def list_built(root: Path = DEFAULT_ROOT) -> tuple[SplitManifest, ...]:
    """The manifests of all known splits that are built under `root`, in the order of BENCHMARKS and of versions.

    Raises:
        SplitError: If a manifest cannot be read.
    """
    names = [name for benchmark in BENCHMARKS for name in benchmark.splits]
    return tuple(read_manifest(root / name / v, name, v) for name in names for v in _versions(root / name))


def _versions(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    names = [p.name for p in folder.iterdir() if _VERSION.fullmatch(p.name) and p.is_dir()]
    return sorted(names, key=lambda name: tuple(map(int, name.split("."))))


def _build_command(name: str, wanted: str, root: Path) -> str:
    sealed = benchmark_of(name).visibility == "sealed"
    command = f"python -m builders {'seal' if sealed else 'build'} {name}"
    if sealed:
        return f"{command} <folder with its cases> --recipient <age1...>"
    if wanted:
        command += f" --version {'.'.join([*wanted.split('.'), '0', '0'][:3])}"
    if root != DEFAULT_ROOT:
        command += f" --out {root}"
    if benchmark_of(name).sources[0].hub_repo:
        command += " --revision <40-hex commit of the release>"
    elif not benchmark_of(name).sources[0].url.startswith("file:"):
        command += " --source <folder with the release>"
    return command


def _read(folder: Path, *, sealed: bool = False) -> Split:
    return read_folder(folder, folder.parent.name, folder.name, sealed=sealed)


def read_folder(folder: Path, name: str, version: str, *, sealed: bool = False) -> Split:
    """Read manifest.json, items.parquet and gold.parquet of a folder and check them against each other.

    A sealed split is opened in memory with an identity of the environment, where the caller says so.

    Raises:
        SplitError: If they are not the split `name` at `version`, do not have the digests of the manifest, or are
            sealed and not to be opened here, or no identity opens them.
    """
    manifest = read_manifest(folder, name, version)
    if manifest.sealed:
        if not sealed:
            raise SplitError(
                f"{manifest.ref} is sealed, and this command does not keep what it makes of a split sealed; "
                "python -m evaluators.submit does"
            )
        from builders.sealed import open_sealed

        return open_sealed(folder, name, version).split
    items = _read_rows(folder / "items.parquet", _kind(folder, manifest), manifest.items, manifest.sha256)
    gold: tuple[GoldAnswer, ...] = ()
    if manifest.gold_sha256 is not None:
        gold = _read_rows(folder / "gold.parquet", GoldAnswer, manifest.gold, manifest.gold_sha256)
    return Split(manifest, items, gold)


def _kind(folder: Path, manifest: SplitManifest) -> type[Item]:
    kind = ITEMS.get(manifest.protocol)
    if kind is None:
        raise SplitError(f"{folder} is of protocol {manifest.protocol!r}, which this checkout does not read; update it")
    return kind


def read_manifest(folder: Path, name: str, version: str) -> SplitManifest:
    """Read manifest.json of a folder.

    Raises:
        SplitError: If it is not the manifest of the split `name` at `version`.
    """
    path = folder / "manifest.json"
    try:
        manifest = SplitManifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise _damaged(path, error) from error
    if (manifest.split, manifest.version) != (name, version):
        raise _damaged(path, f"it says it is {manifest.ref}")
    return manifest


def _read_rows(path: Path, kind: type[_V], count: int, digest: str) -> tuple[_V, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # `read_table` takes a second more: it loads all of pyarrow.dataset
            unfolded = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            if file.metadata.num_rows != count or unfolded > MAX_FILE_BYTES:
                raise _damaged(path, f"it has {file.metadata.num_rows} rows where manifest.json says {count}")
            raw: list[dict[str, Any]] = file.read().to_pylist()
        for row in raw:
            if isinstance(row.get("image"), dict):
                row["image"] = row["image"]["bytes"]
        # Validated without `val_json_bytes`: bytes are bytes here, not base64.
        rows = tuple(kind.model_validate(row) for row in raw)
    except (OSError, pa.ArrowException, ValidationError, UnicodeDecodeError, KeyError) as error:
        raise _damaged(path, error) from error
    if len(rows) != count or rows_sha256(rows) != digest:
        raise _damaged(path, "its rows do not have the digest that manifest.json says")
    return rows


def _damaged(path: Path, why: object) -> SplitError:
    reason = str(why).splitlines()[0] if str(why) else type(why).__name__
    return SplitError(f"{path} is damaged ({reason}); delete {path.parent} and build the split again")


def _items_table(split: Split) -> "pa.Table":
    import pyarrow as pa

    rows = [item.model_dump() for item in split.items]
    if split.manifest.protocol != "riddle":
        return _text_table(split, rows)
    for row in rows:
        # A struct is what the Image feature of `datasets` reads; the path only names the file.
        row["image"] = None if row["image"] is None else {"bytes": row["image"], "path": None}
    kinds = {name: pa.string() for name in Riddle.model_fields}
    kinds["image"] = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    kinds["picarats"] = pa.int64()
    features = {
        name: {"_type": "Image"} if name == "image" else {"dtype": str(kind), "_type": "Value"}
        for name, kind in kinds.items()
    }
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()), metadata=_metadata(split, features)))


def _text_table(split: Split, rows: list[dict[str, Any]]) -> "pa.Table":
    """Items without images: each field becomes the column of its kind, text, number, list or struct."""
    import pyarrow as pa

    columns = {name: column(field.annotation) for name, field in ITEMS[split.manifest.protocol].model_fields.items()}
    metadata = _metadata(split, {name: c.feature for name, c in columns.items()})
    schema = pa.schema([(name, c.kind) for name, c in columns.items()], metadata=metadata)
    return pa.Table.from_pylist(rows, schema=schema)


def _gold_table(split: Split) -> "pa.Table":
    import pyarrow as pa

    kinds = {n: pa.bool_() if f.annotation is bool else pa.string() for n, f in GoldAnswer.model_fields.items()}
    features = {name: {"dtype": str(kind), "_type": "Value"} for name, kind in kinds.items()}
    rows = [answer.model_dump() for answer in split.gold]
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()), metadata=_metadata(split, features)))


def _metadata(split: Split, features: dict[str, Any]) -> dict[str, str]:
    # The first key is where `datasets` looks for the types of columns.
    return {"huggingface": json.dumps({"info": {"features": features}}), "canary": split.manifest.canary}


def _write_table(table: "pa.Table", path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")
