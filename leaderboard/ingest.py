"""Reads submission bundles, built splits and published tables into the store: all of them or none."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.values import Submission, Tier, Verdict, own_tier
from leaderboard.records import NO_HISTORY, History

if TYPE_CHECKING:
    from evaluators.bundle import Bundle
    from evaluators.sealed_bundle import SealedBundle
    from evaluators.store import Store

TIER_FILE = "tier"
# What a file beside an imported bundle may say; every other tier follows from the results changelog.
RELEASED: Tier = "released"


class IngestError(ValueError):
    """Bundles that cannot stand in one store; the message names their folders."""


def ingest(
    store: "Store",
    submissions: Path,
    runs: Sequence[Path],
    splits: Path,
    history: History = NO_HISTORY,
    *,
    labels: Path | None = None,
) -> int:
    """Bring the store up to date with the bundles, the labels of people, the built splits and the published tables.

    A sent bundle counts as what the results changelog says of it, `self-reported` where it says nothing; withdrawn
    ones, and those that others stand in place of, are taken out.

    Args:
        store: To bring up to date.
        submissions: Bundles that were sent.
        runs: Folders of bundles that were run here.
        splits: Built splits.
        history: The results changelog.
        labels: Folder of people's labels; None, or a folder that is not there: no labels.

    Returns:
        How many bundles were read.

    Raises:
        BundleError: If a bundle is refused.
        LabelError: If a file of labels is.
        IngestError: If two bundles share a name, or a sent one has the name of a row that is ranked already.
        OSError: If a named folder does not exist or the store cannot be written.
    """
    from evaluators.annotation.labels import read_folder, verdicts
    from evaluators.bundle import read_submission
    from evaluators.sealed_bundle import SealedBundle
    from leaderboard.published import read_published, read_published_scores

    found = [(folder, True) for folder in _bundles(submissions)]
    found += [(folder, False) for run in runs for folder in _bundles(run)]
    held = {s.submission.submission_id: s for s in store.submissions()}
    seen: dict[str, Path] = {}
    said: dict[str, list[Verdict]] = {}
    for verdict in verdicts(read_folder(labels)) if labels is not None else ():
        said.setdefault(verdict.transcript_id, []).append(verdict)
    with store.together():
        # First the splits: what may be kept of a bundle hangs on whether its split is public.
        _ingest_splits(store, splits, {read_submission(folder).ref for folder, _ in found})
        for folder, sent in found:
            bundle = _read(folder)
            name = bundle.submission.submission_id
            tier = _tier(folder, history.tier(name)) if sent else own_tier(bundle.submission)
            if name in seen:
                raise IngestError(f"{folder} and {seen[name]} are both named {name!r}; rename one or take it out")
            seen[name] = folder
            if tier is None:
                store.remove_submission(name)
                continue
            if tier == "self-reported" and name in held and held[name].tier != tier:
                _check_same(folder, bundle.submission, held[name].submission, held[name].tier)
            if isinstance(bundle, SealedBundle):
                store.write_sealed(*bundle, tier=tier)
                continue
            people = tuple(v for t in bundle.transcripts for v in said.get(t.transcript_id, ()))
            store.write_submission(bundle.submission, bundle.transcripts, (*bundle.verdicts, *people), tier=tier)
        store.write_published(read_published())
        store.write_published_scores(read_published_scores())
        for run in runs:
            _ingest_checks(store, run)
    return len(found)


def _read(folder: Path) -> "Bundle | SealedBundle":
    from evaluators.bundle import read_bundle, read_submission
    from evaluators.sealed_bundle import is_sealed, read_sealed_bundle

    return read_sealed_bundle(folder) if is_sealed(read_submission(folder)) else read_bundle(folder)


def _bundles(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        raise NotADirectoryError(f"there is no folder {str(root)!r} of submission bundles; give an existing one")
    for folder, inside, names in os.walk(root):
        inside.sort()
        if "submission.yaml" in names:
            yield Path(folder)


def _tier(folder: Path, recorded: Tier | None) -> Tier | None:
    path = folder / TIER_FILE
    if not path.exists() or recorded != "self-reported":
        return recorded
    with path.open(encoding="utf-8") as file:
        text = file.read(64).strip()
    if text != RELEASED:
        remedy = "use python -m leaderboard promote"
        raise IngestError(f"{path}: {text!r} is no tier that a file may give, only {RELEASED!r} is; {remedy}")
    return RELEASED


def _check_same(folder: Path, sent: Submission, held: Submission, tier: Tier) -> None:
    if sent != held:
        raise IngestError(
            f"{folder}: the store holds other evidence under {sent.submission_id!r} with tier {tier!r}; rename the "
            "bundle, or delete the store if its row is out of date"
        )


def _ingest_checks(store: "Store", root: Path) -> None:
    from pydantic import ValidationError

    from evaluators.check_responder import CHECK_FILE
    from evaluators.responders import ResponderCheck

    for path in sorted(root.rglob(CHECK_FILE)):
        try:
            store.write_responder_check(ResponderCheck.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            raise IngestError(
                f"{path}: {error.errors(include_url=False)[0]['msg']}; check the Responder again"
            ) from None


def _ingest_splits(store: "Store", root: Path, cited: set[str]) -> None:
    from builders.splits import list_built, load_split

    cited = cited | {s.submission.ref for s in store.submissions()} | {s.submission.ref for s in store.sealed()}
    for manifest in list_built(root):
        if manifest.ref in cited and manifest.sealed:
            store.write_split(manifest, ())
        elif manifest.ref in cited:
            split = load_split(manifest.ref, root=root)
            store.write_split(split.manifest, split.items)
