"""Labels in the forms of others: layton-eval's annotations, Label Studio tasks, Argilla records; out and back in.

layton-eval's rows name model and provider, which a label does not hold: they are looked up in the bundles, and are for
people who have finished labelling.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from evaluators.annotation.labels import Label, LabelError, key
from evaluators.annotation.queue import Attempt
from evaluators.annotation.sheets import Sheet

Format = Literal["native", "layton", "label-studio", "argilla"]
YES_NO = {"yes": True, "no": False}


def export(labels: Sequence[Label], form: Format, about: Mapping[str, Attempt], sheets: Mapping[str, Sheet]) -> str:
    """Write labels in one of the forms; equal labels make equal bytes.

    Args:
        labels: Of any number of people.
        form: `layton` is for riddles, and one row a line; the tasks of the other two hold the texts.
        about: The labelled answers, by transcript id.
        sheets: Their sheets, by transcript id.

    Raises:
        LabelError: If an answer is unknown, or the form cannot hold the labels.
    """
    ordered = sorted(labels, key=key)
    if form == "native":
        return "".join(x.model_dump_json(exclude_defaults=True) + "\n" for x in ordered)
    if missing := [x for x in ordered if x.transcript_id not in about]:
        raise LabelError(
            f"{len(missing)} labels are on answers that are in no bundle here (first {missing[0].transcript_id}); "
            "name their folder with --runs"
        )
    if form == "layton":
        return "".join(_line(_layton(x, about[x.transcript_id])) for x in ordered)
    grouped: dict[str, list[Label]] = {}
    for x in ordered:
        grouped.setdefault(x.transcript_id, []).append(x)
    make = _task if form == "label-studio" else _record
    return json.dumps([make(own, sheets[name]) for name, own in grouped.items()], ensure_ascii=False, indent=1) + "\n"


def read(text: str, form: Format, *, where: str, about: Mapping[str, Attempt]) -> tuple[Label, ...]:
    """Read labels in one of the forms.

    Args:
        text: The file.
        form: Its form.
        where: Its name, for messages.
        about: The answers there are, by transcript id: a label on another is refused.

    Raises:
        LabelError: If anything is not as the form has it.
    """
    found: list[Label] = []
    for number, row in enumerate(_rows(text, form, where), start=1):
        at = f"{where}:{number}" if form in ("native", "layton") else f"{where}: entry {number}"
        try:
            found += _read_one(row, form, about)
        except ValidationError as error:
            first = error.errors()[0]
            raise LabelError(f"{at}: {'.'.join(map(str, first['loc'])) or 'row'}: {first['msg']}") from None
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise LabelError(f"{at}: not in the form of {form} ({type(error).__name__}: {error})") from None
        except LabelError as error:
            raise LabelError(f"{at}: {error}") from None
    for label in found:
        if label.transcript_id not in about:
            raise LabelError(f"{where}: a label on {label.transcript_id}, which is in no bundle here; see --runs")
    return tuple(sorted(found, key=key))


def _rows(text: str, form: Format, where: str) -> list[Any]:
    try:
        if form in ("native", "layton"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LabelError(f"{where}: not JSON ({str(error)[:120]})") from None
    if not isinstance(rows, list):
        raise LabelError(f"{where}: a list of {'tasks' if form == 'label-studio' else 'records'} is expected")
    return rows


def _read_one(row: Any, form: Format, about: Mapping[str, Attempt]) -> list[Label]:
    if form == "native":
        return [Label.model_validate(row)]
    if form == "layton":
        return [_from_layton(row, about)]
    return _from_task(row) if form == "label-studio" else _from_record(row)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _layton(x: Label, attempt: Attempt) -> dict[str, Any]:
    if x.protocol != "riddle":
        raise LabelError(f"layton-eval's form holds labels of riddles, {x.item_id!r} is of protocol {x.protocol!r}")
    head = {"riddle_id": x.item_id, "source_file": attempt.submission, "model": attempt.transcript.model}
    tail = {"notes": x.notes, "annotator": x.annotator, "seconds": x.seconds, "state": x.state}
    return {**head, "custom_id": x.item_id, "transcript_id": x.transcript_id, **x.marks, **tail}


def _from_layton(row: Any, about: Mapping[str, Attempt]) -> Label:
    """One of our rows, or one of layton-eval's, which has no transcript id: then item and model name the answer."""
    name = row.get("transcript_id")
    if name is None:
        fitting = [
            t
            for t, a in about.items()
            if (a.transcript.item_id, a.transcript.model) == (row["riddle_id"], row["model"])
            or (a.transcript.item_id, a.submission) == (row["riddle_id"], row.get("source_file"))
        ]
        if len(fitting) != 1:
            raise LabelError(
                f"{len(fitting)} answers of {row['model']!r} to {row['riddle_id']!r} are here, one is needed"
            )
        name = fitting[0]
    if name not in about:
        raise LabelError(f"a label on {name}, which is in no bundle here; see --runs")
    marks = {field: row[field] for field in ("is_answer_correct", "is_justification_correct") if field in row}
    made = {
        "split": about[name].transcript.split,
        "item_id": row["riddle_id"],
        "transcript_id": name,
        "annotator": row.get("annotator", "layton"),
        "protocol": "riddle",
        "marks": marks,
        "notes": row.get("notes") or "",
        "seconds": row.get("seconds", 0.0),
        "state": row.get("state", "done" if len(marks) == 2 else "open"),
    }
    return Label.model_validate(made, strict=True)


def _texts(sheet: Sheet) -> dict[str, str]:
    blocks = (("item", sheet.item), ("gold", sheet.gold), ("answer", sheet.answer))
    return {name: "\n\n".join(f"{b.title}\n" + "\n".join(b.lines) for b in several) for name, several in blocks}


def _task(labels: Sequence[Label], sheet: Sheet) -> dict[str, Any]:
    """A task of Label Studio: choices for marks, ratings as choices of numbers, so that 0 is one of them."""
    first = labels[0]
    annotations = []
    for x in labels:
        values = {**{n: "yes" if v else "no" for n, v in x.marks.items()}, **{n: f"{v:g}" for n, v in x.grades.items()}}
        results = [
            {"from_name": n, "to_name": "answer", "type": "choices", "value": {"choices": [v]}}
            for n, v in values.items()
        ]
        if x.notes:
            results.append(
                {"from_name": "notes", "to_name": "answer", "type": "textarea", "value": {"text": [x.notes]}}
            )
        done = {"was_cancelled": x.state == "skipped", "lead_time": x.seconds, "result": results}
        annotations.append({"completed_by": {"email": x.annotator}, "ground_truth": False, "state": x.state, **done})
    return {"data": {**_about(first), **_texts(sheet)}, "annotations": annotations, "predictions": []}


def _from_task(task: Any) -> list[Label]:
    return [
        Label.model_validate(
            {
                **{name: task["data"][name] for name in ABOUT},
                "annotator": a["completed_by"]["email"],
                "seconds": a.get("lead_time") or 0.0,
                "state": a.get("state") or ("skipped" if a.get("was_cancelled") else "done"),
                **_said({r["from_name"]: (r["value"].get("choices") or r["value"]["text"])[0] for r in a["result"]}),
            }
        )
        for a in task["annotations"]
    ]


def _record(labels: Sequence[Label], sheet: Sheet) -> dict[str, Any]:
    """A record of Argilla 2: label questions, a text question for notes, and metadata for time and state."""
    first = labels[0]
    responses: dict[str, list[dict[str, Any]]] = {}
    extra: dict[str, Any] = {}
    for x in labels:
        values = {**{n: "yes" if v else "no" for n, v in x.marks.items()}, **{n: f"{v:g}" for n, v in x.grades.items()}}
        for name, value in {**values, **({"notes": x.notes} if x.notes else {})}.items():
            responses.setdefault(name, []).append({"user_id": x.annotator, "value": value})
        extra |= {f"seconds.{x.annotator}": x.seconds, f"state.{x.annotator}": x.state}
    about = {**_about(first), **extra}
    return {"id": first.transcript_id, "fields": _texts(sheet), "metadata": about, "responses": responses}


def _from_record(record: Any) -> list[Label]:
    metadata = record["metadata"]
    by_person: dict[str, dict[str, str]] = {}
    for name, answers in record["responses"].items():
        for answer in answers:
            by_person.setdefault(answer["user_id"], {})[name] = answer["value"]
    people = {*by_person, *(n.partition(".")[2] for n in metadata if n.startswith("state."))}
    return [
        Label.model_validate(
            {
                **{name: metadata[name] for name in ABOUT},
                "annotator": who,
                "seconds": metadata.get(f"seconds.{who}", 0.0),
                "state": metadata.get(f"state.{who}", "done"),
                **_said(by_person.get(who, {})),
            }
        )
        for who in sorted(people)
    ]


ABOUT = ("split", "item_id", "transcript_id", "protocol")


def _about(label: Label) -> dict[str, str]:
    return {name: str(getattr(label, name)) for name in ABOUT}


def _said(values: Mapping[str, str]) -> dict[str, Any]:
    marks = {n: YES_NO[v] for n, v in values.items() if n != "notes" and v in YES_NO}
    grades = {n: v for n, v in values.items() if n != "notes" and v not in YES_NO}
    return {"marks": marks, "grades": grades, "notes": values.get("notes", "")}


def studio_config(sheets: Sequence[Sheet]) -> str:
    """The labelling interface of Label Studio for these sheets, XML."""
    from xml.sax.saxutils import quoteattr

    fields = {f.name: f for sheet in sheets for f in sheet.fields}
    lines = ["<View>", *(f'  <Text name="{name}" value="${name}"/>' for name in ("item", "gold", "answer"))]
    for name in sorted(fields):
        levels = ("yes", "no") if fields[name].kind == "mark" else tuple(f"{level:g}" for level in fields[name].levels)
        shown = fields[name].name.replace("_", " ")
        lines.append(f"  <Header value={quoteattr(shown)}/>")
        lines.append(f'  <Choices name="{name}" toName="answer" choice="single">')
        lines += [f'    <Choice value="{level}"/>' for level in levels]
        lines.append("  </Choices>")
    return "\n".join([*lines, '  <TextArea name="notes" toName="answer"/>', "</View>"]) + "\n"


def load(path: Path) -> str:
    """Read a file that somebody sent.

    Raises:
        LabelError: If it is missing, too large or not UTF-8.
    """
    try:
        if path.stat().st_size > 2**26:
            raise LabelError(f"{path}: larger than 64 MB; split the file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabelError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabelError(f"{path}: not UTF-8") from None
