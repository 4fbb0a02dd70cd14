"""The protocols: how an item of each kind is put to a model and how its answer is judged.

`opening` is the one explicit mapping from a split's protocol to the code that runs it. A protocol that arrives gets a
folder here with a `play.py`, and a line there.
"""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

if TYPE_CHECKING:
    from builders.splits import Split
    from evaluators.run import Outcome
    from evaluators.runner import Runner
    from evaluators.values import Model, Panel, Seat


class Table(NamedTuple):
    """What a run has settled before its protocol is asked: options, split, the model, and the jury that sits for it."""

    options: argparse.Namespace
    split: "Split"
    model: "Model"
    panel: "Panel"
    seats: "tuple[Seat, Seat, Seat]"


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
    return None
