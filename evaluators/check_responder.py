"""Check a model as Responder: python -m evaluators.check_responder --model openai/gpt-5.1 --data DIR --language en

The labelled guesses of TurtleBench are put to the model with the prompt of the games. Accuracy and confusion go into
the store and stand beside the boards: a Responder that answers wrongly corrupts the games it hosts.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluators.asked_model import add_options, model_of
from evaluators.submit import DONE, OUTSIDE, guarded

CHECK_FILE = "responder-check.json"


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.check_responder", description=__doc__)
    p.add_argument("--model", required=True, metavar="[PROVIDER:]MODEL", help="litellm name")
    p.add_argument("--data", type=Path, required=True, metavar="DIR", help="TurtleBench: en/ and zh/, two files each")
    p.add_argument("--language", choices=("en", "zh"), default="en")
    p.add_argument("--limit", type=int, metavar="N", help="only the first N guesses")
    add_options(p, "model")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and result (default: below runs/)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    p = parser()
    options = p.parse_args(argv)
    return guarded(lambda: _check(p, options))


def _check(p: argparse.ArgumentParser, options: argparse.Namespace) -> int:

    from evaluators.journal import Journal
    from evaluators.models import prepare
    from evaluators.progress import progress
    from evaluators.protocols.soup.texts import load_texts
    from evaluators.responders import check_responder, read_guesses
    from evaluators.run import run_calls
    from evaluators.runner import Runner
    from evaluators.store import open_store, store_path
    from evaluators.submission import began, slug

    model = model_of(p, options, "model")
    guesses = read_guesses(options.data, options.language)[: options.limit]
    texts = load_texts(options.language, home=options.prompts)
    prepare(model)
    folder = options.out or Path("runs") / "responders" / f"{slug(model.name)}-{options.language}"
    date = began(folder, "responder-check")
    with Journal(folder / "journal.jsonl") as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        with progress(len(guesses), runner.tally, what=f"guesses {options.language}") as display:
            runner.on_change = display.show
            work = check_responder(
                guesses, model, texts, runner, language=options.language, date=date, on_done=display.done
            )
            check = run_calls(work)
    (folder / CHECK_FILE).write_text(check.model_dump_json(indent=1) + "\n", encoding="utf-8")
    with open_store(store_path()) as store:
        store.write_responder_check(check)
    share = f"{100 * check.accuracy:.1f} % of {check.asked} guesses as labelled"
    print(f"{model.name} as Responder, {options.language}: {share}")
    print(f"  {'label':8} {'yes':>6} {'no':>6} {'unknown':>8} {'none':>6}")
    for label, row in check.confusion.items():
        none = sum(n for said, n in row.items() if said not in check.confusion)
        print(f"  {label:8} {row.get('yes', 0):6} {row.get('no', 0):6} {row.get('unknown', 0):8} {none:6}")
    print(f"result: {folder / CHECK_FILE}")
    return OUTSIDE if any(row.get("failed") for row in check.confusion.values()) else DONE


if __name__ == "__main__":
    sys.exit(main())
