"""Kill one run of games with juries again and again: what is paid twice? python -m tests.kill_runs --kills 20"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from builders.__main__ import main as builders
from evaluators.submit import main as submit
from tests.made_soup import number, table
from tests.servers.model_server import Answer, ModelServer


class Killed(NamedTuple):
    """What became of a run.

    Attributes:
        kills: Times it was killed before it could end.
        calls: Calls of an undisturbed run.
        repeated: Calls made more often than there.
        twice: Calls whose reply is in the journal more than once: finished, and made again all the same.
        same: Whether the bundle has the bytes of the undisturbed run's.
    """

    kills: int
    calls: int
    repeated: int
    twice: int
    same: bool


def arguments(folder: Path, server: ModelServer, out: str, concurrency: int, more: tuple[str, ...]) -> list[str]:
    judges = "a:openai/j1,b:openai/j2,c:openai/j3"
    return [
        *("--model", "openai/solver", "--provider", "maker"),
        *("--api-base", server.url, "--judges", judges, "--judge-api-base", server.url),
        *("--responder", "host:openai/host", "--responder-api-base", server.url, "--concurrency", str(concurrency)),
        *("--split", "sample-soup-en@1.0", "--splits", str(folder / "splits"), "--out", str(folder / out), *more),
    ]


def start(given: list[str], **environment: str) -> ForkServerProcess:
    """Make a run in a process of its own.

    It comes from a server that has imported the libraries once: a process that is killed is killed all the same.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["evaluators.engines.warm"])
    child = context.Process(target=play, args=({**os.environ, **environment}, given))
    child.start()
    return child


def play(environment: Mapping[str, str], given: list[str]) -> None:
    """Make a run quietly; what a process of its own does."""
    os.environ.clear()
    os.environ.update(environment)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        sys.exit(submit(given))


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def kill_run(folder: Path, *, kills: int, concurrency: int, more: tuple[str, ...], rng: np.random.Generator) -> Killed:
    """Play games once undisturbed and once with kills at random moments, spread over the whole run."""
    assert builders(["build", "soup-samples", "--out", str(folder / "splits")]) == 0
    seen: Counter[str] = Counter()

    def reply(body: dict[str, Any], attempt: int) -> Answer:
        seen[json.dumps(body, sort_keys=True)] += 1
        # Replies take their time, or nothing would be in flight when the run is killed.
        return Answer(content=table(body, attempt).content, seconds=0.005 + number(body) % 40 / 1000)

    def run(out: str) -> ForkServerProcess:
        given = arguments(folder, server, out, concurrency, more)
        return start(given, DEERSTALKER_STORE=str(folder / "results.duckdb"))

    def whole_run(out: str) -> None:
        child = run(out)
        child.join()
        assert child.exitcode == 0, child.exitcode

    with ModelServer(reply, keep=False) as server:
        whole_run("whole")
        whole = Counter(seen)
        seen.clear()
        done = 0
        moments = np.sort(rng.uniform(0, 0.95 * whole.total(), kills))
        for moment in moments:
            child = run("out")
            while child.is_alive() and seen.total() < moment:
                time.sleep(0.001)
            # Not always at the moment at which a request arrives.
            time.sleep(float(rng.uniform(0, 0.05)))
            done += child.is_alive()
            child.kill()
            child.join()
        whole_run("out")
    keys = Counter(json.loads(line)["key"] for line in (folder / "out/journal.jsonl").read_text().splitlines())
    return Killed(
        done,
        whole.total(),
        (seen - whole).total(),
        sum(n > 1 for n in keys.values()),
        digests(folder / "out/bundle") == digests(folder / "whole/bundle"),
    )


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--concurrency", type=int, default=8)
    p.add_argument("--turns", type=int, default=12)
    p.add_argument("--seed", type=int, default=0)
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = kill_run(
            Path(scratch),
            kills=options.kills,
            concurrency=options.concurrency,
            more=("--turns", str(options.turns)),
            rng=np.random.default_rng(options.seed),
        )
    print(f"{found}; {options.concurrency} in flight: at most {found.kills * options.concurrency} may be repeated")


if __name__ == "__main__":
    main()
