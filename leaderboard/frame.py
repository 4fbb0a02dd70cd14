"""The site's frame around pages that the site generator never sees: there are too many of them, or they are too long.

MkDocs (or Zensical) builds a page with marks in it; the marks are then filled in with HTML that is made here.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup, escape

# Names of the marks; what is filled in is never searched for marks again.
_MARK = re.compile(r"@@(title|description|card|body)@@")
_STUB = """---
title: "@@title@@"
description: "@@description@@"
card: "@@card@@"
hide:
  - navigation
  - toc
search:
  exclude: true
---

# @@title@@

<div class="ds-board">@@body@@</div>
"""
_BODY = re.compile(r'(<div class="ds-board">)\n(.*)\n(</div>)\n\Z', re.DOTALL)
FRAMES = {"models": "models/frame", "items": "items/frame/frame"}


class Frame:
    """A built page with marks.

    Args:
        html: The page.
        path: Where it was built; a page's own address in it follows the page.
    """

    def __init__(self, html: str, path: str) -> None:
        self.text = html
        self._parts = _MARK.split(html)
        self._path = path

    def fill(self, path: str, marks: Mapping[str, str]) -> str:
        """The page at `path`; values of the marks are HTML."""
        texts = (text.replace(self._path, path) if n % 2 == 0 else marks[text] for n, text in enumerate(self._parts))
        return "".join(texts)


def write_frames(docs: Path) -> None:
    """Write a page with marks for each depth of folders."""
    for name in FRAMES.values():
        path = docs / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_STUB, encoding="utf-8")


def take_frames(built: Path) -> dict[str, Frame]:
    """Read the built frames and take them out of the site."""
    found = {}
    for kind, name in FRAMES.items():
        path = built / f"{name}.html"
        found[kind] = Frame(path.read_text(encoding="utf-8"), f"{name}.html")
        path.unlink()
        for folder in path.relative_to(built).parents:
            if not any((built / folder).iterdir()):
                (built / folder).rmdir()
    return found


def take_body(page: Path) -> str | None:
    """Take the HTML out of a page and leave a mark in its place; None where the page is not all HTML below its head."""
    text = page.read_text(encoding="utf-8")
    found = _BODY.search(text)
    if found is None:
        return None
    page.write_text(f"{text[: found.start()]}{found[1]}@@body@@{found[3]}\n", encoding="utf-8")
    return found[2]


def put_body(page: Path, body: str) -> None:
    """Put the HTML back in a built page.

    Raises:
        ValueError: If the page has lost its mark.
    """
    before, mark, after = page.read_text(encoding="utf-8").partition("@@body@@")
    if not mark:
        raise ValueError(f"{page} was built without the mark for its body; a name or title has changed its page")
    page.write_text(before + body + after, encoding="utf-8")


def heading(text: str) -> Markup:
    """Text for a title: escaped, and short enough for a browser's tab."""
    return escape(text if len(text) <= 90 else f"{text[:89]}…")
