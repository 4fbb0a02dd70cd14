"""The bundle of a run on a sealed split: submission.yaml and aggregates in clear, the evidence as age ciphertext."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml
from pydantic import ValidationError

from builders import vault
from builders.folders import replace_folder
from builders.values import Value
from evaluators.bundle import (
    MOST_FILE_BYTES,
    TRANSCRIPTS,
    VERDICTS,
    Bundle,
    BundleError,
    read_bytes,
    read_lines,
    read_submission,
)
from evaluators.values import Estimate, FileDigest, Submission, Transcript, Verdict

AGE = ".age"
AGGREGATES = "aggregates.jsonl"
MOST_AGGREGATES_BYTES = 2**20
T = TypeVar("T", bound=Value)
NAMES = frozenset({TRANSCRIPTS + AGE, VERDICTS + AGE, AGGREGATES})


class SealedBundle(NamedTuple):
    """What anyone may read of a run on a sealed split."""

    submission: Submission
    estimates: tuple[Estimate, ...]


def write_sealed_bundle(
    folder: Path,
    evidence: Bundle,
    estimates: Sequence[Estimate],
    *,
    recipients: Sequence[str],
) -> SealedBundle:
    """Write a bundle whole or not at all, its evidence encrypted.

    Args:
        folder: Where.
        evidence: The submission, its transcripts and verdicts.
        estimates: What may be shown.
        recipients: Public keys, those of the split.

    Raises:
        OSError: If the disk is full or the folder cannot be written; what stood there before still stands.
    """
    kept = [t.model_copy(update={"seconds": None}) for t in evidence.transcripts]
    parts: tuple[tuple[str, Sequence[Value]], ...] = ((TRANSCRIPTS, kept), (VERDICTS, evidence.verdicts))
    with replace_folder(folder) as new:
        digests = []
        for name, rows in parts:
            data = vault.encrypt(_pack(rows), recipients)
            digests.append(_write(new / (name + AGE), data, len(rows)))
        shown = "".join(e.model_dump_json() + "\n" for e in estimates).encode()
        digests.append(_write(new / AGGREGATES, shown, len(estimates)))
        complete = evidence.submission.model_copy(update={"files": tuple(digests)})
        text = yaml.safe_dump(complete.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        (new / "submission.yaml").write_text(text, encoding="utf-8")
    return SealedBundle(complete, tuple(estimates))


def is_sealed(submission: Submission) -> bool:
    """Whether the files of a submission are those of a sealed bundle."""
    return any(f.name.endswith(AGE) for f in submission.files)


def read_sealed_bundle(folder: Path) -> SealedBundle:
    """Read what anyone may read, and check that the ciphertexts are whole; no key is needed or used.

    Raises:
        BundleError: If anything is not as such a bundle has it.
    """
    submission = read_submission(folder)
    files = _checked(folder, submission)
    lines = files[AGGREGATES].splitlines()
    try:
        estimates = tuple(Estimate.model_validate_json(line) for line in lines)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise BundleError(f"{folder / AGGREGATES}: {where} is not what a row of estimates has") from None
    about = (submission.submission_id, submission.split, submission.version)
    if any((e.submission_id, e.split, e.version) != about or "/" in e.metric for e in estimates):
        raise BundleError(f"{folder / AGGREGATES}: holds numbers that are not of {submission.submission_id} as a whole")
    return SealedBundle(submission, estimates)


def open_bundle(folder: Path) -> Bundle:
    """Read the evidence in memory, with an identity of the environment.

    Raises:
        BundleError: If anything is not as such a bundle has it, or no identity opens it.
    """
    submission = read_submission(folder)
    files = _checked(folder, submission)
    try:
        opened = [vault.decrypt(files[name + AGE], what=str(folder / name)) for name in (TRANSCRIPTS, VERDICTS)]
        transcripts = _unpack(folder / (TRANSCRIPTS + AGE), opened[0], Transcript)
        verdicts = _unpack(folder / (VERDICTS + AGE), opened[1], Verdict)
    except vault.VaultError as error:
        raise BundleError(str(error)) from None
    return Bundle(submission, transcripts, verdicts)


def _checked(folder: Path, submission: Submission) -> dict[str, bytes]:
    stated = {f.name: f for f in submission.files}
    if set(stated) != NAMES or len(submission.files) != len(NAMES):
        raise BundleError(f"{folder / 'submission.yaml'}: files must be {', '.join(sorted(NAMES))}")
    if strays := sorted(p.name for p in folder.iterdir() if p.name not in {*NAMES, "submission.yaml"}):
        raise BundleError(f"{folder}: {strays[0]!r} does not belong into a sealed bundle; take it out")
    found = {}
    for name in sorted(NAMES):
        data = read_bytes(folder / name, MOST_AGGREGATES_BYTES if name == AGGREGATES else MOST_FILE_BYTES)
        if sha256(data).hexdigest() != stated[name].sha256:
            raise BundleError(f"{folder / name}: its sha256 is not the one in submission.yaml; fetch it again")
        if name != AGGREGATES and not data.startswith(vault.HEADER):
            raise BundleError(f"{folder / name}: not a file that age encrypted; it may hold items in clear: delete it")
        found[name] = data
    return found


def _pack(rows: Sequence[Value]) -> bytes:
    import zstandard

    lines = "".join(row.model_dump_json(exclude_defaults=True) + "\n" for row in rows)
    packed: bytes = zstandard.ZstdCompressor(level=10, write_checksum=True).compress(lines.encode())
    return packed


def _unpack(path: Path, data: bytes, form: type[T]) -> tuple[T, ...]:
    try:
        return tuple(form.model_validate_json(line) for line in read_lines(path, data))
    except ValidationError:  # it would quote the row
        raise BundleError(f"{path}: was opened, and does not hold rows of a {form.__name__}") from None


def digest_of(name: str, data: bytes, rows: int) -> FileDigest:
    """What submission.yaml says of a file."""
    return FileDigest(name=name, sha256=sha256(data).hexdigest(), rows=rows)


def _write(path: Path, data: bytes, rows: int) -> FileDigest:
    path.write_bytes(data)
    return digest_of(path.name, data, rows)
