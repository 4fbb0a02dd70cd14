"""Labels of people: python -m evaluators.labels export|import|conflicts --split sample-llm@1.0

export writes them in another form, import reads such a file into the folder of labels, conflicts shows where people
differ. `python -m leaderboard build` puts the labels of that folder beside the jury's verdicts.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.annotate import LABELS
from evaluators.submit import DONE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.annotation.queue import Attempt
    from evaluators.annotation.sheets import Sheet

FORMATS = ("native", "layton", "label-studio", "argilla")


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.labels", description=__doc__)
    p.add_argument("what", choices=("export", "import", "conflicts"))
    p.add_argument("--split", required=True, help="a built split, for example sample-llm@1.0")
    p.add_argument("--format", choices=FORMATS, default="native", help="form of the file (default native)")
    p.add_argument("--file", type=Path, metavar="F", help="what export writes and import reads")
    p.add_argument(
        "--labels", type=Path, default=LABELS, metavar="DIR", help="folder of labels (default: leaderboard/labels)"
    )
    p.add_argument(
        "--runs", type=Path, nargs="+", metavar="DIR", help="bundles (default: runs, leaderboard/submissions)"
    )
    p.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="where built splits are")
    p.add_argument("--points", type=Path, metavar="F", help="reference points (default: those beside the split)")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    from evaluators.annotation.labels import LabelError
    from evaluators.annotation.sheets import SheetError

    p = parser()
    options = p.parse_args(argv)
    if options.what in ("export", "import") and options.file is None:
        p.error(f"{options.what} needs --file")
    commands = {"export": _export, "import": _import, "conflicts": _conflicts}
    try:
        return guarded(lambda: commands[options.what](options))
    except (LabelError, SheetError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED


def _split(options: argparse.Namespace) -> "Split":
    from builders.splits import load_split

    return load_split(options.split, root=options.splits)


def _about(options: argparse.Namespace, split: "Split") -> "dict[str, Attempt]":
    from evaluators.annotation.queue import attempts

    roots = options.runs or [p for p in (Path("runs"), Path("leaderboard/submissions")) if p.is_dir()]
    return {a.transcript.transcript_id: a for a in attempts(roots, split)}


def _sheets(options: argparse.Namespace, split: "Split", about: "dict[str, Attempt]") -> "dict[str, Sheet]":
    from evaluators.annotation.sheets import sheet
    from evaluators.points import points_for

    soups = split.manifest.protocol == "soup"
    points = points_for(split, root=options.splits, path=options.points) if soups else None
    truth = {p.item_id: p for p in points.items} if points else {}
    items = {item.id: item for item in split.items}
    return {
        n: sheet(items[a.transcript.item_id], a.transcript, truth.get(a.transcript.item_id)) for n, a in about.items()
    }


def _export(options: argparse.Namespace) -> int:
    from evaluators.annotation.exchange import export, studio_config
    from evaluators.annotation.labels import read_folder

    split = _split(options)
    labels = read_folder(options.labels / split.manifest.ref)
    about = {} if options.format == "native" else _about(options, split)
    known = {x.transcript_id for x in labels}
    wanted = {n: a for n, a in about.items() if n in known}
    sheets = _sheets(options, split, wanted) if options.format in ("label-studio", "argilla") else {}
    options.file.write_text(export(labels, options.format, about, sheets), encoding="utf-8")
    if options.format == "label-studio":
        path = options.file.with_suffix(".xml")
        path.write_text(studio_config(list(sheets.values())), encoding="utf-8")
        print(f"labelling interface: {path}")
    print(f"{len(labels)} labels: {options.file}")
    return DONE


def _import(options: argparse.Namespace) -> int:
    from evaluators.annotation.exchange import load, read
    from evaluators.annotation.labels import merge, read_folder, write_labels

    split = _split(options)
    found = read(load(options.file), options.format, where=str(options.file), about=_about(options, split))
    folder = options.labels / split.manifest.ref
    whole = merge([read_folder(folder), found])
    for who in sorted({x.annotator for x in found}):
        write_labels([x for x in whole if x.annotator == who], folder / f"{who}.jsonl")
    print(f"{len(found)} labels of {len({x.annotator for x in found})} annotators: {folder}")
    return DONE


def _conflicts(options: argparse.Namespace) -> int:
    from evaluators.annotation.labels import conflicts, read_folder

    labels = read_folder(options.labels / _split(options).manifest.ref)
    found = conflicts(labels)
    for conflict in found:
        print(f"{conflict.labels[0].item_id} {conflict.transcript_id}{' (decided)' if conflict.decided else ''}")
        for x in (*conflict.labels, *([conflict.decided] if conflict.decided else [])):
            said = {**{n: "yes" if v else "no" for n, v in x.marks.items()}, **x.grades}
            print(f"  {x.annotator:20} {', '.join(f'{n} {v}' for n, v in said.items())}  {x.notes!a}")
    shared = sum(n > 1 for n in _counts([x.transcript_id for x in labels if x.state == "done"]))
    undecided = sum(c.decided is None for c in found)
    print(f"{shared} answers have several labels, {len(found)} in conflict, {undecided} of them undecided")
    if undecided:
        print("decide them: python -m evaluators.annotate --annotator adjudicator --split ... --runs ...")
    return DONE


def _counts(names: Sequence[str]) -> list[int]:
    from collections import Counter

    return list(Counter(names).values())


if __name__ == "__main__":
    sys.exit(main())
