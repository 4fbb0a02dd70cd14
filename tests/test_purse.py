"""Money that is lent to workers: whatever becomes of them, together they never go beyond the cap."""

import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluators.engines import cluster
from evaluators.engines.purse import PURSE, Purse, lost_usd
from evaluators.engines.shares import Share, later_life
from evaluators.journal import Journal, JournalError
from evaluators.journals import RUN, WORKERS
from evaluators.submit import main as submit
from evaluators.values import Reply
from tests.made import write_made_split
from tests.servers.model_server import Answer, ModelServer
from tests.test_submit import digests, options

FATE = st.tuples(st.floats(0, 1), st.sampled_from(["ends", "is lost", "is lost, its journal is here", "is forgotten"]))


def spend(folder: Path, worker: str, usd: float) -> None:
    with Journal(folder / WORKERS / f"{worker}.jsonl") as journal:
        journal.write(f"{len(worker):064x}", Reply(text="x", cost_usd=usd))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(fates=st.lists(FATE, min_size=1, max_size=6), usd=st.floats(0.01, 1000), again=st.integers(0, 6))
def test_workers_never_spend_more_than_there_is(
    tmp_path: Path, fates: list[tuple[float, str]], usd: float, again: int
) -> None:
    """Each spends a part of what it was lent, and `again` of them ago the command itself died and was given anew."""
    shutil.rmtree(tmp_path, ignore_errors=True)
    tmp_path.mkdir()
    purse, spent, seen = Purse(tmp_path, usd), 0.0, 0.0
    for number, (part, fate) in enumerate(fates):
        if number == again:
            purse = Purse(tmp_path, usd - seen - lost_usd(tmp_path))
        worker = f"{number:04}-1"
        lent = purse.lend(worker, waiting=len(fates) - number)
        mine = part * lent
        spent += mine
        if fate in {"ends", "is lost, its journal is here"}:
            spend(tmp_path, worker, mine)
            seen += mine
        if fate == "ends":
            purse.give_back(worker, spent_usd=mine)
        elif fate != "is forgotten":
            purse.lose(worker)
    assert spent <= usd * (1 + 1e-9)
    assert seen + lost_usd(tmp_path) >= spent - usd * 1e-9, "nothing that was spent is out of the account"
    if all(fate == "ends" for _, fate in fates):
        assert lost_usd(tmp_path) == 0


def test_what_one_does_not_spend_is_there_for_the_next(tmp_path: Path) -> None:
    purse = Purse(tmp_path, 12.0)
    assert [purse.lend("0000-1", waiting=3), purse.lend("0001-1", waiting=2)] == [4.0, 4.0]
    purse.give_back("0000-1", spent_usd=1.0)
    assert purse.lend("0002-1", waiting=1) == 7.0


def test_the_next_life_of_a_share_has_what_the_last_one_left(tmp_path: Path) -> None:
    share = Share(3, (), Namespace(max_cost=5.0, split="x"), tmp_path, tmp_path, "s", 1)
    assert later_life(share).options.max_cost == 5.0
    spend(tmp_path, "0003-1", 2.0)
    spend(tmp_path, "0004-1", 1.0)
    assert later_life(share).options == Namespace(max_cost=3.0, split="x")
    assert later_life(share._replace(options=Namespace(max_cost=None))).options.max_cost is None


def test_a_damaged_account_is_named(tmp_path: Path) -> None:
    (tmp_path / PURSE).write_text('{"lost_usd": "much"}')
    with pytest.raises(JournalError, match=r"lent.json: damaged .* delete it if none was"):
        lost_usd(tmp_path)


class OneNode:
    """What `cluster.py` asks of Ray, carried out on the spot: some tasks are done and then lost with their node.

    Args:
        lost: Numbers of the tasks, in the order in which they start, whose node is lost once they are done.
        apart: Nodes do not see the folder of the run.
    """

    def __init__(self, lost: set[int], *, apart: bool) -> None:
        self.exceptions = SimpleNamespace(RayError=RuntimeError, RayTaskError=KeyError)
        self._lost, self._apart = lost, apart
        self._done: dict[int, Any] = {}
        self.lent: list[float] = []

    def init(self, **_: object) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def put(self, known: bytes) -> bytes:
        return known

    def remote(self, **_: object) -> Callable[[Any], Any]:
        def taken(task: Callable[..., Any]) -> Any:
            def start(share: Any, life: int, mark: str, known: bytes) -> int:
                self.lent.append(share.options.max_cost)
                number = len(self._done)
                self._done[number] = task(share, life, "another folder" if self._apart else mark, known)
                return number

            return SimpleNamespace(remote=start)

        return taken

    def wait(self, tasks: list[int]) -> tuple[list[int], list[int]]:
        return tasks[:1], tasks[1:]

    def get(self, number: int) -> Any:
        if number in self._lost:
            raise RuntimeError("the node is gone")
        return self._done[number]


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[tuple[ModelServer, list[str]]]:
    """A run of 40 calls at a dollar each, over two workers."""
    write_made_split(tmp_path / "splits", 10)
    bill = {"prompt_tokens": 100, "completion_tokens": 1000}
    with ModelServer(lambda *_: Answer(usage=bill)) as server:
        more = ("--price", "0,1000", "--max-tokens", "1000", "--engine", "ray", "--processes", "2")
        yield server, options(tmp_path, server, *more, "--concurrency", "2")


def test_a_cluster_keeps_to_the_cap_and_uses_it_up(
    capped: tuple[ModelServer, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, command = capped
    monkeypatch.setattr(cluster, "_ray", lambda: OneNode(set(), apart=True))
    assert submit([*command, "--max-cost", "25.5"]) == 3
    assert len(server.requests) == 25
    assert "give the same command a higher --max-cost" in capsys.readouterr().err
    assert lost_usd(tmp_path / "out") == 0
    assert submit([*command, "--max-cost", "1000"]) == 0
    assert len(server.requests) == 40


@pytest.mark.parametrize("apart", [True, False], ids=["folders of their own", "one folder"])
def test_what_a_lost_node_may_have_spent_is_spent_here_and_in_every_later_command(
    capped: tuple[ModelServer, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    apart: bool,
) -> None:
    server, command = capped
    ray = OneNode({0, 3}, apart=apart)
    monkeypatch.setattr(cluster, "_ray", lambda: ray)
    for cap in (24.0, 24.0, 30.0):
        assert submit([*command, "--max-cost", str(cap)]) == 3
        assert len(server.requests) <= cap, "every request was paid for, seen or not"
        with Journal(tmp_path / "out" / RUN) as journal:
            assert journal.paid_usd + lost_usd(tmp_path / "out") >= len(server.requests) - 1e-9
    assert ray.lent[0] == 3.0, "a part of eight"
    assert "machines that were lost may have spent" in capsys.readouterr().err
    lost = lost_usd(tmp_path / "out")
    assert lost >= 5.0 if apart else lost < 2.0, "whole parts, or what is left of them beside a journal"
    monkeypatch.setattr(cluster, "_ray", lambda: OneNode(set(), apart=apart))
    assert submit([*command, "--max-cost", "1000"]) == 0
    assert submit([word for word in command if word not in {"--engine", "ray"}]) == 0
    with ModelServer(lambda *_: Answer(usage={"prompt_tokens": 100, "completion_tokens": 1000})) as other:
        alone = [w.replace(server.url, other.url) for w in command if w not in {"--engine", "ray"}]
        assert submit([w.replace("/out", "/alone") for w in alone]) == 0
    assert digests(tmp_path / "out/bundle") == digests(tmp_path / "alone/bundle")
