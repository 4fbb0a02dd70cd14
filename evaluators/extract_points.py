"""Cut the solutions of a split into points: python -m evaluators.extract_points --split turtlesoup-en --judge MODEL

Done once, by a named judge; every model is marked against the same points. People may read and edit the YAML file.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evaluators.asked_model import add_options, add_places, model_of
from evaluators.submit import DONE, OUTSIDE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.values import Soup
    from evaluators.points import ItemPoints
    from evaluators.protocols.soup.texts import Texts
    from evaluators.runner import Runner
    from evaluators.values import Model


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.extract_points", description=__doc__)
    p.add_argument("--split", required=True, help="a split of situation puzzles, for example turtlesoup-en@1.0")
    p.add_argument("--judge", required=True, metavar="[PROVIDER:]MODEL", help="who cuts the solutions")
    p.add_argument("--compat", choices=("released",), help="length limits of the released code, the same for Chinese")
    add_options(p, "judge")
    add_places(p)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    p = parser()
    options = p.parse_args(argv)
    return guarded(lambda: _extract(p, options))


def _extract(p: argparse.ArgumentParser, options: argparse.Namespace) -> int:

    from builders.splits import load_split
    from builders.values import Soup
    from evaluators.journal import Journal
    from evaluators.models import prepare
    from evaluators.points import PointSet, checked, points_folder, write_points
    from evaluators.prompts import language_of
    from evaluators.protocols.soup.texts import load_texts
    from evaluators.run import run_calls
    from evaluators.runner import Runner
    from evaluators.submission import slug

    split = load_split(options.split, root=options.splits)
    m = split.manifest
    if m.protocol != "soup":
        p.error(f"split {m.ref} is of protocol {m.protocol!r}; points are cut from situation puzzles")
    model = model_of(p, options, "judge")
    suffix = "-released" if options.compat else ""
    path = options.out or points_folder(m, options.splits) / f"{slug(model.name)}{suffix}.yaml"
    if path.exists() and not options.force:
        print(f"error: {path} exists, and people may have edited it; --force replaces it", file=sys.stderr)
        return REFUSED
    texts = load_texts(language_of(m), home=options.prompts, names=("points",))
    prepare(model)
    items = [item for item in split.items if isinstance(item, Soup)]
    with Journal(path.with_name(f"{path.stem}.journal.jsonl")) as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        found = run_calls(_all(items, model, texts, runner, options.compat))
    if lost := [item.id for item in items if item.id not in found]:
        print(
            f"error: no points for {len(lost)} of {len(items)} puzzles ({', '.join(lost[:5])}); nothing was "
            "written, what was paid for is kept: the same command asks again for calls that failed, another --judge "
            "or --seed for replies that could not be read",
            file=sys.stderr,
        )
        return OUTSIDE
    made = PointSet(
        split=m.ref,
        split_sha256=m.sha256,
        judge=model.name,
        provider=model.provider,
        compat=options.compat,
        prompt_sha256=texts.prompts["points"].sha256,
        items=tuple(found[item.id] for item in items),
    )
    write_points(checked(made, split, str(path)), path)
    logic, details = (sum(len(getattr(x, part)) for x in made.items) for part in ("logic", "details"))
    print(f"{m.ref}: {logic} logic points and {details} details of {len(items)} puzzles, sha256 {made.sha256[:12]}")
    print(f"points: {path}")
    return DONE


async def _all(
    items: "Sequence[Soup]", model: "Model", texts: "Texts", runner: "Runner", compat: str | None
) -> "dict[str, ItemPoints]":
    from evaluators.points import ItemPoints
    from evaluators.protocols.soup.desk import Desk, GameEndedError
    from evaluators.protocols.soup.forms import points
    from evaluators.protocols.soup.lengths import point_counts
    from evaluators.run import together

    found: dict[str, ItemPoints] = {}
    queue = iter(items)

    async def work() -> None:
        for item in queue:
            logic, details = point_counts(item.bottom, language=item.language, compat="released" if compat else None)
            desk = Desk(runner.complete(model), model.decoding, texts)
            values = {"soup": item, "logic": logic, "details": details}
            try:
                reply = await desk.need("points", values, points(logic, details))
            except GameEndedError:
                continue
            found[item.id] = ItemPoints(item_id=item.id, **reply.model_dump())

    await together(work, min(runner.concurrency, len(items)))
    return found


if __name__ == "__main__":
    sys.exit(main())
