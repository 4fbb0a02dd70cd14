"""The leaderboard's commands.

python -m leaderboard import-layton PPI.jsonl     released verdicts and labels into the store, and their table
python -m leaderboard build                       bundles and store into pages and data files
python -m leaderboard withdraw|rescore|promote|retire-jury     change a standing row, with a reason
python -m leaderboard review | record             a pull request read as data, checked and recorded
python -m leaderboard leaks DIR                   look for keys and unpublished text in what is about to be published
python -m leaderboard health                      an issue where a scheduled workflow failed
python -m leaderboard demo                        a whole leaderboard from a tiny local model
python -m leaderboard coverage                    how often the intervals hold, by simulation
"""

import argparse
import importlib
import sys

from leaderboard import build, changes, import_layton

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
    arguments = _parser().parse_args(argv)
    try:
        code = arguments.run(arguments)
    except (ValueError, OSError) as error:  # every refused file, the store's errors, a full disk
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: nothing was left half-written; the same command starts again", file=sys.stderr)
        return 3
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m leaderboard", description="Estimates, ranks, pages.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module, text in (
        ("build", build, "estimate, rank and write the site from the bundles and the store"),
        ("import-layton", import_layton, "put layton-eval's released verdicts and labels into the store"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        module.add_arguments(command)
        command.set_defaults(run=module.main)
    for name, text in changes.COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        changes.add_arguments(command, name)
        command.set_defaults(run=changes.main)
    for name, (_, text) in ELSEWHERE.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
