"""Builds the site: bundles into the store, the store into estimates, and those into pages and data files.

    python -m leaderboard build [--submissions DIR] [--runs DIR ...] [--splits DIR] [--out DIR]

The pages are a function of the store and the results changelog: no clock and no network, equal input, equal bytes.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from leaderboard.checks import check_site
from leaderboard.generated import write_generated
from leaderboard.leaks import NOTHING, Unpublished, registered, unpublished_of
from leaderboard.records import NO_HISTORY, RECHECKS, RECORDS, History

if TYPE_CHECKING:
    from builders.splits import Split as BuiltSplit
    from evaluators.estimate import Split
    from evaluators.fit import Fits
    from evaluators.store import Store
    from leaderboard.pages import AnyBoard

SITE = Path(__file__).parent.parent / "site"
OUT = Path("build/site")
NAMES = {"mkdocs": "MkDocs", "zensical": "Zensical"}
_FRAME_ENTRY = re.compile(r"\s*<url>(?:(?!</url>).)*/frame\.html(?:(?!</url>).)*</url>", re.DOTALL)


class Options(NamedTuple):
    """Where the site will stand, and what builds its frame."""

    url: str | None = None  # ends in a slash; for links that must be whole: feed, site map, pictures of shared pages
    repository: str | None = None  # OWNER/NAME on GitHub, where rows are reported
    generator: str = "mkdocs"


DEFAULT = Options()
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
    parser.add_argument(
        "--keep-out", nargs="*", default=[], metavar="SPLIT", help="splits of whose texts the site may hold none"
    )
    parser.add_argument("--sealed-splits", type=Path, default=Path("sealed"), metavar="DIR", help="sealed splits")
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="the results changelog")
    parser.add_argument("--rechecks", type=Path, default=RECHECKS, metavar="FILE", help="what rechecks of juries found")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="replaced whole (default: build/site)")
    parser.add_argument("--site-url", type=_address, metavar="URL", help="where the site will stand, ending in a slash")
    parser.add_argument(
        "--repository", metavar="OWNER/NAME", type=_repository, help="on GitHub, where rows are reported"
    )
    parser.add_argument("--generator", choices=tuple(NAMES), default="mkdocs", help="default: mkdocs")


def main(arguments: argparse.Namespace) -> int:
    """Ingest, estimate, write and build; print the path of the front page.

    Raises:
        ValueError: If a bundle or a published table is refused, or `--out` is somebody else's folder.
        OSError: If the store or a page cannot be written.
    """
    from evaluators.rechecks import read
    from evaluators.store import open_store, store_path
    from leaderboard.ingest import ingest
    from leaderboard.records import read_history

    keep_out = unpublished_of([_load(ref, arguments) for ref in arguments.keep_out])
    history = read_history(arguments.records)._replace(rechecks=read(arguments.rechecks))
    with open_store(store_path()) as store:
        ingest(store, arguments.submissions, arguments.runs, arguments.splits, history, labels=arguments.labels)
        options = Options(arguments.site_url, arguments.repository, arguments.generator)
        for m in store.splits():
            if m.sealed and not {m.ref, m.split} & set(arguments.keep_out):
                print(
                    f"of {m.ref} only canary and names of items are searched for: --keep-out {m.ref}", file=sys.stderr
                )
        print(build_site(store, arguments.out, history, options=options, keep_out=keep_out))
    return 0


def _load(ref: str, arguments: argparse.Namespace) -> "BuiltSplit":
    from builders.splits import load_split

    sealed = (arguments.sealed_splits / ref.partition("@")[0]).is_dir()
    return load_split(ref, root=arguments.sealed_splits if sealed else arguments.splits, sealed=True)


def _address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s\"<>]+/", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address that ends in a slash, for example https://example.org/"
        )
    return text


def _repository(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no OWNER/NAME")
    return text


def build_site(
    store: "Store",
    out: Path = OUT,
    history: History = NO_HISTORY,
    *,
    fit: "Callable[[Split], Fits | None] | None" = None,
    options: Options = DEFAULT,
    keep_out: Unpublished = NOTHING,
) -> Path:
    """Write the pages and data files of everything in the store and build the site from them.

    Args:
        store: What to show.
        out: Folder to write, replaced whole; what has not changed since the last build is taken over.
        history: The results changelog.
        fit: As for `boards`; None: its own default.
        options: Where the site will stand, and what builds its frame.
        keep_out: What must not stand in it, besides keys and what is known without a key of what is sealed.

    Returns:
        The front page.

    Raises:
        SiteError: If `out` exists and was not made here, the generator refuses a page, or a check finds a fault.
        OSError: If a file cannot be written; what stood in `out` before still stands.
    """
    from builders.folders import replace_folder
    from leaderboard.boards import boards
    from leaderboard.case_boards import case_boards
    from leaderboard.contests import contests
    from leaderboard.datafiles import write_data
    from leaderboard.frame import put_body, take_body, take_frames, write_frames
    from leaderboard.novel_boards import novel_boards
    from leaderboard.pages import write_pages
    from leaderboard.sealed_boards import sealed_boards
    from leaderboard.soup_boards import soup_boards

    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise SiteError(f"{out} holds something that this command did not make; give another folder with --out")
    riddles = boards(store, history, fit=fit) if fit else boards(store, history)
    found: list[AnyBoard] = [*riddles, *soup_boards(store), *novel_boards(store), *case_boards(store)]
    found += sealed_boards(store)
    paired = contests(store, found)
    store.query("SET memory_limit = '800MB'")  # DuckDB would take most of the machine; it writes to disk instead
    days = {s.submission.date for s in store.submissions()} | {s.submission.date for s in store.sealed()}
    newest = max(days, default="2026-01-01")
    with replace_folder(out, durable=False) as new:
        shutil.copytree(SITE, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns("_build"))
        docs, built = new / "docs", new / "_build"
        write_pages(found, docs, history, store=store, repository=options.repository, paired=paired)
        for board in found:
            write_data(board, docs / "data")
        write_frames(docs)
        bodies = {page.stem: body for page in sorted(docs.glob("*.md")) if (body := take_body(page)) is not None}
        _name_pages(new / "mkdocs.yml", found, options)
        _run(options.generator, new, datetime.fromisoformat(newest).replace(tzinfo=UTC))
        for name, body in bodies.items():
            put_body(built / f"{name}.html", body)
        frames, old = take_frames(built), out / "_build"
        outputs = write_generated(store, found, history, frames, built, paired=paired, old=old, url=options.url)
        unpublished = keep_out | registered(store.splits())
        # What was taken over from a build that was searched for the same need not be searched again.
        same = (out / MARK).exists() and (out / MARK).read_text(encoding="utf-8") == unpublished.digest
        searched = outputs.taken if same else ()
        (new / MARK).write_text(unpublished.digest, encoding="utf-8")
        if faults := check_site(
            built, root=urlsplit(options.url or "/").path, unpublished=unpublished, searched=searched
        ):
            listed = "; ".join(f"{f.page}: {f.what}" for f in faults[:5])
            raise SiteError(f"{len(faults)} faults in the built pages, nothing was replaced: {listed}")
    return out / "_build" / "index.html"


def _name_pages(config: Path, found: "Sequence[AnyBoard]", options: Options) -> None:
    import yaml

    listed: list[dict[str, str]] = [{board.title: f"{board.split}.md"} for board in found]
    docs = config.parent / "docs"
    more = [
        {title: f"{name}.md"}
        for title, name in (
            ("Compare", "compare"),
            ("Calibration", "calibration"),
            ("Juries", "juries"),
            ("Benchmarks compared", "similarity"),
            ("Coverage", "coverage"),
            ("Re-analysis", "reanalysis"),
        )
        if (docs / f"{name}.md").exists()
    ]
    named = {
        "Submit": "submit.md",
        "Large runs": "large-runs.md",
        "What becomes public": "public.md",
        "History": "history.md",
    }
    submit = [{title: page} for title, page in named.items()]
    about: list[dict[str, object]] = [{"Data": "data.md"}, {"Cite": "cite.md"}]
    pages: list[dict[str, object]] = [{"Overview": "index.md"}]
    if listed:
        pages.append({"Boards": listed})
    nav: dict[str, object] = {
        "nav": [*pages, {"Method": [{"Method": "method.md"}, *more]}, {"Take part": submit}, {"Data": about}]
    }
    if options.url:
        nav["site_url"] = options.url
    with config.open("a", encoding="utf-8") as file:
        file.write("\n" + yaml.safe_dump(nav, sort_keys=False, allow_unicode=True))


def _run(generator: str, folder: Path, day: datetime) -> None:
    # MkDocs writes a date into the site map; it is the day of the newest run, so that equal stores make equal bytes.
    fixed = {"SOURCE_DATE_EPOCH": str(int(day.timestamp())), "NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: MkDocs counts only the warnings that it would print, and --strict needs the count.
    command = [sys.executable, "-m", generator, "build", "--strict", "--config-file", "mkdocs.yml"]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=os.environ | fixed, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-600:]
        raise SiteError(
            f"{generator} refused the pages of this build: {said}; `make .venv/ready` installs what it needs"
        )
    site_map = folder / "_build" / "sitemap.xml"
    if site_map.exists():
        site_map.write_text(_FRAME_ENTRY.sub("", site_map.read_text()))
        site_map.with_suffix(".xml.gz").unlink(missing_ok=True)
