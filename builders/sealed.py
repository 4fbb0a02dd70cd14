"""A sealed split on disk: `splits/<split>/<version>/` with items.age and manifest.json, and never a row in clear.

The ciphertext holds JSON lines: first the salt and the author's own ids, then the items, then the gold answers. Inside
and outside an item goes by a salted name, so that nothing derived from a sealed split names what it is about. Rows are
opened in memory and written nowhere.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from hmac import new as hmac
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from pydantic import ValidationError

from builders import vault
from builders.folders import replace_folder
from builders.splits import DEFAULT_ROOT, Split, SplitError, canonical_line, read_manifest
from builders.values import ITEMS, GoldAnswer, Item, ItemId, Seal, SealedItem, Sha256, SplitManifest, Value

CIPHERTEXT = "items.age"


class Head(Value):
    """The first line inside a ciphertext."""

    salt: Sha256
    names: dict[ItemId, str]  # the author's id of each item, by its salted name


class Opened(NamedTuple):
    """What a ciphertext holds."""

    split: Split
    head: Head


def seal_split(split: Split, recipients: Sequence[str]) -> tuple[SplitManifest, bytes]:
    """Encrypt a split to several recipients.

    Returns:
        The manifest that may be read by anyone, and the ciphertext.

    Raises:
        builders.vault.VaultError: If a recipient is none.
        SplitError: If an item refers to another one that is not in the split.
    """
    if split.manifest.sealed:
        raise SplitError(f"{split.manifest.ref} is sealed already; `python -m builders rotate` changes for whom")
    salt = token_hex(32)
    names = {item.id: _name(salt, item.id) for item in split.items}
    items = tuple(_renamed(item, salt, names) for item in split.items)
    gold = tuple(g.model_copy(update={"item_id": names[g.item_id]}) for g in split.gold)
    return _close(
        split.manifest, items, gold, Head(salt=salt, names={new: old for old, new in names.items()}), recipients
    )


def write_sealed(manifest: SplitManifest, data: bytes, *, root: Path = DEFAULT_ROOT, force: bool = False) -> Path:
    """Write ciphertext and manifest to `root/<split>/<version>/` and return that folder.

    Rows that stood there in clear are taken away with the folder they stood in.

    Raises:
        SplitError: If a sealed version is there already and `force` is not set.
        OSError: If the folder cannot be written; what was there before is then still there.
    """
    folder = root / manifest.split / manifest.version
    if not force and (folder / CIPHERTEXT).exists():
        raise SplitError(
            f"{folder} holds a sealed split; published versions do not change: give a higher --version, or --force "
            "where nobody has used this one"
        )
    with replace_folder(folder) as new:
        (new / CIPHERTEXT).write_bytes(data)
        text = json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (new / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return folder


def check_sealed(folder: Path, name: str, version: str) -> tuple[SplitManifest, bytes]:
    """Prove without a key that a ciphertext is whole and the one its manifest is about.

    Raises:
        SplitError: If it is not, or the folder holds more than manifest and ciphertext.
    """
    manifest = read_manifest(folder, name, version)
    path = folder / CIPHERTEXT
    if not manifest.sealed or manifest.seal is None or not manifest.sealed_for:
        raise SplitError(f"{folder} holds no sealed split: its manifest names no seal and nobody it is sealed for")
    if not path.is_file():
        raise SplitError(f"{path} is missing; fetch the sealed split again")
    if path.stat().st_size != manifest.seal.ciphertext_bytes:
        raise SplitError(
            f"{path} has {path.stat().st_size:,} bytes where manifest.json says {manifest.seal.ciphertext_bytes:,}: it "
            "was cut or changed; fetch it again"
        )
    data = path.read_bytes()
    if sha256(data).hexdigest() != manifest.seal.ciphertext_sha256:
        raise SplitError(f"{path} has not the sha256 that manifest.json says: it was changed; fetch it again")
    if not data.startswith(vault.HEADER) or vault.stanzas(data) != len(manifest.sealed_for):
        raise SplitError(f"{path} is not encrypted for the {len(manifest.sealed_for)} recipients of manifest.json")
    return manifest, data


def open_sealed(folder: Path, name: str, version: str) -> Opened:
    """Open a sealed split in memory and check it against its manifest.

    Raises:
        SplitError: If no identity of the environment opens it, or ciphertext or content is not what the manifest says.
    """
    manifest, data = check_sealed(folder, name, version)
    try:
        plain = vault.decrypt(data, what=manifest.ref)
    except vault.VaultError as error:
        raise SplitError(str(error)) from None
    kind = ITEMS[manifest.protocol]
    try:
        first, *lines = plain.removesuffix(b"\n").split(b"\n")
        head = Head.model_validate_json(first)
        items = tuple(kind.model_validate_json(line) for line in lines[: manifest.items])
        gold = tuple(GoldAnswer.model_validate_json(line) for line in lines[manifest.items :])
    except (ValidationError, ValueError):  # what pydantic says of it may quote a row
        raise SplitError(f"{manifest.ref} was opened, and does not hold rows of protocol {manifest.protocol}") from None
    if _public(manifest, items, gold, head, data) != manifest:
        raise SplitError(
            f"{manifest.ref} was opened, and its rows do not have the digests of its manifest: one of the two is "
            "somebody else's; do not use it"
        )
    return Opened(Split(manifest, items, gold), head)


def rotate(opened: Opened, *, add: Sequence[str], remove: Sequence[str], version: str) -> tuple[SplitManifest, bytes]:
    """Encrypt an opened split anew, for other recipients and under a new file key.

    Whoever could open the old ciphertext can still open every copy of it that is anywhere.

    Raises:
        SplitError: If one to be removed is not among the recipients, or nobody would be left.
        builders.vault.VaultError: If a recipient is none.
    """
    manifest = opened.split.manifest
    gone = vault.read_recipients(remove) if remove else ()
    if strangers := sorted(set(gone) - set(manifest.sealed_for)):
        raise SplitError(f"{manifest.ref} is not sealed for {', '.join(strangers)}; nothing was changed")
    left = {*manifest.sealed_for, *(vault.read_recipients(add) if add else ())} - set(gone)
    if not left:
        raise SplitError(f"{manifest.ref} would be sealed for nobody; add a recipient first")
    moved = manifest.model_copy(update={"version": version})
    return _close(moved, opened.split.items, opened.split.gold, opened.head, sorted(left))


def texts_of(item: Value) -> Iterator[str]:
    """Every text of an item, however deep; not what only names or sorts it."""
    yield from _texts(item.model_dump(exclude={"id", "cluster", "category", "url"}))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _close(
    manifest: SplitManifest,
    items: Sequence[Item],
    gold: Sequence[GoldAnswer],
    head: Head,
    recipients: Sequence[str],
) -> tuple[SplitManifest, bytes]:
    named = vault.read_recipients(recipients)
    plain = "".join(map(canonical_line, (head, *items, *gold))).encode()
    data = vault.encrypt(plain, named)
    return _public(manifest.model_copy(update={"sealed_for": named}), items, gold, head, data), data


def _public(
    manifest: SplitManifest, items: Sequence[Item], gold: Sequence[GoldAnswer], head: Head, data: bytes
) -> SplitManifest:
    """The manifest with everything that is worked out from the rows and the ciphertext."""
    seal = Seal(
        ciphertext_sha256=sha256(data).hexdigest(),
        ciphertext_bytes=len(data),
        words=sum(len(text.split()) for item in items for text in texts_of(item)),
        items=tuple(SealedItem(id=item.id, sha256=_digest(head.salt, item)) for item in items),
    )
    return manifest.model_copy(
        update={
            "visibility": "sealed",
            "items": len(items),
            "sha256": _digest(head.salt, *items),
            "gold": len(gold),
            "gold_sha256": _digest(head.salt, *gold) if gold else None,
            # A digest of the raw files would let anyone who holds a text prove that it is in here.
            "sources": tuple(s.model_copy(update={"sha256": None}) for s in manifest.sources),
            "seal": seal,
        }
    )


def _digest(salt: str, *rows: Value) -> str:
    return hmac(bytes.fromhex(salt), "".join(map(canonical_line, rows)).encode(), "sha256").hexdigest()


def _name(salt: str, text: str) -> str:
    return f"sealed-{hmac(bytes.fromhex(salt), text.encode(), 'sha256').hexdigest()[:16]}"


def _renamed(item: Item, salt: str, names: Mapping[str, str]) -> Item:
    changes = {"id": names[item.id], "cluster": _name(salt, f"cluster {item.cluster}")}
    if (pair := getattr(item, "pair", None)) is not None:
        changes["pair"] = names.get(pair) or _name(salt, pair)
    return item.model_copy(update=changes)
