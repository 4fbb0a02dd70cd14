"""What one model makes of the three settings: who wins question by question, what is found where, and what was known.

Pure functions on scores that stand side by side; NaN is a score that is unknown.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.means import Floats, cluster_mean
from evaluators.ppi import Interval

# What can become of a question in two settings, in the order of a bar. With `question-only` as the other setting these
# are the six parts of Figure 6a, with `evidence` and letters alone the four of Figure 6b.
SIX = ("first alone", "first reasons better", "alike", "other reasons better", "other alone", "neither")
FOUR = ("first alone", "both", "other alone", "neither")
LENGTHS = (0, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)  # tokens, lower ends
DEPTHS = 5  # equal parts of a context
CHANCE = 0.25  # of a letter among four


class Scores(NamedTuple):
    """Scores of one model on the same questions in one setting; arrays have shape (questions,)."""

    accuracy: Floats
    reasoning: Floats


def six_ways(first: Scores, other: Scores) -> NDArray[np.int64]:
    """What became of each question, as an index into `SIX`; -1 where a score that decides is unknown.

    A letter that only one setting has right decides; where both have it, the better reasoning does; where neither has,
    nothing is compared.

    Returns:
        Shape (questions,).

    Source: Xu et al. 2024, footnote 2 and Figure 6a.
    """
    one, two = first.accuracy, other.accuracy
    better = np.sign(first.reasoning - other.reasoning)
    both = np.where(np.isnan(better), -1, np.choose(np.nan_to_num(1 - better).astype(np.int64), [1, 2, 3]))
    found = np.select([(one > two), (one < two), (one == 1) & (two == 1), (one == two)], [0, 4, both, 5], default=-1)
    return np.where(np.isnan(one) | np.isnan(two), -1, found)


def four_ways(first: Scores, other: Scores) -> NDArray[np.int64]:
    """What became of each question by its letters alone, as an index into `FOUR`; -1 where one is unknown.

    Source: Xu et al. 2024, Figure 6b; to compare reasoning would be unfair to the setting without the evidence.
    """
    one, two = first.accuracy, other.accuracy
    found = np.select([(one > two), (one == 1) & (two == 1), (one < two)], [0, 1, 2], default=3)
    return np.where(np.isnan(one) | np.isnan(two), -1, found)


def win_rate(first: Scores, other: Scores, clusters: Sequence[str], *, level: float = 0.95) -> Interval | None:
    """How often the first setting wins against the other, among the questions that at least one of them has right.

    Questions that are alike count one half. One whose comparison is unknown counts as `cluster_mean` has it. The paper
    says neither what it does with ties nor whether questions that both have wrong count in its table.

    Args:
        first: Scores in one setting.
        other: Scores of the same questions in the other.
        clusters: Novel of each question.
        level: Coverage of the two-sided interval, in (0, 1).

    Returns:
        The share in [0, 1] with its interval; None where nothing can be compared.
    """
    ways = six_ways(first, other)
    worth = np.array([1.0, 1.0, 0.5, 0.0, 0.0, np.nan, np.nan])[ways]
    compared = ways != SIX.index("neither")
    if not np.isfinite(worth[compared]).any():
        return None
    inside = [c for c, take in zip(clusters, compared, strict=True) if take]
    return cluster_mean(worth[compared], inside, level=level)


class Needle(NamedTuple):
    """A piece of evidence that was in a context: where, and the share of the judges that found it in the reasoning."""

    tokens: int  # of the context
    depth: float  # share of the context before it, in [0, 1]
    found: float
    cluster: str  # the novel


class Cell(NamedTuple):
    """Recall of the needles at one length and depth; `recall` is None where there are none."""

    needles: int
    recall: Interval | None


def recall_map(needles: Sequence[Needle]) -> dict[int, tuple[Cell, ...]]:
    """Recall by length and depth: for each length of `LENGTHS` that has needles, a cell for each fifth of the context.

    Source: Xu et al. 2024, Figure 5.
    """
    rows: dict[int, list[list[Needle]]] = {}
    for needle in needles:
        length = LENGTHS[int(np.searchsorted(LENGTHS, needle.tokens, side="right")) - 1]
        row = rows.setdefault(length, [[] for _ in range(DEPTHS)])
        row[min(int(needle.depth * DEPTHS), DEPTHS - 1)].append(needle)
    return {length: tuple(_cell(part) for part in rows[length]) for length in sorted(rows)}


def _cell(needles: Sequence[Needle]) -> Cell:
    if not needles:
        return Cell(0, None)
    found = np.array([n.found for n in needles])
    return Cell(len(needles), cluster_mean(found, [n.cluster for n in needles]))


class Known(NamedTuple):
    """How a novel's questions are answered by models that were told title and author only."""

    novel: str
    questions: int
    answers: int
    right: Interval
    flagged: bool  # above chance, whatever other novel were looked at beside it


def contamination(novels: Sequence[str], questions: Sequence[str], accuracy: Floats) -> tuple[Known, ...]:
    """Say of each novel how well it is known without its text, best known first.

    Answers of all models count; those to one question stand or fall together. A novel is flagged where its interval
    lies above chance at a level of 0.95 for all novels at once. Options can give an answer away without any memory of
    the book, so a flag is a reason to look, not a proof.

    Args:
        novels: Novel of each answer in the setting `question-only`.
        questions: Question of each answer.
        accuracy: 1 where its letter is right, 0 where not, NaN where that is unknown.

    Raises:
        ValueError: If lengths differ.
    """
    if not len(novels) == len(questions) == len(accuracy):
        raise ValueError(f"{len(novels)} novels, {len(questions)} questions and {len(accuracy)} scores; one an answer")
    names = sorted(set(novels))
    found = []
    for name in names:
        inside = np.array([n == name for n in novels]) & np.isfinite(accuracy)
        if not inside.any():
            continue
        asked = [q for q, take in zip(questions, inside, strict=True) if take]
        right = cluster_mean(accuracy[inside], asked)
        strict = cluster_mean(accuracy[inside], asked, level=1 - 0.05 / len(names))
        found.append(Known(name, len(set(asked)), int(inside.sum()), right, strict.low > CHANCE))
    return tuple(sorted(found, key=lambda k: (-k.right.point, k.novel)))
