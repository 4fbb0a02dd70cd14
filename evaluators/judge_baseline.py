"""How well judges of reasoning agree with people: python -m evaluators.judge_baseline BUNDLE --labels F

Beside the judges stands ROUGE, which only counts shared words. Needs the extra `novel` (rouge-score).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluators.submit import DONE, guarded

if TYPE_CHECKING:
    from builders.splits import Split
    from builders.values import NovelQuestion
    from evaluators.bundle import Bundle
    from evaluators.means import Floats

ROUGE = ("rouge1", "rouge2", "rougeL")
MOST_BYTES = 64 * 2**20


class Rated(NamedTuple):
    """One rater of reasoning, held against people."""

    rater: str
    steps: int  # step judgements that both made; 0 for ROUGE, which makes none
    exact: float | None
    kappa: float | None
    answers: int
    correlation: float | None  # Pearson's, of shares of steps found in each answer; None: too few, or one is constant


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(
        prog="python -m evaluators.judge_baseline",
        description="Hold the judges of a bundle of questions about novels, and ROUGE, against people's marks.",
    )
    p.add_argument("bundle", type=Path, metavar="BUNDLE", help="a bundle of a novel split")
    p.add_argument(
        "--labels",
        type=Path,
        required=True,
        metavar="F",
        help='people\'s marks, one JSON object a line: {"item_id": "...", "annotator": "...", "found": [1, 3]}',
    )
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    options = parser().parse_args(argv)
    return guarded(lambda: _baseline(options))


def _baseline(options: argparse.Namespace) -> int:
    from builders.splits import load_split
    from evaluators.bundle import BundleError, read_bundle

    bundle = read_bundle(options.bundle)
    if bundle.submission.protocol != "novel":
        raise BundleError(f"{options.bundle}: is of protocol {bundle.submission.protocol!r}, this takes novel")
    split = load_split(bundle.submission.ref, root=options.splits)
    human = read_marks(options.labels, split)
    print(f"{bundle.submission.model.name} on {bundle.submission.ref}, {bundle.submission.condition}")
    print(f"{'':32} {'steps':>6} {'exact':>6} {'kappa':>6} {'answers':>8} {'correlation':>12}")
    for row in held_against(bundle, split, human):
        cells = [f"{'–' if x is None else format(x, '.2f'):>6}" for x in (row.exact, row.kappa)]
        correlation = "–" if row.correlation is None else f"{row.correlation:.2f}"
        print(f"{row.rater[:32]:32} {row.steps or '–':>6} {' '.join(cells)} {row.answers:8} {correlation:>12}")
    print(
        "exact and kappa: of single steps; correlation: of the share of steps found in an answer; ROUGE is its recall"
    )
    return DONE


def read_marks(path: Path, split: "Split") -> "dict[str, Floats]":
    """Read people's marks: for each item the share of its annotators who found each step, shape (steps,).

    Raises:
        PredictionError: If a line is malformed, an item unknown, a step out of range or given twice, or an annotator
            speaks twice on one item.
    """
    import numpy as np

    from builders.values import NovelQuestion
    from evaluators.predictions import PredictionError

    items = {i.id: len(i.reasoning) for i in split.items if isinstance(i, NovelQuestion)}
    said: dict[str, dict[str, Floats]] = {}
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PredictionError(f"{path}: larger than {MOST_BYTES >> 20} MB; one JSON object a line is enough")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PredictionError(f"{path}: {error}; give UTF-8 with one JSON object a line") from None
    for number, line in enumerate(lines, start=1):
        item, who, found = _mark(line, f"{path}:{number}", items)
        if who in said.setdefault(item, {}):
            raise PredictionError(f"{path}:{number}: annotator {who!r} marks {item!r} again; keep one line")
        said[item][who] = np.isin(np.arange(1, items[item] + 1), found).astype(float)
    if not said:
        raise PredictionError(f"{path}: holds no marks")
    return {item: np.mean(list(marks.values()), axis=0) for item, marks in said.items()}


def _mark(line: str, where: str, items: Mapping[str, int]) -> tuple[str, str, list[int]]:
    from evaluators.predictions import PredictionError

    try:
        row = json.loads(line)
        item, who, found = row["item_id"], row["annotator"], row["found"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PredictionError(f"{where}: needs item_id, annotator and found, as one JSON object") from None
    if not isinstance(item, str) or item not in items or not isinstance(who, str):
        raise PredictionError(f"{where}: the split has no item {item!r}")
    right = isinstance(found, list) and all(type(n) is int and 1 <= n <= items[item] for n in found)
    if not right or len(set(found)) != len(found):
        raise PredictionError(f"{where}: found is a list of steps from 1 to {items[item]}, each at most once")
    return item, who, found


def held_against(bundle: "Bundle", split: "Split", human: "Mapping[str, Floats]") -> list[Rated]:
    """Compare every judge, the whole jury and ROUGE with people, on the answers that people marked.

    Raises:
        PredictionError: If none of them is in the bundle.

    Source: Xu et al. 2024, Tables 4 and 5, where ROUGE is the baseline.
    """
    import numpy as np

    from builders.values import NovelQuestion
    from evaluators.predictions import PredictionError

    questions = {i.id: i for i in split.items if isinstance(i, NovelQuestion)}
    answered = [t for t in bundle.transcripts if t.answer is not None and t.item_id in human and t.epoch == 0]
    if not answered:
        raise PredictionError("people marked none of the answers in this bundle")
    marks: dict[str, dict[str, Floats]] = {}
    for v in bundle.verdicts:
        if v.kind == "model" and v.unit == "item" and v.score is not None:
            steps = np.array([v.marks[f"step_{n}"] for n in range(1, len(v.marks) + 1)], dtype=float)
            marks.setdefault(v.judge, {})[v.transcript_id] = steps
    ids = {t.transcript_id: t.item_id for t in answered}
    rows = [_rated(judge, {ids[k]: m for k, m in own.items() if k in ids}, human) for judge, own in marks.items()]
    whole = {
        item: np.mean([own[key] for own in marks.values()], axis=0)
        for key, item in ids.items()
        if marks and all(key in own for own in marks.values())
    }
    rows.append(_rated("the jury's majority", whole, human))
    overlap = {t.item_id: rouge(questions[t.item_id], t.answer.texts[1]) for t in answered if t.answer is not None}
    people = [float(human[item].mean()) for item in overlap]
    for name in ROUGE:
        rows.append(Rated(name, 0, None, None, len(overlap), _correlation([o[name] for o in overlap.values()], people)))
    return rows


def _rated(name: str, own: "Mapping[str, Floats]", human: "Mapping[str, Floats]") -> Rated:
    import numpy as np

    from evaluators.agreement import agreement

    shared = sorted(own.keys() & human.keys())
    if not shared:
        return Rated(name, 0, None, None, 0, None)
    mine, people = (np.concatenate([side[item] for item in shared]) for side in (own, human))
    shares = [[float(side[item].mean()) for item in shared] for side in (own, human)]
    settled = (mine != 0.5) & (people != 0.5)  # agreement() leaves out even votes, and needs one row that is not
    found = agreement(mine, people) if settled.any() else None
    kappa = found.kappa if found and np.isfinite(found.kappa) else None
    return Rated(
        name,
        found.rows if found else 0,
        found.exact if found else None,
        kappa,
        len(shared),
        _correlation(shares[0], shares[1]),
    )


def rouge(question: "NovelQuestion", reasoning: str) -> dict[str, float]:
    """ROUGE-1, -2 and -L recall of the reference steps in a reasoning; Chinese is taken character by character.

    Raises:
        PredictionError: If the library is not installed.
    """
    from evaluators.predictions import PredictionError

    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise PredictionError("ROUGE needs the extra `novel`: uv pip install rouge-score") from None
    tokenizer = _Characters() if question.language == "zh" else None
    scores = RougeScorer(list(ROUGE), tokenizer=tokenizer).score("\n".join(question.reasoning), reasoning)
    return {name: float(scores[name].recall) for name in ROUGE}


class _Characters:
    """A tokenizer for a script without spaces; the library's own drops everything but Latin letters and digits."""

    def tokenize(self, text: str) -> list[str]:
        return [c for c in text.lower() if c.isalnum()]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    import numpy as np

    if len(one) < 2 or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    sys.exit(main())
