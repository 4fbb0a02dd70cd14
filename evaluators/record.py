"""What a run leaves beside its journal: who ran what, where and with which versions, and how its calls went.

None of this is in the bundle: clocks and machines differ, and equal replies make equal bundles, byte for byte.
"""

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from builders.folders import replace_file
from builders.values import Sha256, Value
from evaluators.submission import code_version
from evaluators.tally import ModelUse, Tally

SUFFIX = ".run.json"
PACKAGES = ("litellm", "openai", "aiohttp", "httpx", "pydantic", "tenacity", "jinja2", "numpy", "duckdb", "zstandard")
MOST_BYTES = 16 * 2**20


class RecordError(ValueError):
    """A run's record cannot be read."""


class Environment(Value):
    """Where a session ran."""

    python: str
    platform: str
    cpus: int
    commit: str | None = Field(None, description="Of the checkout, with `+changes` where files differ from it.")
    packages: dict[str, str]


class RunSession(Value):
    """One start of the command, to its end or to what stopped it."""

    began: datetime
    ended: datetime | None = Field(None, description="None: it is running, or was killed.")
    state: Literal["running", "finished", "stopped"] = "running"
    why: str | None = Field(None, description="What stopped it, in one line.")
    environment: Environment
    models: tuple[ModelUse, ...] = ()


class RunRecord(Value):
    """A run, with every session that worked on it."""

    schema_version: int = 1
    submission_id: str
    split: str
    model: str
    folder: str = Field(description="Folder in which the command was given.")
    argv: tuple[str, ...] = Field(description="What the command was given after `python -m evaluators.submit`.")
    bundle: str = Field(description="Folder of the bundle, as the command saw it.")
    expected: int = Field(ge=0, description="Attempts there are to make.")
    parameters: dict[str, str] = Field(description="Options that were given or have a default.")
    digests: tuple[Sha256, ...] = Field((), description="Of prompts, reference points and files that were brought.")
    sessions: tuple[RunSession, ...] = ()


def environment() -> Environment:
    """This machine, this checkout and the packages that make or shape calls."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return Environment(
        python=sys.version.split()[0],
        platform=platform.platform(),
        cpus=os.cpu_count() or 1,
        commit=code_version(),
        packages=found,
    )


def read_record(path: Path) -> RunRecord:
    """Read the record of a run.

    Raises:
        RecordError: If the file is none.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RecordError(f"{path}: larger than {MOST_BYTES:,} bytes, so no record of a run")
        return RunRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise RecordError(f"{path}: {where}: {first['msg']}; move it away, the run itself does not need it") from None
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None


def write_record(path: Path, record: RunRecord) -> None:
    """Write a record whole or not at all.

    Raises:
        OSError: If it cannot be written; what stood there before still stands.
    """
    text = record.model_dump_json(indent=1, exclude_defaults=True) + "\n"
    replace_file(path, text.encode(), durable=False)


@contextmanager
def recorded(path: Path, record: RunRecord, tally: Tally, *, sealed: bool) -> Iterator[None]:
    """Keep the record of a session while the block runs: at its start, and at its end, whatever ends it.

    Earlier sessions of the same run stay in it. Of a run on a sealed split, an error's kind is kept and not its words,
    which may quote an item.
    """
    earlier = read_record(path).sessions if path.exists() else ()
    session = RunSession(began=datetime.now(UTC), environment=environment())

    def write(session: RunSession) -> None:
        write_record(path, record.model_copy(update={"sessions": (*earlier, session)}))

    write(session)
    try:
        yield
    except BaseException as error:
        # A disk that is full has ended the run already; that is what has to be said.
        with suppress(OSError):
            why = type(error).__name__ if sealed else _line(error)
            write(_ended(session, tally, state="stopped", why=why))
        raise
    write(_ended(session, tally, state="finished"))


def _ended(
    session: RunSession, tally: Tally, *, state: Literal["finished", "stopped"], why: str | None = None
) -> RunSession:
    return session.model_copy(
        update={"ended": datetime.now(UTC), "state": state, "why": why, "models": tally.by_model()}
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:500] or (
        "Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
    )


def digests_of(parts: Sequence[object]) -> tuple[str, ...]:
    """The sha256 digests among the parts that name a submission, in their order."""
    flat = [p for part in parts for p in (part if isinstance(part, (list, tuple)) else [part])]
    return tuple(p for p in flat if isinstance(p, str) and len(p) == 64 and set(p) <= set("0123456789abcdef"))
