"""Whole runs on disks that fail and clocks that jump: one line says what to do, and the same command goes on."""

import json
import os
import re
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

from evaluators import record
from evaluators.engines.outbox import Outbox, Sent
from evaluators.engines.purse import Purse
from evaluators.journal import Journal, JournalError
from evaluators.journals import RUN, WORKERS
from evaluators.runs import main as runs
from evaluators.submit import main as submit
from evaluators.values import Model
from tests.made import write_made_split
from tests.servers.model_server import Answer, ModelServer
from tests.test_submit import digests, options

ITEMS = 6
CALLS = 4 * ITEMS


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """The system refuses to let any file grow beyond this: a write error that is none of a test's making."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_at_half(server: ModelServer, journal: Path) -> Iterator[None]:
    """In the block, nothing can be written any more once half of the calls have arrived."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def reply(*_: object) -> Answer:
        if len(server.requests) == CALLS // 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size + 100, hard))
        return Answer()

    server._reply = reply
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nobody may write here, root neither: it becomes somebody else for the while."""
    was, mode = os.geteuid(), folder.stat().st_mode
    for above in (folder, *folder.parents):
        if above.stat().st_uid == was and above != Path(above.anchor):
            above.chmod(above.stat().st_mode | 0o555)
    folder.chmod(0o555)
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)
        folder.chmod(mode)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Digests of the bundle of a run that met no trouble."""
    folder = tmp_path_factory.mktemp("quiet")
    write_made_split(folder / "splits", ITEMS)
    with ModelServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEERSTALKER_STORE", str(folder / "results.duckdb"))
        assert submit(options(folder, server)) == 0
    return digests(folder / "out/bundle")


@pytest.fixture
def undisturbed(tmp_path: Path, quiet: dict[str, str]) -> dict[str, str]:
    """The same; the split is ready for others."""
    write_made_split(tmp_path / "splits", ITEMS)
    return quiet


def asked(server: ModelServer) -> list[str]:
    return [json.dumps(body, sort_keys=True) for body in server.requests]


def test_a_disk_that_is_full_in_the_middle_ends_the_run_in_one_line_and_room_lets_it_go_on(
    tmp_path: Path, undisturbed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer() as server:
        command = options(tmp_path, server, "--concurrency", "4")
        with full_at_half(server, tmp_path / "out" / RUN):
            assert submit(command) == 3
        err = capsys.readouterr().err
        assert "cannot be written: File too large; make room and run the same command again" in err
        assert "Traceback" not in err
        with Journal(tmp_path / "out" / RUN) as journal:
            kept, paid = len(journal), len(server.requests)
            assert (journal.torn, 0 < paid - kept <= 4) == (0, True), "only what was on its way is lost"
        assert submit(command) == 0
        assert len(set(asked(server))) == CALLS
        assert len(server.requests) == paid + CALLS - kept
    assert digests(tmp_path / "out/bundle") == undisturbed


def test_a_folder_that_is_read_only_is_said_before_anything_is_paid_for(
    tmp_path: Path, undisturbed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert undisturbed
    (tmp_path / "out").mkdir()
    with ModelServer() as server:
        command = options(tmp_path, server)
        with read_only(tmp_path / "out"):
            assert submit(command) in {1, 3}
        assert server.requests == []
    err = capsys.readouterr().err
    assert "Permission denied" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("cut", [1, 60])
def test_a_last_line_that_a_crash_tore_off_costs_one_call(
    tmp_path: Path, undisturbed: dict[str, str], cut: int
) -> None:
    with ModelServer() as server:
        assert submit(options(tmp_path, server)) == 0
        path = tmp_path / "out" / RUN
        path.write_bytes(path.read_bytes()[:-cut])
        assert submit(options(tmp_path, server)) == 0
        assert len(server.requests) == CALLS + 1
    assert digests(tmp_path / "out/bundle") == undisturbed


def test_a_workers_last_line_that_a_crash_tore_off_costs_one_call(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with ModelServer() as server:
        assert submit(options(tmp_path, server)) == 0
        lines = (tmp_path / "out" / RUN).read_bytes().splitlines(keepends=True)
        (tmp_path / "out" / WORKERS).mkdir(exist_ok=True)
        (tmp_path / "out" / WORKERS / "0000-1.jsonl").write_bytes(b"".join(lines[-5:])[:-7])
        (tmp_path / "out" / RUN).write_bytes(b"".join(lines[:-5]))
        assert submit(options(tmp_path, server)) == 0
        assert len(server.requests) == CALLS + 1
    assert digests(tmp_path / "out/bundle") == undisturbed


class Jumping(datetime):
    """A clock that is a year behind from the second session on."""

    behind = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) - cls.behind


def test_a_clock_that_jumps_a_year_back_between_and_in_sessions_changes_no_byte(
    tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, jumps = time.time, iter(range(10**9))
    monkeypatch.setattr(record, "datetime", Jumping)
    with ModelServer() as server:
        command = options(tmp_path, server, "--concurrency", "2")
        with full_at_half(server, tmp_path / "out" / RUN):
            assert submit(command) == 3
        monkeypatch.setattr(Jumping, "behind", timedelta(days=365))
        monkeypatch.setattr(time, "time", lambda: real() - 86400 * 365 * (next(jumps) % 2))
        assert submit(command) == 0
    assert digests(tmp_path / "out/bundle") == undisturbed
    capsys.readouterr()
    assert runs(["--runs", str(tmp_path / "out"), "show", "openai"]) == 0
    told = capsys.readouterr().out
    assert "finished" in told
    assert not re.search(r"-\d+ (s|min|h|d)\b", told), "no time that is negative"


SENT = Sent(tag="t", model=Model(name="openai/m", provider="me"), file_id="f", keys=("k",))


@pytest.mark.parametrize(
    "write",
    [lambda folder: Outbox(folder / "batches.json").put(SENT), lambda folder: Purse(folder, 9).lend("w", waiting=1)],
    ids=["batches", "money that is lent"],
)
def test_what_must_be_written_first_is_whole_or_as_it_was(tmp_path: Path, write: Any) -> None:
    write(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("*.json")}
    with no_file_beyond(10), pytest.raises(JournalError, match="cannot be written: File too large; make room"):
        write(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("*.json")} == before
    with read_only(tmp_path), pytest.raises(JournalError, match="cannot be written: Permission denied"):
        write(tmp_path)
