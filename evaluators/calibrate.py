"""Run a jury over labelled answers: python -m evaluators.calibrate --split sample-llm@1.0 --jury layton

The verdicts go into the store beside the labels; estimates of that split and jury then rest on them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluators.submit import DONE, OUTSIDE, guarded

GOLD_MODEL = "gold-answers"
GOLD_PROVIDER = "gold"


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(
        prog="python -m evaluators.calibrate",
        description="A jury marks the labelled answers of a split; store and bundle keep labels and verdicts.",
    )
    p.add_argument("--split", required=True, help="a split with gold answers, for example sample-llm@1.0")
    p.add_argument("--jury", default="layton", help="name of a panel, or a YAML file")
    p.add_argument("--judges", metavar="A,B,C", help="a panel of your own: [PROVIDER:]MODEL,...")
    p.add_argument("--judge-api-base", metavar="URL", help="endpoint of all judges")
    p.add_argument("--limit", type=int, metavar="N", help="only the first N labelled answers")
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")
    p.add_argument("--prompts", type=Path, metavar="DIR", help="prompt texts of your own")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and bundle (default: below runs/)")
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    options = parser().parse_args(argv)
    return guarded(lambda: _calibrate(options))


def _calibrate(options: argparse.Namespace) -> int:
    from evaluators.gold import calibrate
    from evaluators.store import open_store, store_path
    from evaluators.values import own_tier

    with open_store(store_path()) as store:
        bundle, split, folder = calibrate(options)
        store.write_split(split.manifest, split.items)
        store.write_submission(*bundle, tier=own_tier(bundle.submission))
    votes = [v for v in bundle.verdicts if v.kind == "model" and v.score is not None]
    labels = {v.transcript_id: v.score for v in bundle.verdicts if v.kind != "model"}
    agreed = sum(v.score == labels[v.transcript_id] for v in votes)
    print(f"{len(labels)} labelled answers of {split.manifest.ref}, jury {bundle.submission.jury}")
    if votes:
        print(f"  verdicts that agree with the label: {agreed} of {len(votes)} ({100 * agreed / len(votes):.0f} %)")
    lost = sum(v.failure is not None for v in bundle.verdicts)
    if lost:
        print(f"  verdicts that could not be had: {lost}")
    print(f"bundle: {folder}")
    failed = any(v.failure not in (None, "unparsed", "refused") for v in bundle.verdicts)
    return OUTSIDE if failed else DONE


if __name__ == "__main__":
    sys.exit(main())
