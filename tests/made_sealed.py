"""Keys, and a split sealed for them, whose every field holds words that stand nowhere else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.sealed import seal_split, texts_of, write_sealed
from builders.splits import Split, make_split
from builders.values import Case, Item, Riddle
from builders.vault import IDENTITY, IDENTITY_FILE, make_key
from tests.made import SOURCE, gold

WORDS = "amber bastion cobalt dulcimer ember falcon garnet harbour indigo juniper kestrel lantern".split()  # noqa: SIM905
RUN = 8


def secret(name: str) -> str:
    """Twelve words of which no eight in a row stand anywhere else: each is marked with the field that they fill."""
    return " ".join(f"{word}{name}" for word in WORDS)


def key(folder: Path, name: str) -> tuple[Path, str]:
    """A new key pair: the file of its private key, and its public key."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name, make_key(folder / name)


def hold(monkeypatch: pytest.MonkeyPatch, file: Path | None) -> None:
    """Let the environment name this private key, or none."""
    monkeypatch.delenv(IDENTITY, raising=False)
    monkeypatch.delenv(IDENTITY_FILE, raising=False)
    if file is not None:
        monkeypatch.setenv(IDENTITY_FILE, str(file))


def secret_riddle(n: int) -> Riddle:
    fields = ("description", "first_hint", "second_hint", "third_hint", "special_hint", "solution", "answer")
    texts = {name: secret(f"r{n}{name.replace('_', '')}") for name in (*fields, "justification")}
    return Riddle.model_validate(
        texts | {"id": f"guessable-{n:03}", "cluster": f"guessable-{n:03}", "category": "logic"}
    )


def secret_case(name: str = "guessable-case") -> Case:
    examples = [{"grade": g, "answer": secret(f"example{g}"), "why": secret(f"why{g}")} for g in range(4)]
    return Case.model_validate(
        {
            "id": name,
            "cluster": name,
            "title": secret("title"),
            "introduction": secret("introduction"),
            "locations": [{"name": secret(f"place{n}")[:120], "text": secret(f"text{n}")} for n in range(3)],
            "questions": [{"question": secret("question"), "answer": secret("model"), "examples": examples}],
            "solution": secret("solution"),
            "special_rules": secret("rules"),
        }
    )


def riddles(count: int = 4) -> Split:
    """Riddles under the name of a public split, with gold answers, not sealed yet."""
    items = [secret_riddle(n) for n in range(count)]
    answers = [g.model_copy(update={"item_id": items[0].id}) for g in gold(0)]
    return make_split("sample-llm", items, answers, version="1.0.0", sources=[SOURCE])


def cases(count: int = 1) -> Split:
    """Cases of the private benchmark, not sealed yet."""
    items = [secret_case(f"guessable-case-{n}") for n in range(count)]
    return make_split("watson-holmes", items, version="1.0.0", sources=[SOURCE])


def write(split: Split, root: Path, *recipients: str) -> Path:
    """Seal a split and write it; returns its folder."""
    return write_sealed(*seal_split(split, recipients), root=root)


def runs_of(items: tuple[Item, ...]) -> set[bytes]:
    """Every run of eight words of the items, and every id that could be guessed."""
    found = {item.id.encode() for item in items}
    for item in items:
        for text in texts_of(item):
            words = text.split()
            found |= {" ".join(words[n : n + RUN]).encode() for n in range(len(words) - RUN + 1)}
    return found


def leaks(secrets: set[bytes], *places: Path) -> list[str]:
    """Files below the places that hold one of the secrets, packed ones unpacked too."""
    return [str(path) for place in places for path, data in _files(place) if any(s in data for s in secrets)]


def _files(place: Path) -> Iterator[tuple[Path, bytes]]:
    import zstandard

    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path, data
        if path.suffix == ".zst":
            yield path, zstandard.ZstdDecompressor().decompressobj().decompress(data)
