"""The leaderboard's commands.

python -m leaderboard import-layton PPI.jsonl     released verdicts and labels into the store, and their table
python -m leaderboard build                       bundles and store into pages and data files
python -m leaderboard withdraw|rescore|promote|retire-jury     change a standing row, with a reason
python -m leaderboard review | record             a pull request read as data, checked and recorded
python -m leaderboard leaks DIR                   look for keys and unpublished text in what is about to be published
python -m leaderboard health                      an issue where a scheduled workflow failed
python -m leaderboard diagnose SPLIT              what to read before a board is published
python -m leaderboard compare SPLIT FIRST SECOND  is one model better than another
python -m leaderboard cases                       how people and models go about cases, from their bundles
python -m leaderboard gap PUBLIC SEALED           do models do better where the items are public
python -m leaderboard agreement SPLIT             people, judges and the jury among each other
python -m leaderboard panels SPLIT                which judges give the narrowest honest interval at what cost
python -m leaderboard raise-jury BUNDLE ...       ask judges again; where one has moved, retire and seat the jury anew
python -m leaderboard export --format F           results in the formats of others, or proposed on the Hub
python -m leaderboard publish-labels BENCHMARK   answers with verdicts and labels as a dataset on the Hub
python -m leaderboard demo                        a whole leaderboard from a tiny local model
python -m leaderboard coverage                    how often the intervals hold, by simulation
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from leaderboard.changes import COMMANDS as CHANGES

COMMANDS = {
    "build": ("leaderboard.build", "estimate, rank and write the site from the bundles and the store"),
    "import-layton": ("leaderboard.import_layton", "put layton-eval's released verdicts and labels into the store"),
    "export": ("leaderboard.export", "write results for Community Evals, Every Eval Ever, model cards or Inspect"),
    "publish-labels": ("leaderboard.publish_labels", "publish answers with verdicts and labels as a dataset"),
    "diagnose": ("leaderboard.diagnose", "what a maintainer reads before a board is published"),
    "cases": ("leaderboard.case_report", "how people and models go about cases: order of visits, features, outliers"),
    "compare": ("leaderboard.versus", "is one model better than another, on the items both answered"),
    "gap": ("leaderboard.gap", "how much better models do on a public split than on a sealed one of the same kind"),
    "agreement": ("leaderboard.agree", "how far people, judges and the jury agree"),
    "panels": ("leaderboard.panels", "every jury that the stored votes could make: width, bias and cost"),
    "raise-jury": ("leaderboard.raise_jury", "ask judges again; where one has moved, seat the jury under a new name"),
    **{name: ("leaderboard.changes", text) for name, text in CHANGES.items()},
}
# Written by modules with options of their own; imported when they are called.
ELSEWHERE = {
    "demo": ("leaderboard.demo", "run, judge, calibrate, score and show a whole leaderboard with a tiny local model"),
    "review": ("leaderboard.review", "read a pull request as data and check the bundle that it brings"),
    "record": ("leaderboard.record", "write down a sent bundle and our jury's verdicts on it"),
    "leaks": ("leaderboard.leaks", "look for keys and unpublished text in what is about to be published"),
    "health": ("leaderboard.health", "open an issue where a scheduled workflow failed"),
    "coverage": ("leaderboard.coverage", "simulate how often the published intervals hold what they promise"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 input refused, 2 usage, 3 an outside service failed."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in ELSEWHERE:
        code: int = importlib.import_module(ELSEWHERE[argv[0]][0]).main(argv[1:])
        return code
    arguments = _parser(argv).parse_args(argv)
    try:
        code = arguments.run(arguments)
    except (ValueError, OSError) as error:  # every refused file, the store's errors, a full disk
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: nothing was left half-written; the same command starts again", file=sys.stderr)
        return 3
    return code


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description="Estimates, ranks, pages.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (path, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        # A command's module, and the libraries behind it, are imported when the command is the one asked for.
        if name in argv:
            module = importlib.import_module(path)
            module.add_arguments(command)
            command.set_defaults(run=module.main)
    for name, (_, text) in ELSEWHERE.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
