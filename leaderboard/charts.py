"""Charts: bars in table cells as pure geometry, and drawings of whole boards as SVG through Vega-Lite."""

import re
from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from leaderboard.shown import attempt_cost, visible

if TYPE_CHECKING:
    from leaderboard.boards import Board, Line


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


class Point(NamedTuple):
    """One model in a chart of scores."""

    x: float | str  # dollars, or a day YYYY-MM-DD
    score: float  # points
    low: float
    high: float
    name: str


def board_charts(board: "Board") -> dict[int, list[tuple[str, str, Markup]]]:
    """The pictures of a board: (title, what it says, SVG) for each section that has something to draw."""
    found: dict[int, list[tuple[str, str, Markup]]] = {}
    for n, section in enumerate(board.sections):
        priced = [(price, line) for line in section.ranked if (price := attempt_cost(line.submission)) and price > 0]
        dated = [(line.submission.release_date or "", line) for line in section.ranked]
        dated = [(day, line) for day, line in dated if _DAY.fullmatch(day)]
        for title, said, x, rows in (
            ("Score against cost", COST, "US dollars an item, log scale", priced),
            ("Score against release date", RELEASED, "released", dated),
        ):
            if len({x for x, _ in rows}) > 1:
                points = [_point(x, line) for x, line in rows]
                found.setdefault(n, []).append((title, said, scatter(points, x_title=x)))
    return found


COST = (
    "Each dot is a model with its 95 % interval. Models on the line score best for their price: whatever scores higher "
    "costs more. Prices are those of the model's own replies."
)
RELEASED = "Each dot is a model with its 95 % interval; the line steps up with each new best score."
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FEW = 60  # beyond, intervals and names would cover the dots


def _point(x: float | str, line: "Line") -> Point:
    e = line.like
    return Point(x, 100 * e.value, 100 * e.low, 100 * e.high, str(visible(e.model))[:48])


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no point to their left, or on the same spot, reaches in height."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.score)):
        if not found or point.score > found[-1].score:
            found.append(point)
    return found


def scatter(points: Sequence[Point], *, x_title: str) -> Markup:
    """Draw scores against cost or day, with the frontier, as SVG in the colours of the page it stands in."""
    import vl_convert

    dated = isinstance(points[0].x, str)
    x: dict[str, object] = {"field": "x", "type": "temporal" if dated else "quantitative", "title": x_title}
    if not dated:
        x |= {"scale": {"type": "log", "nice": False, "padding": 12}, "axis": {"format": "~g", "labelOverlap": True}}
    lows, highs = [p.low for p in points], [p.high for p in points]
    scale = axis([*lows, *highs])
    y = {"field": "score", "type": "quantitative", "title": "score", "scale": {"domain": [scale.low, scale.high]}}
    best = [p._asdict() for p in frontier(points)]
    line = {"type": "line", "interpolate": "step-after", "color": _INK, "strokeWidth": 1, "opacity": 0.6}
    dots = {"type": "circle", "color": _BAR, "size": 60 if len(points) <= _FEW else 22, "opacity": 0.85}
    layers: list[dict[str, object]] = [
        {"data": {"values": best}, "mark": line, "encoding": {"x": x, "y": y}},
        {"mark": dots, "encoding": {"x": x, "y": y}},
    ]
    if len(points) <= _FEW:
        rule = {"type": "rule", "color": _BAR, "opacity": 0.45}
        ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.insert(1, {"mark": rule, "encoding": ends})
    name = {"type": "text", "align": "left", "dx": 7, "dy": -5, "fontSize": 10, "color": _INK, "limit": 150}
    named = {"x": x, "y": y, "text": {"field": "name"}}
    layers.append({"data": {"values": best[-12:]}, "mark": name, "encoding": named})
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": 760,
        "height": 320,
        "padding": {"left": 5, "right": 130, "top": 12, "bottom": 5},
        "background": None,
        "data": {"values": [p._asdict() for p in points]},
        "layer": layers,
        "config": _CONFIG,
    }
    said = f"{len(points)} models: score against {x_title}"
    return _inline(str(vl_convert.vegalite_to_svg(chart)), said)


_INK, _DIM, _RULE, _BAR = "currentColor", "var(--ds-dim)", "var(--ds-line)", "var(--ds-bar)"
_CONFIG = {
    "aria": False,
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _DIM,
        "titleColor": _DIM,
        "gridColor": _RULE,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
}


def _inline(svg: str, said: str) -> Markup:
    """Let a drawing scale with the page, and say in words what it is."""
    head = Markup('<svg role="img" aria-label="{}" ').format(said)
    body = re.sub(r' (width|height)="\d+"', "", svg.removeprefix("<svg "), count=2)
    body = re.sub(r"(\d\.\d\d)\d+", r"\1", body)
    return head + Markup(body)  # noqa: S704  # Vega has escaped every name
