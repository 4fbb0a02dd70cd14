"""A Ray cluster: shares as tasks on its nodes, their journals sent back; the only home of ray.

The cluster is the one that Ray finds by its own rules (`RAY_ADDRESS`, or one started on this machine); where there is
none, Ray is started here, on loopback only, and ended with the run.
"""

import os
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

from builders.folders import replace_file
from evaluators.engines import WorkerLostError
from evaluators.engines.purse import Purse
from evaluators.engines.shares import (
    MOST_LIVES,
    News,
    Share,
    ShareError,
    left_usd,
    readable,
    with_money,
    work,
)
from evaluators.engines.watch import Watch
from evaluators.journals import RUN, WORKERS, paid_usd

if TYPE_CHECKING:
    from evaluators.session import Session

MARK = "shared-folder"  # a file by which a node knows that it sees the very folder of the run
LOOPBACK = "127.0.0.1"


class Done(NamedTuple):
    """What a node sends back of one share."""

    journal: bytes
    news: News | None
    error: Exception | None


class Cluster:
    """A connection to a Ray cluster; use as a context manager.

    Args:
        workers: Shares at work at once; None: as many as the cluster has CPUs.

    Attributes:
        workers: The same, settled.

    Raises:
        ShareError: If ray is not installed.
    """

    def __init__(self, workers: int | None) -> None:
        self._ray = _ray()
        self._asked = workers
        self.workers = workers or 1

    def __enter__(self) -> Self:
        quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
        try:
            self._ray.init(address="auto", **quiet)
        except ConnectionError:
            here = {"_node_ip_address": LOOPBACK, "include_dashboard": False, "num_cpus": self._asked}
            self._ray.init(address="local", **here, **quiet)
        self.workers = self._asked or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def run(self, shares: Sequence[Share], session: "Session") -> None:
        """Do all shares, never more than `workers` at once; a share whose node is lost goes to another node.

        Raises:
            WorkerLostError: If a share lost its node too often.
            Exception: The first error that a node reports; what every share finished is kept.
        """
        folder = session.folder.resolve() / WORKERS
        folder.mkdir(parents=True, exist_ok=True)
        mark = uuid4().hex
        (folder / MARK).write_text(mark, encoding="utf-8")
        known = self._ray.put((folder.parent / RUN).read_bytes() if (folder.parent / RUN).exists() else b"")
        task = self._ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(on_node)
        left = left_usd(session)
        purse = None if left is None else Purse(session.folder, left)
        waiting, running = deque((share, 1) for share in shares), dict[Any, tuple[Share, int]]()
        with Watch(session, workers=self.workers) as watch:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    share, life = waiting.popleft()
                    if purse is not None:
                        share = with_money(share, purse.lend(_worker(share, life), waiting=1 + len(waiting)))
                    running[task.remote(share, life, mark, known)] = (share, life)
                (ready, *_), _ = self._ray.wait(list(running))
                share, life = running.pop(ready)
                done = self._collect(ready, share, life, purse)
                if done is None:
                    waiting.append((share, life + 1))
                    continue
                if done.error is not None:
                    self._stop(running, purse)
                    raise done.error
                if done.news is not None:
                    watch.hear((share.number, life), done.news)

    def _collect(self, ready: Any, share: Share, life: int, purse: Purse | None) -> Done | None:
        """What a task brought, its journal kept; None where it was lost with its node."""
        try:
            return self._kept(ready, share, life, purse)
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError as lost:
            if purse is not None:
                purse.lose(_worker(share, life))
            if life == MOST_LIVES:
                raise WorkerLostError(
                    f"share {share.number} lost its node {MOST_LIVES} times, the last time: {lost}; what was finished "
                    "is kept"
                ) from None
            return None

    def _kept(self, ready: Any, share: Share, life: int, purse: Purse | None) -> Done:
        done = Done(*self._ray.get(ready))
        _keep(share.journal(life), done.journal)
        if purse is not None:
            purse.give_back(_worker(share, life), spent_usd=paid_usd([share.journal(life)]))
        return done

    def _stop(self, running: dict[Any, tuple[Share, int]], purse: Purse | None) -> None:
        """Interrupt the other tasks and keep what they finished; what one that does not answer was lent stays lent."""
        for ref in running:
            self._ray.cancel(ref)
        for ref, (share, life) in running.items():
            # Of a task that does not answer, the journal is there where the folder is shared.
            with suppress(self._ray.exceptions.RayError):
                self._kept(ref, share, life, purse)


def on_node(share: Share, life: int, mark: str, known: bytes) -> Done:
    """Do a share on whatever node this is."""
    news: list[News] = []
    with tempfile.TemporaryDirectory() as own:
        journal, others = share.journal(life), readable(share)
        if not _sees(share, mark):
            (Path(own) / RUN).write_bytes(known)
            journal, others = Path(own) / WORKERS / journal.name, (Path(own) / RUN,)
        error: Exception | None = None
        try:
            work(share, journal, others, lambda one: news.append(one) or news[:-1].clear())  # type: ignore[func-returns-value]
        except (RuntimeError, ValueError, OSError) as met:
            error = met
        except KeyboardInterrupt:
            error = RuntimeError("stopped")
        return Done(journal.read_bytes() if journal.exists() else b"", news[-1] if news else None, error)


def _worker(share: Share, life: int) -> str:
    return share.journal(life).stem


def _sees(share: Share, mark: str) -> bool:
    path = share.folder / WORKERS / MARK
    return path.is_file() and path.read_text(encoding="utf-8") == mark


def _keep(path: Path, data: bytes) -> None:
    """Write down what a node sent, unless it wrote the same here itself."""
    if not data or (path.exists() and path.stat().st_size >= len(data)):
        return
    replace_file(path, data, durable=False)


def _ray() -> Any:
    # Ray reports its use to its makers unless it is told not to before it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ShareError("--engine ray needs Ray: install the extra, `pip install 'ray>=2.40'`") from None
    return ray
