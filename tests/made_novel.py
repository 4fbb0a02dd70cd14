"""A release in the form of DetectiveQA's, made for a test: annotation files, and novels that nobody wrote."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders.novels import Paragraph, paragraphs_sha256
from builders.values import NovelQuestion

WORDS = ("garden", "harbour", "candle", "letter", "orchard", "station", "physician", "portrait", "cellar", "telegram")


def paragraph(label: int) -> str:
    """A paragraph that says its label and shares its long words with few others."""
    first, second = WORDS[label % 10], WORDS[label // 10 % 10]
    return f"Paragraph {label} tells of the {first}{label % 7 * 'x'} and of the {second}{label % 5 * 'y'}."


def paragraphs(count: int = 40) -> tuple[Paragraph, ...]:
    return tuple(Paragraph(label, paragraph(label)) for label in range(1, count + 1))


def text(count: int = 40) -> str:
    """A novel as the release writes it: a byte order mark, then a paragraph a line with its label."""
    return "\ufeff" + "".join(f"[{p.label}] {p.text}\n" for p in paragraphs(count))


def annotated(*evidence: int, **fields: Any) -> dict[str, Any]:
    """A question of a release whose steps rest on the paragraphs `evidence`; -1 is an inference."""
    evidence = evidence or (3, 17, -1)
    return {
        "question": "Who left the garden?",
        "options": {"A": "The doctor", "B": "The sister", "C": "The porter", "D": "Nobody"},
        "answer": "B",
        "distraction": {"A": "He was in a hurry.", "C": "He had the key."},
        "reasoning": [f"It follows from {paragraph(p)}" if p > 0 else "So it was she." for p in evidence],
        "clue_position": list(evidence),
        "answer_position": 30,
        **fields,
    }


def annotation(novel: int, questions: Sequence[Any], **fields: Any) -> list[dict[str, Any]]:
    return [{"novel_id": novel, "num_paragraphs": 12, "time_cost": "3H", "questions": list(questions), **fields}]


def release(folder: Path, *, language: str = "en", texts: dict[str, str] | None = None, **files: Any) -> Path:
    """A release of one language.

    Args:
        folder: Where it is written.
        language: `en` or `zh`.
        texts: Novels by file name; None: one novel of 40 paragraphs, number 7.
        files: `AIsup_anno_7=[question, ...]`: the questions of a folder's file; none: one question in each folder.
    """
    files = files or {"AIsup_anno_7": [annotated()], "human_anno_7": [annotated(5, -1)]}
    for name, questions in files.items():
        kind, _, number = name.rpartition("_")
        path = folder / f"anno_data_{language}" / kind / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = annotation(int(number), questions) if isinstance(questions, list) else questions
        path.write_text(whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    novels = folder / f"novel_data_{language}"
    novels.mkdir(parents=True, exist_ok=True)
    for file, content in ({"7-The Quiet House-A. Nobody.txt": text()} if texts is None else texts).items():
        (novels / file).write_text(content, encoding="utf-8")
    return folder


def novel_question(n: int = 0, novel: int = 7, count: int = 40, **fields: Any) -> NovelQuestion:
    """A question about the novel that `text(count)` writes."""
    made = {
        "id": f"en/human_anno/{novel}/{n}",
        "cluster": str(novel),
        "category": "human_anno",
        "language": "en",
        "novel": f"en/{novel}",
        "novel_sha256": paragraphs_sha256(paragraphs(count)),
        "title": "The Quiet House",
        "author": "A. Nobody",
        "question": "Who left the garden?",
        "options": ("The doctor", "The sister", "The porter", "Nobody"),
        "answer": "B",
        "distraction": ("He was in a hurry.", None, "He had the key.", None),
        "reasoning": ("She knew the garden.", "The porter saw her.", "So it was she."),
        "evidence_position": (3, 17, -1),
        "answer_position": 30,
    }
    return NovelQuestion.model_validate({**made, **fields})
