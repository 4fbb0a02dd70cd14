"""A submission bundle on disk: submission.yaml and the evidence it names by digest."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml
from pydantic import ValidationError

from builders.plain_yaml import PlainLoader
from builders.values import Value
from evaluators.values import FileDigest, Submission, Transcript, Verdict, transcript_id

TRANSCRIPTS = "transcripts.jsonl.zst"
VERDICTS = "verdicts.jsonl.zst"
MOST_YAML_BYTES = 256 * 2**10
MOST_FILE_BYTES = 512 * 2**20
MOST_ROWS_BYTES = 4 * 2**30
LONGEST_LINE = 8 * 2**20

T = TypeVar("T", bound=Value)


class BundleError(ValueError):
    """A bundle is refused; the message names file, line and remedy."""


class Bundle(NamedTuple):
    """A submission with its evidence."""

    submission: Submission
    transcripts: Sequence[Transcript]
    verdicts: Sequence[Verdict]


def write_bundle(
    folder: Path, submission: Submission, transcripts: Sequence[Transcript], verdicts: Sequence[Verdict]
) -> Submission:
    """Write a bundle whole or not at all; equal values make equal bytes.

    Returns:
        The submission with the digests of its files.

    Raises:
        OSError: If the disk is full or the folder cannot be written; what stood there before still stands.
    """
    from builders.folders import replace_folder

    kept = (t.model_copy(update={"seconds": None}) for t in transcripts)
    with replace_folder(folder) as new:
        digests = (_write_rows(new / TRANSCRIPTS, kept), _write_rows(new / VERDICTS, verdicts))
        complete = submission.model_copy(update={"files": digests})
        text = yaml.safe_dump(complete.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)
        (new / "submission.yaml").write_text(text, encoding="utf-8")
    return complete


def _write_rows(path: Path, rows: Iterable[Value]) -> FileDigest:
    import zstandard

    count, plain = 0, path.with_suffix("")
    with plain.open("wb") as file:
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the last number is the number of rows
            file.write(row.model_dump_json(exclude_defaults=True).encode() + b"\n")
    with plain.open("rb") as file, path.open("wb") as packed:
        # The size goes into the frame's header, so that a reader knows it before it unpacks anything.
        packer = zstandard.ZstdCompressor(level=10, write_checksum=True)
        packer.copy_stream(file, packed, size=plain.stat().st_size)
    plain.unlink()
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return FileDigest(name=path.name, sha256=digest, rows=count)


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle as what it is, somebody's files: every size, digest, line and value is checked.

    Raises:
        BundleError: If anything is not as a bundle has it.
    """
    submission = read_submission(folder)
    names = {f.name: f for f in submission.files}
    if any(name.endswith(".age") for name in names):
        raise BundleError(
            f"{folder}: the evidence is encrypted, the run was on a sealed split; copy the folder to its place, "
            "python -m leaderboard build reads it there"
        )
    if set(names) != {TRANSCRIPTS, VERDICTS}:
        raise BundleError(f"{folder / 'submission.yaml'}: files must be {TRANSCRIPTS} and {VERDICTS}")
    transcripts = _read_rows(folder / TRANSCRIPTS, names[TRANSCRIPTS], Transcript)
    verdicts = _read_rows(folder / VERDICTS, names[VERDICTS], Verdict)
    ids = {t.transcript_id for t in transcripts}
    if len(ids) != len(transcripts):
        raise BundleError(f"{folder / TRANSCRIPTS}: a transcript_id stands twice")
    seen: set[tuple[str, str, str]] = set()
    for number, verdict in enumerate(verdicts, start=1):
        key = (verdict.transcript_id, verdict.judge, verdict.unit)
        if verdict.transcript_id not in ids or key in seen:
            why = "a second verdict of this judge" if key in seen else "a verdict on no transcript of the bundle"
            raise BundleError(f"{folder / VERDICTS}:{number}: {why} ({verdict.transcript_id}, {verdict.judge!r})")
        seen.add(key)
    if any(t.split != submission.ref for t in transcripts):
        raise BundleError(f"{folder / TRANSCRIPTS}: holds transcripts of another split than {submission.ref}")
    return Bundle(submission, transcripts, verdicts)


def renamed(bundle: Bundle, name: str) -> Bundle:
    """The same evidence under another name; the ids of its attempts follow the name."""
    ids = {t.transcript_id: transcript_id(name, t.item_id, t.epoch) for t in bundle.transcripts}
    return Bundle(
        bundle.submission.model_copy(update={"submission_id": name, "files": ()}),
        tuple(t.model_copy(update={"transcript_id": ids[t.transcript_id]}) for t in bundle.transcripts),
        tuple(v.model_copy(update={"transcript_id": ids[v.transcript_id]}) for v in bundle.verdicts),
    )


def read_submission(folder: Path) -> Submission:
    """Read submission.yaml alone.

    Raises:
        BundleError: If it is missing, too large, not plain YAML or not a submission.
    """
    path = folder / "submission.yaml"
    try:
        return Submission.model_validate(yaml.load(read_bytes(path, MOST_YAML_BYTES), Loader=PlainLoader))  # noqa: S506
    except ValidationError as error:
        raise BundleError(f"{path}: {_first(error)}") from None
    except (
        yaml.YAMLError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:  # ValueError: no such date, huge number
        raise BundleError(f"{path}: {' '.join(str(error).split())[:300]}") from None


def read_bytes(path: Path, most: int) -> bytes:
    """Read a file of a bundle.

    Raises:
        BundleError: If it is not a plain file of at most `most` bytes.
    """
    if path.is_symlink() or not path.is_file():
        raise BundleError(f"{path}: a plain file is expected here")
    if path.stat().st_size > most:
        raise BundleError(f"{path}: larger than {most:,} bytes")
    return path.read_bytes()


def _read_rows(path: Path, digest: FileDigest, form: type[T]) -> tuple[T, ...]:
    data = read_bytes(path, MOST_FILE_BYTES)
    if sha256(data).hexdigest() != digest.sha256:
        raise BundleError(f"{path}: its sha256 is not the one in submission.yaml; write the bundle again")
    rows: list[T] = []
    for number, line in enumerate(read_lines(path, data), start=1):
        try:
            rows.append(form.model_validate_json(line))
        except ValidationError as error:
            raise BundleError(f"{path}:{number}: {_first(error)}") from None
    if len(rows) != digest.rows:
        raise BundleError(f"{path}: {len(rows)} rows, submission.yaml says {digest.rows}")
    return tuple(rows)


def read_lines(path: Path, data: bytes) -> Iterator[bytes]:
    """Unpack the lines of a file of evidence.

    Raises:
        BundleError: If it is not whole, or unpacks to more than a bundle may hold.
    """
    import zstandard

    total = 0
    # The window limit bounds memory whatever the file's header asks for.
    unpacked = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(io.BytesIO(data))
    buffered = io.BufferedReader(unpacked)
    try:
        while line := buffered.readline(LONGEST_LINE + 1):
            total += len(line)
            if len(line) > LONGEST_LINE or total > MOST_ROWS_BYTES:
                raise BundleError(f"{path}: unpacks to more than a bundle may hold")
            yield line
    except zstandard.ZstdError as error:
        raise BundleError(f"{path}: not a whole zstd file ({error})") from None


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    got = json.dumps(first["input"], default=str)[:80]
    return f"{'.'.join(map(str, first['loc'])) or 'row'}: {first['msg']} (got {got})"
