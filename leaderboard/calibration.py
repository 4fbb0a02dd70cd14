"""How far each jury agrees with people, and where labels are still wanted: what the page "Calibration" shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.agreement import Agreement, by_group
from evaluators.estimate import FULL_LABELS
from evaluators.store import Store
from evaluators.stored import Votes
from leaderboard.boards import Board

if TYPE_CHECKING:
    from leaderboard.pages import AnyBoard


class Wanted(NamedTuple):
    """A ranked row with too few labels of its own."""

    model: str
    labels: int
    more: int


class Calibrated(NamedTuple):
    """A split under one jury: judges against people."""

    title: str
    split: str
    version: str
    jury: str
    votes: int
    rows: int  # ranked rows that it judged
    first: str  # day of the first and of the last of their runs
    last: str
    whole: Agreement | None  # all its votes against people; None: no person marked what it judged
    by_judge: tuple[tuple[str, Agreement], ...]
    by_provider: tuple[tuple[str, Agreement], ...]  # maker of the model that answered
    bias: tuple[tuple[str, float, float, int], ...]  # (model, mean vote, mean label, labels), largest bias first
    wanted: tuple[Wanted, ...]

    @property
    def lenient(self) -> float:
        """Mean vote minus mean label over all makers, as a share; above 0 the jury is more lenient than people."""
        return sum(n * (vote - human) for _, vote, human, n in self.bias) / self.votes


class Labelling(NamedTuple):
    """How far the labels of a split have come."""

    title: str
    split: str
    rows: int  # ranked rows of models
    enough: int  # rows with as many labels of their own as a row needs
    wanted: int  # labels that the others still need


def labelling(boards: "Sequence[AnyBoard]") -> tuple[Labelling, ...]:
    """What labels each split still wants, of every protocol; a row counts once however many metrics it has."""
    found = []
    for board in boards:
        own = [line.like.n_human for s in board.sections for line in s.ranked if line.like.provider != "human"]
        missing = [FULL_LABELS - n for n in own if n < FULL_LABELS]
        if own:
            found.append(Labelling(board.title, board.split, len(own), len(own) - len(missing), sum(missing)))
    return tuple(found)


def calibrations(store: Store, boards: tuple[Board, ...]) -> tuple[Calibrated, ...]:
    """One entry for each split, version and jury that has human labels or ranked rows without them."""
    found = []
    for board in boards:
        for version, jury in dict.fromkeys((s.version, s.jury) for s in board.sections):
            lines = [line for s in board.sections if (s.version, s.jury) == (version, jury) for line in s.ranked]
            votes = store.votes(board.split, version, jury)
            days = [line.submission.date for line in lines]
            wanted = sorted(
                (
                    Wanted(line.like.model, line.like.n_human, FULL_LABELS - line.like.n_human)
                    for line in lines
                    if line.like.n_human < FULL_LABELS
                ),
                key=lambda w: (w.labels, w.model),
            )
            found.append(
                Calibrated(
                    board.title,
                    board.split,
                    version,
                    jury,
                    len(votes.vote),
                    len(lines),
                    min(days, default=""),
                    max(days, default=""),
                    dict(_groups(votes, np.full(len(votes.vote), jury))).get(jury),
                    _groups(votes, votes.judge),
                    _groups(votes, votes.provider),
                    _bias(votes),
                    tuple(wanted),
                )
            )
    return tuple(found)


def _groups(votes: Votes, group: NDArray[np.str_]) -> tuple[tuple[str, Agreement], ...]:
    """Agreement by group, for votes of right and wrong; a vote between the two is no verdict that can agree."""
    plain = np.isin(votes.vote, (0.0, 1.0)) & np.isin(votes.human, (0.0, 1.0))
    if not plain.any():
        return ()
    return tuple(by_group(votes.vote[plain], votes.human[plain], group[plain]).items())


def _bias(votes: Votes) -> tuple[tuple[str, float, float, int], ...]:
    """How much more lenient the jury is with each maker's answers than people are."""
    found = []
    for provider in np.unique(votes.provider):
        mine = votes.provider == provider
        found.append((str(provider), float(votes.vote[mine].mean()), float(votes.human[mine].mean()), int(mine.sum())))
    return tuple(sorted(found, key=lambda row: -abs(row[1] - row[2])))
