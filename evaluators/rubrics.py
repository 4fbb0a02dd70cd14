"""Marking rubrics of a split of cases: written once by a named model, used for every player, sealed with the split."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from builders.folders import replace_file
from builders.splits import Split
from builders.values import Case, ItemId, Name, Sha256, SplitManifest, Value
from evaluators.values import Label, SplitRef

MOST_BYTES = 16 * 2**20
SEALED = ".age"


class RubricError(ValueError):
    """Rubrics that cannot be used; the message says which file and what to do, and quotes nothing of it."""


class Level(Value):
    """When a grade is due."""

    definition: str = Field(min_length=1)
    examples: tuple[str, ...] = Field(min_length=1, max_length=8, description="Answers that earn the grade.")
    edge_cases: str = Field(description="Partial descriptions, other names, answers that hedge.")


class Rubric(Value):
    """What a grader of one question goes by."""

    levels: tuple[Level, ...] = Field(min_length=4, max_length=4, description="For the grades 0, 1, 2 and 3.")
    steps: str = Field(min_length=1, description="How to arrive at the grade.")


class QuestionRubric(Value):
    """The rubric of one question of a case."""

    item_id: ItemId
    question: int = Field(ge=1, description="Place in the case, from 1.")
    rubric: Rubric


class RubricSet(Value):
    """The rubrics of one version of a split, and who wrote them."""

    split: SplitRef
    split_sha256: Sha256 = Field(description="Digest in the split's manifest.")
    mode: Literal[4, 5] = Field(description="4: the writer saw the solution of the case; 5: it did not.")
    writer: Label = Field(description="Model that wrote them.")
    provider: Name
    prompt_sha256: Sha256
    reviewer: str | None = Field(None, description="Who read and edited the rubrics; fill it in by hand.")
    rubrics: tuple[QuestionRubric, ...]

    @property
    def sha256(self) -> str:
        """Digest of what answers are graded by; an edited rubric makes another one."""
        rows = sorted(self.rubrics, key=lambda r: (r.item_id, r.question))
        return sha256("\n".join([self.split_sha256, *(r.model_dump_json() for r in rows)]).encode()).hexdigest()

    @property
    def by_question(self) -> Mapping[tuple[str, int], Rubric]:
        """The rubrics by case and question, from 1."""
        return {(r.item_id, r.question): r.rubric for r in self.rubrics}


def rubrics_folder(manifest: SplitManifest, root: Path) -> Path:
    """Where the rubrics of a split lie, beside the folder of its version."""
    return root / manifest.split / f"{manifest.version}.rubrics"


def write_rubrics(found: RubricSet, path: Path, *, manifest: SplitManifest) -> None:
    """Write rubrics as YAML that a person can edit; those of a sealed split are encrypted and never lie in clear.

    Raises:
        VaultError: If a sealed split names nobody to seal them for.
        OSError: If the file cannot be written; what stood there before still stands.
    """
    head = (
        "# Marking rubrics: what every player's answers are graded by. Edit them as a person, and name yourself as\n"
        "# `reviewer`; an edit makes another digest, and so a condition of its own on the board.\n"
    )
    data = (
        head + yaml.safe_dump(found.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=110)
    ).encode()
    if manifest.sealed:
        from builders.vault import encrypt

        data = encrypt(data, manifest.sealed_for)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data, durable=False)


def read_rubrics(path: Path) -> RubricSet:
    """Read a file of rubrics; one whose name ends in `.age` is opened in memory.

    Raises:
        RubricError: If it is missing, too large or not in its form; its text is not repeated.
        VaultError: If it cannot be opened.
    """
    from builders.plain_yaml import PlainLoader

    try:
        if path.stat().st_size > MOST_BYTES:
            raise RubricError(f"{path}: more than {MOST_BYTES >> 20} MB; rubrics of a split are far smaller")
        data = path.read_bytes()
    except OSError as error:
        raise RubricError(f"{path}: {error.strerror}; python -m evaluators.write_rubrics makes such a file") from None
    if path.suffix == SEALED:
        from builders.vault import decrypt

        data = decrypt(data, what=str(path))
    try:
        return RubricSet.model_validate(yaml.load(data, Loader=PlainLoader))  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise RubricError(f"{path}{line}: not plain YAML; write the rubrics again") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise RubricError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise RubricError(f"{path}: not YAML in UTF-8; write the rubrics again") from None


def rubrics_for(split: Split, *, mode: Literal[4, 5], root: Path, path: Path | None = None) -> RubricSet:
    """Find the rubrics that a split's answers are graded by, and check that they are of this very split and mode.

    Args:
        split: The split.
        mode: Of the grader.
        root: Folder of the built splits.
        path: File to take; None: the one there is beside the split.

    Raises:
        RubricError: If there are none, several to choose from, or they belong to another split, version or mode.
        VaultError: If sealed ones cannot be opened.
    """
    m = split.manifest
    if path is None:
        found = sorted(rubrics_folder(m, root).glob(f"*-mode{mode}.yaml*"))
        if not found:
            raise RubricError(
                f"there are no rubrics of mode {mode} for {m.ref}; have them written once: python -m "
                f"evaluators.write_rubrics --split {m.ref} --writer MODEL, name a file with --rubrics, or grade by the "
                "marking examples: --grader-mode 3"
            )
        if len(found) > 1:
            raise RubricError(f"several rubrics for {m.ref}: {', '.join(map(str, found))}; name one: --rubrics")
        path = found[0]
    return checked(read_rubrics(path), split, mode=mode, where=str(path))


def checked(rubrics: RubricSet, split: Split, *, mode: int, where: str) -> RubricSet:
    """Refuse rubrics of another split, version or mode, and sets that lack a question or have one twice.

    Raises:
        RubricError: If anything does not fit.
    """
    m = split.manifest
    if (rubrics.split, rubrics.split_sha256) != (m.ref, m.sha256):
        raise RubricError(
            f"{where}: these rubrics belong to {rubrics.split} ({rubrics.split_sha256[:12]}), the split is {m.ref} "
            f"({m.sha256[:12]}); grades by another truth are no grades: have rubrics written for this version"
        )
    if rubrics.mode != mode:
        raise RubricError(
            f"{where}: rubrics of mode {rubrics.mode}, the grader has mode {mode}; name others: --rubrics"
        )
    have = [(r.item_id, r.question) for r in rubrics.rubrics]
    wanted = graded_questions(split)
    if len(set(have)) != len(have) or set(have) != set(wanted):
        raise RubricError(f"{where}: one rubric is expected for each question of the graded cases of {m.ref}")
    return rubrics


def graded_questions(split: Split) -> tuple[tuple[str, int], ...]:
    """Case and place, from 1, of every question that is graded: those of the practice case are not."""
    cases = (item for item in split.items if isinstance(item, Case) and not item.practice)
    return tuple((case.id, n) for case in cases for n in range(1, len(case.questions) + 1))
