"""Run a sent model on a sealed split: python -m evaluators.run_sealed BUNDLE --split SPLIT --out DIR --spend-cap USD

Of the bundle only submission.yaml counts: which model, with which decoding, asked in which way. The calls go to one
endpoint, whose own key and budget stand here; keys of providers do not belong beside the identity that opens a split.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.submit import DONE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.values import SplitManifest
    from evaluators.values import Submission

# Of a run with one protocol's condition, the options that ask a model in the same way on another split.
_ASKED_WITH = {"hints": "hints", "scheme": "scheme", "grader": "grader-mode", "setting": "setting"}


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    from evaluators.rejudge import _usd

    p = argparse.ArgumentParser(prog="python -m evaluators.run_sealed", description="Run a sent model on sealed items.")
    p.add_argument("bundle", type=Path, metavar="BUNDLE", help="a checked bundle of that model on a public split")
    p.add_argument("--split", required=True, metavar="SPLIT", help="sealed split, for example watson-holmes@1.0.0")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where sealed splits are")
    p.add_argument("--public", type=Path, default=Path("splits"), metavar="DIR", help="where public splits are built")
    p.add_argument("--out", type=Path, required=True, metavar="DIR", help="journal and bundle; only DIR/bundle leaves")
    p.add_argument("--jury", default="layton", help="name of a panel that comes with the project")
    p.add_argument("--api-base", required=True, metavar="URL", help="endpoint of the model and of all judges")
    p.add_argument("--spend-cap", type=_usd, required=True, metavar="USD", help="most that may be spent")
    p.add_argument(
        "--price", metavar="IN,OUT", help="USD per million tokens, for models of which litellm's table has no price"
    )
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run; 0 done, 1 refused, 2 usage or a price that is not known, 3 a service failed or the cap was reached."""
    options = parser().parse_args(argv)
    if not options.api_base:
        print("error: --api-base is empty: without an endpoint of its own there is no sealed run", file=sys.stderr)
        return REFUSED
    return guarded(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    from builders.splits import SplitError, find_built, read_manifest
    from evaluators import submit
    from evaluators.bundle import read_submission
    from evaluators.check import check_bundle
    from evaluators.hand_in import say
    from evaluators.jury import JuryError, known_panels

    if say(check_bundle(options.bundle, splits=options.public)) != DONE:
        return REFUSED
    if options.jury not in known_panels():
        raise JuryError(f"no panel {options.jury!r} of the project; known are {', '.join(known_panels())}")
    folder = find_built(options.split, root=options.splits)
    manifest = read_manifest(folder, folder.parent.name, folder.name)
    if not manifest.sealed:
        raise SplitError(f"{manifest.ref} is not sealed; run it with python -m evaluators.submit")
    return submit.main(command(read_submission(options.bundle), manifest, options))


def command(sent: "Submission", manifest: "SplitManifest", options: argparse.Namespace) -> list[str]:
    """The options of `python -m evaluators.submit` for this model; each value is one word, whatever stands in it."""
    decoding = sent.model.decoding
    said = {
        "model": sent.model.name,
        "provider": sent.model.provider,
        "split": manifest.ref,
        "splits": options.splits,
        "out": options.out,
        "jury": options.jury,
        "api-base": options.api_base,
        "judge-api-base": options.api_base,
        "max-cost": options.spend_cap,
        "price": options.price or None,
        "concurrency": options.concurrency,
        "temperature": decoding.temperature,
        "top-p": decoding.top_p,
        "max-tokens": decoding.max_tokens,
        "reasoning-effort": decoding.reasoning_effort,
        "thinking-tokens": decoding.thinking_tokens,
        "seed": decoding.seed,
        "epochs": sent.epochs,
    }
    if sent.protocol == manifest.protocol:
        said |= _asked_with(sent.condition)
    words = [f"--{name}={value}" for name, value in said.items() if value is not None]
    return words if decoding.json_schema else [*words, "--no-json-schema"]


def _asked_with(condition: str) -> dict[str, str]:
    parts = (part.partition("=") for part in condition.split(";"))
    return {_ASKED_WITH[name]: value for name, _, value in parts if name in _ASKED_WITH}


if __name__ == "__main__":
    sys.exit(main())
