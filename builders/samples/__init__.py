"""The project's own small public riddles, in the schema of layton-eval's release, with authored gold answers."""

import base64
from pathlib import Path
from typing import Any, Literal

from builders import BENCHMARKS
from builders.release import Row, files_sha256
from builders.values import GoldAnswer, Source

FOLDER = Path(__file__).parent
# The project's own novella with its questions, in the form of DetectiveQA's release.
NOVEL = FOLDER / "novel"
_FILES = {"llm": FOLDER / "riddles.yaml", "vlm": FOLDER / "visual.yaml"}
# The key of a gold answer in the YAML says how its author labels it: (answer is correct, justification is correct).
LABELS = {"right": (True, True), "wrong-reason": (True, False), "wrong": (False, False)}
_COLUMNS = ("url", "picarats", "first_hint", "second_hint", "third_hint", "special_hint", "solution")


def read_samples(split: Literal["llm", "vlm"]) -> tuple[tuple[Row, ...], tuple[GoldAnswer, ...], Source]:
    """Read the sample riddles of a split as rows of a release, their gold answers and their source.

    Raises:
        KeyError: If a gold answer's key is none of LABELS.
        pydantic.ValidationError: If a gold answer is not well-formed.
    """
    import yaml

    path = _FILES[split]
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    gold = tuple(_gold(entry["id"], name, answer) for entry in entries for name, answer in entry.pop("gold").items())
    rows = tuple(Row(f"{path.name}:{entry['id']}", _row(entry, split)) for entry in entries)
    source = next(b for b in BENCHMARKS if b.name == "samples").sources[0]
    return rows, gold, source.model_copy(update={"sha256": files_sha256([path])})


def _row(entry: dict[str, Any], split: Literal["llm", "vlm"]) -> dict[str, object]:
    image = None
    if split == "vlm":
        from builders.samples.drawings import draw

        image = base64.b64encode(draw(entry["id"])).decode("ascii")
    return {**dict.fromkeys(_COLUMNS), **entry, "img": image, "split": split}


def _gold(item: str, name: str, answer: dict[str, str]) -> GoldAnswer:
    answer_correct, justification_correct = LABELS[name]
    return GoldAnswer(
        item_id=item,
        name=name,
        answer=answer["answer"],
        justification=answer["justification"],
        is_answer_correct=answer_correct,
        is_justification_correct=justification_correct,
        annotator="author",
    )
