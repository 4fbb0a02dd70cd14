"""Write the index by which submissions to a released split are checked: python -m evaluators.check SPLIT@VERSION

For maintainers, once a version: it goes into git as evaluators/split_indexes/SPLIT@VERSION.json.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Write the index of a built split and print its path; 1 where it is not built."""
    parser = argparse.ArgumentParser(prog="python -m evaluators.check", description=__doc__)
    parser.add_argument("split", metavar="SPLIT", help="a built split, for example sample-llm@1.0.0")
    parser.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    options = parser.parse_args(argv)
    from builders.splits import SplitError
    from evaluators.check.indexes import write_index

    try:
        print(write_index(options.split, options.splits))
    except (SplitError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
