"""What of a novel a question is shown, in each setting: pure functions from paragraphs to text, sizes and records."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from builders.values import NovelQuestion
from evaluators.answers import NovelRecord, NovelSetting

# Its label in the novel's text, from 1, and its words.
Paragraph = tuple[int, str]

# Paragraphs are counted one by one, and a novel as a whole can have this many times as many tokens.
SLACK = 1.01


def visible(
    question: NovelQuestion, paragraphs: Sequence[Paragraph], *, setting: NovelSetting, cut: int = 0
) -> tuple[Paragraph, ...]:
    """The paragraphs a question may be shown, in their order; never one whose label reaches its answer position.

    Args:
        question: Says where the answer and the evidence stand.
        paragraphs: The whole novel.
        setting: `context`: all before the answer; `evidence`: of these the explicit evidence; `question-only`: none.
        cut: Paragraphs to leave out at the front (`context` only).

    Source: Xu et al. 2024, section 4.2; one public re-implementation includes the answer's own paragraph.
    """
    if setting == "question-only":
        return ()
    before = tuple(p for p in paragraphs if p[0] < question.answer_position)
    if setting == "evidence":
        wanted = {position for position in question.evidence_position if position > 0}
        return tuple(p for p in before if p[0] in wanted)
    return before[cut:]


def as_text(paragraphs: Sequence[Paragraph]) -> str:
    """Paragraphs as a prompt holds them: one a line behind its label, as in the release."""
    return "\n".join(f"[{label}] {text}" for label, text in paragraphs)


class Sizes(NamedTuple):
    """Size of each paragraph of a novel, in the order of the text; arrays have shape (paragraphs,)."""

    labels: NDArray[np.int64]
    tokens: NDArray[np.int64]
    characters: NDArray[np.int64]


def sizes(paragraphs: Sequence[Paragraph], count: Callable[[str], int]) -> Sizes:
    """Count every paragraph once, however many questions are asked about the novel."""
    lines = [as_text([p]) + "\n" for p in paragraphs]
    return Sizes(
        np.array([label for label, _ in paragraphs], dtype=np.int64),
        np.array([count(line) for line in lines], dtype=np.int64),
        np.array([len(line) for line in lines], dtype=np.int64),
    )


def fit(question: NovelQuestion, size: Sizes, *, room: int | None) -> int:
    """How many paragraphs must go from the front of the context so that `room` tokens hold the rest; None: no limit."""
    if room is None:
        return 0
    tokens = size.tokens[size.labels < question.answer_position]
    from_end = np.cumsum(tokens[::-1]) * SLACK
    return len(tokens) - int(np.searchsorted(from_end, max(room, 0), side="right"))


def record(question: NovelQuestion, size: Sizes, *, setting: NovelSetting, cut: int = 0) -> NovelRecord:
    """Say in numbers what a question will be shown of its novel; the digest is added when the text is at hand."""
    shown = np.zeros(len(size.labels), dtype=bool)
    if setting != "question-only":
        shown = size.labels < question.answer_position
        if setting == "evidence":
            shown &= np.isin(size.labels, [p for p in question.evidence_position if p > 0])
        shown[np.flatnonzero(shown)[:cut]] = False
    labels = size.labels[shown]
    return NovelRecord(
        setting=setting,
        novel=question.novel,
        paragraphs=len(labels),
        first=int(labels[0]) if len(labels) else None,
        last=int(labels[-1]) if len(labels) else None,
        tokens=int(size.tokens[shown].sum()),
        cut=cut,
        depths=_depths(question, labels, size.characters[shown]) if setting == "context" else (),
    )


def _depths(
    question: NovelQuestion, labels: NDArray[np.int64], characters: NDArray[np.int64]
) -> tuple[float | None, ...]:
    starts = np.cumsum(characters) - characters
    total = max(int(characters.sum()), 1)
    places = dict(zip(labels.tolist(), (starts / total).round(4).tolist(), strict=True))
    # No label is -1, the mark of an inference.
    return tuple(places.get(position) for position in question.evidence_position)


def stand_in(shown: NovelRecord) -> str:
    """What a transcript keeps in place of a novel's text."""
    if shown.sha256 is None:
        return ""
    return (
        f"[{shown.novel}: {shown.paragraphs} paragraphs from {shown.first} to {shown.last}, {shown.tokens} tokens, "
        f"sha256 {shown.sha256}]"
    )
