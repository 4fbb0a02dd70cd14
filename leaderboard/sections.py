"""What boards of all protocols do alike: the order of sections, who is ranked, how an estimate is written and drawn."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from evaluators.estimate import RANKED
from evaluators.values import Estimate
from leaderboard.charts import Axis, Bar, bar, place

Key = TypeVar("Key", bound=tuple[str, ...])


class Rowed(Protocol):
    """A row of a board."""

    @property
    def like(self) -> Estimate:
        """Its headline."""


Row = TypeVar("Row", bound=Rowed)


def newest_first(keys: Iterable[Key]) -> list[Key]:
    """Put keys that begin with a version in order, the newest first: the figures that count stand at the top."""
    by_name = sorted(keys, key=lambda key: key[1:])
    return sorted(by_name, key=lambda key: tuple(int(part) for part in key[0].split(".")), reverse=True)


def by_tier(lines: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows that are ranked, and the self-reported ones."""
    ranked = tuple(line for line in lines if line.like.tier in RANKED)
    return ranked, tuple(line for line in lines if line.like.tier not in RANKED)


def rank_of(estimate: Estimate) -> tuple[int, int] | None:
    """The ranks it may hold; None: it is not ranked."""
    best, worst = estimate.best_rank, estimate.worst_rank
    return (best, worst) if best and worst else None


def ticks_of(scale: Axis) -> tuple[tuple[int, str], ...]:
    """Where the ticks of a scale stand."""
    return tuple((tick, place(scale, tick)) for tick in scale.ticks)


def points(share: float) -> str:
    """A share in points with one decimal."""
    return f"{100 * share:.1f}"


def interval(estimate: Estimate) -> tuple[str, str]:
    """The ends of an interval in points."""
    return points(estimate.low), points(estimate.high)


def drawn(estimate: Estimate, scale: Axis) -> tuple[Bar, str]:
    """The bar of an interval on a scale in points, and the place of the value on it."""
    return bar(scale, 100 * estimate.low, 100 * estimate.high), place(scale, 100 * estimate.value)
