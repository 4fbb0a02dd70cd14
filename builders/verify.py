"""Check a copy of a split or benchmark against its manifest, at home or on the Hub."""

from collections.abc import Iterator
from pathlib import Path

from builders.packing import PackError, find_benchmark_of
from builders.remote import read_release
from builders.sealed import CIPHERTEXT, check_sealed
from builders.splits import SplitError, list_built, read_folder, read_manifest
from builders.values import SplitManifest
from builders.versions import compare, fingerprint


def verify_built(root: Path, names: tuple[str, ...], version: str) -> Iterator[str]:
    """Check built splits; one line for each.

    Raises:
        SplitError: If one is not built, damaged, or not what its manifest says.
    """
    for name in names:
        folder = root / name / version
        if not folder.is_dir():
            raise SplitError(f"{name}@{version} is not built in {root}; build it, or check the Hub's copy with --hub")
        if read_manifest(folder, name, version).sealed:
            manifest, data = check_sealed(folder, name, version)
            yield _sealed_line(manifest, data)
            continue
        yield _line(read_folder(folder, name, version).manifest)


def verify_published(repo: str, names: tuple[str, ...], version: str, *, root: Path) -> Iterator[str]:
    """Check a published version: every file against release.json, rows against manifests, both against the copy here.

    Raises:
        SplitError: If anything does not agree.
        builders.release.ReleaseError, builders.hub.HubError: If it cannot be had.
    """
    found = read_release(repo, f"v{version}")
    here = {m.split for m in list_built(root) if m.version == version and not m.sealed}
    yield f"{repo}@v{version}: commit {found.commit}, {len(found.release.files)} files as release.json says"
    for name in names:
        theirs = found.splits.get(name)
        if theirs is None:
            raise SplitError(f"{repo}@v{version} has no split {name}; it has {', '.join(found.splits)}")
        if theirs.manifest.benchmark != find_benchmark_of(name).name:
            raise PackError(f"{repo}@v{version}: {name} says it belongs to {theirs.manifest.benchmark!r}")
        if theirs.form == "sealed":
            yield _sealed_line(theirs.manifest, found.files[f"{name}/{CIPHERTEXT}"])
            continue
        line = _line(theirs.manifest)
        if name in here:
            mine = fingerprint(read_folder(root / name / version, name, version))
            mine = mine._replace(form=theirs.form, gold=mine.gold if theirs.form == "full" else {})
            if differs := compare(theirs._replace(prompts_sha256=None), mine).lines:
                raise SplitError(f"{repo}@v{version}: {name} is not the one in {root}: {'; '.join(differs)}")
            line += f", equal to the one in {root}"
        yield line


def _line(manifest: SplitManifest) -> str:
    return (
        f"{manifest.ref}: {manifest.items} items and {manifest.gold} gold answers as the manifest says, "
        f"{manifest.licence}, sha256 {manifest.sha256}"
    )


def _sealed_line(manifest: SplitManifest, data: bytes) -> str:
    return (
        f"{manifest.ref}: sealed for {len(manifest.sealed_for)}, {manifest.items} items; the {len(data):,} bytes of "
        f"{CIPHERTEXT} are whole and those of its manifest, checked without opening them"
    )
