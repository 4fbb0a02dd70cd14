"""Reads submission bundles, built splits and published tables into the store: all of them or none."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from evaluators.values import Submission, Tier, own_tier

if TYPE_CHECKING:
    from evaluators.store import Store

TIER_FILE = "tier"
# What a maintainer's file may raise a sent bundle to.
RAISED: frozenset[str] = frozenset({"rejudged", "released", "scored-here"})


class IngestError(ValueError):
    """Bundles that cannot stand in one store; the message names their folders."""


def ingest(store: "Store", submissions: Path, runs: Sequence[Path], splits: Path) -> int:
    """Bring the store up to date with the bundles, the built splits they cite and the published tables.

    Returns:
        How many bundles were read.

    Raises:
        BundleError: If a bundle is refused.
        IngestError: If two bundles share a name, or a sent one has the name of a row that is ranked already.
        OSError: If a named folder does not exist or the store cannot be written.
    """
    from evaluators.bundle import read_bundle
    from leaderboard.published import read_published

    found: list[tuple[Path, Tier | None]] = [(folder, _tier(folder)) for folder in _bundles(submissions)]
    found += [(folder, None) for run in runs for folder in _bundles(run)]
    held = {s.submission.submission_id: s for s in store.submissions()}
    seen: dict[str, Path] = {}
    with store.together():
        for folder, given in found:
            bundle = read_bundle(folder)
            tier = given or own_tier(bundle.submission)
            name = bundle.submission.submission_id
            if name in seen:
                raise IngestError(f"{folder} and {seen[name]} are both named {name!r}; rename one or take it out")
            seen[name] = folder
            if tier == "self-reported" and name in held and held[name].tier != tier:
                _check_same(folder, bundle.submission, held[name].submission, held[name].tier)
            store.write_submission(bundle.submission, bundle.transcripts, bundle.verdicts, tier=tier)
        store.write_published(read_published())
        _ingest_splits(store, splits)
    return len(found)


def _bundles(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        raise NotADirectoryError(f"there is no folder {str(root)!r} of submission bundles; give an existing one")
    for folder, inside, names in os.walk(root):
        inside.sort()
        if "submission.yaml" in names:
            yield Path(folder)


def _tier(folder: Path) -> Tier:
    path = folder / TIER_FILE
    if not path.exists():
        return "self-reported"
    with path.open(encoding="utf-8") as file:
        text = file.read(64).strip()
    for tier in get_args(Tier):
        if text == tier and tier in RAISED:
            found: Tier = tier
            return found
    raise IngestError(f"{path}: {text!r} is no tier for a sent bundle; write one of {', '.join(sorted(RAISED))}")


def _check_same(folder: Path, sent: Submission, held: Submission, tier: Tier) -> None:
    if sent != held:
        raise IngestError(
            f"{folder}: the store holds other evidence under {sent.submission_id!r} with tier {tier!r}; rename the "
            "bundle, or delete the store if its row is out of date"
        )


def _ingest_splits(store: "Store", root: Path) -> None:
    from builders.splits import list_built, load_split

    cited = {s.submission.ref for s in store.submissions()}
    for manifest in list_built(root):
        if manifest.ref in cited:
            split = load_split(manifest.ref, root=root)
            store.write_split(split.manifest, split.items)
