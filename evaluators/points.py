"""Reference points of a split of puzzles: cut once by a named judge, kept as YAML for people, used for every model."""

from hashlib import sha256
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from builders.folders import replace_file
from builders.splits import Split
from builders.values import ItemId, Name, Sha256, SplitManifest, Value
from evaluators.values import Label, SplitRef

MOST_BYTES = 16 * 2**20
AUTHOR = "author"


class PointsError(ValueError):
    """Reference points that cannot be used; the message says which file and what to do."""


class ItemPoints(Value):
    """What a reconstruction of one puzzle is marked against."""

    item_id: ItemId
    logic: tuple[str, ...] = Field(min_length=1)
    details: tuple[str, ...] = Field(min_length=1)


class PointSet(Value):
    """The reference points of one version of a split, and who cut them."""

    split: SplitRef
    split_sha256: Sha256 = Field(description="Digest in the split's manifest.")
    judge: Label = Field(description="Model that cut the solutions; `author`: the items' author did.")
    provider: Name | None = None
    compat: Literal["released"] | None = Field(None, description="`released`: the released code's length limits.")
    prompt_sha256: Sha256 | None = None
    reviewer: str | None = Field(None, description="Who read and edited the points; fill it in by hand.")
    items: tuple[ItemPoints, ...]

    @property
    def sha256(self) -> str:
        """Digest of what reconstructions are marked against; an edited point makes another one."""
        parts = [self.split_sha256, *(p.model_dump_json() for p in sorted(self.items, key=lambda p: p.item_id))]
        return sha256("\n".join(parts).encode()).hexdigest()


def points_folder(manifest: SplitManifest, root: Path) -> Path:
    """Where the points of a split lie, beside the folder of its version."""
    return root / manifest.split / f"{manifest.version}.points"


def write_points(found: PointSet, path: Path) -> None:
    """Write points as YAML that a person can edit.

    Raises:
        OSError: If the file cannot be written; what stood there before still stands.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    head = (
        "# Reference points: what every model's reconstruction is marked against. Edit them as a person, and name\n"
        "# yourself as `reviewer`; an edit makes another digest, and so a condition of its own on the board.\n"
    )
    text = yaml.safe_dump(found.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=110)
    replace_file(path, (head + text).encode(), durable=False)


def read_points(path: Path) -> PointSet:
    """Read a file of points.

    Raises:
        PointsError: If it is missing, too large or not in its form.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PointsError(f"{path}: more than {MOST_BYTES >> 20} MB; points of a split are far smaller")
        return PointSet.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PointsError(f"{path}: {error.strerror}; python -m evaluators.extract_points makes such a file") from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise PointsError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PointsError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def points_for(split: Split, *, root: Path, path: Path | None = None) -> PointSet:
    """Find the points that a split's reconstructions are marked against, and check that they are of this very split.

    Args:
        split: The split.
        root: Folder of the built splits.
        path: File to take; None: the one there is beside the split, or the author's own of the sample puzzles.

    Raises:
        PointsError: If there are none, several to choose from, or they belong to another split or version.
    """
    manifest = split.manifest
    if path is None and not (found := sorted(points_folder(manifest, root).glob("*.yaml"))):
        if manifest.benchmark == "soup-samples":
            return checked(_authored(split), split, "builders/samples/soups.yaml")
        raise PointsError(
            f"there are no reference points for {manifest.ref}; cut them once: python -m evaluators.extract_points "
            f"--split {manifest.ref} --judge MODEL, or name a file with --points"
        )
    if path is None and len(found) > 1:
        raise PointsError(
            f"several files of points for {manifest.ref}: {', '.join(map(str, found))}; name one: --points"
        )
    chosen = path or found[0]
    return checked(read_points(chosen), split, str(chosen))


def checked(points: PointSet, split: Split, where: str) -> PointSet:
    """Refuse points of another split or version, and sets that lack an item or have one twice.

    Raises:
        PointsError: If anything does not fit.
    """
    manifest = split.manifest
    if (points.split, points.split_sha256) != (manifest.ref, manifest.sha256):
        raise PointsError(
            f"{where}: these points belong to {points.split} ({points.split_sha256[:12]}), the split is {manifest.ref} "
            f"({manifest.sha256[:12]}); scores against another truth are no scores: extract points for this version"
        )
    ids, wanted = [p.item_id for p in points.items], [item.id for item in split.items]
    if len(set(ids)) != len(ids) or set(ids) != set(wanted):
        odd = sorted(set(wanted) ^ set(ids))[:3] or ["one of them twice"]
        raise PointsError(f"{where}: points are expected once for each item of {manifest.ref}; see {', '.join(odd)}")
    return points


def _authored(split: Split) -> PointSet:
    from builders.samples.soups import authored_points

    written = authored_points()
    items = tuple(
        ItemPoints(item_id=item.id, logic=written[item.id][0], details=written[item.id][1])
        for item in split.items
        if item.id in written
    )
    return PointSet(split=split.manifest.ref, split_sha256=split.manifest.sha256, judge=AUTHOR, items=items)
