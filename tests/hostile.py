"""Hostile bundles: what each does to a sound one, and the kind of finding that must come of it."""

import json
import os
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import yaml
import zstandard

from evaluators.bundle import TRANSCRIPTS, VERDICTS

Spoil = Callable[[Path], None]
Rows = list[dict[str, Any]]


class Hostile(NamedTuple):
    name: str
    spoil: Spoil
    kind: str


def put(folder: Path, name: str, data: bytes, *, rows: int | None = None) -> None:
    """Put bytes in place of a file and correct its digest, as somebody who means it would."""
    (folder / name).write_bytes(data)
    path = folder / "submission.yaml"
    described = yaml.safe_load(path.read_text())
    for file in described["files"]:
        if file["name"] == name:
            file["sha256"] = sha256(data).hexdigest()
            file["rows"] = file["rows"] if rows is None else rows
    path.write_text(yaml.safe_dump(described, sort_keys=False, allow_unicode=True))


def lines(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    def spoil(folder: Path) -> None:
        text = change(zstandard.decompress((folder / name).read_bytes()))
        put(folder, name, zstandard.compress(text), rows=text.count(b"\n"))

    return spoil


def rows(name: str, change: Callable[[Rows], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        read = [json.loads(line) for line in zstandard.decompress((folder / name).read_bytes()).splitlines()]
        changed = change(read)
        kept = changed if isinstance(changed, list) else read
        text = "".join(json.dumps(row) + "\n" for row in kept).encode()
        put(folder, name, zstandard.compress(text), rows=len(kept))

    return spoil


def row(name: str, **fields: Any) -> Spoil:
    return rows(name, lambda read: read[0].update(fields))


def said(**fields: Any) -> Spoil:
    """Change top-level keys of submission.yaml; `None` takes one out."""

    def spoil(folder: Path) -> None:
        path = folder / "submission.yaml"
        described = yaml.safe_load(path.read_text()) | fields
        kept = {k: v for k, v in described.items() if v is not ...}
        path.write_text(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))

    return spoil


def model(**fields: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        described = yaml.safe_load((folder / "submission.yaml").read_text())
        said(model=described["model"] | fields)(folder)

    return spoil


def raw(change: Callable[[bytes], bytes]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "submission.yaml"
        path.write_bytes(change(path.read_bytes()))

    return spoil


def append(text: str) -> Spoil:
    return raw(lambda data: data + text.encode())


def packed(name: str, make: Callable[[], bytes]) -> Spoil:
    return lambda folder: put(folder, name, make())


def on_disk(act: Callable[[Path], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        act(folder)

    return spoil


def link(folder: Path) -> None:
    (folder / VERDICTS).unlink()
    (folder / VERDICTS).symlink_to("/etc/passwd")


def whole_folder_is_a_link(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def flip(folder: Path) -> None:
    data = (folder / VERDICTS).read_bytes()
    (folder / VERDICTS).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def fifo(folder: Path) -> None:
    (folder / VERDICTS).unlink()
    os.mkfifo(folder / VERDICTS)


def folder_for_file(folder: Path) -> None:
    (folder / TRANSCRIPTS).unlink()
    (folder / TRANSCRIPTS).mkdir()


def bomb(size: int) -> Callable[[], bytes]:
    return lambda: zstandard.compress(b"0" * size)


def unsized_bomb() -> bytes:
    maker = zstandard.ZstdCompressor().compressobj()
    return b"".join(maker.compress(b"0" * 2**20) for _ in range(512)) + maker.flush()


def lying_size() -> bytes:
    data = bytearray(zstandard.ZstdCompressor(write_content_size=True).compress(b"x" * 1000))
    data[5:7] = (5).to_bytes(2, "little")
    return bytes(data)


MADE_UP = {"expected": 24, "scored": 20, "no_answer": 0, "unjudged": 0, "failed": 0, "missing": 4}
DEEP = 200_000
BIDI, ZERO = "\u202e", "\u200b"
# In pieces, so that no scanner takes this file for one that leaks.
SECRET = "sk-" + "ant0" * 8

DESCRIPTION = [
    Hostile("a tag that runs code", append('x: !!python/object/apply:os.system ["true"]\n'), "yaml"),
    Hostile("a tag of binary data", append("x: !!binary aGk=\n"), "yaml"),
    Hostile("an alias", append("x: &a [1]\ny: *a\n"), "yaml"),
    Hostile("a billion laughs", append("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"), "yaml"),
    Hostile("a key twice", append("jury: other\n"), "yaml"),
    Hostile("two documents", append("---\nx: 1\n"), "yaml"),
    Hostile("deep nesting", raw(lambda _: b"[" * 30_000), "yaml"),
    Hostile("deep mappings", raw(lambda _: b"{a: " * 7_000), "yaml"),
    Hostile("an endless number", append("x: " + "9" * 6000 + "\n"), "yaml"),
    Hostile("a day that is none", append("x: 2026-13-45\n"), "yaml"),
    Hostile("not UTF-8", raw(lambda data: data + b"note: \xff\xfe\n"), "yaml"),
    Hostile("a NUL", raw(lambda data: data + b"x: \0\n"), "yaml"),
    Hostile("another encoding", raw(lambda data: data.decode().encode("utf-32")), "yaml"),
    Hostile("too many bytes", raw(lambda data: data + b"#" * 70_000), "too-large"),
    Hostile("an empty file", raw(lambda _: b""), "description"),
    Hostile("a list", raw(lambda _: b"- 1\n"), "description"),
    Hostile("only text", raw(lambda _: b"hello"), "description"),
    Hostile("a score of its own", append("score: 99.9\n"), "description"),
    Hostile("a tier of its own", append("tier: scored-here\n"), "description"),
    Hostile("NaN as a price", said(cost_usd=float("nan")), "description"),
    Hostile("a negative count", said(epochs=-3), "description"),
    Hostile("a million epochs", said(epochs=10**6), "epochs"),
    Hostile("a path as its name", said(submission_id="../../../etc/cron.d/x"), "description"),
    Hostile("a path as benchmark", said(benchmark="../.."), "description"),
    Hostile("a name with a line end", said(submission_id="a\nb"), "description"),
    Hostile("HTML in a name", model(name="<img src=x onerror=alert(1)>"), "name"),
    Hostile("Markdown in a name", model(name="x](javascript:alert(1))"), "name"),
    Hostile("a table cell in a name", model(name="a | b"), "name"),
    Hostile("a formula as a name", model(name='=HYPERLINK("http://x","y")'), "name"),
    Hostile("a template in a name", model(name="{{ 7*7 }}"), "name"),
    Hostile("text turned around", model(name=f"gpt{BIDI}5"), "description"),
    Hostile("letters nobody sees", model(name=f"openai/gpt{ZERO}-5.1"), "name"),
    Hostile("full-width letters", model(name="openai/ｇｐｔ-5.1"), "name"),
    Hostile("a terminal's escape", model(name="x\x1b[31my"), "description"),
    Hostile("a workflow command", said(note="\n::add-mask::x\n" + BIDI), "text"),
    Hostile("a script as address", said(url="javascript:alert(1)"), "url"),
    Hostile("a password in an address", said(url="https://me:secret@host/x"), "url"),
    Hostile("a very long note", said(note="x" * 20_000), "text"),
    Hostile("a hidden condition", said(condition=f"hints=0{ZERO}"), "name"),
    Hostile("a key in the command", said(command=f"submit --key {SECRET}"), "key"),
    Hostile("no such day", said(date="2026-02-31"), "date"),
    Hostile("a split nobody knows", said(split="no-such"), "split"),
    Hostile("a version with 5,000 digits", said(version="9" * 5000 + ".0.0"), "split"),
    Hostile("another digest of the split", said(split_sha256="0" * 64), "split"),
    Hostile("no digest of the split", said(split_sha256=None), "split"),
    Hostile("another benchmark", said(benchmark="layton"), "split"),
    Hostile("gold instead of a model", said(kind="gold"), "kind"),
    Hostile("counts made up", said(counts=MADE_UP), "counts"),
    Hostile("a judge who never sat", said(judges=["a-1", "b-1", "c-1", "z-1"]), "judge"),
    Hostile("our panel with other judges", said(jury="layton"), "panel"),
    Hostile("a file outside", said(files=[{"name": "../../x", "sha256": "0" * 64, "rows": 1}]), "files"),
    Hostile("a file named twice", raw(lambda d: d.replace(VERDICTS.encode(), TRANSCRIPTS.encode())), "files"),
]  # fmt: skip
EVIDENCE = [
    Hostile("NaN as a score", lines(VERDICTS, lambda t: t.replace(b'"score":1.0', b'"score":NaN', 1)), "json"),
    Hostile("an endless score", lines(VERDICTS, lambda t: t.replace(b'"score":1.0', b'"score":1e999', 1)), "row"),
    Hostile("a score of 7", row(VERDICTS, score=7.0), "score"),
    Hostile("a score against its marks", row(VERDICTS, score=1.0, marks={"is_answer_correct": False}), "score"),
    Hostile("a human label", row(VERDICTS, kind="human"), "label"),
    Hostile("an author's label", row(VERDICTS, kind="author"), "label"),
    Hostile("a rule that gives a point", row(VERDICTS, kind="rule", judge="no-answer"), "rule"),
    Hostile("a second vote of one judge", rows(VERDICTS, lambda r: [r[0], *r]), "duplicate"),
    Hostile("a verdict on nothing", row(VERDICTS, transcript_id="f" * 16), "no-attempt"),
    Hostile("a judge of the model's maker", row(VERDICTS, provider="acme"), "own-judge"),
    Hostile("a judge not named", row(VERDICTS, judge="z-9"), "judge"),
    Hostile("a verdict with a score and a failure", row(VERDICTS, failure="timeout"), "row"),
    Hostile("an unknown item", row(TRANSCRIPTS, item_id="no-such-item"), "unknown-id"),
    Hostile("a path as an item", row(TRANSCRIPTS, item_id="../../etc/passwd"), "row"),
    Hostile("an item twice", rows(TRANSCRIPTS, lambda r: [*r, r[0]]), "duplicate"),
    Hostile("an epoch too many", row(TRANSCRIPTS, epoch=4), "epoch"),
    Hostile("an answer of another model", row(TRANSCRIPTS, model="acme/better"), "mixed"),
    Hostile("an answer under other hints", row(TRANSCRIPTS, condition="hints=4"), "mixed"),
    Hostile("a transcript of another run", row(TRANSCRIPTS, transcript_id="0" * 16), "transcript-id"),
    Hostile("an unknown field", row(TRANSCRIPTS, tier="scored-here"), "row"),
    Hostile("a field twice", lines(TRANSCRIPTS, lambda t: t.replace(b'{"', b'{"epoch":0,"epoch":0,"', 1)), "json"),
    Hostile("deep JSON", lines(TRANSCRIPTS, lambda t: b"[" * DEEP + b"]" * DEEP + b"\n" + t), "json"),
    Hostile("deep objects", lines(TRANSCRIPTS, lambda t: b'{"a":' * DEEP + b"\n" + t), "json"),
    Hostile("a million numbers", lines(TRANSCRIPTS, lambda t: b"[" + b"0," * 400_000 + b"0]\n" + t), "row"),
    Hostile("a line of 20 MB", lines(TRANSCRIPTS, lambda t: b'{"x":"' + b"x" * 20 * 2**20 + b'"}\n' + t), "long-line"),
    Hostile("a million empty lines", lines(TRANSCRIPTS, lambda t: t + b"\n" * 10**6), "too-many-rows"),
    Hostile("a hundred thousand rows", lines(TRANSCRIPTS, lambda t: t + b"{}\n" * 10**5), "too-many-rows"),
    Hostile("not JSON", lines(TRANSCRIPTS, lambda t: b"answer,1\n" + t), "json"),
    Hostile("UTF-16", lines(TRANSCRIPTS, lambda t: t.decode().encode("utf-16")), "json"),
    Hostile("bad UTF-8", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", b"cl\xffe", 1)), "json"),
    Hostile("half a letter", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", b"\\ud800", 1)), "row"),
    Hostile("a NUL in an answer", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", b"\\u0000", 1)), "hidden"),
    Hostile("an answer turned around", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", BIDI.encode(), 1)), "hidden"),
    Hostile("a key in an answer", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", SECRET.encode(), 1)), "key"),
    Hostile("an answer without end", lines(TRANSCRIPTS, lambda t: t.replace(b"clue", b"w " * 150_000, 1)), "long-text"),
    Hostile("an attempt at a case", row(TRANSCRIPTS, protocol="case"), "mixed"),
    Hostile("no evidence at all", lines(TRANSCRIPTS, lambda _: b""), "no-attempt"),
]  # fmt: skip
FILES = [
    Hostile("a bomb", packed(TRANSCRIPTS, bomb(2**28)), "too-large"),
    Hostile("a bomb of one line", packed(TRANSCRIPTS, bomb(40 * 2**20)), "long-line"),
    Hostile("a bomb without a size", packed(TRANSCRIPTS, unsized_bomb), "zstd"),
    Hostile("a size that lies", packed(TRANSCRIPTS, lying_size), "zstd"),
    Hostile("two frames", lambda f: put(f, VERDICTS, (f / VERDICTS).read_bytes() * 2), "zstd"),
    Hostile("something after the end", lambda f: put(f, VERDICTS, (f / VERDICTS).read_bytes() + b"x"), "zstd"),
    Hostile("a cut-off file", lambda f: put(f, VERDICTS, (f / VERDICTS).read_bytes()[:-9]), "zstd"),
    Hostile("another format", packed(VERDICTS, lambda: zlib.compress(b"{}")), "zstd"),
    Hostile("an empty file of verdicts", packed(VERDICTS, lambda: b""), "zstd"),
    Hostile("17 MB of noise", packed(VERDICTS, lambda: os.urandom(17 * 2**20)), "too-large"),
    Hostile("a byte changed", on_disk(flip), "digest"),
    Hostile("a link to another file", on_disk(link), "not-a-file"),
    Hostile("a folder that is a link", on_disk(whole_folder_is_a_link), "no-folder"),
    Hostile("a pipe", on_disk(fifo), "not-a-file"),
    Hostile("a folder for a file", on_disk(folder_for_file), "not-a-file"),
    Hostile("a file too few", on_disk(lambda f: (f / VERDICTS).unlink()), "missing-file"),
    Hostile("code beside it", on_disk(lambda f: (f / "conftest.py").write_text("raise SystemExit")), "other-file"),
    Hostile("a tier file", on_disk(lambda f: (f / "tier").write_text("scored-here")), "other-file"),
    Hostile("a nested bundle", on_disk(lambda f: (f / "more").mkdir()), "not-a-file"),
    Hostile("a name that turns", on_disk(lambda f: (f / f"a{BIDI}b").touch()), "other-file"),
    Hostile("a thousand files", on_disk(lambda f: [(f / f"f{n}").touch() for n in range(1000)]), "too-many-files"),
]  # fmt: skip


def game(**fields: Any) -> Spoil:
    """Change the first game of a bundle of games."""
    return rows(TRANSCRIPTS, lambda read: read[0]["game"].update(fields))


def setting(**fields: Any) -> Spoil:
    return rows(TRANSCRIPTS, lambda read: read[0]["game"]["settings"].update(fields))


def turn(**fields: Any) -> Spoil:
    return rows(TRANSCRIPTS, lambda read: read[0]["game"]["turns"][0].update(fields))


ASKED = {"question": "Is it so?", "answer": "yes"}
BELIEF = {"logic": [], "details": [], "conclusion": "thus"}
RIDDLE = {"answer": "a clock", "justification": "it ticks"}
SOUP = "player=human;responder=openai/host;turns=2;points=55555555"
# What is done to a bundle of games.
GAMES = [
    Hostile("a condition of riddles", said(condition="hints=0"), "condition"),
    Hostile("a condition made up", said(condition="agent=better;responder=x;points=55555555"), "condition"),
    Hostile("a model that passes for a person", said(condition=SOUP), "condition"),
    Hostile("a person with a model's condition", model(provider="human"), "condition"),
    Hostile("an endless condition", said(condition="agent=full;responder=" + "x" * 20_000), "name"),
    Hostile("a riddle's answer to a puzzle", row(TRANSCRIPTS, answer=RIDDLE), "mixed"),
    Hostile("a game that nobody played", row(TRANSCRIPTS, game=None), "game"),
    Hostile("a turn too many", game(turns=[ASKED] * 3), "game"),
    Hostile("a game cut short", game(turns=[ASKED]), "game"),
    Hostile("another responder in one game", setting(responder="acme/kind"), "game"),
    Hostile("more turns than the condition says", setting(max_turns=30), "game"),
    Hostile("other points for one game", game(points_sha256="5" * 8 + "6" * 56), "game"),
    Hostile("a thousand turns", game(turns=[ASKED] * 1000), "game"),
    Hostile("fewer calls than turns", game(calls=1), "game"),
    Hostile("a belief after the end", game(beliefs=[{"turn": 9, **BELIEF}]), "game"),
    Hostile("beliefs out of order", game(beliefs=[{"turn": 2, **BELIEF}, {"turn": 1, **BELIEF}]), "game"),
    Hostile("a question from nowhere", turn(question="Will you tell me?"), "game"),
    Hostile("an answer that is none of three", turn(answer="perhaps"), "row"),
    Hostile("a question turned around", turn(question=f"Is it {BIDI}?", candidates=[]), "hidden"),
    Hostile("a key in an analysis", turn(analysis=SECRET), "key"),
    Hostile("an analysis without end", turn(analysis="w " * 150_000), "long-text"),
    Hostile("a score that is not that of its parts", row(VERDICTS, score=1.0), "score"),
    Hostile("a part beyond its share", row(VERDICTS, parts={"logic": 9.0, "details": 0.0, "conclusion": 0.0}), "score"),
    Hostile("a part too few", row(VERDICTS, parts={"logic": 1.0}, score=0.3), "score"),
    Hostile(
        "full marks from poor similarities",
        row(VERDICTS, parts={"logic": 1.0, "details": 1.0, "conclusion": 1.0}, score=1.0),
        "score",
    ),
    Hostile("a reply without similarities", row(VERDICTS, reply="excellent"), "score"),
    Hostile("deep similarities", row(VERDICTS, reply="[" * 50_000), "score"),
    Hostile("no points", row(VERDICTS, reply='{"logic": [], "details": [], "conclusion": []}'), "score"),
]  # fmt: skip
HOSTILE = (*DESCRIPTION, *EVIDENCE, *FILES)
