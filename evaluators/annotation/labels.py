"""Labels as people gave them: one line a label, written down at every key, merged and turned into verdicts."""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, StringConstraints, ValidationError, model_validator

from builders import vault
from builders.folders import replace_file
from builders.values import ItemId, Protocol, Value
from evaluators.values import HexId, SplitRef, Verdict

MOST_BYTES = 64 * 2**20
SEALED = ".sealed"  # labels of a sealed split: each line by itself is age ciphertext in base64
ADJUDICATOR = "adjudicator"  # who decides where others differ
Annotator = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Grade = Annotated[float, Field(ge=0, le=3)]


class LabelError(ValueError):
    """Labels that cannot be used; the message says which file and line."""


class Label(Value):
    """What one person said of one answer. It holds no text of the item and names no model."""

    split: SplitRef
    item_id: ItemId
    transcript_id: HexId
    annotator: Annotator
    protocol: Protocol
    marks: dict[str, bool] = Field(default_factory=dict, max_length=200, description="By field, yes or no.")
    grades: dict[str, Grade] = Field(default_factory=dict, max_length=200, description="By field, in its own unit.")
    notes: str = Field("", max_length=4000)
    seconds: float = Field(0.0, ge=0, description="Time the answer was on the screen.")
    state: str = Field("open", pattern="^(open|done|skipped)$", description="Only `done` counts as a label.")

    @model_validator(mode="after")
    def _one_name_each(self) -> "Label":
        if set(self.marks) & set(self.grades):
            raise ValueError("a field is marked or graded, not both")
        return self

    @property
    def said(self) -> tuple[dict[str, bool], dict[str, float]]:
        """What counts when two labels are compared."""
        return self.marks, self.grades


def key(label: Label) -> tuple[str, str, str, str]:
    """Order of labels in a file."""
    return (label.split, label.item_id, label.transcript_id, label.annotator)


class Notebook:
    """One annotator's file at the desk: every change is a line, on disk before the page is told so; the last counts.

    Args:
        path: The file; its folder is made. One that ends in `.sealed` holds ciphertext.
        recipients: Public keys that the lines of a sealed file are encrypted for.

    Raises:
        LabelError: If a line is damaged; one that a crash tore off is dropped.
    """

    def __init__(self, path: Path, *, recipients: Sequence[str] = ()) -> None:
        if (path.suffix == SEALED) != bool(recipients):
            raise LabelError(
                f"{path}: labels of a sealed split go into a {SEALED} file, with recipients, and no others"
            )
        self.path, self._recipients = path, recipients
        path.parent.mkdir(parents=True, exist_ok=True)
        self._labels: dict[str, Label] = {}
        if path.exists():
            data = path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            if whole != data:  # the power went in the middle of a line
                with path.open("r+b") as file:
                    file.truncate(len(whole))
            self._labels = {label.transcript_id: label for label in read_labels(path)}

    def get(self, transcript_id: str) -> Label | None:
        """What stands there of one answer."""
        return self._labels.get(transcript_id)

    def put(self, label: Label) -> None:
        """Write a label down.

        Raises:
            OSError: If it cannot be written.
        """
        line = label.model_dump_json(exclude_defaults=True).encode()
        if self._recipients:
            line = b64encode(vault.encrypt(line, self._recipients))
        with self.path.open("ab") as file:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._labels[label.transcript_id] = label

    def all(self) -> tuple[Label, ...]:
        """Every label, in order."""
        return tuple(sorted(self._labels.values(), key=key))


def read_labels(path: Path) -> tuple[Label, ...]:
    """Read a file of labels; of several lines on one answer by one annotator the last counts.

    A sealed one is opened in memory, with an identity of the environment.

    Raises:
        LabelError: If the file is missing, too large, or a line is no label or opens for nobody here.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LabelError(f"{path}: more than {MOST_BYTES >> 20} MB of labels; split the file")
        data = path.read_bytes()
    except OSError as error:
        raise LabelError(f"{path}: {error.strerror}") from None
    found: dict[tuple[str, str], Label] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            label = Label.model_validate_json(_opened(line, path, number) if path.suffix == SEALED else line)
        except ValidationError as error:
            first = error.errors()[0]
            if number == len(lines) and first["type"] == "json_invalid":
                break  # a desk that was killed in the middle of its last line
            where = ".".join(map(str, first["loc"])) or "line"
            raise LabelError(f"{path}:{number}: {where}: {first['msg']}") from None
        found[label.transcript_id, label.annotator] = label
    return tuple(sorted(found.values(), key=key))


def _opened(line: bytes, path: Path, number: int) -> bytes:
    try:
        return vault.decrypt(b64decode(line, validate=True), what=f"line {number} of {path}")
    except (vault.VaultError, ValueError) as error:
        raise LabelError(f"{path}:{number}: cannot be opened: {error}") from None


def read_folder(folder: Path, *, sealed: bool = False) -> tuple[Label, ...]:
    """Read every file of labels below a folder; none where there is no folder.

    Args:
        folder: Where they are.
        sealed: Read the encrypted files instead of those in clear.

    Raises:
        LabelError: If a file is refused, or two files hold labels of one annotator on one answer that differ.
    """
    return merge([read_labels(path) for path in sorted(folder.rglob(f"*{SEALED}" if sealed else "*.jsonl"))])


def write_labels(labels: Iterable[Label], path: Path) -> None:
    """Write labels in order: equal labels make equal bytes.

    Raises:
        OSError: If the file cannot be written; what stood there before still stands.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(label.model_dump_json(exclude_defaults=True) + "\n" for label in sorted(labels, key=key))
    replace_file(path, text.encode(), durable=False)


def merge(several: Sequence[Sequence[Label]]) -> tuple[Label, ...]:
    """Put labels of several files together.

    Raises:
        LabelError: If one annotator said two things of one answer.
    """
    found: dict[tuple[str, str], Label] = {}
    for labels in several:
        for label in labels:
            there = found.setdefault((label.transcript_id, label.annotator), label)
            if there != label:
                raise LabelError(
                    f"{label.annotator!r} labelled {label.item_id!r} ({label.transcript_id}) twice and differently; "
                    "keep one of the two lines"
                )
    return tuple(sorted(found.values(), key=key))


class Conflict(NamedTuple):
    """An answer of which people said different things, and whether somebody has decided."""

    transcript_id: str
    labels: tuple[Label, ...]
    decided: Label | None


def conflicts(labels: Sequence[Label]) -> tuple[Conflict, ...]:
    """Find the answers on which finished labels differ."""
    by_answer: dict[str, list[Label]] = {}
    for label in sorted(labels, key=key):
        if label.state == "done":
            by_answer.setdefault(label.transcript_id, []).append(label)
    found = []
    for name, there in by_answer.items():
        people = [label for label in there if label.annotator != ADJUDICATOR]
        decided = next((label for label in there if label.annotator == ADJUDICATOR), None)
        if any(label.said != people[0].said for label in people[1:]):
            found.append(Conflict(name, tuple(people), decided))
    return tuple(found)


def verdicts(labels: Sequence[Label], *, adjudicated: bool = True) -> tuple[Verdict, ...]:
    """Turn finished labels into verdicts of kind `human`.

    Args:
        labels: Of any number of people.
        adjudicated: Whether an adjudicator's label stands alone; without, everybody's counts as it was given, which
            is what agreement among people is worked out from.
    """
    done = [label for label in labels if label.state == "done"]
    decided = {label.transcript_id for label in done if label.annotator == ADJUDICATOR} if adjudicated else set()
    kept = [x for x in done if x.transcript_id not in decided or x.annotator == ADJUDICATOR]
    return tuple(verdict for label in sorted(kept, key=key) for verdict in _verdicts(label))


def _verdicts(label: Label) -> list[Verdict]:
    common = {"transcript_id": label.transcript_id, "judge": label.annotator, "kind": "human"}
    if label.protocol == "riddle":
        right = bool(label.marks) and all(label.marks.values())
        return [Verdict.model_validate({**common, "score": float(right), "marks": label.marks})]
    if label.protocol == "soup":
        from evaluators.protocols.soup.matching import overall

        parts = {name: _share(label.marks, name) for name in ("logic", "details")}
        parts["conclusion"] = label.grades["conclusion"]
        return [Verdict.model_validate({**common, "score": overall(parts), "parts": parts, "marks": label.marks})]
    if label.protocol == "novel":
        share = _share(label.marks, "step")
        # Judges of novels name their steps with a low line.
        marks = {name.replace("-", "_"): found for name, found in label.marks.items()}
        return [Verdict.model_validate({**common, "score": share, "parts": {"reasoning": share}, "marks": marks})]
    # Each question of a case is judged by itself.
    return [
        Verdict.model_validate({**common, "unit": name, "score": grade}) for name, grade in sorted(label.grades.items())
    ]


def _share(marks: dict[str, bool], name: str) -> float:
    own = [found for field, found in marks.items() if field.rpartition("-")[0] == name]
    return sum(own) / len(own) if own else 0.0
