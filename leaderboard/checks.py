"""What is checked after a build, before anybody sees it: links, keys and unpublished text, escaping, numbers."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from builders import BENCHMARKS
from evaluators.scores import FULL_MARKS

_LINK = re.compile(r'\s(?:href|src)="([^"]*)"')
_ID = re.compile(r'\s(?:id|name)="([^"]*)"')
_CONTENT = re.compile(r'<div class="ds-board">(.*)</article>', re.DOTALL)
# What pages of data never hold: HTML that runs, and characters that turn the text around.
_RUNS = re.compile(r"<(?:script|iframe|object|embed|img|form|base|link|meta)\b|\son\w+\s*=\s*\"", re.IGNORECASE)
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PROTOCOLS = {b.name: b.protocol for b in BENCHMARKS}
_ROW = re.compile(r'<tr role="row"[^>]*>.*?</tr>', re.DOTALL)


class Known(NamedTuple):
    """What has been looked up."""

    there: dict[str, bool]
    anchors: dict[str, frozenset[str]]


class Fault(NamedTuple):
    """One thing that is wrong with a built site."""

    page: str
    what: str


def check_site(built: Path, *, root: str = "/") -> list[Fault]:
    """Check a built site.

    Args:
        built: Its folder.
        root: Path at which the site will stand on its host, ending in a slash.
    """
    names = tuple(str(p.relative_to(built)) for p in sorted(built.rglob("*.html")))
    known = Known({}, {})
    found: list[Fault] = []
    for name in names:
        text = (built / name).read_text(encoding="utf-8")
        found += [Fault(name, what) for what in _links(built, name, text, known, root)]
        found += [Fault(name, what) for what in _escaping(text)]
    return found + _numbers(built)


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
    """Every score and interval in the table of a board is one of its data file."""
    found = []
    for path in sorted((built / "data").glob("*.json")):
        page = built / f"{path.stem}.html"
        estimates = json.loads(path.read_text(encoding="utf-8"))["estimates"]
        known = {(f"{100 * e['value']:.1f}", f"{100 * e['low']:.1f}–{100 * e['high']:.1f}") for e in estimates}
        # Grades are shown as grades: 0 to 3, with two decimals.
        graded = [e for e in estimates if _PROTOCOLS.get(e["benchmark"]) in FULL_MARKS]
        known |= {(f"{e['value']:.2f}", f"{e['low']:.2f}–{e['high']:.2f}") for e in graded}
        for row in _ROW.findall(page.read_text(encoding="utf-8")):
            score = re.search(r'ds-score" data-label="(?:Score|Overall)">([\d.]+)<', row)
            interval = re.search(r'data-label="95 %">([\d.]+–[\d.]+)<', row)
            if score and interval and (score[1], interval[1]) not in known:
                found.append(Fault(page.name, f"{score[1]} ({interval[1]}) stands in no estimate of {path.name}"))
    return found
