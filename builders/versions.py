"""Which version a changed split needs: patch for metadata, minor for additions, major for changes and removals.

An old score stays comparable through a patch; a minor version keeps the old items and asks more; a major version is a
different measurement.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Literal, NamedTuple

from builders.splits import Split, canonical_line
from builders.values import SplitManifest

Form = Literal["full", "ids", "sealed"]
Size = Literal["none", "patch", "minor", "major"]
SIZES: tuple[Size, ...] = ("none", "patch", "minor", "major")
_SHOWN = 5
# What a manifest says about the rows themselves is compared row by row instead.
_ROW_FIELDS = frozenset({"version", "items", "sha256", "gold", "gold_sha256"})
# A change of these asks another question or reads the answer in another way.
_MEANING = frozenset({"benchmark", "split", "protocol", "language", "schema_version", "visibility"})


class VersionError(ValueError):
    """A version that is too small for what changed, or below one that is out."""


class Fingerprint(NamedTuple):
    """What is compared of a split: its manifest, and a digest of each row by the row's name."""

    manifest: SplitManifest
    items: Mapping[str, str]
    gold: Mapping[str, str]
    prompts_sha256: str | None = None
    form: Form = "full"


class Change(NamedTuple):
    """What differs between two versions of a split, as lines a reader understands, and how much it weighs."""

    size: Size
    lines: tuple[str, ...]


def fingerprint(split: Split, *, prompts_sha256: str | None = None) -> Fingerprint:
    """Digest each row of a split.

    Args:
        split: A split as it was read and checked.
        prompts_sha256: Digest of the prompts under which its items are asked; None where nobody recorded them.
    """
    items = {item.id: row_sha256(canonical_line(item)) for item in split.items}
    gold = {f"{g.item_id}/{g.name}": row_sha256(canonical_line(g)) for g in split.gold}
    return Fingerprint(split.manifest, items, gold, prompts_sha256)


def row_sha256(line: str) -> str:
    """Digest one row in its canonical form."""
    return sha256(line.encode()).hexdigest()


def compare(old: Fingerprint | None, new: Fingerprint) -> Change:
    """Say what changed from `old` to `new`; None for `old` is a split that was not there before."""
    if old is None:
        return Change("minor", (f"new split with {_count(new.manifest.items, 'item')}",))
    size: Size = "none"
    lines: list[str] = []
    for what, before, after in (("item", old.items, new.items), ("gold answer", old.gold, new.gold)):
        for verb, names, weight in _differences(before, after):
            lines.append(f"{_count(len(names), what)} {verb}: {_some(names)}")
            size = largest(size, weight)
    # What no row shows: another order, rows that are sealed, gold answers that are not published.
    if old.manifest.sha256 != new.manifest.sha256 and old.items == new.items:
        lines.append(("the order of the items" if new.items else "the sealed items") + " changed")
        size = "major"
    if old.manifest.gold_sha256 != new.manifest.gold_sha256 and old.gold == new.gold:
        lines.append("the gold answers changed")
        size = "major"
    if old.form != new.form:
        lines.append(f"published as {new.form}, before as {old.form}")
        size = "major"
    if old.prompts_sha256 and old.prompts_sha256 != new.prompts_sha256:
        lines.append("the prompts changed")
        size = "major"
    fields = [name for name in SplitManifest.model_fields if name not in _ROW_FIELDS]
    for name in fields:
        if getattr(old.manifest, name) != getattr(new.manifest, name):
            lines.append(f"{name} changed")
            size = largest(size, "major" if name in _MEANING else "patch")
    return Change(size, tuple(lines))


def largest(*sizes: Size) -> Size:
    """The heaviest of several sizes."""
    return max(sizes, key=SIZES.index)


def next_version(old: str, size: Size) -> str:
    """The smallest version after `old` that says enough about a change of this size."""
    major, minor, patch = numbers(old)
    after: dict[Size, tuple[int, int, int]] = {
        "none": (major, minor, patch),
        "patch": (major, minor, patch + 1),
        "minor": (major, minor + 1, 0),
        "major": (major + 1, 0, 0),
    }
    return ".".join(map(str, after[size]))


def check_version(old: str, new: str, size: Size) -> None:
    """Refuse a version that promises more sameness than there is.

    Args:
        old: Newest published version.
        new: Version to publish, another one than `old`.
        size: Weight of what changed between the two.

    Raises:
        VersionError: If `new` is not above `old`, or too small for the change.
    """
    least = next_version(old, largest(size, "patch"))
    if numbers(new) < numbers(least):
        raise VersionError(
            f"version {new} is too small after {old} for a {largest(size, 'patch')} change: give {least} or higher"
        )


def numbers(version: str) -> tuple[int, int, int]:
    """Read 1.20.3 as (1, 20, 3), which sorts as versions do.

    Raises:
        VersionError: If it is not three numbers.
    """
    if re.fullmatch(r"\d{1,6}\.\d{1,6}\.\d{1,6}", version, re.ASCII) is None:
        raise VersionError(f"{version!r} is not a version such as 1.0.0")
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, list[str], Size]]:
    found: list[tuple[str, list[str], Size]] = [
        ("added", sorted(after.keys() - before.keys()), "minor"),
        ("removed", sorted(before.keys() - after.keys()), "major"),
        ("changed", sorted(n for n in before.keys() & after.keys() if before[n] != after[n]), "major"),
    ]
    return [entry for entry in found if entry[1]]


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
