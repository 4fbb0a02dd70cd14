"""The commands of the vault: `python -m builders key|seal|open|rotate`; `verify` checks a seal without a key."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders import BENCHMARKS

if TYPE_CHECKING:
    from builders.splits import Split

_KEYS = "The private key is named by DEERSTALKER_IDENTITY_FILE or stands in DEERSTALKER_IDENTITY, never in an option."


def add_commands(commands: Any, version: Any, build: "Callable[[argparse.Namespace], Split]") -> None:
    """Describe the four commands; imports nothing heavy.

    Args:
        commands: What `add_subparsers` returned.
        version: The type of a version argument.
        build: Makes the one split that the arguments name from its source, without writing it.
    """
    names = ", ".join(name for b in BENCHMARKS for name in b.splits)
    key = commands.add_parser("key", help="make a key pair of age: the private key into a file of your own")
    key.set_defaults(command=_key)
    key.add_argument("file", type=Path, metavar="FILE", help="where the private key goes; outside of every checkout")

    seal = commands.add_parser(
        "seal",
        help="encrypt a split for the holders of some keys",
        description="Encrypts a split that is built, or straight from SOURCE, so that its rows are never on disk in "
        "clear. Rows of that version that stood there in clear are taken away.",
    )
    seal.set_defaults(command=lambda arguments: _seal(arguments, build))
    seal.add_argument("name", metavar="SPLIT", help=f"split: {names}")
    seal.add_argument("source", nargs="?", metavar="SOURCE", help="folder or file, for example with cases in YAML")
    seal.add_argument("--revision", help=argparse.SUPPRESS)
    seal.add_argument(
        "--recipient", action="append", required=True, metavar="AGE1", help="public key, or a file with some; repeat"
    )
    seal.add_argument("--version", type=version, default="1.0.0", help="version to seal (default: %(default)s)")
    seal.add_argument("--force", action="store_true", help="replace a sealed version that nobody has used")

    show = commands.add_parser(
        "open", help="print a sealed split in clear, on a terminal", description=f"Prints JSON. {_KEYS}"
    )
    show.set_defaults(command=_open)
    show.add_argument("ref", metavar="SPLIT[@VERSION]")
    show.add_argument(
        "--to-stdout",
        action="store_true",
        help="also where standard output is a file or a pipe, and so a copy in clear that you now have to look after",
    )
    rotate = commands.add_parser(
        "rotate",
        help="encrypt a sealed split anew for other recipients",
        description=f"{_KEYS} Who is removed can still open every old copy (in git, on the Hub, in backups): change "
        "the items where that matters.",
    )
    rotate.set_defaults(command=_rotate)
    rotate.add_argument("ref", metavar="SPLIT[@VERSION]")
    rotate.add_argument("--add", action="append", default=[], metavar="AGE1", help="public key, or a file with some")
    rotate.add_argument("--remove", action="append", default=[], metavar="AGE1", help="public key to leave out")
    rotate.add_argument(
        "--version", type=version, help="write it as this version; needed where the old one is published"
    )
    for command in (seal, show, rotate):
        command.add_argument(
            "--out", type=Path, default=Path("splits"), help="folder of the splits (default: %(default)s)"
        )


def _key(arguments: argparse.Namespace) -> int:
    from builders.vault import make_key

    recipient = make_key(arguments.file)
    print(recipient)
    print(
        f"the private key is in {arguments.file}: keep a copy elsewhere, without it nothing sealed for it opens again\n"
        "the line above is the public key, which anyone may see",
        file=sys.stderr,
    )
    return 0


def _seal(arguments: argparse.Namespace, build: "Callable[[argparse.Namespace], Split]") -> int:
    from builders.sealed import seal_split, write_sealed
    from builders.splits import load_split

    own = any(arguments.name in b.splits and b.visibility == "sealed" for b in BENCHMARKS)
    if arguments.source or own:
        split = build(arguments)
    else:
        split = load_split(f"{arguments.name}@{arguments.version}", root=arguments.out)
    manifest, data = seal_split(split, _recipients(arguments.recipient))
    folder = write_sealed(manifest, data, root=arguments.out, force=arguments.force)
    print(
        f"{manifest.ref}: {manifest.items} items sealed for {len(manifest.sealed_for)}, {len(data):,} bytes in {folder}"
    )
    if not own and not arguments.source:
        print("its rows in clear are gone from that folder; other copies, and what a disk keeps, are yours to remove")
    return 0


def _open(arguments: argparse.Namespace) -> int:
    from builders.sealed import open_sealed
    from builders.splits import SplitError, find_built

    if not (sys.stdout.isatty() or arguments.to_stdout):
        raise SplitError(
            "standard output is not a terminal: what is printed would lie in clear in a file or a log; "
            "--to-stdout does it all the same"
        )
    folder = find_built(arguments.ref, root=arguments.out)
    opened = open_sealed(folder, folder.parent.name, folder.name)
    print(_in_clear(opened.split, opened.head.names))
    print(
        f"{opened.split.manifest.ref} is on this screen in clear; clear its scrollback when you are done",
        file=sys.stderr,
    )
    return 0


def _in_clear(split: "Split", names: dict[str, str]) -> str:
    import json

    rows = [{"was": names[item.id], **item.model_dump(mode="json")} for item in split.items]
    gold = [answer.model_dump(mode="json") for answer in split.gold]
    return json.dumps({"items": rows, "gold": gold}, indent=2, ensure_ascii=False)


def _rotate(arguments: argparse.Namespace) -> int:
    from builders.sealed import open_sealed, rotate, write_sealed
    from builders.splits import SplitError, find_built

    if not arguments.add and not arguments.remove:
        raise SplitError("nothing to change; name recipients with --add or --remove")
    folder = find_built(arguments.ref, root=arguments.out)
    opened = open_sealed(folder, folder.parent.name, folder.name)
    version = arguments.version or folder.name
    manifest, data = rotate(
        opened, add=_recipients(arguments.add), remove=_recipients(arguments.remove), version=version
    )
    write_sealed(manifest, data, root=arguments.out, force=version == folder.name)
    print(f"{manifest.ref}: sealed anew for {len(manifest.sealed_for)}")
    print("\n".join(f"  {recipient}" for recipient in manifest.sealed_for))
    if arguments.remove:
        print(
            "every older copy of the ciphertext still opens with the removed key: in git's history, on the Hub, in "
            "backups. Where that matters, change the items and give them a new major version"
        )
    return 0


def _recipients(given: list[str]) -> tuple[str, ...]:
    """Public keys as given, or from files: lines, as `age -R` reads them."""
    from builders.vault import VaultError, read_recipients

    found: list[str] = []
    for text in given:
        if text.startswith("age1"):
            found.append(text)
            continue
        path = Path(text)
        if not path.is_file() or path.stat().st_size > 65_536:
            raise VaultError("a recipient is a public key, age1 and 58 letters, or a file with some, one a line")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return read_recipients(found) if given else ()
