"""Check a model as Responder: python -m evaluators.check_responder --model openai/gpt-5.1 --data DIR --language en

The labelled guesses of TurtleBench are put to the model with the prompt of the games. Accuracy and confusion go into
the store and stand beside the boards: a Responder that answers wrongly corrupts the games it hosts.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluators.submit import DONE, OUTSIDE, guarded

CHECK_FILE = "responder-check.json"


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.check_responder", description=__doc__)
    p.add_argument("--model", required=True, metavar="[PROVIDER:]MODEL", help="litellm name")
    p.add_argument("--data", type=Path, required=True, metavar="DIR", help="TurtleBench: en/ and zh/, two files each")
    p.add_argument("--language", choices=("en", "zh"), default="en")
    p.add_argument("--api-base", metavar="URL", help="endpoint of your own that speaks OpenAI's protocol")
    p.add_argument("--limit", type=int, metavar="N", help="only the first N guesses")
    p.add_argument("--temperature", type=float)
    p.add_argument("--seed", type=int)
    p.add_argument("--max-tokens", type=int)
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")
    p.add_argument("--prompts", type=Path, metavar="DIR", help="prompt texts of your own")
    p.add_argument("--out", type=Path, metavar="DIR", help="folder for journal and result (default: below runs/)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    p = parser()
    options = p.parse_args(argv)
    return guarded(lambda: _check(p, options))


def _check(p: argparse.ArgumentParser, options: argparse.Namespace) -> int:

    from evaluators.journal import Journal
    from evaluators.jury import split_provider
    from evaluators.models import prepare
    from evaluators.progress import progress
    from evaluators.protocols.soup.texts import load_texts
    from evaluators.responders import check_responder, read_guesses
    from evaluators.run import run_calls
    from evaluators.runner import Runner
    from evaluators.store import open_store, store_path
    from evaluators.submission import began, slug
    from evaluators.values import Decoding, Model

    provider, name = split_provider(options.model)
    if provider is None:
        p.error(f"say who made {name!r}, as --model PROVIDER:{name}")
    decoding = Decoding(temperature=options.temperature, seed=options.seed, max_tokens=options.max_tokens)
    model = Model(name=name, provider=provider, api_base=options.api_base, decoding=decoding)
    guesses = read_guesses(options.data, options.language)[: options.limit]
    texts = load_texts(options.language, home=options.prompts)
    prepare(model)
    folder = options.out or Path("runs") / "responders" / f"{slug(name)}-{options.language}"
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
    print(f"{name} as Responder, {options.language}: {100 * check.accuracy:.1f} % of {check.asked} guesses as labelled")
    print(f"  {'label':8} {'yes':>6} {'no':>6} {'unknown':>8} {'none':>6}")
    for label, row in check.confusion.items():
        none = sum(n for said, n in row.items() if said not in check.confusion)
        print(f"  {label:8} {row.get('yes', 0):6} {row.get('no', 0):6} {row.get('unknown', 0):8} {none:6}")
    print(f"result: {folder / CHECK_FILE}")
    return OUTSIDE if any(row.get("failed") for row in check.confusion.values()) else DONE


if __name__ == "__main__":
    sys.exit(main())
