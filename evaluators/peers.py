"""Replies in the logs of other harnesses, told by content: Inspect's .eval and .json, lm-eval's samples_*.jsonl."""

import io
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MOST_SAMPLES = 200_000
MOST_SAMPLE_BYTES = 64 * 2**20  # one sample of a log holds every event of its conversation
MOST_LOG_BYTES = 4 * 2**30
ID_FIELDS = ("item_id", "riddle_id", "custom_id", "id")


class PeerError(ValueError):
    """A log is refused; the message says where in it and what to do."""


class Said(NamedTuple):
    """The reply of one sample."""

    where: str
    item_id: str
    epoch: int  # from 0
    text: str
    declined: bool  # the provider's filter held the reply back
    options: tuple[str, ...] = ()  # that letters stand for, in their order, where the log says so


def replies(path: str, data: bytes) -> Iterator[Said] | None:
    """Read a log; None where the bytes are none of these formats.

    A sample that ended in an error is passed over: nobody answered, which is not a wrong answer.

    Args:
        path: Name of the file, for messages.
        data: What it holds.

    Raises:
        PeerError: As it is read, if the log is damaged, too large, or does not say which item a reply is for.
    """
    if data.startswith(b"PK\x03\x04"):
        return _inspect(_members(path, data))
    first = data.lstrip()[:1_000_000].split(b"\n", 1)[0].strip()
    if first == b"{":
        log = _json(path, data)
        return _inspect(_samples(path, log)) if isinstance(log, dict) and "eval" in log else None
    if all(word in first for word in (b'"doc"', b'"resps"', b'"doc_id"')):
        return _lm_eval(path, data)
    return None


def _members(path: str, data: bytes) -> Iterator[tuple[str, Any]]:
    # Inspect compresses with Zstandard, which the standard library's zipfile reads from Python 3.14 on.
    if sys.version_info >= (3, 14):
        import zipfile

        from compression.zstd import ZstdError
    else:
        from backports.zstd import ZstdError, zipfile
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [m for m in archive.infolist() if m.filename.startswith("samples/")]
            if len(members) > MOST_SAMPLES or sum(m.file_size for m in members) > MOST_LOG_BYTES:
                raise PeerError(f"{path}: more than {MOST_SAMPLES:,} samples or {MOST_LOG_BYTES >> 30} GB of them")
            if not members:
                raise PeerError(f"{path}: no samples; take a log of Inspect's that was written with its samples")
            for member in members:
                where = f"{path}:{member.filename}"
                if member.file_size > MOST_SAMPLE_BYTES:
                    raise PeerError(f"{where}: larger than {MOST_SAMPLE_BYTES >> 20} MB")
                yield where, _json(where, archive.read(member))
    except (zipfile.BadZipFile, ZstdError, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise PeerError(f"{path}: a damaged archive ({error}); copy the log again") from None


def _json(where: str, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PeerError(f"{where}: not JSON ({error}); copy the log again") from None


def _samples(path: str, log: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise PeerError(f"{path}: no samples; take a log of Inspect's that was written with its samples")
    for number, sample in enumerate(samples):
        yield f"{path}:samples[{number}]", sample


def _inspect(samples: Iterator[tuple[str, Any]]) -> Iterator[Said]:
    for where, sample in samples:
        match sample:
            case {"error": str() | dict()}:
                continue
            case {"id": str(item_id), "epoch": int(epoch), "output": {"completion": str(text)} as output}:
                yield Said(where, item_id, epoch - 1, text, _declined(output), _options(sample.get("choices")))
            case {"id": str(), "epoch": int(), "output": {}}:
                raise PeerError(f"{where}: the output has no completion; take a log of Inspect 0.3")
            case _:
                raise PeerError(f"{where}: no sample with id (a text), epoch and output; take a log of Inspect 0.3")


def _declined(output: Mapping[str, Any]) -> bool:
    match output:
        case {"choices": [{"stop_reason": "content_filter"}, *_]}:
            return True
    return False


def _options(given: Any) -> tuple[str, ...]:
    if isinstance(given, list) and all(isinstance(option, str) for option in given):
        return tuple(given)
    return ()


def _lm_eval(path: str, data: bytes) -> Iterator[Said]:
    taken: str | None = None
    for number, line in enumerate(data.splitlines(), start=1):
        where = f"{path}:{number}"
        if not line.strip():
            continue
        if len(line) > MOST_SAMPLE_BYTES:
            raise PeerError(f"{where}: the line is longer than {MOST_SAMPLE_BYTES >> 20} MB")
        match _json(where, line):
            # Several filters write the same reply once each: the raw reply of the first is taken.
            case {"filter": str(name)} if name != (taken := taken or name):
                continue
            case {"doc": dict(doc), "resps": [[*texts]]} if texts and all(isinstance(text, str) for text in texts):
                item_id = next((doc[name] for name in ID_FIELDS if isinstance(doc.get(name), str)), None)
                if item_id is None:
                    raise PeerError(f"{where}: doc has no id; give the task's documents one of {', '.join(ID_FIELDS)}")
                options = _options(doc.get("choices") or doc.get("options"))
                yield from (Said(where, item_id, epoch, text, False, options) for epoch, text in enumerate(texts))
            case _:
                raise PeerError(f"{where}: no sample with a doc and one list of texts in resps (of generate_until)")
