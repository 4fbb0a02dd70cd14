"""Small drawings as SVG, without a library: lines over steps, and points over a scale, for any theme and width.

Colours come from the page's own (`currentColor` and the classes of `board.css`). What a drawing shows stands beside it
as a table or in the data files: its label names it for those who do not see it.
"""

from collections.abc import Sequence
from html import escape
from math import ceil
from typing import NamedTuple

from markupsafe import Markup

from leaderboard.shown import visible

WIDTH, HEIGHT = 340.0, 210.0
LEFT, RIGHT, TOP, BOTTOM = 26.0, 8.0, 10.0, 30.0
COLOURS = 8  # classes ds-c0 to ds-c7


class Series(NamedTuple):
    """Values at steps 0, 1, ..."""

    name: str
    values: tuple[float | None, ...]
    colour: int  # number of the class; -1 is people, drawn thick
    reverse: bool = False  # step 0 stands at the right end


class Spot(NamedTuple):
    """A point with its name; `low` and `high` where it has an interval."""

    x: float
    y: float
    name: str
    colour: int
    low: float | None = None
    high: float | None = None


class Line(NamedTuple):
    """A straight line: level where the slope is 0."""

    slope: float
    start: float
    name: str
    span: tuple[float, float] | None = None  # from where to where; None: across the drawing


def line_plot(series: Sequence[Series], *, label: str, top: float, caption: str) -> Markup:
    """Draw values over steps, from 0 to `top`.

    Args:
        series: At least one, with at least one value.
        label: What the drawing shows, for those who do not see it.
        top: Upper end of the scale.
        caption: What the steps are.
    """
    steps = max(max(len(s.values) for s in series) - 1, 1)
    parts = _frame(top)
    every = ceil((steps + 1) / 9)
    for n in range(0, steps + 1, every):
        x = _x(n / steps, reverse=series[0].reverse)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 16:.1f}" text-anchor="middle">{n}</text>')
    for s in series:
        known = [(_x(n / steps, reverse=s.reverse), _y(v, top)) for n, v in enumerate(s.values) if v is not None]
        shape = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        parts.append(
            f'<polyline class="{_colour(s.colour)}" points="{shape}"><title>{_text(s.name)}</title></polyline>'
        )
    return _svg(parts, label, caption)


def spot_plot(
    spots: Sequence[Spot],
    *,
    ticks: Sequence[tuple[float, str]],
    lines: Sequence[Line],
    label: str,
    top: float,
    caption: str,
) -> Markup:
    """Draw points over a scale, and lines across it.

    Args:
        spots: At least one.
        ticks: Places on the scale of `x` with their text; the outermost are its ends.
        lines: In the units of the points.
        label: What the drawing shows.
        top: Upper end of the other scale, which begins at 0.
        caption: What `x` is.
    """
    low, high = ticks[0][0], ticks[-1][0]
    parts = _frame(top)
    for n, (at, text) in enumerate(ticks):
        anchor = "start" if n == 0 else "end" if n == len(ticks) - 1 else "middle"
        x = _x((at - low) / (high - low))
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 16:.1f}" text-anchor="{anchor}">{_text(text)}</text>')
    for line in lines:
        ends = [(at, line.start + line.slope * at) for at in line.span or (low, high)]
        (x1, y1), (x2, y2) = ((_x((at - low) / (high - low)), _y(value, top)) for at, value in ends)
        dash = ' class="ds-level"' if line.slope == 0 else ' class="ds-trend"'
        drawn = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        parts.append(f"<line{dash} {drawn}><title>{_text(line.name)}</title></line>")
        if line.slope == 0:
            parts.append(f'<text x="{LEFT + 3:.1f}" y="{y1 - 3:.1f}">{_text(line.name)}</text>')
    for spot in sorted(spots, key=lambda s: (s.x, s.y, s.name)):
        x, y = _x((spot.x - low) / (high - low)), _y(spot.y, top)
        if spot.low is not None and spot.high is not None:
            y1, y2 = _y(spot.low, top), _y(spot.high, top)
            parts.append(f'<line class="ds-whisker" x1="{x:.1f}" y1="{y1:.1f}" x2="{x:.1f}" y2="{y2:.1f}"/>')
        title = f"<title>{_text(spot.name)}: {spot.y:.2f}</title>"
        parts.append(f'<circle class="{_colour(spot.colour)}" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>')
    return _svg(parts, label, caption)


def map_plot(places: Sequence[tuple[float, float]], names: Sequence[str], *, label: str) -> Markup:
    """Draw named points on a plane whose two axes have one scale.

    Args:
        places: Coordinates.
        names: One a point.
        label: What the drawing shows.
    """
    reach = max([*(abs(c) for place in places for c in place), 1e-9]) * 1.25
    parts = [f'<rect class="ds-frame" x="1" y="1" width="{WIDTH - 2:.0f}" height="{HEIGHT - 2:.0f}"/>']
    scale = min(WIDTH, HEIGHT) / 2 / reach
    written: list[float] = []  # heights of the labels, which may not run into each other
    for (x, y), name in sorted(zip(places, names, strict=True), key=lambda one: -one[0][1]):
        at, up = WIDTH / 2 + scale * x, HEIGHT / 2 - scale * y
        anchor, shift = ("end", -7) if at > WIDTH * 0.6 else ("start", 7)
        level = max(up + 3.5, written[-1] + 11 if written else 0.0)
        written.append(level)
        parts.append(f'<circle class="ds-c0" cx="{at:.1f}" cy="{up:.1f}" r="4"/>')
        parts.append(f'<text x="{at + shift:.1f}" y="{level:.1f}" text-anchor="{anchor}">{_text(name)}</text>')
    return _svg(parts, label, "")


def _frame(top: float) -> list[str]:
    parts = []
    for n in range(int(top) + 1):
        y = _y(n, top)
        parts.append(f'<line class="ds-grid" x1="{LEFT:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6:.1f}" y="{y + 3.5:.1f}" text-anchor="end">{n}</text>')
    return parts


def _x(share: float, *, reverse: bool = False) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (1 - share if reverse else share)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(max(value, 0.0), top) / top)


def _colour(number: int) -> str:
    return "ds-people" if number < 0 else f"ds-c{number % COLOURS}"


def _text(text: str) -> str:
    return escape(str(visible(text)))


def _svg(parts: Sequence[str], label: str, caption: str) -> Markup:
    if caption:
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts = [*parts, f'<text x="{middle:.1f}" y="{HEIGHT - 3:.1f}" text-anchor="middle">{_text(caption)}</text>']
    head = f'<svg class="ds-svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{_text(label)}">'
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704 - every text in it was escaped
