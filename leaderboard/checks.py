"""What is checked after a build, before anybody sees it: links, keys and unpublished text, escaping, numbers.

Every page: its links lead somewhere, no HTML of a name or an answer could run, no character turns text around. Every
file: no key, no canary, no name of a sealed item, no text of a split that is kept out (`leaderboard/leaks.py`). Every
board and every model's page: each score with its interval is one of the data files. The three data files of a board
hold the same rows.
"""

import csv
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from builders import BENCHMARKS
from evaluators.scores import FULL_MARKS
from leaderboard.leaks import Search, Unpublished, registered

# Two processes where there are so many files that starting them pays.
MANY, PROCESSES = 4000, 2
# Its tables are those of the Parquet files beside it, which are searched: they were packed from them.
_PACKED = "data/results.duckdb"
_LINK = re.compile(r'\s(?:href|src)="([^"]*)"')
_ID = re.compile(r'\s(?:id|name)="([^"]*)"')
_CONTENT = re.compile(r'<div class="ds-board">(.*)</article>', re.DOTALL)
# What pages of data never hold: HTML that runs, and characters that turn the text around.
_RUNS = re.compile(r"<(?:script|iframe|object|embed|img|form|base|link|meta)\b|\son\w+\s*=\s*\"", re.IGNORECASE)
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PROTOCOLS = {b.name: b.protocol for b in BENCHMARKS}
_FIGURES = ("submission_id", "value", "low", "high")
_BIG = re.compile(r'<dd class="ds-big">([\d.]+)</dd></div>\s*<div><dt>[^<]*</dt><dd>([\d.]+–[\d.]+)</dd>')
_ROW = re.compile(r'<tr role="row"[^>]*>.*?</tr>', re.DOTALL)


class Known(NamedTuple):
    """What has been looked up."""

    there: dict[str, bool]
    anchors: dict[str, frozenset[str]]


class Fault(NamedTuple):
    """One thing that is wrong with a built site."""

    page: str
    what: str


def check_site(
    built: Path,
    *,
    root: str = "/",
    unpublished: Unpublished | None = None,
    searched: Collection[str] = (),
) -> list[Fault]:
    """Check a built site.

    Args:
        built: Its folder.
        root: Path at which the site will stand on its host, ending in a slash.
        unpublished: What must not stand in it; None: what is known without a key.
        searched: Files that were searched for all of that when they were made.

    Raises:
        OSError: If a file cannot be read, or is too large to be searched.
    """
    names = sorted(str(p.relative_to(built)) for p in built.rglob("*") if p.is_file())
    taken = {*searched, _PACKED}
    work = partial(_check, built, root, unpublished or registered(), taken)
    if len(names) < MANY:
        return work(names) + _numbers(built)
    return [fault for found in _spread(work, names) for fault in found] + _numbers(built)


def _spread(work: Callable[[Sequence[str]], list[Fault]], names: Sequence[str]) -> list[list[Fault]]:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    parts = [names[n::PROCESSES] for n in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, parts))


def _check(
    built: Path, root: str, unpublished: Unpublished, searched: Collection[str], names: Sequence[str]
) -> list[Fault]:
    known, search = Known({}, {}), Search(unpublished)
    found: list[Fault] = []
    for name in names:
        if name not in searched:
            found += [Fault(name, what) for what in search.kinds(built / name)]
        if name.endswith(".html"):
            text = (built / name).read_text(encoding="utf-8")
            found += [Fault(name, what) for what in _links(built, name, text, known, root)]
            found += [Fault(name, what) for what in _escaping(text)]
            if name.startswith("models/"):
                found += [Fault(name, what) for what in _of_model(built, name, text)]
    return found


def _links(built: Path, name: str, text: str, known: Known, root: str) -> Iterator[str]:
    top, folder = str(built), os.path.dirname(f"{built}/{name}")  # a hundred thousand links
    for link in sorted(set(_LINK.findall(text))):
        path, _, fragment = link.partition("#")
        if ":" in path or path.startswith("//"):
            if not path.startswith(("https:", "http:", "mailto:", "data:image/")):
                yield f"a link of the kind {path.partition(':')[0]!r}"
            continue
        path = unquote(path.partition("?")[0])
        # The theme's page for missing pages links from the root.
        base, path = (top, path.removeprefix(root)) if path.startswith("/") else (folder, path)
        target = os.path.normpath(f"{base}/{path}") if path or base == top else f"{top}/{name}"
        if target not in known.there:
            known.there[target] = os.path.exists(target)
        if not known.there[target]:
            yield f"a link to {link!r}, which is not there"
        elif fragment and target.endswith(".html"):
            if target not in known.anchors:
                known.anchors[target] = frozenset(_ID.findall(Path(target).read_text(encoding="utf-8")))
            if unquote(fragment) not in known.anchors[target]:
                yield f"a link to {link!r}: the page has no such place"


def _escaping(text: str) -> Iterator[str]:
    content = _CONTENT.search(text)
    if content is None:
        return
    # Names are escaped, so a bare < is always a tag and a bare " always the end of an attribute.
    if found := _RUNS.search(re.sub(r'"[^"<>]*"', '""', content[1])):
        yield f"HTML that could run: {found[0]!r}"
    if found := _TURNS.search(content[1]):
        yield f"a character that turns text around, U+{ord(found[0]):04X}"


def _numbers(built: Path) -> list[Fault]:
    """Every score and interval in the table of a board is one of its data files, which hold the same rows."""
    found = []
    for path in sorted((built / "data").glob("*.json")):
        page = built / f"{path.stem}.html"
        estimates = json.loads(path.read_text(encoding="utf-8"))["estimates"]
        known = _shown(estimates)
        for row in _ROW.findall(page.read_text(encoding="utf-8")):
            score = re.search(r'ds-score" data-label="(?:Score|Overall)">([\d.]+)<', row)
            interval = re.search(r'data-label="95 %">([\d.]+–[\d.]+)<', row)
            if score and interval and (score[1], interval[1]) not in known:
                found.append(Fault(page.name, f"{score[1]} ({interval[1]}) stands in no estimate of {path.name}"))
        rows = [tuple(e[name] for name in _FIGURES) for e in estimates]
        found += [Fault(other.name, f"holds other rows than {path.name}") for other in _differing(path, rows)]
    return found


def _shown(estimates: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Scores and intervals as pages write them."""
    known = {(f"{100 * e['value']:.1f}", f"{100 * e['low']:.1f}–{100 * e['high']:.1f}") for e in estimates}
    # Grades are shown as grades: 0 to 3, with two decimals.
    graded = [e for e in estimates if _PROTOCOLS.get(e["benchmark"]) in FULL_MARKS]
    return known | {(f"{e['value']:.2f}", f"{e['low']:.2f}–{e['high']:.2f}") for e in graded}


def _differing(path: Path, rows: Sequence[tuple[object, ...]]) -> Iterator[Path]:
    import pyarrow.parquet as pq

    table, parquet = path.with_suffix(".csv"), path.with_suffix(".parquet")
    with table.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    if [(line["submission_id"].removeprefix("'"), *(float(line[n]) for n in _FIGURES[1:])) for line in lines] != rows:
        yield table
    columns = pq.read_table(parquet, columns=list(_FIGURES)).to_pydict()
    if list(zip(*(columns[name] for name in _FIGURES), strict=True)) != rows:
        yield parquet


def _of_model(built: Path, name: str, text: str) -> Iterator[str]:
    """Every score and interval on the page of a model is one of its file."""
    path = built / "api/v1" / name.replace(".html", ".json")
    known = _shown(json.loads(path.read_text(encoding="utf-8"))["estimates"])
    for score, interval in _BIG.findall(text):
        if (score, interval) not in known:
            yield f"{score} ({interval}) stands in no estimate of its file in the API"
