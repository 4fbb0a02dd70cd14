"""Where votes and labels of a split are read from: the store, or bundles and labels of people, in memory.

A sealed split leaves no evidence in the store; from its bundles and encrypted labels, with an identity of the
environment, whole figures can be worked out all the same.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluators.bundle import BundleError
from evaluators.fit import choose_jury
from evaluators.store import IN_MEMORY, Store, open_store, store_path
from evaluators.values import own_tier


def add_places(parser: argparse.ArgumentParser) -> None:
    """Describe the options that name split, jury and where the evidence is."""
    parser.add_argument("split", help="for example layton-llm")
    parser.add_argument("--jury", help="needed where several juries judged the split")
    parser.add_argument(
        "--bundles", type=Path, nargs="+", metavar="DIR", help="read these instead of the store; needed if sealed"
    )
    parser.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="built splits")
    parser.add_argument(
        "--labels",
        type=Path,
        default=Path("leaderboard/labels"),
        metavar="DIR",
        help="labels of people, with --bundles",
    )


@contextmanager
def evidence(arguments: argparse.Namespace) -> Iterator[tuple[Store, str, str, str]]:
    """Open what the options of `add_places` name: a store, and the split, version and jury to read.

    Raises:
        ChoiceError: If the split has no rows, or several juries and none is named.
        BundleError: If a bundle or a label is refused, or none is of the split.
    """
    from evaluators.sealing import SealedRunError

    if arguments.bundles is None:
        with open_store(store_path(), read_only=True) as store:
            yield (store, arguments.split, *choose_jury(store, arguments.split, arguments.jury))
        return
    with open_store(IN_MEMORY) as store:
        try:
            split = _fill(store, arguments)
        except SealedRunError as error:
            raise BundleError(str(error)) from None
        yield (store, split, *choose_jury(store, split, arguments.jury))


def _fill(store: Store, arguments: argparse.Namespace) -> str:
    from builders.splits import load_split
    from evaluators.annotation.labels import read_folder, verdicts
    from evaluators.sealing import discreet
    from leaderboard.case_report import bundles_of

    split = load_split(arguments.split, root=arguments.splits, sealed=True)
    manifest = split.manifest
    with discreet(manifest):
        found = bundles_of(arguments.bundles, split)
        said = verdicts(read_folder(arguments.labels / manifest.ref, sealed=manifest.sealed))
        # Of a sealed split not even the categories are told.
        items = [i.model_copy(update={"category": "sealed"}) for i in split.items] if manifest.sealed else split.items
        store.write_split(manifest, items)
        for b in found:
            own = {t.transcript_id for t in b.transcripts}
            whole = (*b.verdicts, *(v for v in said if v.transcript_id in own))
            store.write_submission(b.submission, b.transcripts, whole, tier=own_tier(b.submission))
    return manifest.split
