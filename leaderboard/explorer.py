"""The item explorer: one index a split, one page an item, and the answers and votes in files loaded on demand."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from jinja2 import Environment

from evaluators.store import Store
from leaderboard.evidence import ItemRow, OpenSplit, items, open_splits, shard_marks, shards
from leaderboard.frame import Frame, heading
from leaderboard.model_pages import marks
from leaderboard.novel_boards import NovelBoard
from leaderboard.outputs import Outputs, digest
from leaderboard.pages import AnyBoard
from leaderboard.shown import visible
from leaderboard.turns import HEADS


class _Pages(NamedTuple):
    """What the pages of a split have in common."""

    split: OpenSplit
    title: str
    listed: tuple[ItemRow, ...]
    frame: Frame
    templates: Environment
    outputs: Outputs
    code: str
    steps: bool  # whether there is a page of reference steps, found and missed


SHOWN = 6  # attempts that stand in the page itself, for readers without JavaScript
_TEXTS = {
    "description": "The riddle",
    "surface": "The account",
    "question": "The question",
    "introduction": "The introduction",
    "options": "The options",
    "locations": "The locations",
    "questions": "The questions, with their answers",
    "tips": "Key clues",
    "answer": "Gold answer",
    "bottom": "What happened",
    "solution": "The solution",
    "justification": "Reference reasoning",
    "reasoning": "Reference steps",
}
_AT_ONCE = frozenset({"The options"})  # the others that follow the first are opened on request


def write_explorer(
    store: Store,
    boards: Sequence[AnyBoard],
    frame: Frame,
    templates: Environment,
    outputs: Outputs,
    *,
    code: str,
    shard_code: str,
) -> None:
    """Write the pages and files of every split whose items may be shown."""
    titles = {board.split: board.title for board in boards}
    # Boards of novels have a page of questions, too.
    steps = {board.split for board in boards if isinstance(board, NovelBoard) and board.asked}
    for split in open_splits(store):
        listed = items(store, split)
        title = titles.get(split.split, split.split)
        count = write_shards(store, split, listed, outputs, code=shard_code)
        pages = _Pages(split, title, listed, frame, templates, outputs, code, split.split in steps)
        _write_index(pages)
        _write_items(pages, count)


def write_shards(store: Store, split: OpenSplit, listed: tuple[ItemRow, ...], outputs: Outputs, *, code: str) -> int:
    """Write the answers and votes of each item; shards of which no submission has changed are taken over.

    Returns:
        How many shards each item has.
    """
    sources = {n: digest(code, split, mark) for n, mark in shard_marks(store, split).items()}
    pages = {row.item_id: f"items/{split.folder}/{row.page}" for row in listed}
    stale = set()
    for n, source in sources.items():
        taken = [outputs.take_over(f"{page}-{n}.json", source) for page in pages.values()]
        if not all(taken):
            stale.add(n)
    left = {(item, n) for item in pages for n in stale}
    for item, n, text in shards(store, split, listed, sorted(stale)):
        outputs.put(f"{pages[item]}-{n}.json", sources[n], text)
        left.discard((item, n))
    for item, n in sorted(left):
        outputs.put(f"{pages[item]}-{n}.json", sources[n], '{"rows":[]}')
    return len(sources)


def _write_index(pages: _Pages) -> None:
    split, title = pages.split, pages.title
    path = f"items/{split.folder}/index.html"

    def make() -> str:
        template = pages.templates.get_template("items.html.jinja")
        body = template.render(split=split, title=title, items=pages.listed, text=_text, points=partial(_points, split))
        said = f"Every item of {title} with all models' answers and every judge's vote"
        return pages.frame.fill(path, marks(heading(f"{title}: items"), said, f"cards/board-{split.split}.png", body))

    pages.outputs.write(path, digest(pages.code, split, title, pages.listed), make)


def _write_items(pages: _Pages, count: int) -> None:
    for n, row in enumerate(pages.listed):
        near = tuple(pages.listed[k].page if 0 <= k < len(pages.listed) else None for k in (n - 1, n + 1))
        path = f"items/{pages.split.folder}/{row.page}.html"
        first = pages.outputs.source(f"{path.removesuffix('.html')}-0.json")
        source = digest(pages.code, pages.split, pages.title, pages.steps, row, near, count, first)
        pages.outputs.write(path, source, partial(_item, pages, row, near, count))


def _item(pages: _Pages, row: ItemRow, near: tuple[str | None, ...], count: int) -> str:
    """The page of one item; its first answers stand in it, the others are loaded on demand."""
    base = f"items/{pages.split.folder}/{row.page}"
    rows = json.loads((pages.outputs.new / f"{base}-0.json").read_text(encoding="utf-8"))["rows"] if count else []
    known = {"split": pages.split, "title": pages.title, "item": row, "near": near, "steps": pages.steps}
    template = pages.templates.get_template("item.html.jinja")
    body = template.render(
        **known,
        parts=_parts(row),
        rows=rows[:SHOWN],
        shards=count,
        heads=HEADS.get(pages.split.protocol, ()),
        at_once=_AT_ONCE,
        points=partial(_points, pages.split),
    )
    said = f"Item {row.item_id} of {pages.title}: {row.band}, {row.attempts} answers with every vote"
    name, card = heading(f"{pages.title}: {row.item_id}"), f"cards/board-{pages.split.split}.png"
    return pages.frame.fill(f"{base}.html", marks(name, said, card, body))


def _parts(row: ItemRow) -> list[tuple[str, str]]:
    """The texts of an item that readers are shown, with their names."""
    item = json.loads(row.text) if row.text else {}
    named = ((label, _told(name, item)) for name, label in _TEXTS.items() if item.get(name))
    return [(label, str(visible(text))) for label, text in named]


def _told(name: str, item: dict[str, Any]) -> str:
    """A field of an item as text; what it holds of several parts is one after the other."""
    value = item[name]
    if isinstance(value, str):
        return value
    match name:
        case "options":
            lines = [f"{letter}  {option}" for letter, option in zip("ABCD", value, strict=True)]
        case "reasoning":
            rests = (f"paragraph {n}" if n > 0 else "inference" for n in item["evidence_position"])
            lines = [f"{n}. {step} ({on})" for n, (step, on) in enumerate(zip(value, rests, strict=True), start=1)]
        case "locations":
            lines = [f"{place['name']}\n{place['text']}\n" for place in value]
        case "questions":
            lines = [f"{n}. {q['question']}\n{q['answer']}\n" for n, q in enumerate(value, start=1)]
        case _:
            lines = [f"• {part}" for part in value]
    return "\n".join(lines).strip()


def _text(row: ItemRow) -> str:
    """The first words of an item, for the list."""
    parts = _parts(row)
    return parts[0][1][:140] if parts else ""


def _points(split: OpenSplit, share: float | None, digits: int = 0) -> str:
    """A share as it is shown on the boards of the split: points of 100, or a grade with two decimals."""
    if share is None:
        return "–"
    return f"{100 * share:.{digits}f}" if split.most == 1 else f"{split.most * share:.2f}"
