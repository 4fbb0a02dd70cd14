"""The protocols: how an item of each kind is put to a model and how its answer is judged.

`opening` and `marking` are the explicit mappings from a split's protocol to the code that runs it and to the code that
marks again what somebody sent. A protocol that arrives gets a folder here with a `play.py`, and a line in each.
"""

import argparse
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.models import Complete
    from evaluators.run import Outcome
    from evaluators.runner import Runner
    from evaluators.values import Model, Panel, Seat, Submission, Transcript, Verdict


# Options of one kind of item only, and what that kind is called.
OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "riddle": ("hints", "judge_files"),
        "soup": ("points", "responder", "responder_api_base", "turns", "ablate", "compat", "player"),
        "novel": ("setting", "max_context", "truncate"),
        "case": ("scheme", "grader_mode", "rubrics", "grades", "practice", "player"),
    }
)
KINDS: Mapping[str, str] = MappingProxyType(
    {"riddle": "riddles", "soup": "situation puzzles", "novel": "questions about novels", "case": "cases"}
)

# What a model decodes with where nobody says otherwise and it can be set; every other protocol sends none.
TEMPERATURES: Mapping[str, float] = MappingProxyType({"case": 1.0})


class Table(NamedTuple):
    """What a run has settled before its protocol is asked: options, split, the model, and the jury that sits for it."""

    options: argparse.Namespace
    split: "Split"
    model: "Model"
    panel: "Panel"
    seats: "tuple[Seat, ...]"


class Play(Protocol):
    """One protocol in one run: what riddles do in one way and situation puzzles in another."""

    @property
    def condition(self) -> str:
        """What was varied; rows of different conditions are never ranked together."""

    @property
    def parts(self) -> tuple[object, ...]:
        """What else names the submission: digests of prompts, of reference points, of files that were brought."""

    @property
    def expected(self) -> int:
        """Attempts there are to make: items times repeats."""

    @property
    def models(self) -> "tuple[Model, ...]":
        """Models that the run calls; none where answers and verdicts were brought."""

    def quote(self) -> str:
        """Say what the run would cost, without sending anything."""

    def read(self, key: str) -> "Outcome | None":
        """Read what was brought for the submission `key`; the whole outcome where nothing is left to call."""

    def prepare(self) -> None:
        """Refuse models that cannot be called."""

    async def run(self, runner: "Runner", *, key: str, on_done: Callable[[], None]) -> "Outcome":
        """Make the attempts and judge them."""


def opening(protocol: str) -> "Callable[[Table, Callable[[str], NoReturn]], Play] | None":
    """The function that opens a play of this protocol; None where this checkout cannot run it."""
    if protocol == "riddle":
        from evaluators.protocols.riddle.play import open_riddles

        return open_riddles
    if protocol == "soup":
        from evaluators.protocols.soup.play import open_soups

        return open_soups
    if protocol == "novel":
        from evaluators.protocols.novel.play import open_questions

        return open_questions
    if protocol == "case":
        from evaluators.protocols.case.play import open_cases

        return open_cases
    return None


class Marking(NamedTuple):
    """How judges mark attempts of one protocol, whoever made them: for marking again what somebody sent."""

    # The item is of the protocol's own kind; the mapping below sees to that.
    mark: "Callable[[Any, Transcript, Complete, Seat], Coroutine[None, None, tuple[Verdict, ...]]]"
    no_answer: "Callable[[Transcript], Verdict]"
    calls: "Callable[[Transcript], int]"  # that one judge needs for an answer; repairs come on top
    # Verdicts that no judge is needed for and that stand beside the jury's.
    by_rule: "Callable[[Any, Transcript], tuple[Verdict, ...]]" = lambda _item, _transcript: ()
    # The attempt with nothing left in it but what one unit is about, so that a judge is asked that alone.
    only: "Callable[[Transcript, str], Transcript]" = lambda transcript, _unit: transcript


def marking(split: "Split", sent: "Submission", *, root: Path, prompts: Path | None = None) -> Marking | None:
    """How the attempts of a submission are marked; None where this checkout cannot mark its protocol.

    Args:
        split: The split the attempts are at.
        sent: What names condition and protocol.
        root: Folder of the built splits, beside which what people prepared for them lies.
        prompts: Another folder of prompts; None: the project's own.

    Raises:
        PromptError, PointsError, RubricError: If prompts, reference points or rubrics are missing or of another
            version.
        VaultError: If sealed rubrics cannot be opened.
    """
    if sent.protocol == "riddle":
        from evaluators.prompts import Prompt
        from evaluators.protocols.riddle.marking import riddle_marking

        return riddle_marking(Prompt("riddle/judge", home=prompts))
    if sent.protocol == "soup":
        from evaluators.protocols.soup.marking import soup_marking_of

        return soup_marking_of(split, sent.condition, root=root, prompts=prompts)
    if sent.protocol == "novel":
        from evaluators.prompts import Prompt, language_of
        from evaluators.protocols.novel.marking import novel_marking

        return novel_marking(Prompt(f"novel/{language_of(split.manifest)}/judge", home=prompts))
    if sent.protocol == "case":
        from evaluators.protocols.case.marking import case_marking_of

        return case_marking_of(split, sent.condition, root=root, prompts=prompts)
    return None


def refuse_foreign(options: argparse.Namespace, protocol: str, refuse: Callable[[str], NoReturn]) -> None:
    """Refuse options that are for another kind of item than the split holds."""
    for kind, names in OPTIONS.items():
        foreign = [name for name in names if name not in OPTIONS[protocol]]
        given = [f"--{name.replace('_', '-')}" for name in foreign if getattr(options, name) not in (None, 0)]
        if given and kind != protocol:
            refuse(f"{' and '.join(given)}: for {KINDS[kind]}; this split has {KINDS[protocol]}")
