"""layton-eval's released answers as bundles that a submitter could have sent, on a split made for them."""

import json
from pathlib import Path

from builders.splits import Split, make_split, write_split
from builders.values import Riddle
from evaluators.bundle import write_bundle
from evaluators.protocols.riddle import no_answer
from evaluators.run import Outcome, count
from leaderboard.import_layton import to_evidence
from leaderboard.release import read_release
from tests.made import SOURCE

SPLIT = "layton-llm"


def write_release_split(scrape: Path, root: Path) -> Split:
    """A split with the release's ids, riddles and solutions; its gold answers are stand-ins."""
    rows = [json.loads(line) for line in scrape.read_text().splitlines()]
    items = [
        Riddle(
            id=row["id"],
            cluster=row["id"],
            category=row["category"],
            description=row["description"],
            solution=row["solution"],
            answer=str(row["surrogate_answer"]),
            justification="",
        )
        for row in rows
    ]
    split = make_split(SPLIT, items, version="1.0.0", sources=[SOURCE])
    write_split(split, root=root)
    return split


def write_release_bundles(released: Path, split: Split, board: Path) -> list[Path]:
    """One bundle a model; labels are left out, and an empty answer is marked by rule as a run would."""
    written = []
    for submission, transcripts, verdicts in to_evidence(read_release(released), SPLIT):
        empty = {t.transcript_id for t in transcripts if t.no_answer}
        votes = tuple(v for v in verdicts if v.kind == "model" and v.transcript_id not in empty)
        rules = tuple(no_answer(t) for t in transcripts if t.no_answer)
        outcome = Outcome(transcripts, votes + rules)
        counts = count(outcome, expected=len(split.items))
        judges = tuple(sorted({v.judge for v in votes}))
        update = {"counts": counts, "split_sha256": split.manifest.sha256, "judges": judges}
        folder = board / submission.benchmark / submission.submission_id
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_bundle(folder, submission.model_copy(update=update), *outcome)
        written.append(folder)
    return written
