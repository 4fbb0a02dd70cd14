"""Scales and bars of charts in table cells, as pure geometry."""

from collections.abc import Iterable
from math import ceil, floor
from typing import NamedTuple


class Axis(NamedTuple):
    """A scale in points, with the points that get a tick."""

    low: int
    high: int
    ticks: tuple[int, ...]


class Bar(NamedTuple):
    """An interval on an axis, in percent of its width."""

    left: str
    width: str


def axis(points: Iterable[float]) -> Axis:
    """Choose a scale that holds all `points` within [0, 100], its ends on whole tens."""
    inside = [min(max(p, 0.0), 100.0) for p in points] or [0.0, 100.0]
    low, high = 10 * floor(min(inside) / 10), 10 * ceil(max(inside) / 10)
    if low == high:
        low, high = (low - 10, high) if high == 100 else (low, high + 10)
    step = 10 if high - low <= 60 else 20
    return Axis(low, high, tuple(range(low + -low % step, high + 1, step)))


def place(scale: Axis, points: float) -> str:
    """Distance of `points` from the left end; what lies outside the scale stands at its end."""
    share = (min(max(points, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
    return f"{100 * share:.2f}%"


def bar(scale: Axis, low: float, high: float) -> Bar:
    """Left end and width of an interval in points."""
    left, right = (min(max(p, scale.low), scale.high) for p in (low, high))
    return Bar(place(scale, left), f"{100 * (right - left) / (scale.high - scale.low):.2f}%")
