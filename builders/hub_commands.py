"""The commands around the Hub: `python -m builders publish` and `python -m builders verify`."""

import argparse
import re
from pathlib import Path
from typing import Any

from builders import BENCHMARKS

_ORDER = re.compile(r"([a-z0-9][a-z0-9-]{0,63})@(\d{1,6}\.\d{1,6}\.\d{1,6})", re.ASCII)


def add_commands(commands: Any, version: Any) -> None:
    """Describe both commands; imports nothing heavy.

    Args:
        commands: What `add_subparsers` returned.
        version: The type of a version argument.
    """
    names = ", ".join(b.name for b in BENCHMARKS)
    publish = commands.add_parser(
        "publish",
        help="publish a built benchmark on the Hugging Face Hub",
        description="One commit with rows, card, manifests and eval.yaml, then the tag. Without --no-dry-run it only "
        "says what it would do. The token is HF_TOKEN, that of `hf auth login`, or a trusted publisher's.",
    )
    publish.set_defaults(command=_publish)
    publish.add_argument("name", metavar="NAME", help=f"benchmark: {names}")
    publish.add_argument("--repo", metavar="NAMESPACE/NAME", help="dataset repository (default: the benchmark's own)")
    publish.add_argument("--version", type=version, default="1.0.0", help="version to publish (default: %(default)s)")
    publish.add_argument(
        "--dry-run", action=argparse.BooleanOptionalAction, default=True, help="only say what would be done (default)"
    )
    publish.add_argument("--create-pr", action="store_true", help="propose it as a pull request, without the tag")
    publish.add_argument("--private", action="store_true", help="only you and your organisation may read it")
    publish.add_argument("--gated", choices=("manual", "auto"), help="readers ask first; you or the Hub let them in")
    publish.add_argument("--ids-only", action="store_true", help="publish ids and digests of the rows, not the rows")
    verify = commands.add_parser(
        "verify",
        help="check a built or published version against its manifest",
        description="Checks every digest of a version: of the copy here, or with --hub of the one on the Hub.",
    )
    verify.set_defaults(command=_verify)
    verify.add_argument("ref", type=_ref, metavar="NAME@VERSION", help=f"split or benchmark ({names}) and version")
    verify.add_argument("--hub", action="store_true", help="check the copy on the Hub")
    verify.add_argument("--repo", metavar="NAMESPACE/NAME", help="dataset repository (default: the benchmark's own)")
    for command in (publish, verify):
        command.add_argument(
            "--out", type=Path, default=Path("splits"), help="folder of the splits (default: %(default)s)"
        )


def _ref(text: str) -> tuple[str, str]:
    match = _ORDER.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version of a split such as sample-llm@1.0.0")
    return match[1], match[2]


def _publish(arguments: argparse.Namespace) -> int:
    from builders.packing import find_benchmark
    from builders.publish import carry_out, describe, plan

    repo = _repo(arguments.repo, find_benchmark(arguments.name).hub_repo)
    made = plan(arguments.name, version=arguments.version, repo=repo, root=arguments.out, ids_only=arguments.ids_only)
    print(*describe(made), sep="\n")
    if arguments.dry_run:
        print("nothing was sent; --no-dry-run does it")
        return 0
    print(carry_out(made, private=arguments.private, gated=arguments.gated, create_pr=arguments.create_pr))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from builders.packing import PackError, find_benchmark_of
    from builders.verify import verify_built, verify_published

    name, version = arguments.ref
    splits = {b.name: b.splits for b in BENCHMARKS} | {s: (s,) for b in BENCHMARKS for s in b.splits}
    if name not in splits:
        raise PackError(f"unknown split or benchmark {name!r}; there are {', '.join(splits)}")
    if arguments.hub or arguments.repo:
        repo = _repo(arguments.repo, find_benchmark_of(splits[name][0]).hub_repo)
        lines = verify_published(repo, splits[name], version, root=arguments.out)
    else:
        lines = verify_built(arguments.out, splits[name], version)
    for line in lines:
        print(line)
    return 0


def _repo(given: str | None, own: str | None) -> str:
    from builders.hub import REPO
    from builders.packing import PackError

    if (repo := given or own) is None:
        raise PackError(
            "this benchmark has no repository of its own on the Hub yet; give one with --repo NAMESPACE/NAME"
        )
    if REPO.fullmatch(repo) is None:
        raise PackError(f"{repo!r} is not a repository such as deerstalker/samples")
    return repo
