"""The journal: what is written stays, what is torn is dropped, what is damaged is said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluators.journal import Journal, JournalError, call_key
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
