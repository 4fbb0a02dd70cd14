"""Builds the site: bundles into the store, the store into estimates, and those into pages and data files.

    python -m leaderboard build [--submissions DIR] [--runs DIR ...] [--splits DIR] [--out DIR]

The pages are a function of the store and the results changelog: no clock and no network, equal input, equal bytes.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.records import NO_HISTORY, RECORDS, History

if TYPE_CHECKING:
    from evaluators.estimate import Split
    from evaluators.fit import Fits
    from evaluators.store import Store
    from leaderboard.pages import AnyBoard

SITE = Path(__file__).parent.parent / "site"
OUT = Path("build/site")
# A folder without this file was not made here and is never replaced.
MARK = ".made-by-deerstalker"


class SiteError(ValueError):
    """The site cannot be built; the message says why and what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `build`."""
    parser.add_argument("--submissions", type=Path, default=Path("leaderboard/submissions"), metavar="DIR")
    parser.add_argument(
        "--runs", type=Path, nargs="+", default=[], metavar="DIR", help="bundles of your own runs: tier scored-here"
    )
    parser.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="built splits")
    parser.add_argument(
        "--labels", type=Path, default=Path("leaderboard/labels"), metavar="DIR", help="labels of people"
    )
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="the results changelog")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="replaced whole (default: build/site)")


def main(arguments: argparse.Namespace) -> int:
    """Ingest, estimate, write and build; print the path of the front page.

    Raises:
        ValueError: If a bundle or a published table is refused, or `--out` is somebody else's folder.
        OSError: If the store or a page cannot be written.
    """
    from evaluators.store import open_store, store_path
    from leaderboard.ingest import ingest
    from leaderboard.records import read_history

    history = read_history(arguments.records)
    with open_store(store_path()) as store:
        ingest(store, arguments.submissions, arguments.runs, arguments.splits, history, labels=arguments.labels)
        print(build_site(store, arguments.out, history))
    return 0


def build_site(
    store: "Store",
    out: Path = OUT,
    history: History = NO_HISTORY,
    *,
    fit: "Callable[[Split], Fits | None] | None" = None,
) -> Path:
    """Write the pages and data files of everything in the store and build the site from them.

    Args:
        store: What to show.
        out: Folder to write, replaced whole.
        fit: As for `boards`; None: its own default.

    Returns:
        The front page.

    Raises:
        SiteError: If `out` exists and was not made here, or MkDocs refuses a page.
        OSError: If a file cannot be written; what stood in `out` before still stands.
    """
    from builders.folders import replace_folder
    from leaderboard.boards import boards
    from leaderboard.case_boards import case_boards
    from leaderboard.datafiles import write_data
    from leaderboard.novel_boards import novel_boards
    from leaderboard.pages import write_pages
    from leaderboard.sealed_boards import sealed_boards
    from leaderboard.soup_boards import soup_boards

    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise SiteError(f"{out} holds something that this command did not make; give another folder with --out")
    riddles = boards(store, history, fit=fit) if fit else boards(store, history)
    found: list[AnyBoard] = [*riddles, *soup_boards(store), *novel_boards(store), *case_boards(store)]
    found += sealed_boards(store)
    days = {s.submission.date for s in store.submissions()} | {s.submission.date for s in store.sealed()}
    newest = max(days, default="2026-01-01")
    with replace_folder(out) as new:
        shutil.copytree(SITE, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns("_build"))
        (new / MARK).touch()
        write_pages(found, new / "docs", history, store=store)
        for board in found:
            write_data(board, new / "docs" / "data")
        _name_pages(new / "mkdocs.yml", found)
        _run_mkdocs(new, datetime.fromisoformat(newest).replace(tzinfo=UTC))
    return out / "_build" / "index.html"


def _name_pages(config: Path, found: "Sequence[AnyBoard]") -> None:
    import yaml

    listed = [{board.title: f"{board.split}.md"} for board in found]
    reanalysis = [{"Re-analysis": "reanalysis.md"}] if any(board.reread for board in found) else []
    coverage = [{"Coverage": "coverage.md"}] if (config.parent / "docs" / "coverage.md").exists() else []
    pages = [{"Overview": "index.md"}, *([{"Boards": listed}] if listed else [])]
    submit: list[dict[str, str]] = [
        {"Submit": "submit.md"},
        {"Large runs": "large-runs.md"},
        {"History": "history.md"},
    ]
    alike = [{"Juries": "juries.md"}, {"Benchmarks compared": "similarity.md"}]
    nav = {"nav": [*pages, {"Method": "method.md"}, *coverage, *alike, *reanalysis, *submit, {"Data": "data.md"}]}
    with config.open("a", encoding="utf-8") as file:
        file.write("\n" + yaml.safe_dump(nav, sort_keys=False, allow_unicode=True))


def _run_mkdocs(folder: Path, day: datetime) -> None:
    # MkDocs writes a date into the site map; it is the day of the newest run, so that equal stores make equal bytes.
    fixed = {"SOURCE_DATE_EPOCH": str(int(day.timestamp())), "NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: MkDocs counts only the warnings that it would print, and --strict needs the count.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml"]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=os.environ | fixed, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-600:]
        raise SiteError(f"MkDocs refused the pages of this build: {said}; `make .venv/ready` installs what it needs")
