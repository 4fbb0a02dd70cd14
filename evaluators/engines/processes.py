"""Several processes on this machine, where one cannot keep the wanted calls in flight."""

import os
import signal
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from evaluators.engines import WorkerLostError
from evaluators.engines.shares import MOST_LIVES, News, Share, later_life, readable, work
from evaluators.engines.watch import Watch
from evaluators.progress import say_waiting
from evaluators.run import terminable

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    from evaluators.session import Session


class _Worker(NamedTuple):
    process: "ForkServerProcess"
    share: Share
    life: int


def run_processes(shares: Sequence[Share], session: "Session") -> None:
    """Do all shares, each in a process; the share of a process that dies is taken up by another.

    Raises:
        WorkerLostError: If a share lost its process too often.
        Exception: The first error that a worker reports; the others are stopped.
    """
    at_work: dict[Connection, _Worker] = {}
    with Watch(session, workers=len(shares)) as watch:
        try:
            for share in shares:
                at_work.update([_start(share, life=1)])
            while at_work:
                for connection in wait(list(at_work)):
                    if isinstance(connection, Connection):
                        _hear(connection, at_work, watch)
        finally:
            _stop(at_work)


def _start(share: Share, *, life: int) -> tuple[Connection, _Worker]:
    # From a server without threads or locks, which has imported the libraries once for all workers.
    context = get_context("forkserver")
    context.set_forkserver_preload(["evaluators.engines.warm"])
    here, there = context.Pipe()
    paid = share if life == 1 else later_life(share)
    process = context.Process(target=_child, args=(paid, life, there), name=f"share-{share.number}", daemon=True)
    process.start()
    there.close()
    return here, _Worker(process, share, life)


def _child(share: Share, life: int, connection: Connection) -> None:
    # Ctrl-C at the terminal is for the parent, which passes it on once.
    os.setpgid(0, 0)
    Thread(target=_outlive_no_parent, args=[connection], daemon=True).start()
    try:
        with terminable():
            work(share, share.journal(life), readable(share), connection.send)
        connection.send(None)
    except (RuntimeError, ValueError, OSError) as error:
        connection.send(error)
    except KeyboardInterrupt:
        pass


def _outlive_no_parent(connection: Connection) -> None:
    # The parent says nothing: what comes is the end of its side, and calls that nobody asks for cost money.
    connection.poll(None)
    os.kill(os.getpid(), signal.SIGINT)


def _hear(connection: Connection, at_work: dict[Connection, _Worker], watch: Watch) -> None:
    worker = at_work[connection]
    try:
        said = connection.recv()
    except EOFError:
        del at_work[connection]
        worker.process.join()
        if worker.life == MOST_LIVES:
            raise WorkerLostError(
                f"worker {worker.share.number} ended {MOST_LIVES} times (the last with exit code "
                f"{worker.process.exitcode}); what it finished is kept: look at the machine's memory, or take fewer "
                "--processes"
            ) from None
        at_work.update([_start(worker.share, life=worker.life + 1)])
        return
    if isinstance(said, News):
        watch.hear((worker.share.number, worker.life), said)
    elif said is None:
        del at_work[connection]
        worker.process.join()
    else:
        raise said


def _stop(at_work: dict[Connection, _Worker]) -> None:
    """Let workers end as Ctrl-C would: what they finished, and what was on its way, is in their journals."""
    if not at_work:
        return
    try:
        say_waiting("the workers' calls")
        for worker in at_work.values():
            if worker.process.pid is not None and worker.process.is_alive():
                os.kill(worker.process.pid, signal.SIGINT)
        _join(at_work)
    except KeyboardInterrupt:
        # Whatever a worker is at: each reply that counts is on disk.
        for worker in at_work.values():
            worker.process.kill()
        _join(at_work)
        raise


def _join(at_work: dict[Connection, _Worker]) -> None:
    for connection, worker in at_work.items():
        worker.process.join()
        connection.close()
