"""Commands that ask one model for something outside of any run: the options they share, and the model these name."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluators.values import Model


def add_options(p: argparse.ArgumentParser, who: str) -> None:
    """Describe how the model is called; `who` says what the command calls it. Imports nothing heavy."""
    p.add_argument(
        "--api-base", metavar="URL", help=f"endpoint of the {who}, of your own, that speaks OpenAI's protocol"
    )
    p.add_argument("--temperature", type=float)
    p.add_argument("--max-tokens", type=int, help="most tokens of a reply; small models do not always find their end")
    p.add_argument("--seed", type=int)
    p.add_argument("--concurrency", type=int, default=8, metavar="C", help="most calls in flight (default 8)")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="seconds for one attempt (default 600)")
    p.add_argument("--prompts", type=Path, metavar="DIR", help="prompt texts of your own")


def add_places(p: argparse.ArgumentParser) -> None:
    """Describe where the split is and the file that is made from it."""
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--out", type=Path, metavar="F", help="file to write (default: beside the split)")
    p.add_argument("--force", action="store_true", help="replace a file that people may have edited")


def model_of(p: argparse.ArgumentParser, options: argparse.Namespace, option: str) -> "Model":
    """The model that an option names as [PROVIDER:]MODEL; a usage error where nobody can tell who made it."""
    from evaluators.jury import split_provider
    from evaluators.values import Decoding, Model

    provider, name = split_provider(getattr(options, option))
    if provider is None:
        p.error(f"say who made {name!r}, as --{option} PROVIDER:{name}")
    decoding = Decoding(temperature=options.temperature, max_tokens=options.max_tokens, seed=options.seed)
    return Model(name=name, provider=provider, api_base=options.api_base, decoding=decoding)
