"""A published release as the Hub holds it: read at its tag, check it against itself, load one split of it."""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from builders.hub import fetch
from builders.splits import Split, SplitError, check_pin, read_folder, read_manifest
from builders.values import Release, SplitManifest
from builders.versions import Fingerprint, fingerprint

MANIFEST = "release.json"
MAX_JSON_BYTES = 5_000_000
HUB_REF = re.compile(
    r"hub:([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})/([a-z0-9][a-z0-9-]{0,63})"
    r"@(\d{1,6}\.\d{1,6}\.\d{1,6})(?:#([0-9a-f]{12,64}))?",
    re.ASCII,
)


_OURS = re.compile(r"(?:[a-z0-9][a-z0-9-]{0,63}/)?[\w-]+\.(?:json|parquet|age|md|yaml)", re.ASCII)


class Published(NamedTuple):
    """A release, the commit it was read at, what its splits hold, and the bytes of their files by path."""

    release: Release
    commit: str
    splits: dict[str, Fingerprint]
    files: dict[str, bytes]


def load_published(ref: str, *, sealed: bool = False) -> Split:
    """Load one split of a release, at its tag, from the Hub or its cache, and check it against its digests.

    Args:
        ref: `hub:namespace/repository/split@1.0.0`, and `#` with 12 or more hex digits to pin its items.
        sealed: As for `load_split`.

    Raises:
        SplitError: If the ref is malformed, or the split has not the digests of its own manifest or of the pin.
        builders.release.ReleaseError, builders.hub.HubError: If it cannot be had.
    """
    match = HUB_REF.fullmatch(ref)
    if match is None:
        raise SplitError(f"{ref!r} is not a published split; write it as hub:namespace/repository/split@1.0.0")
    repo, name, version, pin = match.groups()

    def choose(names: Sequence[str]) -> list[str]:
        rows = ("items.age",) if f"{name}/items.age" in names else ("items.parquet", "gold.parquet")
        chosen = [f"{name}/{file}" for file in ("manifest.json", *rows)]
        if missing := [path for path in chosen[:2] if path not in names]:
            raise SplitError(f"{repo}@v{version} has no {missing[0]}, so {name} cannot be loaded from there")
        return [path for path in chosen if path in names]

    paths, _ = fetch(repo, f"v{version}", choose)
    try:
        _check_small(paths[0])
        return check_pin(read_folder(paths[0].parent, name, version, sealed=sealed), pin)
    except SplitError as error:
        raise SplitError(
            f"{ref}: {str(error).partition('; delete')[0]}; do not use it, and tell who published it"
        ) from error


def fetch_beside(ref: str, file: str) -> Path:
    """Fetch another file of a published split, at the tag that the ref names; what it must hold, the items say.

    Raises:
        SplitError: If the ref is malformed or the release has no such file.
        builders.release.ReleaseError, builders.hub.HubError: If it cannot be had.
    """
    match = HUB_REF.fullmatch(ref)
    if match is None:
        raise SplitError(f"{ref!r} is not a published split; write it as hub:namespace/repository/split@1.0.0")
    repo, name, version, _ = match.groups()

    def choose(names: Sequence[str]) -> list[str]:
        if f"{name}/{file}" not in names:
            raise SplitError(f"{repo}@v{version} has no {name}/{file}; build the split from the release instead")
        return [f"{name}/{file}"]

    return fetch(repo, f"v{version}", choose)[0][0]


def read_release(repo: str, revision: str) -> Published:
    """Read a release and check every file of it against release.json, and every split against its manifest.

    Args:
        repo: `namespace/name`.
        revision: Tag or commit.

    Raises:
        SplitError: If anything in it does not agree; the message says what.
        builders.release.ReleaseError, builders.hub.HubError: If it cannot be had.
    """
    # Only what a release is made of: a repository may hold other and larger things.
    paths, commit = fetch(repo, revision, lambda names: [n for n in names if _OURS.fullmatch(n)])
    at = f"{repo}@{revision}"
    root = _root(paths, at)
    _check_small(root / MANIFEST)
    try:
        release = Release.model_validate_json((root / MANIFEST).read_bytes())
    except ValidationError as error:
        raise SplitError(f"{at}: {MANIFEST} is not a release: {str(error).splitlines()[0]}") from error
    if re.fullmatch(r"v\d+\.\d+\.\d+", revision) and revision != f"v{release.version}":
        raise SplitError(f"{at} names release {release.version}: somebody moved it")
    files = {}
    for file in release.files:
        if root / file.path not in paths:
            raise SplitError(f"{at}: {file.path} is missing, which {MANIFEST} names")
        files[file.path] = (root / file.path).read_bytes()
        if sha256(files[file.path]).hexdigest() != file.sha256:
            raise SplitError(f"{at}: {file.path} has not the sha256 that {MANIFEST} says; do not use it")
    splits = {s.split: _split(root / s.split, release, s.split, s.form) for s in release.splits}
    return Published(release, commit, splits, files)


def _root(paths: Sequence[Path], at: str) -> Path:
    top = [path for path in paths if path.name == MANIFEST]
    if not top:
        raise SplitError(f"{at} has no {MANIFEST}: it was not published by `python -m builders publish`")
    return min(top, key=lambda path: len(path.parts)).parent


def _split(folder: Path, release: Release, name: str, form: str) -> Fingerprint:
    if form == "full":
        return fingerprint(read_folder(folder, name, release.version), prompts_sha256=release.prompts_sha256)
    manifest = read_manifest(folder, name, release.version)
    if form == "sealed":
        from builders.sealed import check_sealed

        check_sealed(folder, name, release.version)
        return Fingerprint(manifest, {}, {}, release.prompts_sha256, "sealed")
    return Fingerprint(manifest, _ids(folder / "ids.parquet", manifest), {}, release.prompts_sha256, "ids")


def _ids(path: Path, manifest: SplitManifest) -> dict[str, str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            found = {row["id"]: row["sha256"] for row in file.read(["id", "sha256"]).to_pylist()}
    except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError) as error:
        raise SplitError(f"{path} is not a list of ids ({str(error).splitlines()[0]})") from error
    if len(found) != manifest.items:
        raise SplitError(f"{path} has {len(found)} ids where manifest.json says {manifest.items}")
    return found


def _check_small(path: Path) -> None:
    if path.stat().st_size > MAX_JSON_BYTES:
        raise SplitError(f"{path} has more than {MAX_JSON_BYTES:,} bytes")
