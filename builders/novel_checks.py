"""What can be wrong with a question about a novel: faulty in itself, missing, shifted against the text, or leaking."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from builders.novels import Paragraph
from builders.release import Oddity, Row, show, whole_number

LETTERS = ("A", "B", "C", "D")
# The paper calls `evidence_position` what its release calls `clue_position`.
EVIDENCE = ("clue_position", "evidence_position")
COLUMNS = ("question", "options", "answer", "distraction", "reasoning", *EVIDENCE, "answer_position")
INFERENCE = -1
# A paragraph this long that stands in the text twice is no chance phrase such as "Yes."
REPEATED = 80
# Positions of a novel look shifted where its steps share this much more with a neighbour of their paragraphs than with
# the paragraphs themselves, over at least so many steps.
SHIFT_RATIO = 1.5
SHIFT_STEPS = 6
_REMARK = re.compile(
    r"\btranslat(?:ion|ed (?:text|version|sentence))\b|\bas an ai\b|\bi(?:'m| am) sorry\b|^\s*(?:sure|certainly)[,!]"
    r"|\bhere(?:'s| is) the\b|^\s*note:|\boriginal text\b|译文|翻译|译者|原文|^\s*注[:：]|作为.{0,8}(?:人工智能|AI)",
    re.IGNORECASE,
)
_OWN_LETTER = re.compile(r"^\s*[A-D]\s*[.):、．]", re.ASCII)
_STRAY_LABEL = re.compile(r"\[\d+\]|^\s*\d+\s*\]", re.ASCII)
_LONG = re.compile(r"[a-z]{5,}")
_PAIR = re.compile(r"(?=([\u3400-\u4dbf\u4e00-\u9fff]{2}))")


def odd(item: str, field: str, message: str, severity: Literal["note", "refused"] = "note") -> Oddity:
    """An oddity of a question, a novel or a language."""
    return Oddity(item=item, field=field, severity=severity, message=message)


def positions(data: Mapping[str, Any]) -> tuple[int, ...]:
    """The evidence positions of a question, under either of their names, once `of_question` found nothing to refuse."""
    return tuple(map(int, data[next(name for name in EVIDENCE if name in data)]))


def of_question(row: Row) -> Iterator[Oddity]:
    """What a question shows without its novel."""
    for name in row.data:
        if name not in COLUMNS:
            yield odd(row.where, show(name), "not a column of the release; left out")
    question, answer = row.data.get("question"), row.data.get("answer")
    if not _is_text(question):
        yield odd(row.where, "question", f"{show(question)} where text belongs", "refused")
    elif _STRAY_LABEL.search(str(question)):
        yield odd(row.where, "question", "holds a paragraph's label or a piece of one; kept as released")
    if answer not in LETTERS:
        yield odd(row.where, "answer", f"{show(answer)} is none of A, B, C, D", "refused")
    yield from _options(row)
    yield from _distraction(row)
    yield from _steps(row)


def against_text(row: Row, paragraphs: Sequence[Paragraph]) -> Iterator[Oddity]:
    """Hold the positions of a sound question against the labels of its novel.

    `num_paragraphs` of the release is never asked: it does not count the English paragraphs.
    """
    texts = {p.label: p.text for p in paragraphs}
    first, last = paragraphs[0].label, paragraphs[-1].label
    answer = int(str(whole_number(row.data["answer_position"])))
    for field, position in (*((EVIDENCE[0], p) for p in positions(row.data)), ("answer_position", answer)):
        if position > last:
            yield odd(
                row.where, field, f"[{position}] is past the end of the text, whose last label is [{last}]", "refused"
            )
        elif position != INFERENCE and position not in texts:
            yield odd(row.where, field, f"the text has no paragraph [{position}]", "refused")
    if answer <= first:
        yield odd(row.where, "answer_position", "nothing stands before the answer; there is no context", "refused")
    if answer in positions(row.data):
        yield odd(row.where, EVIDENCE[0], "a step rests on the paragraph that gives the answer away; never shown")
    if any(p > answer for p in positions(row.data)):
        yield odd(row.where, EVIDENCE[0], "evidence after the answer; never shown, and cannot be found in the context")
    given_away = _plain(texts.get(answer, ""))
    if len(given_away) >= REPEATED:
        for paragraph in paragraphs:
            if paragraph.label < answer and given_away in _plain(paragraph.text):
                yield odd(
                    row.where,
                    "answer_position",
                    f"the answer's paragraph stands in the context too, at [{paragraph.label}]",
                )


def shifts(rows: Sequence[Row], paragraphs: Sequence[Paragraph], key: str) -> Iterator[Oddity]:
    """Say where the steps about a novel fit its paragraphs better one, two or three labels away, for each folder."""
    texts = {p.label: p.text for p in paragraphs}
    for folder in sorted({row.where.split("/")[1] for row in rows}):
        steps = [
            (position, _words(step))
            for row in rows
            if row.where.split("/")[1] == folder and not any(o.severity == "refused" for o in of_question(row))
            for position, step in zip(positions(row.data), row.data["reasoning"], strict=True)  # type: ignore[call-overload]
            if position != INFERENCE
        ]
        fit = {by: sum(len(w & _words(texts.get(p + by, ""))) for p, w in steps) for by in range(-3, 4)}
        best = max(fit, key=lambda by: (fit[by], by == 0))
        if len(steps) >= SHIFT_STEPS and fit[best] >= SHIFT_RATIO * max(1, fit[0]) and fit[best] >= len(steps):
            yield odd(
                key,
                "positions",
                f"those of {folder} look shifted: over {len(steps)} steps, paragraphs {best:+d} fit "
                f"{fit[best] / max(1, fit[0]):.1f} times as well; is this the release's own text?",
            )


def _options(row: Row) -> Iterator[Oddity]:
    options = row.data.get("options")
    if not isinstance(options, dict) or set(options) != set(LETTERS):
        named = sorted(options) if isinstance(options, dict) else options
        yield odd(row.where, "options", f"{show(named)} where A, B, C and D are expected", "refused")
        return
    for letter, text in sorted(options.items()):
        if not _is_text(text):
            yield odd(row.where, "options", f"option {letter} is {show(text)}, not text", "refused")
            continue
        if _REMARK.search(text) or "\n" in text.strip():
            yield odd(row.where, "options", f"option {letter} reads like a remark of a translator; kept as released")
        if _OWN_LETTER.search(text):
            yield odd(row.where, "options", f"option {letter} begins with a letter of its own; kept as released")
    plain = {letter: _plain(str(text)) for letter, text in options.items()}
    if list(plain.values()).count(plain.get(str(row.data.get("answer")), "")) > 1:
        yield odd(row.where, "options", "another option reads the same as the right one", "refused")
    elif len(set(plain.values())) < len(plain):
        yield odd(row.where, "options", "two wrong options read the same; kept as released")


def _distraction(row: Row) -> Iterator[Oddity]:
    distraction = row.data.get("distraction")
    if distraction is None:
        yield odd(row.where, "distraction", "is missing")
    elif not isinstance(distraction, dict) or not all(v is None or isinstance(v, str) for v in distraction.values()):
        yield odd(row.where, "distraction", f"{show(distraction)} where texts by letter belong", "refused")
    elif strays := sorted(set(distraction) - set(LETTERS)):
        yield odd(row.where, "distraction", f"is about {show(strays)}, which is no option; left out")


def _steps(row: Row) -> Iterator[Oddity]:
    reasoning = row.data.get("reasoning")
    named = [name for name in EVIDENCE if name in row.data]
    evidence = row.data[named[0]] if len(named) == 1 else None
    if not isinstance(reasoning, list) or not reasoning or not all(map(_is_text, reasoning)):
        yield odd(row.where, "reasoning", f"{show(reasoning)} where a list of steps belongs", "refused")
    if not isinstance(evidence, list):
        yield odd(row.where, EVIDENCE[0], f"{show(evidence)} where one list of positions belongs", "refused")
    else:
        wrong = [p for p in evidence if whole_number(p) is None or ((whole_number(p) or 0) < 1 and p != INFERENCE)]
        if wrong:
            yield odd(row.where, EVIDENCE[0], f"{show(wrong[0])} is neither a label nor -1", "refused")
        elif all(p == INFERENCE for p in evidence):
            yield odd(row.where, EVIDENCE[0], "no step rests on the text; there is no evidence to show or to find")
        if isinstance(reasoning, list) and len(evidence) != len(reasoning):
            yield odd(
                row.where,
                EVIDENCE[0],
                f"{len(evidence)} positions for {len(reasoning)} steps; which is whose?",
                "refused",
            )
    if (whole_number(answer := row.data.get("answer_position")) or 0) < 1:
        yield odd(row.where, "answer_position", f"{show(answer)} is no label", "refused")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _words(text: str) -> frozenset[str]:
    """Words of five letters and more; of Chinese, pairs of characters."""
    return frozenset(_LONG.findall(text.lower())) | frozenset(_PAIR.findall(text))
