"""Several worker processes: the same bundle, nothing paid twice, nothing lost with a worker."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.__main__ import main as builders
from evaluators.engines import processes
from evaluators.engines.shares import _part, deal
from evaluators.journal import Journal, JournalError
from evaluators.journals import RUN, WORKERS, WorkerJournal, merge, worker_journals
from evaluators.limits import Limits
from evaluators.submit import main as submit
from evaluators.values import Reply
from tests import test_case_submit, test_novel_submit
from tests.kill_runs import start
from tests.made import riddle, write_made_split
from tests.made_case import built
from tests.made_novel import release
from tests.made_soup import table
from tests.servers.model_server import Answer, ModelServer
from tests.test_submit import digests, options

ITEMS = 20
# Answers before the rest are held: so few that one worker, however far ahead, cannot have finished its share.
EARLY = 8
Playing = Callable[[dict[str, Any], int], Answer]
Options = Callable[[ModelServer], list[str]]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 9))
def test_a_deal_gives_each_item_once_keeps_clusters_whole_and_is_even(clusters: list[int], ways: int) -> None:
    items = [riddle(n, cluster=f"c{cluster}") for n, cluster in enumerate(clusters)]
    hands = deal(items, ways)
    assert sorted(i for hand in hands for i in hand) == sorted(item.id for item in items)
    of = {item.id: item.cluster for item in items}
    seats = [{of[i] for i in hand} for hand in hands]
    assert sum(map(len, seats)) == len(set(clusters)), "a cluster sits in one hand"
    sizes = [len(hand) for hand in hands] + [0] * (ways - len(hands))
    assert max(sizes) - min(sizes) <= max(Counter(clusters).values())


def fill(path: Path, texts: dict[str, str], *, torn: bytes = b"") -> None:
    with Journal(path) as journal:
        for key, text in texts.items():
            journal.write(key * 64, Reply(text=text), model="m")
    with path.open("ab") as file:
        file.write(torn)


def held(path: Path) -> list[str]:
    return [json.loads(line)["reply"]["text"] for line in path.read_text().splitlines()]


def test_workers_journals_are_merged_exactly_once_and_the_first_reply_stays(tmp_path: Path) -> None:
    fill(tmp_path / RUN, {"a": "one"})
    fill(tmp_path / WORKERS / "0-1.jsonl", {"a": "other", "b": "two"})
    fill(tmp_path / WORKERS / "0-2.jsonl", {"b": "again", "c": "three"}, torn=b'{"key": "dd')
    left = {path: path.read_bytes() for path in worker_journals(tmp_path)}
    assert merge(tmp_path) == 2
    assert held(tmp_path / RUN) == ["one", "two", "three"]
    assert worker_journals(tmp_path) == ()
    for path, data in left.items():  # as after a crash between the two steps of the merge
        path.write_bytes(data)
    assert merge(tmp_path) == 0
    assert held(tmp_path / RUN) == ["one", "two", "three"]


def test_a_journal_that_is_still_written_is_refused_or_left_for_the_next_time(tmp_path: Path) -> None:
    fill(tmp_path / WORKERS / "0-1.jsonl", {"a": "one"})
    with Journal(tmp_path / WORKERS / "1-1.jsonl"):
        with pytest.raises(JournalError, match=r"1-1\.jsonl is in use"):
            merge(tmp_path)
        assert merge(tmp_path, skip_busy=True) == 1
    assert [path.name for path in worker_journals(tmp_path)] == ["1-1.jsonl"]


def test_a_damaged_journal_of_a_worker_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    fill(tmp_path / WORKERS / "0-1.jsonl", {"a": "one"})
    with (tmp_path / WORKERS / "1-1.jsonl").open("w") as file:
        file.write("{oops\n")
    with pytest.raises(JournalError, match=r"1-1\.jsonl:1: damaged line"):
        merge(tmp_path)
    assert held(tmp_path / WORKERS / "0-1.jsonl") == ["one"]


def test_a_worker_finds_what_others_wrote_down_even_while_they_write(tmp_path: Path) -> None:
    fill(tmp_path / RUN, {"a": "one"})
    with Journal(tmp_path / "busy.jsonl") as busy:
        busy.write("b" * 64, Reply(text="two"))
        with (tmp_path / "busy.jsonl").open("ab") as file:
            file.write(b'{"key": "cc')
        others = [tmp_path / RUN, tmp_path / "busy.jsonl", tmp_path / "none.jsonl"]
        with WorkerJournal(tmp_path / "own.jsonl", others=others) as journal:
            journal.write("d" * 64, Reply(text="four"))
            found = [journal.find(key * 64) for key in "abcd"]
    assert [reply.text if reply else None for reply in found] == ["one", "two", None, "four"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The bundle of an undisturbed run in one process."""
    folder = tmp_path_factory.mktemp("alone")
    write_made_split(folder / "splits", ITEMS)
    with ModelServer() as server:
        os.environ["DEERSTALKER_STORE"] = str(folder / "results.duckdb")
        assert submit(options(folder, server)) == 0
    return digests(folder / "out/bundle")


def bodies(server: ModelServer) -> list[str]:
    return [json.dumps(body, sort_keys=True) for body in server.requests]


def test_several_processes_make_the_same_bundle_within_the_limit_of_one(tmp_path: Path, alone: dict[str, str]) -> None:
    write_made_split(tmp_path / "splits", ITEMS)
    with ModelServer() as server:
        assert submit(options(tmp_path, server, "--processes", "3", "--concurrency", "7")) == 0
        assert len(server.requests) == len(set(bodies(server))) == 4 * ITEMS
        assert server.in_flight_peak <= 7
        assert worker_journals(tmp_path / "out") == ()
        assert submit(options(tmp_path, server, "--processes", "2")) == 0
        assert len(server.requests) == 4 * ITEMS, "what was paid for is not paid for again"
    assert digests(tmp_path / "out/bundle") == alone


def test_the_items_of_a_killed_worker_are_done_by_another(tmp_path: Path, alone: dict[str, str]) -> None:
    write_made_split(tmp_path / "splits", ITEMS)
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > EARLY)) as server, ThreadPoolExecutor() as pool:

        def disturb() -> None:
            try:
                server.wait_for_requests(EARLY + 8)
                os.kill(workers(os.getpid())[0], signal.SIGKILL)
                # The new worker asks again for what the lost one had in flight, and for nothing else.
                server.wait_for_requests(EARLY + 12)
            finally:
                server.release()

        disturbed = pool.submit(disturb)
        assert submit(options(tmp_path, server, "--processes", "2", "--concurrency", "8")) == 0
        disturbed.result()
        assert len(bodies(server)) - len(set(bodies(server))) == 4
    assert digests(tmp_path / "out/bundle") == alone


def test_ctrl_c_twice_keeps_what_all_workers_paid_for_and_one_process_goes_on(
    tmp_path: Path, alone: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Once more while it waits for the calls on their way, which are held.
    monkeypatch.setattr(processes, "say_waiting", lambda _: os.kill(os.getpid(), signal.SIGINT))
    write_made_split(tmp_path / "splits", ITEMS)
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > EARLY)) as server, ThreadPoolExecutor() as pool:

        def disturb() -> None:
            try:
                server.wait_for_requests(EARLY + 4)
            except BaseException:
                server.release()
                raise
            os.kill(os.getpid(), signal.SIGINT)

        disturbed = pool.submit(disturb)
        assert submit(options(tmp_path, server, "--processes", "2", "--concurrency", "4")) == 3
        disturbed.result()
        assert "goes on from there" in capsys.readouterr().err
        assert sum(len(held(path)) for path in worker_journals(tmp_path / "out")) == EARLY
        server.release()
        assert submit(options(tmp_path, server)) == 0
        assert len(bodies(server)) - len(set(bodies(server))) == 4
    assert digests(tmp_path / "out/bundle") == alone


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_what_is_on_its_way_when_several_processes_are_stopped_is_kept(
    tmp_path: Path, alone: dict[str, str], capsys: pytest.CaptureFixture[str], by: signal.Signals
) -> None:
    write_made_split(tmp_path / "splits", ITEMS)
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > EARLY)) as server, ThreadPoolExecutor() as pool:

        def disturb() -> None:
            try:
                server.wait_for_requests(EARLY + 4)
                os.kill(os.getpid(), by)
            finally:
                server.release()

        disturbed = pool.submit(disturb)
        assert submit(options(tmp_path, server, "--processes", "2", "--concurrency", "4")) == 3
        disturbed.result()
        assert "the workers' calls on their way are waited for" in capsys.readouterr().err
        assert submit(options(tmp_path, server)) == 0
        assert len(bodies(server)) == len(set(bodies(server))) == 4 * ITEMS
    assert digests(tmp_path / "out/bundle") == alone


def test_workers_whose_run_is_killed_make_no_call_more_and_keep_what_is_on_its_way(
    tmp_path: Path, alone: dict[str, str]
) -> None:
    write_made_split(tmp_path / "splits", ITEMS)
    with ModelServer(lambda *_: Answer(hold=len(server.requests) > EARLY)) as server:
        given = options(tmp_path, server, "--processes", "2", "--concurrency", "4")
        run = start(given)
        try:
            server.wait_for_requests(EARLY + 4)
            orphans = workers(run.pid or 0)
        finally:
            run.kill()
            run.join()
            server.release()
        ends = time.monotonic() + 60
        while any(parent_of(Path("/proc", str(pid))) for pid in orphans):
            assert time.monotonic() < ends
            time.sleep(0.01)
        assert len(orphans) >= 2
        assert len(server.requests) == EARLY + 4
        assert submit(options(tmp_path, server)) == 0
        assert len(bodies(server)) == len(set(bodies(server))) == 4 * ITEMS
    assert digests(tmp_path / "out/bundle") == alone


def test_several_processes_keep_to_one_cap_on_cost_and_use_it_up(
    tmp_path: Path, alone: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_made_split(tmp_path / "splits", ITEMS)
    bill = {"prompt_tokens": 100, "completion_tokens": 1000}
    with ModelServer(lambda *_: Answer(usage=bill)) as server:
        capped = options(tmp_path, server, "--processes", "2", "--price", "0,1000", "--max-tokens", "1000")
        assert submit([*capped, "--max-cost", "20.5"]) == 3
        assert "give the same command a higher --max-cost" in capsys.readouterr().err
        assert len(server.requests) == 20, "a dollar each: halves of the money are spent apart, the rest together"
        with Journal(tmp_path / "out" / RUN) as journal:
            assert journal.paid_usd == pytest.approx(20.0)
        assert submit([*capped, "--max-cost", "1000"]) == 0
        assert len(server.requests) == 4 * ITEMS


def workers(of: int) -> list[int]:
    """The processes that work for a run now: forked from the server that it started for them."""
    parents, children = {of}, list[int]()
    for _ in range(2):
        children = [int(p.name) for p in Path("/proc").glob("[0-9]*") if parent_of(p) in parents]
        parents = set(children)
    return sorted(children)


def parent_of(process: Path) -> int | None:
    """None: it has ended, whether or not somebody has asked how."""
    try:
        state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def test_what_a_worker_meets_ends_the_run_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_made_split(tmp_path / "splits", 6)
    with ModelServer(lambda *_: Answer(status=401)) as server:
        assert submit(options(tmp_path, server, "--processes", "2")) == 3
    err = capsys.readouterr().err
    assert "scripted status 401" in err
    assert "goes on from there" in err
    assert "Traceback" not in err


def novels_and_cases(
    tmp_path: Path,
) -> list[tuple[Playing, Options]]:
    """A small split of each, built: how a model server plays it, and the options of its run."""
    release(tmp_path / "release", texts=test_novel_submit.NOVELS, **test_novel_submit.QUESTIONS)
    novels = ["build", "detectiveqa-en", "--source", str(tmp_path / "release"), "--out", str(tmp_path / "splits")]
    assert builders(novels) == 0
    built(tmp_path / "splits", test_case_submit.CASES)
    return [
        (test_novel_submit.table, lambda server: test_novel_submit.options(tmp_path, tmp_path / "splits", server)),
        (test_case_submit.table, lambda server: test_case_submit.options(tmp_path, server)),
    ]


def test_novels_and_cases_are_shared_out_whole_and_come_out_the_same(tmp_path: Path) -> None:
    for number, (reply, asked) in enumerate(novels_and_cases(tmp_path)):
        made = []
        for out, more in ((f"one-{number}", ()), (f"two-{number}", ("--processes", "2"))):
            with ModelServer(reply) as server:
                assert submit([*asked(server), "--out", str(tmp_path / out), *more]) == 0
                made.append((sorted(bodies(server)), digests(tmp_path / out / "bundle")))
        assert made[0] == made[1]


def test_a_game_of_many_turns_is_played_by_one_worker_and_comes_out_the_same(tmp_path: Path) -> None:
    assert builders(["build", "soup-samples", "--out", str(tmp_path / "splits")]) == 0
    made = []
    for out, more in (("one", ()), ("two", ("--processes", "2"))):
        with ModelServer(table) as server:
            asked = options(tmp_path, server, "--responder", "r:openai/resp", "--responder-api-base", server.url)
            asked[asked.index("--split") + 1] = "sample-soup-en"
            assert submit([*asked, "--turns", "2", "--limit", "2", "--out", str(tmp_path / out), *more]) == 0
            made.append((len(server.requests), digests(tmp_path / out / "bundle")))
    assert made[0] == made[1]


@given(st.integers(1, 9), st.integers(9, 10_000), st.integers(9, 10_000))
def test_workers_together_stay_within_every_limit(workers: int, rpm: int, tpm: int) -> None:
    part = _part(Limits(rpm=rpm, tpm=tpm), workers)
    assert (part.in_flight, part.rpm) == (None, rpm // workers)
    assert workers * (part.tpm or 0) <= tpm
