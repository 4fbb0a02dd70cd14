"""What a board of novels shows besides its table: two settings as a bar, evidence found by place, answers by step."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from builders.values import NovelQuestion, Value
from evaluators.ppi import Interval
from evaluators.protocols.novel.settings import (
    Cell,
    Known,
    Needle,
    Scores,
    contamination,
    four_ways,
    recall_map,
    six_ways,
    win_rate,
)
from evaluators.readings import Reading

# The parts of a bar in words, in the order of SIX and FOUR; the context is the first setting.
SIX_WORDS = (
    "right with the context only",
    "right in both, better reasons with the context",
    "right in both, equal reasons",
    "right in both, better reasons without it",
    "right without the context only",
    "wrong in both",
)
FOUR_WORDS = ("right with the context only", "right in both", "right with the evidence only", "wrong in both")


class Part(NamedTuple):
    """One part of a stacked bar."""

    words: str
    questions: int
    width: str  # in percent of the bar


class Stack(NamedTuple):
    """What became of the questions of one model in two settings."""

    model: str
    parts: tuple[Part, ...]
    unknown: int  # questions left out because a score is missing

    @property
    def spoken(self) -> str:
        """The bar for those who cannot see it."""
        return "; ".join(f"{part.words}: {part.questions}" for part in self.parts)


class HeatCell(NamedTuple):
    """Recall at one length and depth; `shade` is its share of full colour in percent."""

    text: str
    shade: str
    spoken: str


class Heat(NamedTuple):
    """Evidence that one model found, by length of the context and depth in it."""

    model: str
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    needles: int


class Pair(NamedTuple):
    """Scores of one model in two settings, on the questions that both asked."""

    first: Scores
    other: Scores
    clusters: tuple[str, ...]


def pair(context: Iterable[Reading], other: Iterable[Reading]) -> Pair:
    """Put two settings side by side, answer by answer."""
    one, two = ({(r.item_id, r.epoch): r for r in rows} for rows in (context, other))
    shared = sorted(one.keys() & two.keys())
    return Pair(
        _scores([one[k] for k in shared]), _scores([two[k] for k in shared]), tuple(one[k].cluster for k in shared)
    )


def _scores(rows: Sequence[Reading]) -> Scores:
    columns = ([r.accuracy for r in rows], [r.reasoning for r in rows])
    return Scores(*(np.array([np.nan if x is None else x for x in column], dtype=float) for column in columns))


def wins(both: Pair) -> Interval | None:
    """How often the context wins against title and author alone."""
    return win_rate(both.first, both.other, both.clusters)


def contaminated(model: str, both: Pair) -> Stack:
    """The six-way bar of context against question only."""
    return _stack(model, six_ways(both.first, both.other), SIX_WORDS)


def bottleneck(model: str, both: Pair) -> Stack:
    """The four-way bar of context against evidence."""
    return _stack(model, four_ways(both.first, both.other), FOUR_WORDS)


def _stack(model: str, ways: NDArray[np.int64], words: Sequence[str]) -> Stack:
    counts = [int((ways == n).sum()) for n in range(len(words))]
    total = max(1, sum(counts))
    parts = (Part(w, count, f"{100 * count / total:.2f}%") for w, count in zip(words, counts, strict=True))
    return Stack(model, tuple(parts), int((ways < 0).sum()))


class Side(Value):
    """One model's settings side by side, as the store keeps it; None where a setting is missing or nothing is known."""

    win: Interval | None
    questions: int = Field(0, ge=0, description="Questions that both settings of `win` asked.")
    contaminated: Stack | None
    bottleneck: Stack | None
    heat: Heat | None


def side_by_side(
    model: str,
    context: Sequence[Reading] | None,
    evidence: Sequence[Reading] | None,
    alone: Sequence[Reading] | None,
) -> Side:
    """Put the settings that a model was run in side by side; None: it was not run in that one."""
    both = pair(context, alone) if context and alone else None
    return Side(
        win=wins(both) if both else None,
        questions=len(both.clusters) if both else 0,
        contaminated=contaminated(model, both) if both else None,
        bottleneck=bottleneck(model, pair(context, evidence)) if context and evidence else None,
        heat=heat(model, context) if context else None,
    )


def heat(model: str, rows: Iterable[Reading]) -> Heat | None:
    """Where evidence was found; None where nothing was shown or judged."""
    needles = [
        Needle(r.shown.tokens, depth, found, r.cluster)
        for r in rows
        if r.shown is not None
        for step, depth in enumerate(r.shown.depths, start=1)
        if depth is not None and (found := r.found(step)) is not None
    ]
    if not needles:
        return None
    recall = recall_map(needles)
    by_length = tuple((_length(tokens), tuple(map(_heat_cell, cells))) for tokens, cells in recall.items())
    return Heat(model, by_length, len(needles))


def _length(tokens: int) -> str:
    upper = {0: "under 8k", 256_000: "256k and more"}
    return upper.get(tokens, f"{tokens // 1000}k to {2 * tokens // 1000}k")


def _heat_cell(cell: Cell) -> HeatCell:
    if cell.recall is None:
        return HeatCell("–", "0%", "no evidence here")
    low, high = cell.recall.low, cell.recall.high
    spoken = f"{100 * cell.recall.point:.0f} % of {cell.needles}; 95 % interval {100 * low:.0f} to {100 * high:.0f}"
    return HeatCell(f"{100 * cell.recall.point:.0f}", f"{100 * cell.recall.point:.0f}%", spoken)


def known_novels(answers: Sequence[tuple[str, str, float]]) -> tuple[Known, ...]:
    """How well each novel is known from title and author; from novel, question and accuracy of answers without it."""
    return contamination([a[0] for a in answers], [a[1] for a in answers], np.array([a[2] for a in answers]))


class Step(NamedTuple):
    """A reference step, and for each run how many of its judges found it."""

    number: int
    text: str | None  # None: not to be shown
    position: int | None  # label of its evidence; None: an inference
    found: tuple[str, ...]


class Asked(NamedTuple):
    """A question with what each run made of it."""

    item_id: str
    question: NovelQuestion | None  # None: not to be shown
    runs: tuple[str, ...]
    letters: tuple[str, ...]
    shares: tuple[str, ...]
    shown: tuple[str, ...]
    reasons: tuple[tuple[str, ...], ...]  # the models' own steps; empty where they are not to be shown
    steps: tuple[Step, ...]


def asked(
    rows: Iterable[Reading], names: Mapping[str, str], questions: Mapping[str, NovelQuestion]
) -> tuple[Asked, ...]:
    """Every question with the steps that were found and missed, by item.

    Args:
        rows: Answers; of repeats the first is shown.
        names: What the runs are called, by submission.
        questions: Questions whose text may be shown, by item; of others there are numbers only.
    """
    by_item: dict[str, list[Reading]] = {}
    for row in rows:
        if row.submission_id in names and row.epoch == 0:
            by_item.setdefault(row.item_id, []).append(row)
    order = {item: n for n, item in enumerate(questions)}
    listed = sorted(by_item.items(), key=lambda pair: (order.get(pair[0], len(order)), pair[0]))
    return tuple(_asked(item, found, names, questions.get(item)) for item, found in listed)


def _asked(item: str, rows: Sequence[Reading], names: Mapping[str, str], question: NovelQuestion | None) -> Asked:
    steps: tuple[Step, ...] = ()
    if question is not None:
        steps = tuple(
            Step(n, text, place if place > 0 else None, tuple(_votes(row, n) for row in rows))
            for n, (text, place) in enumerate(zip(question.reasoning, question.evidence_position, strict=True), start=1)
        )
    return Asked(
        item,
        question,
        tuple(names[row.submission_id] for row in rows),
        tuple(_letter(row) for row in rows),
        tuple("–" if row.reasoning is None else f"{100 * row.reasoning:.0f}" for row in rows),
        tuple(_shown(row) for row in rows),
        tuple(tuple((row.steps or "").splitlines()) if question else () for row in rows),
        steps,
    )


def _votes(row: Reading, step: int) -> str:
    if row.found(step) is None:
        return "–"
    return f"{sum(m.get(f'step_{step}', False) for m in row.marks)} of {len(row.marks)}" if row.marks else "no answer"


def _letter(row: Reading) -> str:
    if row.letter is None:
        return row.failure or "–"
    return f"{row.letter} {'✓' if row.accuracy else '✗'}"


def _shown(row: Reading) -> str:
    if row.shown is None:
        return "brought"
    if not row.shown.paragraphs:
        return "no paragraph"
    cut = f", {row.shown.cut} cut" if row.shown.cut else ""
    return f"{row.shown.paragraphs:,} paragraphs, {row.shown.tokens:,} tokens{cut}"
