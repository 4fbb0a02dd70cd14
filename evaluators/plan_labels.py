"""Which answers a person should label next: python -m evaluators.plan_labels --split layton-llm --budget N.

The attempts come from the store, or with --rows from a file: one attempt a line, {"item_id", "model", "provider",
"jury", "human"}, the last two null where there is none. The plan is written as JSON lines in an order that tells the
annotator nothing; show neither model nor jury.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.bins import Floats, Ints
from evaluators.rows import Rows, check_rows, jury_bins

WANTED = 60  # labels a ranked model should have
_SPLIT_SHARE = 2 / 3  # of a model's labels that go to split verdicts; the rest audit unanimous rows at random
_FEW = 150  # labels in all, old and new: below, split verdicts first gains nothing and labels are spread evenly
_LENIENCY = 0.5  # allowance for a model's own jury leniency, standard deviation in logits of P(right | jury score)


class Pick(NamedTuple):
    """One answer to label."""

    row: int
    reason: str  # `split` or `audit`


class Width(NamedTuple):
    """Half-width of a model's interval for these items, as fractions, in normal approximation."""

    labels: int
    planned: int
    now: float
    then: float


def plan(rows: Rows, budget: int, *, rng: np.random.Generator) -> list[Pick]:
    """Choose the next answers to label.

    Models with the fewest labels come first, up to 60 each; what is left of the budget goes on evenly. Of a model's
    labels, old ones included, two thirds go to split verdicts (all of them if fewer) and one third to a random audit
    of unanimous rows; where there will be fewer than 150 labels in all, split verdicts get no more than their share
    of rows. Given the jury score the choice is random, so every estimator may use the labels.

    Args:
        rows: All attempts of the models to rank.
        budget: Labels to buy; fewer are planned where fewer rows are open.
        rng: Source of randomness.

    Raises:
        ValueError: If the budget is below 1 or rows are malformed.
    """
    check_rows(rows)
    if budget < 1:
        raise ValueError(f"budget is {budget!r}; give the number of labels to buy, 1 or more")
    models = int(rows.model.max()) + 1
    known = ~np.isnan(rows.human)
    open_row = ~known & ~np.isnan(rows.jury)
    have = np.bincount(rows.model[known], minlength=models)
    room = np.bincount(rows.model[open_row], minlength=models)
    picks = []
    for model, quota in enumerate(_share_out(have, room, budget)):
        mine = rows.model == model
        split = mine & (rows.jury > 0) & (rows.jury < 1)
        share = _SPLIT_SHARE if have.sum() + budget >= _FEW else split.sum() / mine.sum()
        wanted = round(share * (int(have[model]) + quota)) - int((split & known).sum())
        splits = rng.permutation(np.flatnonzero(split & open_row))
        audits = rng.permutation(np.flatnonzero(mine & ~split & open_row))
        taken = min(len(splits), max(wanted, quota - len(audits), 0), quota)
        picks += [Pick(int(row), "split") for row in splits[:taken]]
        picks += [Pick(int(row), "audit") for row in audits[: quota - taken]]
    return [picks[i] for i in rng.permutation(len(picks))]


def _share_out(have: Ints, room: Ints, budget: int) -> list[int]:
    """Labels for each model: raise the least labelled first, all together, no model beyond its open rows."""
    given = np.zeros_like(have)
    for _ in range(min(budget, int(room.sum()))):
        open_models = np.flatnonzero(given < room)
        given[open_models[np.argmin((have + given)[open_models])]] += 1
    return [int(n) for n in given]


def widths(rows: Rows, picks: Sequence[Pick]) -> list[Width]:
    """Expected half-width of each model before and after the picks: what the labels would buy.

    Per jury bin, rows that stay unlabelled add their own variance q(1 - q) and the doubt about q, which pool labels
    lessen down to the leniency a model may have of its own and own labels lessen further.
    """
    bins, scores = jury_bins(rows.jury)
    models, known = int(rows.model.max()) + 1, ~np.isnan(rows.human)
    chosen = np.zeros(len(rows.model), dtype=bool)
    chosen[[p.row for p in picks]] = True
    right = np.bincount(bins[known], rows.human[known], len(scores) + 1)
    seen = np.bincount(bins[known], minlength=len(scores) + 1)
    q = (right + 0.5) / (seen + 1)

    def table(rows_in: NDArray[np.bool_]) -> Ints:
        cell = rows.model[rows_in] * (len(scores) + 1) + bins[rows_in]
        return np.bincount(cell, minlength=models * (len(scores) + 1)).reshape(models, -1)

    every, own, new = table(np.ones_like(known)), table(known), table(chosen)
    now = _half_width(every, own, seen - own, q)
    then = _half_width(every, own + new, seen - own, q)
    labels, planned = own.sum(1).tolist(), new.sum(1).tolist()
    return [Width(*entry) for entry in zip(labels, planned, now.tolist(), then.tolist(), strict=True)]


def _half_width(every: Ints, own: Ints, pool: Ints, q: Floats) -> Floats:
    news = q * (1 - q)  # of one label about the log odds of q
    doubt = 1 / (1 / (_LENIENCY**2 + 1 / (pool * news + 0.25)) + own * news)
    left = every - own
    variance = (left * news + left**2 * news**2 * doubt).sum(1)
    half: Floats = 1.96 * np.sqrt(variance) / every.sum(1)
    return half


def read_rows(path: Path) -> tuple[Rows, list[dict[str, Any]], list[str]]:
    """Read a row file; returns the columns, the records and the models' names in the order of their index.

    Raises:
        ValueError: If a line is not such a record (with its number), or the file has none.
    """
    records: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            for name in ("jury", "human"):
                if record[name] is not None and not 0 <= float(record[name]) <= 1:
                    raise ValueError(f"{name} is {record[name]!r}, not a share in [0, 1] or null")
            records.append({**record, "item_id": str(record["item_id"]), "model": str(record["model"])})
        except (ValueError, TypeError, KeyError) as error:
            what = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path}:{number}: {what}; a row has item_id, model, provider, jury and human") from None
    if not records:
        raise ValueError(f"{path} has no rows; write one attempt a line")
    models = sorted({r["model"] for r in records})
    items = {item: i for i, item in enumerate(sorted({r["item_id"] for r in records}))}
    index = {model: i for i, model in enumerate(models)}
    jury, human = (
        np.array([np.nan if r[name] is None else float(r[name]) for r in records]) for name in ("jury", "human")
    )
    model, item = np.array([index[r["model"]] for r in records]), np.array([items[r["item_id"]] for r in records])
    return Rows(model, item, jury, human), records, models


def stored_rows(split: str, jury: str | None) -> tuple[Rows, list[dict[str, Any]], list[str]]:
    """Read the ranked attempts at a split from the store, as `read_rows` does from a file.

    Labels by the items' authors are no human labels and count as none.

    Raises:
        ValueError: If the store has no such rows, or several juries judged the split and none is named.
        OSError: If the store cannot be read.
    """
    from evaluators.estimate import RANKED, rows
    from evaluators.fit import choose_jury, columns_of
    from evaluators.store import open_store, store_path

    with open_store(store_path(), read_only=True) as store:
        version, jury = choose_jury(store, split, jury)
        data = rows(store, split, version, jury)
    ranked = [r for r in data.rows if r.tier in RANKED and r.submission.kind == "model"]
    if not ranked:
        raise ValueError(f"no ranked model of {split}@{version} under jury {jury!r}: run or import one first")
    if data.labels != "human":
        ranked = [r._replace(label=np.full_like(r.label, np.nan)) for r in ranked]
    models = [r.submission.submission_id for r in ranked]
    records = [{"item_id": str(item), "model": name} for r, name in zip(ranked, models, strict=True) for item in r.item]
    return columns_of(ranked, data.clusters), records, models


def main(argv: Sequence[str] | None = None) -> int:
    """Print a plan as JSON lines and, on stderr, what it would buy; returns the exit code."""
    p = argparse.ArgumentParser(prog="python -m evaluators.plan_labels", description=(__doc__ or "").splitlines()[0])
    source = p.add_mutually_exclusive_group(required=True)
    source.add_argument("--split", help="attempts from the store, for example layton-llm")
    source.add_argument("--rows", type=Path, metavar="FILE", help="attempts from a file, one JSON object a line")
    p.add_argument("--jury", help="with --split, needed where several juries judged it")
    p.add_argument("--budget", type=int, required=True, metavar="N", help="labels to buy")
    p.add_argument("--seed", type=int, default=0, help="the same seed makes the same plan")
    args = p.parse_args(argv)
    try:
        rows, records, models = read_rows(args.rows) if args.rows else stored_rows(args.split, args.jury)
        picks = plan(rows, args.budget, rng=np.random.default_rng(args.seed))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for pick in picks:
        record = records[pick.row]
        found = {"item_id": record["item_id"], "model": record["model"], "reason": pick.reason}
        print(json.dumps(found, ensure_ascii=False))
    for name, w in zip(models, widths(rows, picks), strict=True):
        change = f"expected +-{100 * w.now:.1f} now, +-{100 * w.then:.1f} then"
        print(f"{name}: {w.labels} labels, {w.planned} planned; {change} (points, these items)", file=sys.stderr)
    if len(picks) < args.budget:
        print(f"note: only {len(picks)} rows with a jury score are open", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
