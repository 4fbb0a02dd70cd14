"""Build, check, seal and publish splits: `python -m builders list|build|check|schema|publish|verify|key|seal|...`."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from builders import BENCHMARKS, vault_commands
from builders.hub_commands import add_commands

if TYPE_CHECKING:
    from builders.detectiveqa import Annotations
    from builders.release import Oddity
    from builders.splits import Split
    from builders.values import GoldAnswer, Item, Soup, Source


class Material(NamedTuple):
    """What a split is made of, before it has a version."""

    items: "tuple[Item, ...]"
    gold: "tuple[GoldAnswer, ...]"
    source: "Source"
    oddities: "tuple[Oddity, ...]"
    language: str = "en"
    about: str = ""
    also: "Callable[[Split, Path], None] | None" = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 input refused, 2 usage, 3 the Hub failed."""
    arguments = _parser().parse_args(argv)
    from builders.hub import HubError
    from builders.packing import PackError
    from builders.release import ReleaseError, show
    from builders.splits import SplitError
    from builders.vault import VaultError
    from builders.versions import VersionError

    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except (ReleaseError, SplitError, PackError, VaultError, VersionError) as error:
        return _fail(str(error), 1)
    except HubError as error:
        return _fail(str(error), 3)
    except OSError as error:
        where = f"{show(error.filename, 200)}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}; mend that and run again, no split was half-written", 1)
    except KeyboardInterrupt:
        return _fail("interrupted; no split was half-written", 3)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m builders", description="Build benchmark splits from their releases.")
    commands = parser.add_subparsers(
        required=True, metavar="list|build|check|schema|publish|verify|key|seal|open|rotate"
    )
    names = [name for b in BENCHMARKS for name in (b.name, *b.splits)]

    show = commands.add_parser("list", help="benchmarks, their splits and the versions built")
    show.set_defaults(command=_list)
    build = commands.add_parser("build", help="build a benchmark or one split")
    build.set_defaults(command=_build)
    check = commands.add_parser("check", help="report what is odd in a release; exit 1 where something is refused")
    check.set_defaults(command=_check)
    for command in (build, check):
        files = "; or a case file" if command is check else ""
        command.add_argument("name", metavar="NAME", help=f"benchmark or split: {', '.join(names)}{files}")
        several = ("sources", "*") if command is check else ("source", "?")
        command.add_argument(
            several[0], nargs=several[1], metavar="SOURCE", help="folder or file with the release, or Hub repository"
        )
        command.add_argument("--source", dest="source_option", metavar="SOURCE", help="the same as an option")
        command.add_argument("--revision", help="commit (40 hex digits), branch or tag of the Hub repository or clone")
        command.add_argument(
            "--novels", metavar="DIR", help="detectiveqa: your own texts of the novels (default: SOURCE)"
        )
    build.add_argument("--version", type=_version, default="1.0.0", help="version to build (default: %(default)s)")
    build.add_argument(
        "--leave-out-refused", action="store_true", help="build without the items that `check` refuses: another split"
    )
    build.add_argument("--force", action="store_true", help="overwrite a version that exists with other content")
    for command in (show, build):
        command.add_argument(
            "--out", type=Path, default=Path("splits"), help="folder of the splits (default: %(default)s)"
        )
    schema = commands.add_parser("schema", help="print the JSON schema of a case file, for editors")
    schema.set_defaults(command=_schema)
    add_commands(commands, _version)
    vault_commands.add_commands(commands, _version, _make_one)
    return parser


def _version(text: str) -> str:
    if re.fullmatch(r"(0|[1-9][0-9]{0,5})(\.(0|[1-9][0-9]{0,5})){2}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 1.0.0")
    return text


def _fail(message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code


def _list(arguments: argparse.Namespace) -> int:
    from builders.splits import list_built

    built = list_built(arguments.out)
    for benchmark in BENCHMARKS:
        print(f"{benchmark.name}: {benchmark.title} ({benchmark.protocol}, {benchmark.metric})")
        for split in benchmark.splits:
            manifests = [m for m in built if m.split == split]
            for m in manifests:
                print(f"  {m.ref}  {m.items} items, {m.gold} gold answers, {m.licence}, sha256 {m.sha256[:12]}")
            if not manifests:
                print(f"  {split}  not built")
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from builders.release import ReleaseError
    from builders.splits import write_split

    if private := next(
        (b for b in BENCHMARKS if arguments.name in {b.name, *b.splits} and b.visibility == "sealed"), None
    ):
        raise ReleaseError(
            f"{private.name} is private and is never written in clear: "
            f"python -m builders seal {private.splits[0]} SOURCE --recipient AGE1"
        )
    made = _make(arguments)
    # Written only once every split of the benchmark is known to be good.
    for split, also in made:
        folder = write_split(split, root=arguments.out, force=arguments.force, also=also)
        m = split.manifest
        print(f"{m.ref}: {m.items} items, {m.gold} gold answers, sha256 {m.sha256[:12]} in {folder}")
    return 0


def _make_one(arguments: argparse.Namespace) -> "Split":
    from builders.release import ReleaseError

    made = _make(arguments)
    if len(made) != 1:
        raise ReleaseError(f"{arguments.name} has {len(made)} splits; they are sealed one by one")
    return made[0][0]


def _make(arguments: argparse.Namespace) -> "list[tuple[Split, Callable[[Path], None] | None]]":
    """Every split that is asked for, each with what else writes into its folder."""
    from builders.release import ReleaseError, describe, group
    from builders.splits import make_split

    made: list[tuple[Split, Callable[[Path], None] | None]] = []
    for name, material in _materials(arguments):
        refused = group(o for o in material.oddities if o.severity == "refused")
        if refused and arguments.leave_out_refused and material.items:
            print(
                f"{name}: {len(material.items)} items without the refused ones; this is not the split that others have"
            )
        elif refused:
            lines = "; ".join(describe(oddity, items) for oddity, items in refused[:3])
            more = f"; and {len(refused) - 3} more kinds" if len(refused) > 3 else ""
            raise ReleaseError(f"{name} is not built: {lines}{more}. `python -m builders check` lists all")
        split = make_split(
            name,
            material.items,
            material.gold,
            version=arguments.version,
            sources=[material.source],
            language=material.language,
        )
        made.append((split, material.also and partial(material.also, split)))
        if material.about:
            print(f"{name}: {material.about}")
        if notes := len(group(material.oddities)):
            print(f"{name}: {notes} kinds of oddities noted; `python -m builders check` lists them")
    return made


def _check(arguments: argparse.Namespace) -> int:
    from builders.release import ReleaseError, describe, group

    code = 0
    given = [arguments.name, *arguments.sources]
    if given[0].endswith((".yaml", ".yml", ".json")):
        return _check_cases([Path(text) for text in given])
    if len(arguments.sources) > 1:
        raise ReleaseError(
            f"{arguments.name} is checked in one SOURCE; several are for case files (.yaml, .yml, .json)"
        )
    arguments.source = next(iter(arguments.sources), None)
    for name, material in _materials(arguments):
        groups = group(material.oddities)
        print(f"{name}: {len(material.items)} items can be built; {len(groups)} kinds of oddities")
        if material.about:
            print(f"  {material.about}")
        for oddity, items in groups:
            print(f"  {oddity.severity:<7}  {describe(oddity, items)}")
            code = code or int(oddity.severity == "refused")
    return code


def _check_cases(paths: Sequence[Path]) -> int:
    from builders.watson_holmes import describe_cases, read_cases

    code = 0
    for file in read_cases(paths):
        refused = sum(o.severity == "refused" for o in file.oddities)
        code = code or int(refused > 0)
        about = describe_cases([file.case]) if file.case else f"{refused} to mend"
        print(f"{file.path}: {about}")
        for oddity in sorted(file.oddities, key=lambda o: o.severity != "refused"):
            print(f"  {oddity.severity:<7}  {oddity.item}: {oddity.field}: {oddity.message}")
    return code


def _schema(_: argparse.Namespace) -> int:
    import json

    from builders.watson_holmes import case_schema

    print(json.dumps(case_schema(), indent=1))
    return 0


def _materials(arguments: argparse.Namespace) -> Iterator[tuple[str, Material]]:
    from builders.release import ReleaseError

    name, source = arguments.name, getattr(arguments, "source_option", None) or arguments.source
    for benchmark in BENCHMARKS:
        if name == benchmark.name or name in benchmark.splits:
            splits = benchmark.splits if name == benchmark.name else (name,)
            if arguments.novels is not None and benchmark.name != "detectiveqa":
                raise ReleaseError(f"{name} takes no --novels; only detectiveqa has texts of its own")
            if benchmark.name == "detectiveqa":
                return _detectiveqa(splits, source, arguments.revision, novels=arguments.novels)
            return _READERS[benchmark.name](splits, source, arguments.revision)
    known = ", ".join(f"{b.name} ({', '.join(b.splits)})" for b in BENCHMARKS)
    raise ReleaseError(f"unknown benchmark or split {name!r}; there are {known}")


def _layton(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.layton import read_release, to_riddles

    default = next(b for b in BENCHMARKS if b.name == "layton").sources[0].hub_repo
    for name in splits:
        part: Literal["llm", "vlm"] = "llm" if name == "layton-llm" else "vlm"
        rows, found = read_release(source or default or "", part, revision=revision)
        revision = found.revision  # a branch may move between the two splits
        riddles, oddities = to_riddles(rows)
        yield name, Material(riddles, (), found, oddities)


def _samples(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.layton import to_riddles
    from builders.release import ReleaseError
    from builders.samples import read_samples

    if source or revision:
        raise ReleaseError("the samples are part of the repository; build them without SOURCE and --revision")
    for name in splits:
        rows, gold, found = read_samples("llm" if name == "sample-llm" else "vlm")
        riddles, oddities = to_riddles(rows, id_pattern=r"[a-z0-9-]+")
        yield name, Material(riddles, gold, found, oddities)


def _turtlesoup(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.turtlesoup import read_release, to_soups

    rows, found = read_release(source, revision=revision)
    yield from _soup_splits(splits, to_soups(rows), found)


def _soup_samples(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.release import ReleaseError
    from builders.samples.soups import read_soups
    from builders.turtlesoup import to_soups

    if source or revision:
        raise ReleaseError("the samples are part of the repository; build them without SOURCE and --revision")
    rows, found = read_soups()
    yield from _soup_splits(splits, to_soups(rows), found)


def _soup_splits(
    splits: Sequence[str], made: "tuple[tuple[Soup, ...], tuple[Oddity, ...]]", found: "Source"
) -> Iterator[tuple[str, Material]]:
    from builders.turtlesoup import describe_puzzles

    soups, oddities = made
    for name in splits:
        language = name.rpartition("-")[2]
        mine = tuple(s for s in soups if s.language == language)
        odd = tuple(o for o in oddities if o.item.startswith(f"{language}/"))
        yield name, Material(mine, (), found, odd, language, describe_puzzles(mine))


def _detectiveqa(
    splits: Sequence[str], source: str | None, revision: str | None, *, novels: str | None = None
) -> Iterator[tuple[str, Material]]:
    from builders.detectiveqa import read_release
    from builders.release import ReleaseError

    if revision:
        raise ReleaseError("detectiveqa is read from a folder; check the revision out yourself, without --revision")
    pinned = next(b for b in BENCHMARKS if b.name == "detectiveqa").sources[0]
    for name in splits:
        yield _novel_split(
            name, read_release(source, "zh" if name == "detectiveqa-zh" else "en", pinned, novels=novels)
        )


def _novel_samples(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.detectiveqa import read_release
    from builders.release import ReleaseError
    from builders.samples import NOVEL

    if source or revision:
        raise ReleaseError("the samples are part of the repository; build them without SOURCE and --revision")
    pinned = next(b for b in BENCHMARKS if b.name == "novel-samples").sources[0]
    for name in splits:
        yield _novel_split(name, read_release(str(NOVEL), "en", pinned, folders=("authored",)))


def _novel_split(name: str, read: "Annotations") -> tuple[str, Material]:
    from builders.detectiveqa import describe_questions, novel_texts, to_questions
    from builders.novels import write_novels

    questions, oddities = to_questions(read)

    def also(split: "Split", folder: Path) -> None:
        write_novels(novel_texts(read, questions), split, folder)

    return name, Material(questions, (), read.source, oddities, read.language, describe_questions(questions), also)


def _watson_holmes(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.release import ReleaseError
    from builders.watson_holmes import describe_cases, read_source

    if revision:
        raise ReleaseError("cases are read from files; build them without --revision")
    cases, oddities, found = read_source(source)
    for name in splits:
        yield name, Material(cases, (), found, oddities, about=describe_cases(cases))


def _case_samples(splits: Sequence[str], source: str | None, revision: str | None) -> Iterator[tuple[str, Material]]:
    from builders.release import ReleaseError
    from builders.watson_holmes import describe_cases, read_sample_cases

    if source or revision:
        raise ReleaseError("the samples are part of the repository; build them without SOURCE and --revision")
    cases, oddities, found = read_sample_cases()
    for name in splits:
        yield name, Material(cases, (), found, oddities, about=describe_cases(cases))


_READERS: Mapping[str, Callable[[Sequence[str], str | None, str | None], Iterator[tuple[str, Material]]]] = {
    "layton": _layton,
    "samples": _samples,
    "turtlesoup": _turtlesoup,
    "soup-samples": _soup_samples,
    "detectiveqa": _detectiveqa,
    "novel-samples": _novel_samples,
    "watson-holmes": _watson_holmes,
    "case-samples": _case_samples,
}

if __name__ == "__main__":
    sys.exit(main())
