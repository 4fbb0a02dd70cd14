"""What is known of a split without its items: manifest and item ids, kept in git for every released version."""

import json
from pathlib import Path

from pydantic import Field

from builders.values import Case, Item, ItemId, NovelQuestion, Riddle, Soup, SplitManifest, Value

HOME = Path(__file__).parent.parent / "split_indexes"


class SplitIndex(Value):
    """The manifest of a split and the ids of its items in their order."""

    manifest: SplitManifest
    ids: tuple[ItemId, ...]
    practice: tuple[ItemId, ...] = Field((), description="Of these, cases to learn the game on: never scored.")


def find_index(ref: str, splits: Path, home: Path = HOME) -> SplitIndex | None:
    """The index of `split@version`: the one in git, else that of a built split; None where there is neither.

    Raises:
        SplitError: If the built split is damaged.
    """
    from builders.splits import list_built

    for path in sorted(home.glob("*.json")):  # never a path made of a stranger's words
        if path.stem == ref:
            return SplitIndex.model_validate_json(path.read_bytes())
    return _index(ref, splits) if ref in {m.ref for m in list_built(splits)} else None


def _index(ref: str, splits: Path) -> SplitIndex:
    from builders.splits import load_split

    split = load_split(ref, root=splits)
    practice = tuple(item.id for item in split.items if isinstance(item, Case) and item.practice)
    return SplitIndex(manifest=split.manifest, ids=tuple(item.id for item in split.items), practice=practice)


def ensure_built(ref: str, splits: Path) -> None:
    """Build the split that a bundle cites from the sources its index pins, where it is not built yet.

    Raises:
        SplitError: If it cannot be built, or what is built is not what the index says.
    """
    from builders.__main__ import main as builders
    from builders.splits import SplitError, list_built

    index = find_index(ref, splits)
    if index is None or ref in {m.ref for m in list_built(splits)}:
        return
    m = index.manifest
    pinned = [f"--revision={s.revision}" for s in m.sources[:1] if s.revision]
    code = builders(["build", m.split, "--version", m.version, "--out", str(splits), *pinned])
    built = {b.ref: b.sha256 for b in list_built(splits)}
    if code or built.get(ref) != m.sha256:
        raise SplitError(f"{ref} could not be built as its index pins it; build it with python -m builders build")


def gold_texts(ref: str, splits: Path) -> dict[str, tuple[str, ...]]:
    """What an answer could have been copied from, by item id; empty where the split is not built here."""
    from builders.splits import list_built, load_split

    if ref not in {m.ref for m in list_built(splits)}:
        return {}
    items = load_split(ref, root=splits).items
    return {i.id: _official(i) for i in items}


def _official(item: Item) -> tuple[str, ...]:
    """The official texts of an item that an honest answer would not repeat word for word."""
    match item:
        case Riddle():
            said: tuple[str | None, ...] = (item.justification, item.solution)
        case Soup():
            said = (item.bottom,)
        case NovelQuestion():
            said = item.reasoning
        case Case():
            said = (item.solution, *(q.answer for q in item.questions))
    return tuple(t for t in said if t)


def write_index(ref: str, splits: Path, home: Path = HOME) -> Path:
    """Write the index of a built split, for git; returns its path.

    Raises:
        SplitError: If the split is not built.
        OSError: If it cannot be written.
    """
    index = _index(ref, splits)
    home.mkdir(exist_ok=True)
    path = home / f"{index.manifest.ref}.json"
    content = index.model_dump(mode="json", exclude=None if index.practice else {"practice"})
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path
