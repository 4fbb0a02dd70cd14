"""Runs on sealed splits: nothing of an item, and nothing that was said about one, leaves the process in clear.

What a run keeps is encrypted to the recipients of its split: each line of the journal, and the evidence in the bundle.
What it says is withheld where it may quote: messages of services and of libraries, logs, tracebacks.
"""

import logging
import os
import sys
import tempfile
import threading
import traceback
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builders import vault
from builders.hub import HubError
from builders.release import ReleaseError
from builders.splits import Split, SplitError
from builders.values import SplitManifest
from evaluators.bundle import Bundle
from evaluators.journal import Journal, JournalError
from evaluators.values import Estimate

REFUSED, OUTSIDE = 1, 3
ROOT = Path(__file__).parent.parent


class SealedRunError(RuntimeError):
    """Why a run on a sealed split ended, without the words of whoever said so; `code` is the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class SealedJournal(Journal):
    """A journal whose lines are encrypted, each by itself, so that a torn one costs only its own reply.

    Args:
        path: The file.
        recipients: Public keys; an identity of the environment opens the lines again.
    """

    def __init__(self, path: Path, recipients: tuple[str, ...], *, fresh: bool = False) -> None:
        super().__init__(path, fresh=fresh)
        self._recipients = recipients

    def _encode(self, line: str) -> bytes:
        return b64encode(vault.encrypt(line.encode(), self._recipients))

    def _decode(self, data: bytes) -> dict[str, Any]:
        return super()._decode(vault.decrypt(b64decode(data, validate=False), what=f"a line of {self.path}"))


def open_journal(path: Path, manifest: SplitManifest, *, fresh: bool = False) -> Journal:
    """The journal of a run on a split: encrypted where the split is sealed.

    Args:
        path: The file.
        manifest: Manifest of the split.
        fresh: Find nothing that was written before this opening.

    Raises:
        SplitError: If it would be encrypted for people among whom you are not: the run could not be taken up again.
    """
    if not manifest.sealed:
        return Journal(path, fresh=fresh)
    if not vault.own_recipients() & set(manifest.sealed_for):
        raise SplitError(f"{manifest.ref} is not sealed for your identity, so that its journal could not be read again")
    return SealedJournal(path, manifest.sealed_for, fresh=fresh)


def check_runnable(manifest: SplitManifest) -> None:
    """Refuse a sealed split of a protocol that would leave something of it in clear.

    Raises:
        SplitError: If the split is one of situation puzzles, whose reference points lie beside it as text.
    """
    if manifest.sealed and manifest.protocol == "soup":
        raise SplitError(
            f"{manifest.ref} is sealed: reference points of puzzles lie in clear, so they are not run sealed"
        )


@contextmanager
def discreet(manifest: SplitManifest) -> Iterator[None]:
    """Do something with a split so that, where it is sealed, nothing of it is logged, warned of or raised.

    Raises:
        SealedRunError: In place of every error whose message may quote a text.
    """
    if not manifest.sealed:
        yield
        return
    ended: SealedRunError | None = None
    with _silence():
        try:
            yield
        except BaseException as error:
            if isinstance(error, SplitError | ReleaseError | HubError | KeyboardInterrupt | SystemExit):
                raise  # these name files, versions and options; the message of any other may quote a text
            ended = _withheld(error, manifest)
    if ended is not None:
        raise ended  # outside of the handler: the error with the words in it is not carried along


def _withheld(error: BaseException, manifest: SplitManifest) -> SealedRunError:
    """Say what kind of error it was and where, in words of our own."""
    from evaluators.annotation.labels import LabelError
    from evaluators.annotation.sheets import SheetError
    from evaluators.jury import JuryError
    from evaluators.models import ModelError, ServiceRefusedError
    from evaluators.prompts import PromptError
    from evaluators.rubrics import RubricError
    from evaluators.runner import RunEndedError, ServiceDownError

    kind = type(error).__name__
    withheld = f"its words are withheld, {manifest.ref} is sealed and they may quote it"
    again = "what was paid for is kept; the same command goes on from there"
    if isinstance(
        error, LabelError | SheetError | JuryError | ModelError | PromptError | RubricError | vault.VaultError
    ):
        return SealedRunError(str(error), REFUSED)
    if isinstance(error, RunEndedError) and not isinstance(error, ServiceDownError):
        return SealedRunError(f"{error}. {again}", OUTSIDE)
    if isinstance(error, ServiceRefusedError | ServiceDownError):
        what = "refuses every call" if isinstance(error, ServiceRefusedError) else "failed too often in a row"
        remedy = "run the same model on a public split to see them"
        return SealedRunError(f"the service {what}; {withheld}: {remedy}. {again}", OUTSIDE)
    if isinstance(error, JournalError):
        return SealedRunError(f"the journal cannot be used (held by a run, damaged, or no room); {withheld}", OUTSIDE)
    if isinstance(error, OSError):
        return SealedRunError(f"{error.filename or 'a file'}: {error.strerror or kind}; {again}", OUTSIDE)
    every = traceback.extract_tb(error.__traceback__)
    frames = [f for f in every if f.filename.startswith(str(ROOT)) and "site-packages" not in f.filename] or every
    at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else "an unknown place"
    return SealedRunError(f"{kind} at {at}; {withheld}. {again}", REFUSED)


@contextmanager
def _silence() -> Iterator[None]:
    """Switch off logging, warnings, temporary files and what prints errors of threads; then put all of it back."""
    from evaluators.models import hush

    before = (logging.root.manager.disable, threading.excepthook, sys.unraisablehook, tempfile.tempdir)
    hush()
    logging.disable(logging.CRITICAL)
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None
    # Nothing can be made below it: a library that spills to a temporary file fails instead of leaving text there.
    tempfile.tempdir = os.devnull
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before[0])
        threading.excepthook, sys.unraisablehook, tempfile.tempdir = before[1:]


def aggregates(split: Split, bundle: Bundle) -> tuple[Estimate, ...]:
    """The numbers of a run that may be shown: a mean and interval a metric, of the run as a whole.

    They are worked out in a store in memory. Nothing by item, by category or by question is among them.
    """
    from evaluators.estimate_cases import estimate_cases
    from evaluators.estimate_means import estimate_means
    from evaluators.store import IN_MEMORY, open_store
    from evaluators.values import own_tier

    s = bundle.submission
    with open_store(IN_MEMORY) as store:
        store.write_split(split.manifest, split.items)
        store.write_submission(*bundle, tier=own_tier(s))
        estimate = estimate_cases if s.protocol == "case" else estimate_means
        found = estimate(store, s.split, s.version, s.jury, s.condition)
    return tuple(e.model_copy(update={"best_rank": None, "worst_rank": None}) for e in found if "/" not in e.metric)
