"""What the store's tables hold of each value: pure conversions from values to table rows."""

import json
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from typing import Protocol

from builders.values import Case, NovelQuestion, Riddle, Soup, SplitManifest
from evaluators.answers import CaseAnswer, SoupGame
from evaluators.grades import grades
from evaluators.grades import scores as score_case
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
        if shown and isinstance(i, Riddle | Soup | NovelQuestion | Case)
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
    public: bool = False,
) -> dict[str, list[Row]]:
    """Rows of the tables that hold a submission, with the scores and labels that its verdicts make.

    Only where the split is known to be `public` is there a row of what was said about a case.

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
        if submission.protocol == "case":
            continue
        by_rule = any(v.kind == "rule" and v.unit == "item" for v in said)
        for metric in METRICS[submission.protocol]:
            if (score := tally(said, metric=metric, seats=seats)) is not None:
                scores.append((name, transcript_id, score.metric, score.value, by_rule, json.dumps(score.votes)))
        if (found := label(said)) is not None:
            labels.append((name, transcript_id, found[1], found[0]))
    if submission.protocol == "case":
        for transcript in transcripts:
            scores += _case_scores(name, transcript, by_attempt[transcript.transcript_id], seats)
    games = [(n, t, t.game) for n, t in enumerate(transcripts) if t.game is not None]
    for _, t, game in games:
        measures = game.measures.items() if not isinstance(game, SoupGame) or game.turns else ()
        scores += [(name, t.transcript_id, f"game {what}", value, False, "[]") for what, value in measures]
    placed = _fields(submission, "benchmark", "split", "version", "condition")
    whole = (submission.jury, submission.date, submission.model_dump_json())
    return {
        "submissions": [(name, submission.kind, tier, *placed, model.name, model.provider, *whole)],
        "transcripts": [(name, n, *_transcript(t)) for n, t in enumerate(transcripts)],
        "verdicts": [(name, n, *_verdict(v)) for n, v in enumerate(verdicts)],
        "scores": scores,
        "games": [(name, n, t.transcript_id, t.item_id, t.epoch, game.model_dump_json()) for n, t, game in games],
        "stages": [(name, t.transcript_id, _stages(t)) for t in transcripts if public and _stages(t)],
        "readings": [(name, t.transcript_id, t.novel.model_dump_json()) for t in transcripts if t.novel is not None],
        "labels": labels,
    }


def _case_scores(name: str, transcript: Transcript, verdicts: Sequence[Verdict], seats: int | None) -> list[Row]:
    """Scores of one case: of each question `overall q2` and so on, of each stage `stage 03`, and their means.

    Human grades make the same scores under `human overall q2`, where people graded every answer to the question.
    """
    if not isinstance(transcript.answer, CaseAnswer):
        return []
    found: dict[str, float] = {}
    for kind, prefix in (("model", ""), ("human", "human ")):
        if kind == "human" and not any(v.kind == "human" for v in verdicts):
            continue
        own = score_case(grades(transcript, verdicts, seats=seats, kind=kind))
        for metric in METRICS["case"]:
            values = getattr(own, metric)
            found |= {f"{prefix}{metric} q{n}": value for n, value in enumerate(values, start=1)}
            found[f"{prefix}{metric}"] = values.mean()
        found |= {f"{prefix}stage {n:02}": value for n, value in enumerate(own.instantaneous)}
    silent = transcript.no_answer
    return [
        (name, transcript.transcript_id, metric, float(value), silent, "[]")
        for metric, value in found.items()
        if isfinite(value)
    ]


def _stages(transcript: Transcript) -> str:
    """Answers of a case by stage; empty where there are none."""
    return json.dumps(transcript.answer.stages) if isinstance(transcript.answer, CaseAnswer) else ""


def published_rows(rows: Sequence[Published]) -> dict[str, list[Row]]:
    """Rows of the table `published`."""
    return {"published": [(row.split, n, row.model_dump_json()) for n, row in enumerate(rows)]}


def published_score_rows(rows: Sequence[PublishedScore]) -> dict[str, list[Row]]:
    """Rows of the table `published_scores`."""
    return {"published_scores": [(row.split, n, row.model_dump_json()) for n, row in enumerate(rows)]}


def _transcript(transcript: Transcript) -> Row:
    # A case may be sealed: what was said about it stays in the bundle.
    told = transcript.answer is not None and transcript.protocol != "case"
    said = transcript.answer.texts if transcript.answer and told else (None, None)
    head = _fields(transcript, "transcript_id", "item_id", "epoch")
    return (*head, *said, transcript.failure, transcript.no_answer, transcript.cost_usd)


def _verdict(verdict: Verdict) -> Row:
    head = _fields(verdict, "transcript_id", "judge", "provider", "kind", "unit", "score")
    said = (verdict.failure, verdict.prompt_sha256, verdict.reply, verdict.cost_usd)
    return (*head, json.dumps(verdict.marks, sort_keys=True), *said)


def _fields(value: object, *names: str) -> Row:
    return tuple(getattr(value, name) for name in names)
