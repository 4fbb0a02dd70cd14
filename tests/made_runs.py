"""Small made-up runs, with their verdicts and labels, that the tests of store, estimates and pages use."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from evaluators.values import Counts, Model, RiddleAnswer, Submission, Transcript, Verdict, transcript_id


class Run(NamedTuple):
    submission: Submission
    transcripts: tuple[Transcript, ...]
    verdicts: tuple[Verdict, ...]


def made_run(
    name: str,
    attempts: Sequence[str],
    *,
    provider: str = "acme",
    labels: str = "human",
    expected: int | None = None,
    epochs: int = 1,
    **fields: Any,
) -> Run:
    """A run whose attempts are spelled out: `2+` two votes of three and labelled right, `0-` none and labelled wrong.

    `3` is not labelled; `none` is an empty answer, `fail` a failed call, `2?` has one unreadable verdict.
    """
    model = fields.pop("model", f"{provider}/{name}")
    common = {"split": "layton-llm@1.0.0", "model": model, "protocol": "riddle", "condition": "hints=0"}
    common |= {k: v for k, v in fields.items() if k == "condition"}
    if "split" in fields:
        common["split"] = f"{fields['split']}@{fields.get('version', '1.0.0')}"
    transcripts, verdicts = [], []
    for n, spelled in enumerate(attempts):
        item, epoch = f"r-{n // epochs:03}", n % epochs
        key = transcript_id(name, item, epoch)
        said: dict[str, Any] = {"answer": RiddleAnswer(answer="x" * (spelled != "none"), justification="y")}
        if spelled == "fail":
            said = {"failure": "timeout"}
        transcripts.append(Transcript(transcript_id=key, item_id=item, epoch=epoch, **common, **said))
        verdicts += _verdicts(key, spelled, labels)
    total = expected or len(attempts)
    lost = {"no_answer": attempts.count("none"), "failed": attempts.count("fail"), "missing": total - len(attempts)}
    lost["unjudged"] = sum("?" in a for a in attempts)
    made: dict[str, Any] = {
        "submission_id": name,
        "benchmark": "layton",
        "split": "layton-llm",
        "version": "1.0.0",
        "split_sha256": None,
        "protocol": "riddle",
        "condition": "hints=0",
        "model": Model(name=model, provider=provider),
        "jury": "three",
        "judges": ("a", "b", "c"),
        "date": "2026-03-04",
        "epochs": epochs,
        "counts": Counts(expected=total, scored=total - sum(lost.values()), **lost),
    }
    return Run(Submission(**(made | fields)), tuple(transcripts), tuple(verdicts))


def _verdicts(key: str, spelled: str, labels: str) -> list[Verdict]:
    if spelled == "fail":
        return []
    if spelled == "none":
        return [Verdict(transcript_id=key, judge="no-answer", kind="rule", score=0)]
    votes = int(spelled[0])
    found = [
        Verdict(transcript_id=key, judge=judge, provider="jury", kind="model", score=float(n < votes))
        for n, judge in enumerate("abc")
    ]
    if spelled.endswith("?"):
        found[2] = Verdict(transcript_id=key, judge="c", provider="jury", kind="model", failure="unparsed")
    if spelled[1:2] in ("+", "-"):
        right = float(spelled[1] == "+")
        found.append(Verdict(transcript_id=key, judge=f"{labels}-1", kind=labels, score=right))
    return found
