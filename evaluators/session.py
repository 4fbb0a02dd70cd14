"""A run as the command line describes it: everything is checked first, then solved, judged and written down."""

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from builders.splits import Split
from builders.values import SplitManifest
from evaluators import engines
from evaluators.bundle import Bundle, write_bundle
from evaluators.engines import purse
from evaluators.journal import Journal
from evaluators.journals import RUN, merge
from evaluators.jury import choose_panel, panel_that_sat, public_panel, seats_for
from evaluators.limits import Limits, read_limits
from evaluators.models import provider_of, takes
from evaluators.prices import Prices, read_prices
from evaluators.progress import progress, say_waiting
from evaluators.protocols import TEMPERATURES, Play, Table, opening, refuse_foreign
from evaluators.record import SUFFIX, RunRecord, digests_of, recorded
from evaluators.run import Outcome, run_calls
from evaluators.runner import Runner
from evaluators.scores import SEATS
from evaluators.sealed_bundle import SealedBundle, write_sealed_bundle
from evaluators.sealing import aggregates, open_journal
from evaluators.submission import began, identity, submission
from evaluators.values import Decoding, Evidence, Model, Panel, Seat

# Said in the bundle; options that only say where things lie on one machine are left out.
LOCAL_OPTIONS = frozenset(
    {
        *("out", "splits", "api_base", "judge_api_base", "responder_api_base", "concurrency", "timeout", "dry_run"),
        *("limits", "max_seconds", "max_cost", "yes", "no_cache", "processes", "engine", "poll"),
    }
)


class Session(NamedTuple):
    """One run, ready to start."""

    options: argparse.Namespace
    split: Split
    model: Model
    panel: Panel
    seats: tuple[Seat, ...]
    play: Play
    name: str
    folder: Path
    prices: Prices
    limits: dict[str, Limits]
    argv: tuple[str, ...]

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
        if not self.options.batch:
            return self.play.quote()
        alone = engines.unbatched(self.play.models).items()
        rest = "".join(f"\nCalled one by one, at the full price: {name} ({why})." for name, why in alone)
        return f"{self.play.quote()}\nPrices are those of batches (--batch).{rest}"

    def run(self) -> Bundle | SealedBundle:
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
        if outcome is not None:
            return self._bundle(outcome, panel, date, ())
        merge(self.folder)
        if engines.many(self.options):
            engines.fill(self)
        with open_journal(self.folder / RUN, self.manifest, fresh=self.options.no_cache) as journal:
            runner = self.runner(journal, lost_usd=purse.lost_usd(self.folder))
            path = self.folder / f"{self.name}{SUFFIX}"
            with recorded(path, self._record(), runner.tally, sealed=self.manifest.sealed):
                outcome = run_calls(self._call(runner))
                snapshots = () if self.options.predictions else runner.tally.snapshots(self.model.name)
                return self._bundle(outcome, panel, date, snapshots)

    def _bundle(self, outcome: Outcome, panel: Panel, date: str, snapshots: tuple[str, ...]) -> Bundle | SealedBundle:
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
            snapshots=snapshots,
            command=command_line(self.options),
            evidence=EVIDENCE[bool(self.options.predictions), bool(self.options.judge_files)],
            **{name: getattr(self.options, name) for name in SAID},
        )
        if self.manifest.sealed:
            return self._seal(Bundle(described, outcome.transcripts, outcome.verdicts))
        complete = write_bundle(self.bundle_folder, described, outcome.transcripts, outcome.verdicts)
        return Bundle(complete, outcome.transcripts, outcome.verdicts)

    def _seal(self, bundle: Bundle) -> SealedBundle:
        shown = aggregates(self.split, bundle)
        return write_sealed_bundle(self.bundle_folder, bundle, shown, recipients=self.manifest.sealed_for)

    def runner(self, journal: Journal, *, lost_usd: float = 0.0) -> Runner:
        """What makes the calls of this run, within its limits; money that was lost out of sight counts as spent."""
        return Runner(
            journal,
            concurrency=self.options.concurrency,
            timeout=self.options.timeout,
            limits=self.limits,
            prices=self.prices,
            most_usd=self.options.max_cost,
            lost_usd=lost_usd,
            most_seconds=self.options.max_seconds,
        )

    def _record(self) -> RunRecord:
        given = {k: v for k, v in vars(self.options).items() if v not in (None, False, [])}
        return RunRecord(
            submission_id=self.name,
            split=self.manifest.ref,
            model=self.model.name,
            folder=str(Path.cwd()),
            argv=self.argv,
            bundle=str(self.bundle_folder),
            expected=self.play.expected,
            parameters={k: " ".join(map(str, v)) if isinstance(v, list) else str(v) for k, v in sorted(given.items())},
            digests=digests_of(self.play.parts),
        )

    async def _call(self, runner: Runner) -> Outcome:
        runner.on_stop = lambda calls: say_waiting(f"{calls} calls")
        if self.options.batch and runner.journal is not None:
            from evaluators.engines.batch import BatchRunner

            most, poll = self.play.expected, self.options.poll
            batches = BatchRunner(runner.journal, live=runner, attempts_at_once=most, poll_seconds=poll)
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


def open_session(
    options: argparse.Namespace, split: Split, *, refuse: Callable[[str], NoReturn], argv: Sequence[str] = ()
) -> Session:
    """Turn options into a run; nothing is sent or written.

    Args:
        split: The split that the options name.
        refuse: Ends the program with a usage error.
        argv: The words that were turned into `options`; the run's record keeps them.

    Raises:
        JuryError, PromptError, PointsError, PredictionError: If split, jury, prompts, reference points or
            brought files cannot be used.
        PriceError, LimitError: If a price or a limit cannot be read.
    """
    engines.refuse_unfit(options, split.manifest, refuse)
    open_play = opening(split.manifest.protocol)
    if open_play is None:
        refuse(f"split {split.manifest.ref} is of protocol {split.manifest.protocol!r}; this checkout does not run it")
    protocol = split.manifest.protocol
    refuse_foreign(options, protocol, refuse)
    provider = options.provider or (None if options.api_base else provider_of(options.model))
    if provider is None:
        refuse(f"say who made {options.model!r} with --provider: a judge does not mark its own maker's models")
    model = _model(options, provider)
    if model.decoding.temperature is None and protocol in TEMPERATURES and options.player is None:
        model = _warm(model, TEMPERATURES[protocol])
    panel = choose_panel(judges=options.judges, jury=options.jury, api_base=options.judge_api_base)
    seats = seats_for(panel, model.provider)
    if len(seats) != SEATS and protocol != "case":
        refuse(f"--jury {panel.name} is a single grader, which is for cases; three judges mark {split.manifest.ref}")
    play = open_play(Table(options, split, model, panel, seats), refuse)
    name = identity(split.manifest, model, play.condition, public_panel(panel), options.epochs, *play.parts)
    # One journal for all conditions and juries of a model on a split: raising --limit pays only for what is new.
    folder = options.out or Path("runs") / split.manifest.ref / identity(split.manifest, model)
    prices, limits = read_prices(options.price or ()), read_limits(options.limits or ())
    if options.batch and len(alone := engines.unbatched(play.models)) == len({m.name for m in play.models}):
        why = "; ".join(f"{name}: {why}" for name, why in alone.items())
        refuse(f"--batch: no model of this run has a batch endpoint that we reach ({why}); leave it out")
    if not options.dry_run:
        _check_priced(play.models, prices, options, refuse)
    return Session(options, split, model, panel, seats, play, name, folder, prices, limits, tuple(argv))


def _check_priced(
    models: Sequence[Model], prices: Prices, options: argparse.Namespace, refuse: Callable[[str], NoReturn]
) -> None:
    unknown = ", ".join(dict.fromkeys(m.name for m in models if not prices.known(m)))
    if unknown and options.max_cost is not None:
        refuse(f"the price of {unknown} is unknown, so --max-cost cannot hold; say it with --price MODEL=IN,OUT")
    if unknown and not options.yes:
        refuse(
            f"the price of {unknown} is unknown; say it with --price MODEL=IN,OUT (USD per million tokens), or run "
            "without knowing it with --yes"
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


def _warm(model: Model, temperature: float) -> Model:
    if not takes(model, "temperature"):
        return model
    return model.model_copy(update={"decoding": model.decoding.model_copy(update={"temperature": temperature})})


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
