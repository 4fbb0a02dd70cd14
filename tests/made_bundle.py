"""Whole bundles on the sample split, as a run would have written them, that the tests of checks and records use."""

from collections.abc import Callable
from pathlib import Path

from evaluators.bundle import Bundle, write_bundle
from evaluators.check import find_index
from evaluators.protocols.riddle import marked, no_answer
from evaluators.run import Outcome, count
from evaluators.values import Model, RiddleAnswer, Submission, Transcript, Verdict, transcript_id

REF = "sample-llm@1.0.0"
JUDGES = ("a-1", "b-1", "c-1")
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def made_bundle(
    name: str = "acme-1",
    *,
    epochs: int = 1,
    answer: Callable[[int], tuple[str, str]] = lambda n: (f"answer {n}", f"because of clue {n} and no other"),
    leave_out: tuple[int, ...] = (),
    right: Callable[[int, int], bool] = lambda n, judge: (n + judge) % 3 > 0,
    model: str = "acme/solver",
    provider: str = "acme",
    judges: tuple[str, ...] = JUDGES,
    **fields: object,
) -> Bundle:
    """A bundle with one answer to each item and epoch; item n is answered by `answer(n)`."""
    index = find_index(REF, Path("no-splits"))
    assert index is not None
    items = [i for n, i in enumerate(index.ids) if n not in leave_out]
    about = {"split": REF, "model": model, "protocol": "riddle", "condition": fields.get("condition", "hints=0")}
    transcripts, verdicts = [], []
    for n, item in enumerate(items):
        for epoch in range(epochs):
            said, why = answer(n)
            t = Transcript.model_validate(
                about
                | {"transcript_id": transcript_id(name, item, epoch), "item_id": item, "epoch": epoch}
                | {"answer": RiddleAnswer(answer=said, justification=why)}
            )
            transcripts.append(t)
            verdicts += [no_answer(t)] if t.no_answer else [_vote(t, j, right(n, k)) for k, j in enumerate(judges)]
    outcome = Outcome(tuple(transcripts), tuple(verdicts))
    made = {
        "submission_id": name,
        "benchmark": "samples",
        "split": "sample-llm",
        "version": "1.0.0",
        "split_sha256": index.manifest.sha256,
        "protocol": "riddle",
        "condition": about["condition"],
        "epochs": epochs,
        "model": Model(name=model, provider=provider),
        "jury": "custom-made",
        "judges": judges,
        "date": "2026-11-01",
        "counts": count(outcome, expected=len(index.ids) * epochs),
        "contamination": "not that we know",
        "contact": "somebody",
    }
    return Bundle(Submission.model_validate(made | fields), *outcome)


def write_made_bundle(board: Path, name: str = "acme-1", **options: object) -> Path:
    """Write it where a board keeps it; returns its folder."""
    bundle = made_bundle(name, **options)  # type: ignore[arg-type]
    folder = board / bundle.submission.benchmark / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, *bundle)
    return folder


def _vote(transcript: Transcript, judge: str, right: bool) -> Verdict:
    return Verdict(
        transcript_id=transcript.transcript_id,
        judge=judge,
        provider=judge[0],
        kind="model",
        prompt_sha256="0" * 64,
        **marked(is_answer_correct=right, is_justification_correct=right),
    )
