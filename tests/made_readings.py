"""Made-up answers to questions about novels, with what was shown and what the jury found, in a store."""

from collections.abc import Sequence
from typing import Any

from builders.splits import make_split
from builders.values import NovelQuestion, Source
from evaluators.answers import NovelAnswer, NovelRecord
from evaluators.protocols.novel.judge import letter, marked, no_answer
from evaluators.run import Outcome, count
from evaluators.store import Store
from evaluators.values import Model, Submission, Tier, Transcript, Verdict, transcript_id
from tests.made_novel import novel_question

SCRIPT = "<script>alert(1)</script> {{ 7*7 }} \u202e"
SOURCE = Source(title="t", url="file:t", licence="CC-BY-4.0", citation="c")


def questions(novels: int = 6, each: int = 4) -> tuple[NovelQuestion, ...]:
    """Questions with three reference steps, the first two with evidence; `B` is always right."""
    return tuple(
        novel_question(n, novel=10 + novel, question=f"Who left at {n}? {SCRIPT}", answer_position=10 + n)
        for novel in range(novels)
        for n in range(each)
    )


def write_split(store: Store, items: Sequence[NovelQuestion], split: str = "sample-novel") -> None:
    made = make_split(split, items, version="1.0.0", sources=[SOURCE])
    store.write_split(made.manifest, made.items)


def run(
    items: Sequence[NovelQuestion],
    spelled: Sequence[str],
    *,
    name: str,
    setting: str = "context",
    split: str = "sample-novel",
    **fields: Any,
) -> tuple[Submission, tuple[Transcript, ...], tuple[Verdict, ...]]:
    """A run whose answers are spelled out, one an item: letter and the steps all judges find, for example `B12`.

    `none` is no answer, `fail` a failed call; a `?` at the end: one judge cannot be read.
    """
    model = Model(name=fields.pop("model", name), provider=fields.pop("provider", "acme"))
    condition = fields.pop("condition", f"setting={setting}")
    transcripts, verdicts = [], []
    for n, (item, said) in enumerate(zip(items, spelled, strict=True)):
        key = transcript_id(name, item.id, 0)
        steps = (f"She left {n}. {SCRIPT}", "So it was she.")
        answer = None if said in ("none", "fail") else NovelAnswer(kind="novel", letter=said[0], steps=steps)
        failure = {"none": "unparsed", "fail": "timeout"}.get(said)
        depths = (0.1, 0.95, None) if setting == "context" else ()
        shown = NovelRecord(
            setting=setting, novel=item.novel, paragraphs=9, first=1, last=9, tokens=9000, depths=depths
        )
        transcript = Transcript(
            **{"transcript_id": key, "split": f"{split}@1.0.0", "item_id": item.id, "model": model.name},
            **{"protocol": "novel", "condition": condition, "answer": answer, "failure": failure, "novel": shown},
        )
        transcripts.append(transcript)
        if said == "fail":
            continue
        verdicts.append(letter(item, transcript))
        if said == "none":
            verdicts.append(no_answer(transcript))
            continue
        found = tuple(int(c) for c in said[1:].removesuffix("?"))
        for judge in "abc":
            common: dict[str, Any] = {"transcript_id": key, "judge": judge, "provider": "j", "kind": "model"}
            mark = {"failure": "unparsed"} if judge == "c" and said.endswith("?") else marked(found, steps=3)
            verdicts.append(Verdict.model_validate({**common, **mark}))
    made: dict[str, Any] = {
        **{"submission_id": name.lower(), "benchmark": "novel-samples", "split": split, "version": "1.0.0"},
        **{"split_sha256": None, "protocol": "novel", "condition": condition, "jury": "three", "judges": tuple("abc")},
        **{"model": model, "date": "2026-03-04"},
        "counts": count(Outcome(tuple(transcripts), tuple(verdicts)), expected=len(items)),
    }
    return Submission(**{**made, **fields}), tuple(transcripts), tuple(verdicts)


def write(store: Store, *args: Any, tier: Tier = "scored-here", **fields: Any) -> None:
    store.write_submission(*run(*args, **fields), tier=tier)
