"""Have the rubrics of a split of cases written: python -m evaluators.write_rubrics --split sample-case --writer MODEL

Done once, by a named model; every player is graded by the same rubrics. People may read and edit the YAML file; that of
a sealed split is encrypted, and so is what the writer said.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.asked_model import add_options, add_places, model_of
from evaluators.submit import DONE, OUTSIDE, REFUSED, guarded

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.protocols.soup.texts import Texts
    from evaluators.rubrics import Rubric
    from evaluators.runner import Runner
    from evaluators.values import Model

# The paper's writer, which is also its grader.
WRITER = "openai/gpt-4.1-2025-04-14"


def parser() -> argparse.ArgumentParser:
    """Describe the command line; imports nothing heavy."""
    p = argparse.ArgumentParser(prog="python -m evaluators.write_rubrics", description=__doc__)
    p.add_argument("--split", required=True, help="a split of cases, for example sample-case@1.0")
    p.add_argument("--writer", default=WRITER, metavar="[PROVIDER:]MODEL", help="who writes (default: %(default)s)")
    p.add_argument("--grader-mode", type=int, choices=(4, 5), default=5, help="4: the writer sees the solution")
    add_options(p, "writer")
    add_places(p)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; every error is one line on stderr and an exit code."""
    p = parser()
    options = p.parse_args(argv)
    return guarded(lambda: _open(p, options))


def _open(p: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from builders.splits import load_split
    from evaluators.sealing import discreet

    split = load_split(options.split, root=options.splits, sealed=True)
    with discreet(split.manifest):
        return _write(p, options, split)


def _write(p: argparse.ArgumentParser, options: argparse.Namespace, split: "Split") -> int:
    from evaluators.models import prepare
    from evaluators.protocols.case.texts import RUBRIC, load_rubric_text
    from evaluators.rubrics import QuestionRubric, RubricSet, checked, graded_questions, write_rubrics
    from evaluators.run import run_calls
    from evaluators.runner import Runner
    from evaluators.sealing import open_journal

    m = split.manifest
    if m.protocol != "case":
        p.error(f"split {m.ref} is of protocol {m.protocol!r}; rubrics are for the questions of cases")
    model = model_of(p, options, "writer")
    path = _path(options, split, model.name)
    if path.exists() and not options.force:
        print(f"error: {path} exists, and people may have edited it; --force replaces it", file=sys.stderr)
        return REFUSED
    text = load_rubric_text(home=options.prompts)
    prepare(model)
    wanted = graded_questions(split)
    with open_journal(path.with_name(f"{path.name.partition('.yaml')[0]}.journal.jsonl"), m) as journal:
        runner = Runner(journal, concurrency=options.concurrency, timeout=options.timeout)
        found = run_calls(_all(split, model, text, runner, solved=options.grader_mode == 4))
    if lost := [f"{item} question {n}" for item, n in wanted if (item, n) not in found]:
        print(
            f"error: no rubric for {len(lost)} of {len(wanted)} questions ({', '.join(lost[:5])}); nothing was "
            "written, what was paid for is kept: the same command asks again for calls that failed, another --writer "
            "or --seed for replies that could not be read",
            file=sys.stderr,
        )
        return OUTSIDE
    made = RubricSet(
        split=m.ref,
        split_sha256=m.sha256,
        mode=options.grader_mode,
        writer=model.name,
        provider=model.provider,
        prompt_sha256=text.prompts[RUBRIC].sha256,
        rubrics=tuple(QuestionRubric(item_id=item, question=n, rubric=found[item, n]) for item, n in wanted),
    )
    write_rubrics(checked(made, split, mode=made.mode, where=str(path)), path, manifest=m)
    print(f"{m.ref}: {len(made.rubrics)} rubrics by {model.name}, mode {made.mode}, sha256 {made.sha256[:12]}")
    print(f"rubrics: {path}")
    return DONE


def _path(options: argparse.Namespace, split: "Split", name: str) -> Path:
    from evaluators.rubrics import SEALED, rubrics_folder
    from evaluators.submission import slug

    ending = SEALED if split.manifest.sealed else ""
    folder = rubrics_folder(split.manifest, options.splits)
    return options.out or folder / f"{slug(name)}-mode{options.grader_mode}.yaml{ending}"


async def _all(
    split: "Split", model: "Model", text: "Texts", runner: "Runner", *, solved: bool
) -> "dict[tuple[str, int], Rubric]":
    from builders.values import Case
    from evaluators.protocols.case.texts import RUBRIC
    from evaluators.protocols.soup.desk import Desk, GameEndedError
    from evaluators.rubrics import Rubric, graded_questions
    from evaluators.run import together

    cases = {item.id: item for item in split.items if isinstance(item, Case)}
    found: dict[tuple[str, int], Rubric] = {}
    queue = iter(graded_questions(split))

    async def work() -> None:
        for item, n in queue:
            case = cases[item]
            question = case.questions[n - 1]
            values = {
                "question": question,
                "examples": question.examples,
                "solution": case.solution if solved else None,
            }
            try:
                found[item, n] = await Desk(runner.complete(model), model.decoding, text).need(RUBRIC, values, Rubric)
            except GameEndedError:
                continue

    await together(work, min(runner.concurrency, len(graded_questions(split))))
    return found


if __name__ == "__main__":
    sys.exit(main())
