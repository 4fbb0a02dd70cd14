"""Evaluate a model and make a submission: python -m evaluators.submit --model openai/gpt-5.1 --split layton-llm@1.0

The same command goes on where an interrupted run stopped; nothing that was paid for is paid for again.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluators import hand_in

if TYPE_CHECKING:
    from evaluators.session import Session

DONE, REFUSED, USAGE, OUTSIDE = 0, 1, 2, 3


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(
        prog="python -m evaluators.submit",
        description="A model answers a split, a jury of three judges, prediction-powered inference scores. "
        "The same command goes on where an interrupted run stopped.",
        epilog="The results store is results.duckdb, or the file that DEERSTALKER_STORE names. "
        "Exit code: 0 done, 1 input refused, 2 usage, 3 an outside service failed (what was paid for is kept).",
    )
    p.add_argument("--model", required=True, help="litellm name, for example openai/gpt-5.1")
    p.add_argument(
        "--split",
        required=True,
        help="for example layton-llm@1.0 (see python -m builders list), or hub:NAMESPACE/REPO/SPLIT@1.0.0",
    )
    p.add_argument("--provider", help="who made the model; needed where its name does not say, and with --api-base")
    p.add_argument("--api-base", metavar="URL", help="endpoint of your own that speaks OpenAI's protocol")
    p.add_argument("--hints", type=int, default=0, choices=range(5), help="hints shown with each riddle (default 0)")
    p.add_argument("--limit", type=_positive, metavar="N", help="only the first N riddles: a condition of its own")
    p.add_argument("--epochs", type=_positive, default=1, metavar="K", help="answers to each riddle (default 1)")
    p.add_argument("--concurrency", type=_positive, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and bundle (default: below runs/)")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--dry-run", action="store_true", help="say calls, tokens and price, and send nothing")
    _engine_options(p.add_argument_group("where the calls are made"))
    brought = p.add_argument_group("bring your own")
    brought.add_argument("--predictions", type=Path, metavar="F", help="answers, one JSON object a line")
    brought.add_argument("--allow-missing", action="store_true", help="submit although answers are missing")
    brought.add_argument(
        "--judge-files", type=Path, nargs="+", metavar="F", help="three files of verdicts (layton-eval's format)"
    )
    brought.add_argument(
        "--prompts", type=Path, metavar="DIR", help="prompt texts of your own, in the layout of evaluators/prompts"
    )
    _soup_options(p.add_argument_group("situation puzzles"))
    _novel_options(p.add_argument_group("questions about novels"))
    _case_options(p.add_argument_group("cases"))
    _jury_options(p.add_argument_group("jury"))
    _cost_options(p.add_argument_group("cost and pace"))
    decoding = p.add_argument_group("decoding (what is left out is not sent)")
    decoding.add_argument("--temperature", type=float)
    decoding.add_argument("--top-p", type=float)
    decoding.add_argument("--max-tokens", type=int)
    decoding.add_argument("--reasoning-effort")
    decoding.add_argument("--thinking-tokens", type=int)
    decoding.add_argument("--seed", type=int)
    decoding.add_argument("--no-json-schema", action="store_true", help="for endpoints that refuse a JSON schema")
    hand_in.add_switches(p.add_argument_group("hand in (instead of a run)"))
    said = p.add_argument_group("said in the submission")
    said.add_argument("--open-weights", action=argparse.BooleanOptionalAction, default=None)
    said.add_argument("--url", help="page of the model")
    said.add_argument("--release-date", metavar="YYYY-MM-DD")
    said.add_argument(
        "--contamination", help="what you know about the split in the model's training data; saying it costs nothing"
    )
    said.add_argument("--contact")
    said.add_argument("--note")
    return p


def _engine_options(group: Any) -> None:
    group.add_argument(
        "--processes", type=_positive, metavar="N", help="make the calls with N worker processes (with ray: N workers)"
    )
    group.add_argument("--engine", choices=("local", "ray"), default="local", help="where workers run (default: here)")
    group.add_argument("--batch", action="store_true", help="use the provider's batch endpoint: cheaper, within a day")
    group.add_argument("--poll", type=float, default=30, metavar="S", help="seconds between looks at it (default 30)")


def _jury_options(group: Any) -> None:
    group.add_argument(
        "--jury", default="layton", help="name of a panel, or a YAML file of the form of evaluators/juries/layton.yaml"
    )
    group.add_argument(
        "--judges",
        metavar="A,B,C",
        help="a panel of your own: [PROVIDER:]MODEL,... ; a fourth and further are reserves",
    )
    group.add_argument("--judge-api-base", metavar="URL", help="endpoint of all judges")


def _cost_options(group: Any) -> None:
    # Without defaults of their own: what is not said stays out of the run's record.
    group.add_argument(
        "--max-cost",
        type=_above_zero,
        metavar="USD",
        help="stop before a call that could bring the journal's price beyond it",
    )
    group.add_argument(
        "--max-seconds", type=_above_zero, metavar="S", help="begin no call later than this after the first"
    )
    group.add_argument(
        "--price",
        nargs="+",
        action="extend",
        metavar="[MODEL=]IN,OUT[,CACHED]",
        help="USD per million tokens, where litellm's table has no price or another one",
    )
    group.add_argument("--yes", action="store_true", help="run although a price is unknown")
    group.add_argument(
        "--limits",
        nargs="+",
        action="append",
        metavar="WORD",
        help="[WHO] in_flight=N rpm=N tpm=N; WHO: a model, a service (openai) or an endpoint; without: every service",
    )
    group.add_argument("--no-cache", action="store_true", help="make every call anew; the journal keeps both replies")


def _soup_options(group: Any) -> None:
    # Without defaults of their own: what is not said stays out of the submission's command.
    group.add_argument(
        "--responder", metavar="[PROVIDER:]MODEL", help="who answers the questions: a fixed model, or `symmetric`"
    )
    group.add_argument("--responder-api-base", metavar="URL", help="endpoint of the responder")
    group.add_argument("--points", type=Path, metavar="F", help="reference points (default: those beside the split)")
    group.add_argument(
        "--ablate", choices=("no-deliberation", "no-meta-cognition", "no-pruning", "no-key-clue", "none")
    )
    group.add_argument("--turns", type=_positive, metavar="N", help="most questions a game (default 30)")
    group.add_argument("--compat", choices=("released",), help="matching, limits and windows of the released code")
    group.add_argument("--player", choices=("human",), help="a person asks at this terminal, --model names the person")


def _novel_options(group: Any) -> None:
    group.add_argument(
        "--setting",
        choices=("context", "question-only", "evidence"),
        help="what is shown: the novel up to the answer (default), its title and author, or the evidence paragraphs",
    )
    group.add_argument(
        "--max-context", type=_positive, metavar="N", help="most input tokens of the model (default: litellm's table)"
    )
    group.add_argument(
        "--truncate", choices=("front",), help="cut novels that are too long, from the front: a condition of its own"
    )


def _case_options(group: Any) -> None:
    group.add_argument(
        "--scheme",
        choices=("simple", "discussion", "revision"),
        help="how a model is asked: at once (default), reasoning first, or examining its own answers as well",
    )
    group.add_argument(
        "--grader-mode", type=int, choices=range(1, 6), help="what graders are shown; 5 (default) and 4 go by a rubric"
    )
    group.add_argument("--rubrics", type=Path, metavar="F", help="marking rubrics (default: those beside the split)")
    group.add_argument(
        "--grades", type=Path, metavar="F", help="people's grades of the answers, one JSON object a line"
    )
    group.add_argument(
        "--practice", action="store_const", const=True, help="play the practice case too; it is never graded"
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if hand_in.asked(argv):
        return hand_in.main(argv)
    p = parser()
    options = p.parse_args(argv)
    if options.judge_files and not options.predictions:
        p.error("--judge-files needs --predictions: verdicts are on answers, bring both")
    if options.judges and options.judge_files:
        p.error("--judges and --judge-files exclude each other")
    return guarded(lambda: _submit(p, options, argv))


def guarded(command: Any) -> int:
    """Run a command and turn what can go wrong into one line on stderr and an exit code."""
    from pydantic import ValidationError

    from builders.hub import HubError
    from builders.release import ReleaseError
    from builders.splits import SplitError
    from builders.vault import VaultError
    from evaluators.bundle import BundleError
    from evaluators.engines import WorkerLostError
    from evaluators.engines.shares import ShareError
    from evaluators.journal import JournalError
    from evaluators.jury import JuryError
    from evaluators.limits import LimitError
    from evaluators.models import ModelError, ServiceRefusedError
    from evaluators.points import PointsError
    from evaluators.predictions import PredictionError
    from evaluators.prices import PriceError
    from evaluators.prompts import PromptError
    from evaluators.record import RecordError
    from evaluators.rubrics import RubricError
    from evaluators.run import terminable
    from evaluators.runner import RunEndedError, ServiceDownError
    from evaluators.sealing import SealedRunError
    from evaluators.store import StoreError

    again = "what was paid for is kept; the same command goes on from there"
    try:
        with terminable():
            return int(command())
    except (
        *(SplitError, ReleaseError, BundleError, JuryError, ModelError),
        *(LimitError, PointsError, PredictionError, PriceError, PromptError),
        *(RecordError, RubricError, ShareError, StoreError, VaultError),
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except SealedRunError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    except ValidationError as error:
        first = error.errors()[0]
        print(f"error: {'.'.join(map(str, first['loc']))}: {first['msg']}, not {first['input']!r}", file=sys.stderr)
        return REFUSED
    except (ServiceRefusedError, ServiceDownError, RunEndedError, WorkerLostError) as error:
        print(f"error: {error}\n{again}", file=sys.stderr)
    except (JournalError, HubError) as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "cannot write: "
        print(f"error: {where}{error.strerror or error}; {again}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"stopped; {again}", file=sys.stderr)
    return OUTSIDE


def _submit(p: argparse.ArgumentParser, options: argparse.Namespace, argv: Sequence[str]) -> int:
    from builders.splits import load_split
    from evaluators.sealing import check_runnable, discreet
    from evaluators.session import open_session

    split = load_split(options.split, root=options.splits, sealed=True)
    check_runnable(split.manifest)
    with discreet(split.manifest):
        session = open_session(options, split, refuse=p.error, argv=argv)
        if options.dry_run:
            print(session.quote())
            return DONE
        return _evaluate(session)


def _evaluate(session: "Session") -> int:
    from evaluators.report import report, report_sealed
    from evaluators.sealed_bundle import SealedBundle
    from evaluators.store import open_store, store_path
    from evaluators.values import own_tier

    # A store that cannot be written is refused before a call is paid for, not after.
    with open_store(store_path()) as store:
        store.write_split(session.manifest, session.split.items)
    bundle = session.run()
    with open_store(store_path()) as store:
        if isinstance(bundle, SealedBundle):
            store.write_sealed(*bundle, tier=own_tier(bundle.submission))
            print(report_sealed(bundle.submission, bundle.estimates))
        else:
            store.write_submission(*bundle, tier=own_tier(bundle.submission))
            print(report(store, bundle.submission))
    print(f"bundle: {session.bundle_folder}")
    failed = bundle.submission.counts.failed
    if failed:
        print(
            f"error: {failed} calls failed and are not scored; the same command tries just these again", file=sys.stderr
        )
    return OUTSIDE if failed else DONE


if __name__ == "__main__":
    sys.exit(main())
