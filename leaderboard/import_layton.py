"""Puts layton-eval's released verdicts and labels into the store and prints the table that they make.

python -m leaderboard import-layton PPI.jsonl [--split layton-llm] [--bundles DIR] [--json]
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from builders.values import ItemId
from evaluators.values import (
    Counts,
    Estimate,
    Model,
    Published,
    RiddleAnswer,
    Submission,
    Transcript,
    Verdict,
    transcript_id,
)
from leaderboard.release import Marks, ReleaseError, Row, read_release

if TYPE_CHECKING:
    from evaluators.store import Store

SIZES = {"layton-llm": 186, "layton-vlm": 317}
VERSION = "1.0.0"
JURY = "layton"
HUMAN = "layton-human"
# The release names judges, not their makers; a judge outside this list has none on record.
MAKERS = {
    "claude-opus-4-5-20251101": "anthropic",
    "gemini-3-pro-preview": "gemini",
    "gpt-5.1-2025-11-13": "openai",
    "mistral-large-2512": "mistral",
}
# Runs of the release are undated; this is the day of the paper that reports them.
DATE = "2026-02-05"
NOTE = (
    "Answers, verdicts and human labels published by the benchmark's authors; every figure here is recomputed from "
    "them. The date is that of their paper."
)


class Evidence(NamedTuple):
    """One model's released answers as a submission."""

    submission: Submission
    transcripts: tuple[Transcript, ...]
    verdicts: tuple[Verdict, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `import-layton`."""
    parser.add_argument("file", type=Path, metavar="PPI.jsonl", help="PPI rows of the release, JSON Lines")
    parser.add_argument("--split", choices=sorted(SIZES), help="needed where the number of riddles does not tell")
    parser.add_argument(
        "--bundles", type=Path, metavar="DIR", help="also write a bundle a model there, to build the store from again"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line instead of a table")


def main(arguments: argparse.Namespace) -> int:
    """Import a release file and print its table, best first; notes go to stderr.

    Raises:
        ReleaseError: If anything in the file is refused; then nothing was stored.
        StoreError: If the store cannot be written.
    """
    from evaluators.store import open_store, store_path
    from leaderboard.published import read_published

    rows = read_release(arguments.file)
    split = arguments.split or _guess(rows, arguments.file)
    evidence = to_evidence(rows, split)
    if arguments.bundles:
        _write_bundles(arguments.bundles, evidence)
    with open_store(store_path()) as store:
        _write(store, evidence)
        stored = len([s for s in store.submissions(split, VERSION) if s.submission.jury == JURY])
    # The table is about this file alone, whatever else the store holds.
    with open_store(":memory:") as scratch:
        _write(scratch, evidence)
        table = layton_table(scratch, split)
    _print_table(table, as_json=arguments.json)
    published = [p for p in read_published() if p.split == split]
    for line in (*_notes(table, evidence, published), f"stored {len(evidence)} models in {store_path()}"):
        print(line, file=sys.stderr)
    if stored > len(evidence):
        print(f"note: the store holds {stored - len(evidence)} more of {split} from earlier imports", file=sys.stderr)
    return 0


def to_evidence(rows: Sequence[Row], split: str) -> tuple[Evidence, ...]:
    """Arrange released rows as one submission per model and number of hints, by name."""
    keys = sorted({(row.model, row.n_hints) for row in rows})
    riddles = len({row.riddle_id for row in rows})
    groups = {key: [row for row in rows if (row.model, row.n_hints) == key] for key in keys}
    return tuple(_evidence(groups[key], split, riddles) for key in keys)


def layton_table(store: "Store", split: str) -> tuple[Estimate, ...]:
    """Estimates by the layton definition of every released model, best first, ties by name."""
    from evaluators.estimate import estimate_layton

    conditions = sorted({s.submission.condition for s in store.submissions(split, VERSION)})
    found = [e for c in conditions for e in estimate_layton(store, split, VERSION, JURY, c)]
    return tuple(sorted(found, key=lambda e: (e.condition, -e.value, e.model)))


def _guess(rows: Sequence[Row], path: Path) -> str:
    riddles = len({row.riddle_id for row in rows})
    for split, size in SIZES.items():
        if riddles == size:
            return split
    sizes = ", ".join(f"{split} has {size}" for split, size in SIZES.items())
    raise ReleaseError(f"{path}: {riddles} riddles, and {sizes}: say which with --split")


def _write_bundles(folder: Path, evidence: Sequence[Evidence]) -> None:
    from evaluators.bundle import write_bundle
    from leaderboard.ingest import TIER_FILE

    for submission, transcripts, verdicts in evidence:
        place = folder / submission.submission_id
        write_bundle(place, submission, transcripts, verdicts)
        (place / TIER_FILE).write_text("released\n", encoding="utf-8")


def _write(store: "Store", evidence: Sequence[Evidence]) -> None:
    with store.together():
        for submission, transcripts, verdicts in evidence:
            store.write_submission(submission, transcripts, verdicts, tier="released")


def _evidence(rows: Sequence[Row], split: str, riddles: int) -> Evidence:
    first = rows[0]
    name = f"{split}.released.{_slug(first.model)}.hints{first.n_hints}"
    ids: dict[ItemId, str] = {row.riddle_id: transcript_id(name, row.riddle_id, 0) for row in rows}
    transcripts = tuple(
        Transcript(
            transcript_id=ids[row.riddle_id],
            split=f"{split}@{VERSION}",
            item_id=row.riddle_id,
            model=row.model,
            protocol="riddle",
            condition=f"hints={row.n_hints}",
            answer=RiddleAnswer(answer=row.answer, justification=row.justification),
        )
        for row in rows
    )
    verdicts = tuple(verdict for row in rows for verdict in _verdicts(row, ids[row.riddle_id]))
    submission = Submission(
        submission_id=name,
        benchmark="layton",
        split=split,
        version=VERSION,
        split_sha256=None,
        protocol="riddle",
        condition=f"hints={first.n_hints}",
        model=Model(name=first.model, provider=first.provider),
        jury=JURY,
        judges=tuple(sorted({judge for row in rows for judge, _ in row.judges})),
        date=DATE,
        counts=Counts(
            expected=riddles, scored=len(rows), no_answer=0, unjudged=0, failed=0, missing=riddles - len(rows)
        ),
        note=NOTE,
    )
    return Evidence(submission, transcripts, verdicts)


def _verdicts(row: Row, attempt: str) -> list[Verdict]:
    found = [
        Verdict(
            transcript_id=attempt,
            judge=judge,
            provider=MAKERS.get(judge),
            kind="model",
            score=float(marks.both),
            marks=_parts(marks),
        )
        for judge, marks in row.judges
    ]
    if row.human is not None:
        score, marks = float(row.human.both), _parts(row.human)
        found.append(Verdict(transcript_id=attempt, judge=HUMAN, kind="human", score=score, marks=marks))
    return found


def _parts(marks: Marks) -> dict[str, bool]:
    parts = {"is_answer_correct": marks.answer, "is_justification_correct": marks.justification}
    return {name: mark for name, mark in parts.items() if mark is not None}


def _slug(model: str) -> str:
    slug = re.sub(r"[^a-z0-9._-]+", "-", model.lower())[:64].strip("-._")
    return slug if slug == model else f"{slug or 'model'}-{sha256(model.encode()).hexdigest()[:8]}"


def _notes(table: Sequence[Estimate], evidence: Sequence[Evidence], published: Sequence[Published]) -> list[str]:
    from evaluators.estimate import half_width

    found = {(e.model, e.condition): (round(100 * e.value, 1), half_width(e), e.best_rank, e.worst_rank) for e in table}
    printed = {(p.model, p.condition): (p.score, p.half_width, p.best_rank, p.worst_rank) for p in published}
    notes = [
        f"note: {m!r} is in the published table and has no rows in this file" for m, _ in sorted(printed.keys() - found)
    ]
    shared = sorted(found.keys() & printed.keys())
    if shared:
        equal = sum(found[key] == printed[key] for key in shared)
        notes.append(
            f"note: score, half-width and rank spread equal the published table's for {equal} of {len(shared)} models"
        )
    empty = sum(t.no_answer for e in evidence for t in e.transcripts)
    if empty:
        notes.append(f"note: {empty} answers are empty; they are kept with the verdicts that the release has for them")
    odd = sum(len(row_verdicts) != 3 for e in evidence for row_verdicts in _votes(e))
    if odd:
        notes.append(
            f"note: {odd} answers have not exactly three verdicts; their jury score is the mean of those there are"
        )
    lost = [e for e in evidence if (e.submission.model.name, e.submission.condition) not in found]
    notes += [f"note: {e.submission.model.name!r} has no score: no label of another provider" for e in lost]
    return notes


def _votes(evidence: Evidence) -> list[list[str]]:
    votes: dict[str, list[str]] = {t.transcript_id: [] for t in evidence.transcripts}
    for verdict in evidence.verdicts:
        if verdict.kind == "model":
            votes[verdict.transcript_id].append(verdict.judge)
    return list(votes.values())


def _print_table(table: Sequence[Estimate], *, as_json: bool) -> None:
    from evaluators.estimate import half_width

    if as_json:
        for e in table:
            row = {"model": e.model, "provider": e.provider, "n": e.n, "score": round(100 * e.value, 1)}
            places = {"half_width": half_width(e), "best_rank": e.best_rank, "worst_rank": e.worst_rank}
            print(json.dumps(row | places))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title="By the layton definition", title_justify="left", box=None, pad_edge=False)
    for name in ("ranks", "model", "provider", "n", "score", "±"):
        shown.add_column(name, justify="left" if name in {"model", "provider"} else "right", overflow="fold")
    for e in table:
        spread, score, half = f"{e.best_rank}-{e.worst_rank}", f"{100 * e.value:.1f}", f"{half_width(e):.1f}"
        # Text, because a model's name may look like console markup.
        shown.add_row(spread, Text(e.model), Text(e.provider), str(e.n), score, half)
    Console().print(shown)
