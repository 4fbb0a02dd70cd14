"""A run as the command line describes it: everything is checked first, then solved, judged and written down."""

import argparse
import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from builders.splits import Split, load_split
from builders.values import Riddle, SplitManifest
from evaluators.bundle import Bundle, write_bundle
from evaluators.journal import Journal
from evaluators.jury import choose_panel, deliberate, panel_that_sat, public_panel, seats_for
from evaluators.models import prepare, provider_of
from evaluators.predictions import file_sha256, read_judge_files, read_predictions
from evaluators.pricing import quote, table
from evaluators.progress import progress
from evaluators.prompts import Prompt
from evaluators.protocols import riddle
from evaluators.run import Outcome, run_attempts
from evaluators.runner import Runner
from evaluators.submission import began, identity, submission
from evaluators.values import Decoding, Evidence, Model, Panel, Seat, Transcript, Verdict

# Said in the bundle; options that only say where things lie on one machine are left out.
LOCAL_OPTIONS = frozenset({"out", "splits", "api_base", "judge_api_base", "concurrency", "timeout", "dry_run"})


class Session(NamedTuple):
    """One run, ready to start."""

    options: argparse.Namespace
    split: Split
    items: tuple[Riddle, ...]
    model: Model
    panel: Panel
    seats: tuple[Seat, Seat, Seat]
    solver: Prompt
    judge: Prompt
    condition: str
    name: str
    folder: Path

    @property
    def manifest(self) -> SplitManifest:
        """Manifest of the split."""
        return self.split.manifest

    @property
    def bundle_folder(self) -> Path:
        """Where the bundle is written."""
        return self.folder / ("bundle" if self.options.out else self.name)

    def quote(self) -> str:
        """Say what the run would cost."""
        return table(
            quote(
                self.items,
                model=None if self.options.predictions else self.model,
                seats=() if self.options.judge_files else self.seats,
                epochs=self.options.epochs,
                hints=self.options.hints,
                solver=self.solver,
                judge=self.judge,
            )
        )

    def run(self) -> Bundle:
        """Solve, judge, write the bundle.

        Raises:
            PredictionError, ModelError: Before anything is sent.
            JournalError, ServiceDownError, ServiceRefusedError, OSError: What was paid for is in the journal.
        """
        brought, panel = self._brought(), self.panel
        if not self.options.predictions:
            prepare(self.model)
        if self.options.judge_files:
            outcome = self._judged_elsewhere(brought)
            panel = panel_that_sat(panel, self.seats, {v.judge for v in outcome.verdicts if v.kind == "model"})
            date = began(self.folder, self.name)
        else:
            for seat in self.seats:
                prepare(seat.model)
            date = began(self.folder, self.name)
            with Journal(self.folder / "journal.jsonl") as journal:
                outcome = asyncio.run(self._call(journal, brought))
        described = submission(
            self.name,
            self.manifest,
            self.model,
            panel,
            outcome,
            condition=self.condition,
            epochs=self.options.epochs,
            expected=len(self.items) * self.options.epochs,
            date=date,
            command=command_line(self.options),
            evidence=EVIDENCE[bool(self.options.predictions), bool(self.options.judge_files)],
            **{name: getattr(self.options, name) for name in SAID},
        )
        complete = write_bundle(self.bundle_folder, described, outcome.transcripts, outcome.verdicts)
        return Bundle(complete, outcome.transcripts, outcome.verdicts)

    def _setup(self) -> riddle.Setup:
        return riddle.Setup(self.name, self.manifest.ref, self.model, self.options.hints, self.solver, self.condition)

    def _brought(self) -> dict[tuple[str, int], Transcript] | None:
        if not self.options.predictions:
            return None
        return read_predictions(
            self.options.predictions,
            self.items,
            setup=self._setup(),
            epochs=self.options.epochs,
            allow_missing=self.options.allow_missing,
        )

    def _judged_elsewhere(self, brought: dict[tuple[str, int], Transcript] | None) -> Outcome:
        transcripts = tuple((brought or {}).values())
        verdicts = read_judge_files(
            self.options.judge_files, transcripts, panel=self.panel, provider=self.model.provider
        )
        by_rule = tuple(riddle.no_answer(t) for t in transcripts if t.no_answer)
        order = {item.id: n for n, item in enumerate(self.items)}
        transcripts = tuple(sorted(transcripts, key=lambda t: order[t.item_id]))
        place = {t.transcript_id: n for n, t in enumerate(transcripts)}
        return Outcome(transcripts, tuple(sorted(verdicts + by_rule, key=lambda v: (place[v.transcript_id], v.judge))))

    async def _call(self, journal: Journal, brought: dict[tuple[str, int], Transcript] | None) -> Outcome:
        runner = Runner(journal, concurrency=self.options.concurrency, timeout=self.options.timeout)
        setup = self._setup()

        async def solve(item: Riddle, epoch: int) -> Transcript | None:
            if brought is not None:
                return brought.get((item.id, epoch))
            return await riddle.solve(item, runner.complete(self.model, epoch=epoch), epoch=epoch, setup=setup)

        async def judge(item: Riddle, transcript: Transcript) -> tuple[Verdict, ...]:
            return await deliberate(item, transcript, runner, seats=self.seats, prompt=self.judge)

        todo = [(item, epoch) for item in self.items for epoch in range(self.options.epochs)]
        with progress(len(todo), runner.tally, what=self.manifest.ref) as display:
            runner.on_change = display.show
            return await run_attempts(
                todo, solve=solve, judge=judge, workers=self.options.concurrency, on_done=display.done
            )


EVIDENCE: dict[tuple[bool, bool], Evidence] = {
    (False, False): "run",
    (True, False): "answers brought",
    (True, True): "answers and verdicts brought",
}
SAID = ("open_weights", "url", "release_date", "contamination", "contact", "note")


def open_session(options: argparse.Namespace, *, refuse: Callable[[str], NoReturn]) -> Session:
    """Turn options into a run; nothing is sent or written.

    Args:
        refuse: Ends the program with a usage error.

    Raises:
        SplitError, JuryError, PromptError: If split, jury or prompts cannot be used.
    """
    split = load_split(options.split, root=options.splits)
    if split.manifest.protocol != "riddle":
        refuse(f"split {split.manifest.ref} is of protocol {split.manifest.protocol!r}; this command runs riddles")
    provider = options.provider or (None if options.api_base else provider_of(options.model))
    if provider is None:
        refuse(f"say who made {options.model!r} with --provider: a judge does not mark its own maker's models")
    model = _model(options, provider)
    panel = choose_panel(judges=options.judges, jury=options.jury, api_base=options.judge_api_base)
    items = split.items[: options.limit]
    condition = riddle.condition(options.hints)
    if len(items) < len(split.items):
        condition += f";first={len(items)}"
    solver, judge = (Prompt(f"riddle/{part}", home=options.prompts) for part in ("solver", "judge"))
    files = [file_sha256(f) for f in (options.predictions, *(options.judge_files or ())) if f]
    parts = (condition, public_panel(panel), options.epochs, solver.sha256, judge.sha256, files)
    name = identity(split.manifest, model, *parts)
    # One journal for all conditions and juries of a model on a split: raising --limit pays only for what is new.
    folder = options.out or Path("runs") / split.manifest.ref / identity(split.manifest, model)
    return Session(
        options,
        split,
        items,
        model,
        panel,
        seats_for(panel, model.provider),
        solver,
        judge,
        condition,
        name,
        folder,
    )


def _model(options: argparse.Namespace, provider: str) -> Model:
    decoding = Decoding(
        temperature=options.temperature,
        top_p=options.top_p,
        max_tokens=options.max_tokens,
        reasoning_effort=options.reasoning_effort,
        thinking_tokens=options.thinking_tokens,
        seed=options.seed,
        json_schema=not options.no_json_schema,
    )
    return Model(name=options.model, provider=provider, api_base=options.api_base, decoding=decoding)


def command_line(options: argparse.Namespace) -> str:
    """The command as anyone could repeat it, without what only says where things lie on one machine."""
    words = ["python", "-m", "evaluators.submit"]
    for name, value in vars(options).items():
        if name in LOCAL_OPTIONS or value in (None, False, []):
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words += [
                p.name if isinstance(p, Path) else str(p) for p in (value if isinstance(value, list) else [value])
            ]
    return shlex.join(words)
