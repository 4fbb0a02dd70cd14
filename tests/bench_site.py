"""A site of a thousand models: python -m tests.bench_site [--models 1000] [--items 500] [--boards 4] [--keep DIR]

Makes a store, estimates it once from nothing, builds the site from the estimates it keeps, then again with one model
more. CPU seconds are the user's and the system's, those of child processes included; on a machine that does nothing
else the wall clock lies between half of them and all of them.
"""

import argparse
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from evaluators.store import open_store
from leaderboard.boards import boards
from leaderboard.build import build_site
from tests import bench_store


def measured(what: str, call: Callable[[], object]) -> None:
    """Run in a process of its own and print seconds and peak memory."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        call()
        sys.stdout.flush()
        used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
        cpu = sum(u.ru_utime + u.ru_stime for u in used)
        peak = max(u.ru_maxrss for u in used) / 1024
        print(f"{what:46} {time.monotonic() - began:7.1f} s wall {cpu:7.1f} s CPU {peak:7.0f} MB", flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"{what} failed")


def run(models: int, items: int, count: int, folder: Path) -> None:
    """Print the figures of one size."""
    path, out, splits = folder / "store.duckdb", folder / "site", bench_store.SPLITS[:count]

    def make() -> None:
        path.unlink(missing_ok=True)
        with open_store(path) as store:
            bench_store.fill(store, models, items, splits)

    def estimate() -> None:
        with open_store(path) as store:
            boards(store)

    def build() -> None:
        with open_store(path) as store:
            build_site(store, out)

    def add() -> None:
        with open_store(path) as store:
            bench_store.fill_board(store, splits[0], range(models, models + 1), items)

    verdicts = models * items * count * 3
    print(f"{models} models x {count} boards x {items} items x 3 judges: {verdicts:,} verdicts", flush=True)
    measured("make the store", make)
    measured("estimate all boards from nothing", estimate)
    measured("build the site, estimates in the store", build)
    measured("build it again, nothing changed", build)
    _sizes(out / "_build", splits[0])
    add()
    measured("estimate again: one model more on one board", estimate)
    measured("build with it", build)


def _sizes(built: Path, split: str) -> None:
    page = built / f"{split}.html"
    parts = [page, *(built / "assets").glob("*.css"), *(built / "assets").glob("*.js")]
    parts += [*(built / "assets/javascripts").glob("bundle*.js"), *(built / "assets/stylesheets").glob("*.css")]
    kb = [len(gzip.compress(p.read_bytes(), 6)) / 1000 for p in parts]
    files = [p.stat().st_size for p in built.rglob("*") if p.is_file()]
    print(f"  board page {kb[0]:.0f} kB, with styles and scripts {sum(kb):.0f} kB (gzip)", end="; ")
    print(f"site of {len(files):,} files, {sum(files) / 1e6:,.0f} MB")


def main(argv: list[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[1000])
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--boards", type=int, default=4)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave store and site here")
    options = parser.parse_args(argv)
    for models in options.models:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            run(models, options.items, options.boards, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
