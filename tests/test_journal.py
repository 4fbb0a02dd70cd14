"""The journal: what is written stays, what is torn is dropped, what is damaged is said."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evaluators.journal import Journal, JournalError, call_key, in_use
from evaluators.protocols.riddle import JudgeReply, SolverReply
from evaluators.values import Decoding, Image, Message, Model, Reply

MODEL = Model(name="openai/any", provider="maker")
HELLO = (Message(role="user", text="hello"),)


def key(n: int) -> str:
    return f"{n:064}"


def test_a_reply_is_found_again_by_another_process_that_opens_the_file(tmp_path: Path) -> None:
    reply = Reply(text="ja, größer", seconds=1.5, attempts=2)
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.find(key(1)) is None
        journal.write(key(1), reply)
        journal.write(key(2), Reply(failure="refused"))
    with Journal(tmp_path / "j.jsonl") as journal:
        assert journal.find(key(1)) == reply
        assert journal.find(key(2)) == Reply(failure="refused")
        assert len(journal) == 2


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_line_torn_off_by_a_crash_is_dropped_and_the_rest_kept(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.write(key(1), Reply(text="kept"))
        journal.write(key(2), Reply(text="torn"))
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(path) as journal:
        assert journal.find(key(1)) == Reply(text="kept")
        assert journal.find(key(2)) is None
        journal.write(key(2), Reply(text="again"))
    with Journal(path) as journal:
        assert journal.find(key(2)) == Reply(text="again")


def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.write(key(1), Reply(text="one"))
        journal.write(key(2), Reply(text="two"))
    path.write_bytes(b"xx" + path.read_bytes()[2:])
    with pytest.raises(JournalError, match=r"j\.jsonl:1: damaged line"), Journal(path):
        pass


def test_a_second_process_is_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    hold = (
        "import sys, pathlib; from evaluators.journal import Journal\n"
        "with Journal(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    assert child.stdout.readline() == "held\n"
    with pytest.raises(JournalError, match="in use by another process"), Journal(path):
        pass
    child.kill()
    child.communicate()
    with Journal(path) as journal:
        assert len(journal) == 0


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be written"), Journal(tmp_path / "file" / "j.jsonl"):
        pass


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said_and_what_was_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        journal.write(key(1), Reply(text="kept"))

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(JournalError, match="No space left on device; make room"):
                journal.write(key(2), Reply(text="lost"))
        assert journal.find(key(2)) is None
        journal.write(key(3), Reply(text="later"))
    with Journal(path) as journal:
        assert journal.find(key(1)) == Reply(text="kept")
        assert journal.find(key(3)) == Reply(text="later")
        assert len(journal) == 2


def test_calls_that_end_together_reach_the_disk_together_and_each_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, real = [], os.fsync

    def fsync(handle: int) -> None:
        synced.append(handle)
        real(handle)

    async def everything(journal: Journal) -> None:
        async def one(n: int) -> None:
            await journal.record(key(n), Reply(text=str(n)))
            assert synced, "nothing counts before it is on disk"
            assert journal.find(key(n)) == Reply(text=str(n))

        await asyncio.gather(*(one(n) for n in range(50)))

    monkeypatch.setattr(os, "fsync", fsync)
    with Journal(tmp_path / "j") as journal:
        asyncio.run(everything(journal))
    assert 1 <= len(synced) <= 3
    with Journal(tmp_path / "j") as journal:
        assert len(journal) == 50


def test_a_disk_that_fills_up_under_a_group_loses_the_group_says_so_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    async def everything(journal: Journal) -> list[object]:
        await journal.record(key(0), Reply(text="kept"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            lost = [journal.record(key(n), Reply(text="lost")) for n in range(1, 6)]
            found: list[object] = await asyncio.gather(*lost, return_exceptions=True)
        await journal.record(key(9), Reply(text="later"))
        return found

    with Journal(tmp_path / "j") as journal:
        found = asyncio.run(everything(journal))
        assert all(isinstance(e, JournalError) and "make room" in str(e) for e in found)
        assert (journal.find(key(1)), len(journal)) == (None, 2)
    with Journal(tmp_path / "j") as journal:
        assert (len(journal), journal.torn) == (2, 0)


FULL = """
import asyncio, resource, sys, pathlib
from evaluators.journal import Journal, JournalError
from evaluators.values import Reply
async def fill(journal):
    for n in range(1000):
        await journal.record(f"{n:064}", Reply(text="x" * 500))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
with Journal(pathlib.Path(sys.argv[1])) as journal:
    try:
        asyncio.run(fill(journal))
    except JournalError as error:
        print(len(journal), error)
"""


def test_a_file_that_may_not_grow_is_left_whole_by_a_real_write_error(tmp_path: Path) -> None:
    path = tmp_path / "j"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    kept, _, said = done.stdout.partition(" ")
    assert "cannot be written: File too large; make room and run the same command again" in said
    with Journal(path) as journal:
        assert (len(journal), journal.torn) == (int(kept), 0)
        assert int(kept) > 10


def test_a_folder_without_permission_to_write_is_named() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o555)
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)  # root may write everywhere
        try:
            with pytest.raises(JournalError, match="Permission denied; give another --out"), Journal(folder / "j"):
                pass
        finally:
            os.seteuid(was)


def test_a_journal_knows_what_its_replies_cost_together(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        for n, cost in enumerate((0.5, None, 0.25)):
            journal.write(key(n), Reply(text="x", cost_usd=cost))
        assert journal.paid_usd == 0.75
    with Journal(tmp_path / "j", fresh=True) as journal:
        assert (journal.paid_usd, journal.find(key(0))) == (0.75, None)


def test_whether_a_journal_is_in_use_is_known_without_touching_it(tmp_path: Path) -> None:
    path = tmp_path / "j"
    assert not in_use(path)
    with Journal(path):
        assert in_use(path)
    assert not in_use(path)


def test_everything_that_decides_a_reply_is_in_the_key() -> None:
    def name(model: Model = MODEL, messages: tuple[Message, ...] = HELLO, **more: object) -> str:
        options = {"schema": SolverReply, "epoch": 0, "again": 0} | more
        return call_key(model, messages, **options)  # type: ignore[arg-type]

    image = Image(sha256="1" * 64, media_type="image/png", data=b"x")
    names = [
        name(),
        name(Model(name="openai/any", provider="other")),
        name(MODEL.model_copy(update={"api_base": "http://127.0.0.1:1/v1"})),
        name(MODEL.model_copy(update={"decoding": Decoding(seed=1)})),
        name(messages=(Message(role="user", text="hello", images=(image,)),)),
        name(messages=(Message(role="system", text="hello"),)),
        name(schema=JudgeReply),
        name(epoch=1),
        name(again=1),
    ]
    assert len(set(names)) == len(names)
    assert name() == names[0]
