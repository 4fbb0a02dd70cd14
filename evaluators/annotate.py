"""Label answers in the browser: python -m evaluators.annotate --split sample-llm@1.0 --budget 40 --annotator ada

A page on loopback shows item, gold and answer, blind to model and jury; every key is saved. The same command goes on
where the last one stopped. `--annotator adjudicator` shows only answers on which finished labels differ. A sealed split
is opened in memory, with your identity, and its labels are encrypted to the same people.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.submit import DONE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.annotation.desk import Desk

LABELS = Path("leaderboard/labels")


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.annotate", description=__doc__)
    p.add_argument("--split", required=True, help="a built split, for example sample-llm@1.0")
    p.add_argument("--annotator", required=True, metavar="ID", help="who labels: small letters, digits, dots, dashes")
    p.add_argument("--budget", type=int, default=60, metavar="N", help="labels to make (default 60)")
    p.add_argument("--overlap", type=float, default=0.2, metavar="SHARE", help="part of them that everybody labels")
    p.add_argument("--seed", type=int, default=0, help="the same seed makes the same plan for everybody")
    p.add_argument(
        "--runs", type=Path, nargs="+", metavar="DIR", help="bundles (default: runs, leaderboard/submissions)"
    )
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--points", type=Path, metavar="F", help="reference points (default: those beside the split)")
    p.add_argument("--labels", type=Path, default=LABELS, metavar="DIR", help="folder of labels (default: %(default)s)")
    p.add_argument("--port", type=int, default=0, help="loopback port; 0: any free one (default)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the desk until Ctrl-C; every error is one line on stderr and an exit code."""
    from evaluators.annotation.labels import LabelError
    from evaluators.annotation.sheets import SheetError

    options = parser().parse_args(argv)
    try:
        return guarded(lambda: _serve(options))
    except (LabelError, SheetError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def _serve(options: argparse.Namespace) -> int:
    import asyncio
    import secrets

    from filelock import FileLock, Timeout

    from builders.splits import load_split
    from evaluators.annotation.labels import LabelError
    from evaluators.sealing import check_runnable, discreet

    split = load_split(options.split, root=options.splits, sealed=True)
    check_runnable(split.manifest)
    key = secrets.token_urlsafe(18)
    with discreet(split.manifest):
        desk, path = open_desk(options, split, key)
    try:
        with FileLock(f"{path}.lock", timeout=0), discreet(split.manifest):
            asyncio.run(_forever(desk, options.port, key, path))
    except Timeout:
        raise LabelError(f"{path} is in use by another desk; close that one first") from None
    except KeyboardInterrupt:
        print(f"labels: {path}")
    return DONE


def open_desk(options: argparse.Namespace, split: "Split", key: str) -> "tuple[Desk, Path]":
    """Make the desk of an annotator; nothing is served yet.

    Raises:
        SplitError, BundleError, PointsError, LabelError, SheetError: If nothing can be labelled.
    """
    from pydantic import TypeAdapter, ValidationError

    from evaluators.annotation.desk import Desk
    from evaluators.annotation.labels import SEALED, Annotator, LabelError, Notebook, read_folder
    from evaluators.annotation.queue import attempts, kept_queue
    from evaluators.annotation.sheets import sheet
    from evaluators.points import points_for

    try:
        TypeAdapter(Annotator).validate_python(options.annotator)
    except ValidationError:
        raise LabelError(f"--annotator {options.annotator!r}: small letters, digits, dots and dashes") from None
    soups = split.manifest.protocol == "soup"
    points = points_for(split, root=options.splits, path=options.points) if soups else None
    truth = {p.item_id: p for p in points.items} if points else {}
    roots = options.runs or [p for p in (Path("runs"), Path("leaderboard/submissions")) if p.is_dir()]
    folder = options.labels / split.manifest.ref
    chosen = kept_queue(
        folder / f"{options.annotator}.queue",
        attempts(roots, split),
        read_folder(folder, sealed=split.manifest.sealed),
        annotator=options.annotator,
        budget=options.budget,
        overlap=options.overlap,
        seed=options.seed,
    )
    if not chosen:
        raise LabelError(f"nothing to label for {options.annotator!r}: all is labelled, or nothing is in conflict")
    items = {item.id: item for item in split.items}
    sheets = [sheet(items[a.transcript.item_id], a.transcript, truth.get(a.transcript.item_id)) for a in chosen]
    path = folder / f"{options.annotator}{SEALED if split.manifest.sealed else '.jsonl'}"
    notebook = Notebook(path, recipients=split.manifest.sealed_for)
    return Desk(chosen, sheets, notebook, annotator=options.annotator, key=key), path


async def _forever(desk: "Desk", port: int, key: str, path: Path) -> None:
    import asyncio

    from aiohttp import web

    runner = web.AppRunner(desk.application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    address = runner.addresses[0]
    print(f"READY http://127.0.0.1:{address[1]}/?key={key}", flush=True)
    print(f"labels go to {path}; Ctrl-C closes the desk", file=sys.stderr)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    sys.exit(main())
