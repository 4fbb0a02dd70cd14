"""A whole leaderboard from one command: python -m leaderboard demo (make demo)

It builds the sample split, lets a tiny model on this machine answer and judge riddles, scores it, adds the papers'
tables and builds the site. The tiny model proves the plumbing; its score means nothing.
"""

import argparse
import contextlib
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leaderboard.boards import Board

SPLIT = "sample-llm@1.0"
RIDDLES, GOLD = 6, 12
PLUMBING = (
    "The model of this demo has 135 million parameters and answers near chance. It proves that every part works, with "
    "a real model and a real jury; its score means nothing. The labels of the samples are their authors', not human."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; exit code of the first step that does not end well."""
    parser = argparse.ArgumentParser(prog="python -m leaderboard demo", description=__doc__)
    parser.add_argument("--model", help="a real model instead, for example openai/gpt-5.1 (its key in the environment)")
    parser.add_argument("--judges", help="real judges instead, [PROVIDER:]MODEL,... (three or more)")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), metavar="DIR", help="default: build/demo")
    options = parser.parse_args(argv)
    os.environ.setdefault("DEERSTALKER_STORE", str(options.out / "results.duckdb"))
    with contextlib.ExitStack() as stack:
        try:
            solver, jury = _models(options, stack)
        except _MissingError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return _steps(options, solver, jury)


class _MissingError(RuntimeError):
    pass


def _models(options: argparse.Namespace, stack: contextlib.ExitStack) -> tuple[list[str], list[str]]:
    """Options that name solver and jury; starts the tiny model if either seat needs it."""
    jury = ["--judges", options.judges] if options.judges else ["--jury", "layton"]
    if options.model:
        return ["--model", options.model], jury
    from evaluators.local_model import LocalModel, LocalModelError

    print(f"\n{PLUMBING}\n\nstarting the tiny model", flush=True)
    began = time.monotonic()
    try:
        # The judges' prompts share most of their text; without the cache the demo takes three times as long.
        tiny = stack.enter_context(LocalModel(prompt_cache=True))
    except LocalModelError as error:
        raise _MissingError(error) from None
    print(f"  {tiny.name} answers on {tiny.api_base} after {time.monotonic() - began:.1f} s", flush=True)
    # One call at a time: with several, replies can differ from run to run.
    solver = ["--model", tiny.name, "--provider", "huggingfacetb", "--api-base", tiny.api_base, "--concurrency", "1"]
    solver += ["--temperature", "0.3", "--seed", "1", "--max-tokens", "220", "--open-weights"]
    solver += ["--note", "plumbing check, not a result"]
    if not options.judges:
        jury = ["--jury", "tiny-local", "--judge-api-base", tiny.api_base]
    return solver, jury


def _steps(options: argparse.Namespace, solver: list[str], jury: list[str]) -> int:
    from builders.__main__ import main as builders
    from evaluators.calibrate import main as calibrate
    from evaluators.submit import main as submit
    from leaderboard.__main__ import main as leaderboard

    out: Path = options.out
    splits, runs, site = str(out / "splits"), out / "runs", str(out / "site")
    where = ["--split", SPLIT, "--splits", splits]
    calm = ["--concurrency", "1"] if "--judge-api-base" in jury else []
    steps: list[tuple[str, Callable[[list[str]], int], list[str]]] = [
        ("builders", builders, ["build", "samples", "--out", splits]),
        # Before the model: its score is then tied to the labels from the start.
        (
            "evaluators.calibrate",
            calibrate,
            [*where, *jury, *calm, "--limit", str(GOLD), "--out", str(runs / "gold")],
        ),
        # --yes: whoever names a model here has asked for its calls; the price of six riddles stops no demo.
        (
            "evaluators.submit",
            submit,
            [*where, *solver, *jury, "--yes", "--limit", str(RIDDLES), "--out", str(runs / "model")],
        ),
        ("leaderboard", leaderboard, ["build", "--runs", str(runs), "--splits", splits, "--out", site]),
    ]
    for number, (module, run, arguments) in enumerate(steps, start=1):
        print(f"\n[{number}/{len(steps)}] python -m {module} {shlex.join(arguments)}", flush=True)
        began = time.monotonic()
        code = run(arguments)
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
        if code:
            return code
    _show()
    return 0


def _show() -> None:
    """Print what the site's boards show."""
    from evaluators.store import open_store, store_path
    from leaderboard.boards import boards
    from leaderboard.diagnose import print_table

    with open_store(store_path(), read_only=True) as store:
        found = boards(store)
    print()
    for board in found:
        if board.sections:
            print_table(f"{board.title}: computed here", COMPUTED, list(_computed(board)))
        if board.published:
            citation = f"{board.published[0].table}, {board.published[0].citation}"
            print_table(f"{board.title}: published ({citation})", PUBLISHED, list(_published(board)))


COMPUTED = ("rank", "model", "score", "95 %", "n", "human labels", "calibrated by")
PUBLISHED = ("rank", "model", "score", "95 %", "rank spread")


def _computed(board: "Board") -> Iterator[tuple[str, ...]]:
    for section in board.sections:
        for line in (*section.ranked, *section.self_reported):
            e = line.like
            rank = f"{line.rank[0]}-{line.rank[1]}" if line.rank else ""
            interval = " to ".join(line.interval)
            yield rank, e.model, line.score, interval, str(e.n), str(e.n_human), f"{e.n_pool} {e.labels}"


def _published(board: "Board") -> Iterator[tuple[str, ...]]:
    for row in board.published:
        spread = f"{row.best_rank}-{row.worst_rank}"
        yield str(row.rank), row.model, f"{row.score:.1f}", f"+-{row.half_width:.1f}", spread


if __name__ == "__main__":
    sys.exit(main())
