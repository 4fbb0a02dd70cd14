"""Rows of sealed splits in the results changelog: a maintainers' run beside a sent one, or in place of a sealed one."""

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from builders.folders import replace_folder
from evaluators.values import Submission
from leaderboard.records import History, Record, RecordError, append, read_history

if TYPE_CHECKING:
    from evaluators.sealed_bundle import SealedBundle
    from leaderboard.gap import Gap


def checked(folder: Path, splits: Path, *, proof: bool) -> "SealedBundle":
    """Read a sealed bundle that passes its check.

    Args:
        folder: The bundle.
        splits: Where the sealed split is, or its manifest alone.
        proof: Insist that the numbers are worked out again, which takes a key.

    Raises:
        RecordError: With the first fault, where it does not pass.
    """
    from evaluators.check.sealed import check_sealed_bundle
    from evaluators.sealed_bundle import read_sealed_bundle

    refused = check_sealed_bundle(folder, splits=splits, proof=proof).findings.refused
    if refused:
        raise RecordError(str(refused[0]))
    return read_sealed_bundle(folder)


def write_renamed(source: Path, target: Path, name: str) -> "SealedBundle":
    """Put a sealed bundle under another name; the ciphertexts stay byte for byte and keep the ids they were made under.

    Raises:
        BundleError: If it is not as such a bundle has it.
        OSError: If it cannot be written.
    """
    import yaml

    from evaluators.sealed_bundle import AGE, AGGREGATES, SealedBundle, digest_of, read_sealed_bundle

    submission, estimates = read_sealed_bundle(source)
    mine = tuple(e.model_copy(update={"submission_id": name}) for e in estimates)
    shown = "".join(e.model_dump_json() + "\n" for e in mine).encode()
    kept = tuple(f for f in submission.files if f.name.endswith(AGE))
    files = (*kept, digest_of(AGGREGATES, shown, len(mine)))
    described = submission.model_copy(update={"submission_id": name, "files": files})
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_folder(target) as new:
        for file in kept:
            shutil.copyfile(source / file.name, new / file.name)
        (new / AGGREGATES).write_bytes(shown)
        text = yaml.safe_dump(described.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        (new / "submission.yaml").write_text(text, encoding="utf-8")
    return SealedBundle(described, mine)


def place(places: argparse.Namespace, sent: Submission, folder: Path, *, pull: int, head: str) -> Record:
    """Let our run of a sent model on a sealed split stand, and write down the gap to its row on the public one.

    Args:
        places: Where boards, records and splits are; `sealed_splits` holds the manifest of the sealed split.
        sent: The submission that brought the model.
        folder: Our run.
        pull: Pull request that brought the model.
        head: Its commit that was read.

    Raises:
        RecordError: If the run is of another model or decoding, or does not pass its check.
    """
    # The job that writes the record holds no key: the numbers come from the job that did.
    run = checked(folder, places.sealed_splits, proof=False).submission
    asked = (sent.model.name, sent.model.provider, sent.model.decoding)
    if (run.model.name, run.model.provider) != asked[:2] or not _same_decoding(sent, run):
        raise RecordError(f"the sealed run is of {run.model.name!r}, the submission of {sent.model.name!r}")
    home: Path = places.submissions / run.benchmark
    name = free_name(home, run.submission_id)
    standing = write_renamed(folder, home / name, name)
    made = Record(
        action="sealed-run",
        date=getattr(places, "date", None) or _today(),
        subject=sent.submission_id,
        becomes=name,
        model=run.model.name,
        split=run.ref,
        reason=f"the maintainers ran the model on the sealed split {run.ref}",
        after=headline(standing),
        pull=pull,
        head=head,
    )
    try:
        gap = find_gap(places, History((*read_history(places.records).records, made)), sent, standing.submission)
    except BaseException:
        shutil.rmtree(home / name)  # a bundle without a record would stand as one more self-reported row
        raise
    shown = None if gap is None else tuple(round(x / gap.full, 6) for x in (gap.value, gap.low, gap.high))
    return append(made.model_copy(update={"gap": shown}), places.records)


def find_gap(places: argparse.Namespace, history: History, sent: Submission, run: Submission) -> "Gap | None":
    """How much better the model does in public than on the sealed split; None where it was not asked alike."""
    from evaluators.store import IN_MEMORY, open_store
    from leaderboard.gap import gaps
    from leaderboard.ingest import ingest

    with open_store(IN_MEMORY) as store:
        ingest(store, places.submissions, (), places.splits, history)
        found = gaps(store, sent.ref, run.ref)
    return next(
        (g for g in found if (g.model, g.provider, g.jury) == (run.model.name, run.model.provider, run.jury)), None
    )


def promote(places: argparse.Namespace, old: Submission, evidence: Path) -> Record:
    """Put our own run on a sealed split in place of a standing row of the same model, split and condition.

    Raises:
        RecordError: If it is about something else, or its numbers cannot be worked out again here.
    """
    new = checked(evidence, places.splits, proof=True)
    s, about = new.submission, (old.model.name, old.ref, old.condition)
    if (s.model.name, s.ref, s.condition) != about:
        raise RecordError(f"the evidence is about {s.model.name!r} on {s.ref}, {s.condition}; the row is about {about}")
    home: Path = places.submissions / old.benchmark
    name = free_name(home, f"{old.submission_id.split('.scored-here')[0]}.scored-here")
    before = headline(checked(home / old.submission_id, places.splits, proof=False))
    write_renamed(evidence, home / name, name)
    return append(
        Record(
            action="scored-here",
            date=getattr(places, "date", None) or _today(),
            subject=old.submission_id,
            becomes=name,
            model=old.model.name,
            split=old.ref,
            reason=places.reason,
            before=before,
            after=headline(new),
        ),
        places.records,
    )


def headline(bundle: "SealedBundle") -> float | None:
    """Share of full marks of the first, the headline metric; None where the run has no number."""
    from evaluators.scores import FULL_MARKS

    if not bundle.estimates:
        return None
    return round(bundle.estimates[0].value / FULL_MARKS.get(bundle.submission.protocol, 1.0), 6)


def free_name(home: Path, name: str) -> str:
    """A name that no bundle there has: the wanted one, or with a number behind it."""
    names = (name if n == 1 else f"{name}-{n}" for n in range(1, 1000))
    return next(n for n in names if not (home / n).exists())


def _same_decoding(sent: Submission, run: Submission) -> bool:
    # Where nothing was said a protocol warms the model by itself; everything that was said must be kept.
    said = sent.model.decoding.model_dump(exclude_none=True)
    return said.items() <= run.model.decoding.model_dump().items()


def _today() -> str:
    from leaderboard.changes import today

    return today()
