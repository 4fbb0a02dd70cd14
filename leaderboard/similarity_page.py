"""The page that says how alike benchmarks are: over whatever the store holds, and as the paper printed it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from markupsafe import Markup

from evaluators.estimate import LIKE, RANKED
from evaluators.values import Estimate
from leaderboard.drawings import map_document
from leaderboard.plots import map_plot
from leaderboard.published import read_published_correlations
from leaderboard.similarity import Floats, matrix, places, similarity
from leaderboard.vega import FOLDER


class Shown(Protocol):
    """What this page needs of a board of any protocol."""

    @property
    def split(self) -> str:
        """Name of the split."""

    @property
    def sample(self) -> bool:
        """Whether it only proves that the machinery runs."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """Its numbers, the best first."""


class Map(NamedTuple):
    """Correlations of benchmarks as a table and as a map."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    models: tuple[str, ...]  # over which they were computed; empty where a paper printed them
    drawing: Markup
    source: str
    document: str  # the drawing as a chart that answers to a pointer

    @property
    def file(self) -> str:
        """Where its document stands."""
        return f"{FOLDER}/map-{'boards' if self.models else 'published'}.json"


def maps(boards: Sequence[Shown]) -> tuple[Map, ...]:
    """The map of the boards' own scores, where three models are shared, and that of the paper."""
    found = []
    own = similarity({board.split: _scores(board) for board in boards if not board.sample})
    if own is not None:
        found.append(_map(own.names, own.r, own.models, "computed here"))
    printed = read_published_correlations()
    names, r = matrix([(c.first, c.second, c.r) for c in printed])
    found.append(_map(names, r, (), f"{printed[0].table}. {printed[0].citation}"))
    return tuple(found)


def _scores(board: Shown) -> dict[str, float]:
    """Headline score of each ranked model: of its first row, which is of the newest version and the best condition."""
    found: dict[str, float] = {}
    heads = [e for e in board.estimates if e.tier in RANKED and e.estimand == LIKE and e.provider != "human"]
    for e in heads:
        if e.metric == heads[0].metric and e.method == heads[0].method:
            found.setdefault(e.model, e.value)
    return found


def _map(names: Sequence[str], r: Floats, models: Sequence[str], source: str) -> Map:
    rows = tuple((name, tuple(f"{value:.2f}" for value in row)) for name, row in zip(names, r, strict=True))
    spots = [(float(x), float(y)) for x, y in places(r)]
    drawing = map_plot(spots, names, label=f"Map of {', '.join(names)}: the more their scores correlate, the closer")
    document = map_document(spots, names, [cells for _, cells in rows])
    return Map(tuple(names), rows, tuple(models), drawing, source, document)
