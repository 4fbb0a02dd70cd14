"""What the store's tables hold of each value: pure conversions from values to table rows."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from builders.values import Riddle, Soup, SplitManifest
from evaluators.scores import METRICS, label, tally
from evaluators.values import Published, PublishedScore, Submission, Tier, Transcript, Verdict

Row = tuple[object, ...]


class Item(Protocol):
    """What the store keeps of an item of any protocol."""

    @property
    def id(self) -> str:
        """Identifier within the split."""

    @property
    def cluster(self) -> str:
        """Items that share a story share a cluster."""

    @property
    def category(self) -> str:
        """Kind of item, for breakdowns."""


def split_rows(manifest: SplitManifest, items: Sequence[Item]) -> dict[str, list[Row]]:
    """Rows of the tables `splits`, `items` and, where the licence lets them be shown, `puzzles`."""
    head = _fields(manifest, "split", "version", "benchmark", "protocol", "items", "sha256")
    # Texts of a release that states no licence stay out of the store, and so off the pages.
    shown = manifest.visibility == "public" and not manifest.licence.startswith("LicenseRef-")
    texts: list[Row] = [
        (manifest.split, manifest.version, i.model_dump_json(exclude={"image"}))
        for i in items
        if shown and isinstance(i, Riddle | Soup)
    ]
    return {
        "puzzles": texts,
        "splits": [(*head, manifest.model_dump_json())],
        "items": [(manifest.split, manifest.version, n, i.id, i.cluster, i.category) for n, i in enumerate(items)],
    }


def submission_rows(
    submission: Submission,
    transcripts: Sequence[Transcript],
    verdicts: Sequence[Verdict],
    *,
    tier: Tier,
    seats: int | None,
) -> dict[str, list[Row]]:
    """Rows of the tables that hold a submission, with the scores and labels that its verdicts make.

    Raises:
        ValueError: If a verdict is about no transcript of the submission.
    """
    name, model = submission.submission_id, submission.model
    by_attempt: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_attempt[verdict.transcript_id].append(verdict)
    if strays := sorted(by_attempt.keys() - {t.transcript_id for t in transcripts}):
        raise ValueError(
            f"submission {name!r}: verdicts on {len(strays)} attempts that are not among its transcripts, first "
            f"{strays[0]!r}; write the transcripts and verdicts of one run together"
        )
    scores: list[Row] = []
    labels: list[Row] = []
    for transcript_id, said in by_attempt.items():
        by_rule = any(v.kind == "rule" for v in said)
        for metric in METRICS[submission.protocol]:
            if (score := tally(said, metric=metric, seats=seats)) is not None:
                scores.append((name, transcript_id, score.metric, score.value, by_rule, json.dumps(score.votes)))
        if (found := label(said)) is not None:
            labels.append((name, transcript_id, found[1], found[0]))
    games = [(n, t, t.game) for n, t in enumerate(transcripts) if t.game is not None]
    for _, t, game in games:
        measures = game.measures.items() if game.turns else ()
        scores += [(name, t.transcript_id, f"game {what}", value, False, "[]") for what, value in measures]
    placed = _fields(submission, "benchmark", "split", "version", "condition")
    whole = (submission.jury, submission.date, submission.model_dump_json())
    return {
        "submissions": [(name, submission.kind, tier, *placed, model.name, model.provider, *whole)],
        "transcripts": [(name, n, *_transcript(t)) for n, t in enumerate(transcripts)],
        "verdicts": [(name, n, *_verdict(v)) for n, v in enumerate(verdicts)],
        "scores": scores,
        "games": [(name, n, t.transcript_id, t.item_id, t.epoch, game.model_dump_json()) for n, t, game in games],
        "labels": labels,
    }


def published_rows(rows: Sequence[Published]) -> dict[str, list[Row]]:
    """Rows of the table `published`."""
    return {"published": [(row.split, n, row.model_dump_json()) for n, row in enumerate(rows)]}


def published_score_rows(rows: Sequence[PublishedScore]) -> dict[str, list[Row]]:
    """Rows of the table `published_scores`."""
    return {"published_scores": [(row.split, n, row.model_dump_json()) for n, row in enumerate(rows)]}


def _transcript(transcript: Transcript) -> Row:
    said = transcript.answer.texts if transcript.answer else (None, None)
    head = _fields(transcript, "transcript_id", "item_id", "epoch")
    return (*head, *said, transcript.failure, transcript.no_answer, transcript.cost_usd)


def _verdict(verdict: Verdict) -> Row:
    head = _fields(verdict, "transcript_id", "judge", "provider", "kind", "unit", "score")
    return (*head, json.dumps(verdict.marks, sort_keys=True), verdict.failure, verdict.prompt_sha256, verdict.reply)


def _fields(value: object, *names: str) -> Row:
    return tuple(getattr(value, name) for name in names)
