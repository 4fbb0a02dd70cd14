"""Grades that people gave the answers of cases: one JSON object a line, taken in as verdicts of kind human."""

from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from builders.values import ItemId, Value
from evaluators.answers import CaseAnswer
from evaluators.predictions import PredictionError
from evaluators.units import unit_of
from evaluators.values import Label, Transcript, Verdict

MOST_BYTES = 64 * 2**20


class HumanGrade(Value):
    """One person's grade of one answer."""

    item_id: ItemId
    epoch: int = Field(0, ge=0)
    stage: int = Field(ge=0, description="0 after the introduction, 1 after the first location, and so on.")
    question: int = Field(ge=1)
    grader: Label = Field(description="Who graded; a name that tells people apart is enough.")
    grade: int = Field(ge=0, le=3, strict=True)


def read_grades(path: Path, transcripts: Sequence[Transcript], *, judges: Collection[str]) -> tuple[Verdict, ...]:
    """Read people's grades of a run's answers.

    Args:
        path: The file.
        transcripts: The attempts of the run.
        judges: Names of the jury, which no person may bear.

    Raises:
        PredictionError: If the file cannot be read, or a line is malformed, about no answer there is, or given twice.
    """
    attempts = {(t.item_id, t.epoch): t for t in transcripts}
    found: dict[tuple[str, str, str], Verdict] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = HumanGrade.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            raise PredictionError(f"{where}: {'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}") from None
        verdict = _verdict(row, attempts.get((row.item_id, row.epoch)), where)
        key = (verdict.transcript_id, row.grader, verdict.unit)
        if key in found:
            raise PredictionError(f"{where}: a second grade by {row.grader!r} of the same answer; keep one")
        if row.grader in judges:
            raise PredictionError(f"{where}: {row.grader!r} is a judge of the jury; name the person otherwise")
        found[key] = verdict
    return tuple(found.values())


def _lines(path: Path) -> list[bytes]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PredictionError(f"{path}: larger than {MOST_BYTES >> 20} MB; one JSON object a line is enough")
        return path.read_bytes().splitlines()
    except OSError as error:
        raise PredictionError(f"{path}: {error.strerror}") from None


def _verdict(row: HumanGrade, transcript: Transcript | None, where: str) -> Verdict:
    said = transcript.answer if transcript else None
    if transcript is None or not isinstance(said, CaseAnswer):
        raise PredictionError(f"{where}: the run has no answers to {row.item_id!r}, epoch {row.epoch}")
    if row.stage >= len(said.stages) or row.question > len(said.stages[row.stage]):
        raise PredictionError(
            f"{where}: {row.item_id!r} has stages 0 to {len(said.stages) - 1} and {len(said.stages[0])} questions, not "
            f"stage {row.stage}, question {row.question}"
        )
    return Verdict(
        transcript_id=transcript.transcript_id,
        judge=row.grader,
        kind="human",
        unit=unit_of(row.stage, row.question),
        score=float(row.grade),
    )
