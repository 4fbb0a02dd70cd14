"""A jury over a split's gold answers: labels and verdicts side by side, in the shape of any other submission."""

import argparse
from pathlib import Path

from builders.splits import Split, SplitError, load_split
from builders.values import GoldAnswer
from evaluators.bundle import Bundle, write_bundle
from evaluators.calibrate import GOLD_MODEL, GOLD_PROVIDER
from evaluators.heading import Heading
from evaluators.journal import Journal
from evaluators.jury import choose_panel, judge_all, public_panel, seats_for
from evaluators.models import prepare
from evaluators.progress import progress
from evaluators.prompts import Prompt
from evaluators.protocols import riddle
from evaluators.protocols.riddle.marking import riddle_marking
from evaluators.run import Outcome, run_calls
from evaluators.runner import Runner
from evaluators.submission import began, identity, submission
from evaluators.values import Model, RiddleAnswer, Seat, Transcript, Verdict

CONDITION = "gold"


def calibrate(options: argparse.Namespace) -> tuple[Bundle, Split, Path]:
    """Let a jury mark gold answers; returns the bundle, the split and the bundle's folder.

    Raises:
        SplitError: If the split has no gold answers.
        JuryError, ModelError, PromptError: Before anything is sent.
        JournalError, ServiceDownError, ServiceRefusedError, OSError: What was paid for is in the journal.
    """
    split = load_split(options.split, root=options.splits)
    gold = split.gold[: options.limit]
    if not gold:
        raise SplitError(f"split {split.manifest.ref} has no gold answers; known to have some: sample-llm, sample-vlm")
    if split.manifest.protocol != "riddle":  # the labels of a gold answer are a riddle's
        raise SplitError(
            f"split {split.manifest.ref} is of protocol {split.manifest.protocol!r}; only riddles have gold"
        )
    model = Model(name=GOLD_MODEL, provider=GOLD_PROVIDER)
    panel = choose_panel(judges=options.judges, jury=options.jury, api_base=options.judge_api_base)
    seats = seats_for(panel, GOLD_PROVIDER)
    prompt = Prompt("riddle/judge", home=options.prompts)
    name = identity(split.manifest, model, CONDITION, public_panel(panel), prompt.sha256, len(gold))
    folder = options.out or Path("runs") / split.manifest.ref / identity(split.manifest, model)
    for seat in seats:
        prepare(seat.model)
    date = began(folder, name)
    transcripts = _transcripts(gold, Heading(name, split.manifest.ref, model, "riddle", CONDITION))
    with Journal(folder / "journal.jsonl") as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        judged = run_calls(_judge(split, transcripts, runner, seats, prompt))
    labels = tuple(_label(t, g) for t, g in zip(transcripts, gold, strict=True))
    outcome = Outcome(transcripts, (*labels, *judged.verdicts))
    described = submission(
        name,
        split.manifest,
        model,
        panel,
        outcome,
        condition=CONDITION,
        epochs=1,
        expected=len(gold),
        date=date,
        kind="gold",
        note=f"answers and labels by {', '.join(sorted({g.annotator for g in gold}))}",
    )
    bundle_folder = folder / ("bundle" if options.out else name)
    return Bundle(write_bundle(bundle_folder, described, *outcome), *outcome), split, bundle_folder


def _transcripts(gold: tuple[GoldAnswer, ...], heading: Heading) -> tuple[Transcript, ...]:
    # The answers of one item are told apart by epoch, in the order in which they stand.
    count: dict[str, int] = {}
    found = []
    for answer in gold:
        epoch = count.get(answer.item_id, 0)
        count[answer.item_id] = epoch + 1
        found.append(
            heading.transcript(
                answer.item_id, epoch, answer=RiddleAnswer(answer=answer.answer, justification=answer.justification)
            )
        )
    return tuple(found)


def _label(transcript: Transcript, gold: GoldAnswer) -> Verdict:
    marks = riddle.marked(
        is_answer_correct=gold.is_answer_correct, is_justification_correct=gold.is_justification_correct
    )
    # Labels an author wrote for made-up answers are never called human.
    kind = "author" if gold.annotator == "author" else "human"
    return Verdict(transcript_id=transcript.transcript_id, judge=gold.annotator, provider=None, kind=kind, **marks)


async def _judge(
    split: Split, transcripts: tuple[Transcript, ...], runner: Runner, seats: tuple[Seat, ...], prompt: Prompt
) -> Outcome:
    items = {item.id: item for item in split.items}
    with progress(len(transcripts), runner.tally, what=f"{split.manifest.ref} gold") as display:
        runner.on_change = display.show
        return await judge_all(
            transcripts,
            items,
            runner,
            seats=seats,
            how=riddle_marking(prompt),
            sealed=split.manifest.sealed,
            on_done=display.done,
        )
