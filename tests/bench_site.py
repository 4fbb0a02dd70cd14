"""A site of a thousand models: python -m tests.bench_site [--models 250 500 1000] [--items 500] [--keep DIR]

For each size: a store is made and estimated once from nothing, the site is built from the estimates that it keeps,
built again, and again with one model more; then a board is opened in Chromium. Of several sizes the growth is printed.
CPU seconds are the user's and the system's, memory is that of all processes of a step at once (proportional set size,
looked at once a second). A wall clock says something on a machine that does nothing else.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

from evaluators.store import open_store
from leaderboard import standings
from leaderboard.boards import boards
from leaderboard.build import build_site
from tests import bench_page, bench_store

ASKED = {"build the site, estimates in the store": (90, 2000)}  # seconds of wall clock, MB
Figures = dict[str, tuple[float, float, float]]  # wall, CPU and MB of each step


def measured(what: str, call: Callable[[], object], figures: Figures) -> None:
    """Run in a process of its own; print and keep seconds and peak memory."""
    sys.stdout.flush()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        call()
        sys.stdout.flush()
        os._exit(0)
    peak, over = [0.0], Event()
    watch = Thread(target=_watch, args=(child, peak, over))
    watch.start()
    _, status, used = os.wait4(child, 0)
    over.set()
    watch.join()
    if status:
        raise SystemExit(f"{what} failed")
    found = (time.monotonic() - began, used.ru_utime + used.ru_stime, peak[0])
    figures[what] = found
    wall, most = ASKED.get(what, (0, 0))
    verdict = f"   asked: {wall} s, {most} MB" if wall else ""
    print(f"{what:46} {found[0]:7.1f} s wall {found[1]:7.1f} s CPU {found[2]:7.0f} MB{verdict}", flush=True)


def _watch(process: int, peak: list[float], over: Event) -> None:
    while not over.wait(1.0):  # a look takes some ten milliseconds
        peak[0] = max(peak[0], sum(map(_megabytes, (process, *_children(process)))))


def _children(process: int) -> Iterator[int]:
    try:
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                yield child
                yield from _children(child)
    except OSError:  # gone meanwhile
        return


def _megabytes(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def run(models: int, items: int, count: int, folder: Path) -> Figures:
    """Print and return the figures of one size."""
    path, out, splits = folder / "store.duckdb", folder / "site", bench_store.SPLITS[:count]
    figures: Figures = {}

    def make() -> None:
        path.unlink(missing_ok=True)
        with open_store(path) as store:
            bench_store.fill(store, models, items, splits)

    def estimate() -> None:
        estimated = []
        whole = standings.rows
        standings.rows = lambda store, *key: estimated.append(key[0]) or whole(store, *key)  # type: ignore[func-returns-value]
        with open_store(path) as store:
            boards(store)
        print(f"  estimated: {', '.join(estimated) or 'nothing'}")

    def build() -> None:
        with open_store(path) as store:
            build_site(store, out)

    def add() -> None:
        with open_store(path) as store:
            bench_store.fill_board(store, splits[0], range(models, models + 1), items)

    verdicts = models * items * count * 3
    print(f"{models} models x {count} boards x {items} items x 3 judges: {verdicts:,} verdicts", flush=True)
    for what, call in (
        ("make the store", make),
        ("estimate all boards from nothing", estimate),
        ("estimate again, nothing changed", estimate),
        ("build the site, estimates in the store", build),
        ("build it again, nothing changed", build),
    ):
        measured(what, call, figures)
    _page(out / "_build", splits[0], models, figures)
    add()
    measured("estimate again: one model more on one board", estimate, figures)
    measured("build with it", build, figures)
    return figures


def _page(built: Path, split: str, models: int, figures: Figures) -> None:
    files = [p.stat().st_size for p in built.rglob("*") if p.is_file()]
    print(f"  site of {len(files):,} files, {sum(files) / 1e6:,.0f} MB")
    found = bench_page.load(built, f"{split}.html", "model-7", models)
    if found is None:
        print("  no Chromium or no Playwright: the board page was not opened")
        return
    figures["board page, kB over the wire"] = (found.kilobytes, 0, 0)
    figures["board page, ms until usable"] = (found.usable, 0, 0)
    print(f"  board page: {found.kilobytes:.0f} kB over the wire with all it asks for (gzip)   asked: 400 kB")
    print(
        f"  in Chromium, its table of {models} rows can be searched and sorted after {found.usable:.0f} ms and is drawn"
    )
    print(f"  after {found.drawn:.0f} ms (median of {bench_page.LOADS} loads, empty cache)   asked: 1500 ms")
    print(f"  a search shows its rows after {found.search:.0f} ms")


def growth(sizes: dict[int, Figures]) -> None:
    """Print how figures grow with the number of models: 1.00 is as fast as that number."""
    listed = sorted(sizes)
    for less, more in pairwise(listed):
        print(f"from {less} to {more} models, growth divided by {more / less:g}: 1.00 is as fast as the models")
        for what, (wall, cpu, memory) in sizes[more].items():
            before = sizes[less].get(what)
            if before is None:
                continue
            figures = [("CPU", cpu, before[1]), ("MB", memory, before[2])] if cpu else [("", wall, before[0])]
            said = "  ".join(f"{name} {new / old / (more / less):.2f}" for name, new, old in figures if old)
            print(f"  {what:46} {said}", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[1000])
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--boards", type=int, default=4)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave store and site here")
    options = parser.parse_args(argv)
    sizes = {}
    for models in options.models:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep / str(models) if options.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            sizes[models] = run(models, options.items, options.boards, folder)
    growth(sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
