"""A run as the command line describes it: everything is checked first, then solved, judged and written down."""

import argparse
import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from builders.splits import Split, load_split
from builders.values import SplitManifest
from evaluators import engines
from evaluators.bundle import Bundle, write_bundle
from evaluators.journal import Journal
from evaluators.journals import RUN, merge
from evaluators.jury import choose_panel, panel_that_sat, public_panel, seats_for
from evaluators.models import provider_of
from evaluators.progress import progress
from evaluators.protocols import Play, Table, opening
from evaluators.run import Outcome
from evaluators.runner import Runner
from evaluators.submission import began, identity, submission
from evaluators.values import Decoding, Evidence, Model, Panel, Seat

# Said in the bundle; options that only say where things lie on one machine are left out.
LOCAL_OPTIONS = frozenset(
    {"out", "splits", "api_base", "judge_api_base", "responder_api_base", "concurrency", "timeout", "dry_run"}
    | {"processes", "engine", "poll"}
)
# Protocols whose next question depends on the last reply.
INTERACTIVE = frozenset({"soup", "case"})


class Session(NamedTuple):
    """One run, ready to start."""

    options: argparse.Namespace
    split: Split
    model: Model
    panel: Panel
    seats: tuple[Seat, Seat, Seat]
    play: Play
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
        batch = "\nIn batches (--batch) the provider takes less, usually half." if self.options.batch else ""
        return self.play.quote() + batch

    def run(self) -> Bundle:
        """Solve, judge, write the bundle.

        Raises:
            PredictionError, ModelError: Before anything is sent.
            JournalError, ServiceDownError, ServiceRefusedError, OSError: What was paid for is in the journal.
        """
        outcome, panel = self.play.read(self.name), self.panel
        if outcome is None:
            self.play.prepare()
        else:
            panel = panel_that_sat(panel, self.seats, {v.judge for v in outcome.verdicts if v.kind == "model"})
        date = began(self.folder, self.name)
        if outcome is None:
            merge(self.folder)
            if engines.many(self.options):
                engines.fill(self)
            with Journal(self.folder / RUN) as journal:
                outcome = asyncio.run(self._call(journal))
        described = submission(
            self.name,
            self.manifest,
            self.model,
            panel,
            outcome,
            condition=self.play.condition,
            epochs=self.options.epochs,
            expected=self.play.expected,
            date=date,
            command=command_line(self.options),
            evidence=EVIDENCE[bool(self.options.predictions), bool(self.options.judge_files)],
            **{name: getattr(self.options, name) for name in SAID},
        )
        complete = write_bundle(self.bundle_folder, described, outcome.transcripts, outcome.verdicts)
        return Bundle(complete, outcome.transcripts, outcome.verdicts)

    def runner(self, journal: Journal) -> Runner:
        """What makes the calls of this run, within its limits."""
        return Runner(journal, concurrency=self.options.concurrency, timeout=self.options.timeout)

    async def _call(self, journal: Journal) -> Outcome:
        runner = self.runner(journal)
        if self.options.batch:
            from evaluators.engines.batch import BatchRunner

            batches = BatchRunner(
                journal, live=runner, attempts_at_once=self.play.expected, poll_seconds=self.options.poll
            )
            return await batches.drive(self.play.run(batches, key=self.name, on_done=lambda: None))
        with progress(self.play.expected, runner.tally, what=self.manifest.ref) as display:
            runner.on_change = display.show
            return await self.play.run(runner, key=self.name, on_done=display.done)


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
        SplitError, JuryError, PromptError, PointsError, PredictionError: If split, jury, prompts, reference points or
            brought files cannot be used.
    """
    if engines.many(options) and options.batch:
        refuse("--batch needs no workers: the provider makes the calls; leave out --processes and --engine")
    if engines.many(options) and options.player == "human":
        refuse("--player human plays at this terminal: leave out --processes and --engine")
    split = load_split(options.split, root=options.splits)
    if options.batch and split.manifest.protocol in INTERACTIVE and not options.predictions:
        refuse("--batch answers within a day, and this protocol asks in turns; leave it out, or bring --predictions")
    open_play = opening(split.manifest.protocol)
    if open_play is None:
        refuse(f"split {split.manifest.ref} is of protocol {split.manifest.protocol!r}; this checkout does not run it")
    provider = options.provider or (None if options.api_base else provider_of(options.model))
    if provider is None:
        refuse(f"say who made {options.model!r} with --provider: a judge does not mark its own maker's models")
    model = _model(options, provider)
    panel = choose_panel(judges=options.judges, jury=options.jury, api_base=options.judge_api_base)
    seats = seats_for(panel, model.provider)
    play = open_play(Table(options, split, model, panel, seats), refuse)
    name = identity(split.manifest, model, play.condition, public_panel(panel), options.epochs, *play.parts)
    # One journal for all conditions and juries of a model on a split: raising --limit pays only for what is new.
    folder = options.out or Path("runs") / split.manifest.ref / identity(split.manifest, model)
    return Session(options, split, model, panel, seats, play, name, folder)


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
