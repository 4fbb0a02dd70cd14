"""Charts in Vega-Lite: drawn into the page as SVG, and the same ones as documents that a reader's browser brings alive.

The drawing shows without JavaScript, in the colours of the page it stands in. The library that makes a chart answer to
a pointer weighs three quarters of a board's budget, so a page fetches it only where a reader asks for it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup

Values = Sequence[Mapping[str, object]]
Layer = dict[str, object]
LIBRARY = "charts/vega.js"  # beside the documents that it shows: not one of the scripts that every page loads
FOLDER = "charts"
WIDTH, HEIGHT = 760, 340
FEW = 60  # beyond, intervals and names would cover the dots
INK, DIM, RULE, BAR = "currentColor", "var(--ds-dim)", "var(--ds-line)", "var(--ds-bar)"
_CONFIG = {
    "aria": False,
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": DIM,
        "titleColor": DIM,
        "gridColor": RULE,
        "domainColor": RULE,
        "tickColor": RULE,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
}


class Point(NamedTuple):
    """One model in a chart of scores."""

    x: float | str  # dollars, or a day YYYY-MM-DD
    score: float  # points, or grades
    low: float
    high: float
    name: str
    interval: str = ""  # and the place, in words
    place: str = ""
    href: str | None = None  # its page


class Chart(NamedTuple):
    """A picture with the document that makes it answer to a pointer, and what it says in words."""

    name: str  # of its document, without folder and ending
    title: str
    said: str  # what is drawn, and how it is meant
    drawing: Markup
    document: str  # JSON: a Vega-Lite chart with tooltips and links
    words: tuple[tuple[str, str | None, str], ...] = ()  # what it comes to: name, page, figures

    @property
    def file(self) -> str:
        """Where its document stands."""
        return f"{FOLDER}/{self.name}.json"


@cache  # it takes seconds
def bundle() -> str:
    """Vega-Lite with all it needs, as a script that names `vegaEmbed` and nothing else; the same at each call."""
    import vl_convert

    # Its own names are many and short: those of the site's other scripts must not be among them.
    return f'"use strict";(() => {{\n{vl_convert.javascript_bundle(snippet="window.vegaEmbed = vegaEmbed;")}\n}})();\n'


def made_with() -> str:
    """The version of the library, on which the bytes of bundle and drawings depend."""
    from importlib.metadata import version

    return f"vl-convert {version('vl-convert-python')}"


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no point to their left, or on the same spot, reaches in height."""
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.score)):
        if not found or point.score > found[-1].score:
            found.append(point)
    return found


def score_layers(
    points: Sequence[Point],
    *,
    x_title: str,
    domain: tuple[float, float],
    levels: Values = (),
    trend: Values = (),
) -> list[Layer]:
    """Scores against cost or day with their intervals, the frontier and its names.

    Args:
        points: At least two, of one kind.
        x_title: What the horizontal scale is.
        domain: Ends of the other one.
        levels: Dashed lines across, each with `score` and `name`: where people stand.
        trend: Both ends of a straight line, as `x` and `score`; empty: none.
    """
    dated = isinstance(points[0].x, str)
    x: Layer = {"field": "x", "type": "temporal" if dated else "quantitative", "title": x_title}
    if dated:
        x["axis"] = {"labelOverlap": True, "grid": False, "tickCount": 6}
    else:
        costs = [float(p.x) for p in points]
        x["scale"] = {"type": "log", "nice": False, "padding": 12}
        x["axis"] = {"format": "~g", "values": log_ticks(min(costs), max(costs)), "labelOverlap": True, "grid": False}
    y: Layer = {"field": "score", "type": "quantitative", "title": "score", "scale": {"domain": list(domain)}}
    best = [p._asdict() for p in frontier(points)]
    line = {"type": "line", "interpolate": "step-after", "color": INK, "strokeWidth": 1, "opacity": 0.6}
    dots = {"type": "circle", "color": BAR, "size": 70 if len(points) <= FEW else 24, "opacity": 0.85}
    layers: list[Layer] = [
        {"data": {"values": best}, "mark": line, "encoding": {"x": x, "y": y}},
        {"data": {"values": [p._asdict() for p in points]}, "name": "dots", "mark": dots, "encoding": {"x": x, "y": y}},
    ]
    if len(points) <= FEW:
        rule = {"type": "rule", "color": BAR, "opacity": 0.45}
        ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.insert(1, {"data": layers[1]["data"], "mark": rule, "encoding": ends})
    if levels:
        people = {"type": "rule", "color": INK, "strokeDash": [5, 4], "opacity": 0.7}
        said = {"type": "text", "align": "right", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": DIM}
        named_level = {"y": y, "x": {"value": "width"}, "text": {"field": "name"}}
        layers.insert(0, {"data": {"values": list(levels)}, "mark": people, "encoding": {"y": y}})
        layers.insert(1, {"data": {"values": list(levels)}, "mark": said, "encoding": named_level})
    if trend:
        slope = {"type": "line", "color": DIM, "strokeWidth": 1, "opacity": 0.7}
        layers.insert(0, {"data": {"values": list(trend)}, "mark": slope, "encoding": {"x": x, "y": y}})
    name = {"type": "text", "align": "left", "dx": 7, "dy": -6, "fontSize": 12, "color": INK, "limit": 150}
    named = {"x": x, "y": y, "text": {"field": "name"}}
    layers.append({"data": {"values": best[-12:]}, "mark": name, "encoding": named})
    return layers


def log_ticks(low: float, high: float) -> list[float]:
    """Round prices from `low` to `high`: 1, 2 and 5 of each power of ten, or the powers alone where they are many."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    found = [float(f"{step}e{power}") for power in powers for step in steps]
    return [tick for tick in found if low <= tick <= high] or [low, high]


def spots_layers(
    spots: Values, *, titles: tuple[str, str], domains: tuple[tuple[float, float], tuple[float, float]], diagonal: bool
) -> list[Layer]:
    """Named spots on a plane.

    Args:
        spots: Each with `x`, `y` and `name`.
        titles: Of both scales; empty: a plane whose scales say nothing.
        domains: Ends of both.
        diagonal: Whether a line is drawn where both are equal.
    """
    axes = [
        {
            "field": field,
            "type": "quantitative",
            "title": title or None,
            "scale": {"domain": list(domain), "zero": False, "nice": False},
            "axis": {"grid": bool(title), "labels": bool(title), "ticks": bool(title), "domain": bool(title)},
        }
        for field, title, domain in zip("xy", titles, domains, strict=True)
    ]
    place = dict(zip("xy", axes, strict=True))
    text = {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "color": INK, "limit": 220}
    layers: list[Layer] = []
    if diagonal:
        ends = [{"x": end, "y": end} for end in domains[0]]
        line = {"type": "line", "color": INK, "strokeDash": [5, 4], "strokeWidth": 1, "opacity": 0.6}
        layers.append({"data": {"values": ends}, "mark": line, "encoding": place})
    dots = {"type": "circle", "color": BAR, "size": 90, "opacity": 0.85}
    layers.append({"data": {"values": list(spots)}, "name": "dots", "mark": dots, "encoding": place})
    named = {**place, "text": {"field": "name"}}
    layers.append({"data": {"values": list(spots)}, "mark": text, "encoding": named})
    return layers


def drawn(layers: Sequence[Layer], *, said: str) -> Markup:
    """The picture as SVG that scales with the page, and that says in words what it is."""
    import vl_convert

    chart = {**_chart(layers), "width": WIDTH, "height": HEIGHT}
    svg = str(vl_convert.vegalite_to_svg(chart))
    head = Markup('<svg role="img" aria-label="{}" ').format(said)
    body = re.sub(r' (width|height)="\d+"', "", svg.removeprefix("<svg "), count=2)
    # One picture with one name: its marks are no pictures of their own.
    body = re.sub(r' (role="graphics-[a-z]+"|aria-roledescription="[^"]*")', "", body)
    # Hundredths of a pixel are enough; what is written as text stays as it is.
    body = re.sub(r'="[^"<>]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), body)
    return head + Markup(body)  # noqa: S704  # Vega has escaped every name


def document(layers: Sequence[Layer], tooltip: Sequence[tuple[str, str, str]]) -> str:
    """The same picture for a browser: as wide as its place, with tooltips, and links from dots that have a page.

    Args:
        layers: From this module; the one named `dots` answers to the pointer.
        tooltip: Field, title and format of each line; a format may be empty.
    """
    alive = []
    for layer in layers:
        found = dict(layer)
        if layer.get("name") == "dots":
            fields = [{"field": f, "title": t} | ({"format": form} if form else {}) for f, t, form in tooltip]
            encoding, mark = layer["encoding"], layer["mark"]
            assert isinstance(encoding, dict)
            assert isinstance(mark, dict)
            data = layer["data"]
            assert isinstance(data, dict)
            linked = any(value.get("href") for value in data["values"])
            found["mark"] = {**mark, "cursor": "pointer"} if linked else mark
            found["encoding"] = {**encoding, "tooltip": fields} | ({"href": {"field": "href"}} if linked else {})
        alive.append(found)
    # Names lie on top of the dots; the pointer goes through them.
    alive.sort(key=lambda layer: layer.get("name") == "dots")
    chart = {**_chart(alive), "width": "container", "height": HEIGHT}
    return json.dumps(chart, ensure_ascii=False, sort_keys=True) + "\n"


def _chart(layers: Sequence[Layer]) -> Layer:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": 5, "right": 130, "top": 12, "bottom": 5},
        "background": None,
        "layer": list(layers),
        "config": _CONFIG,
    }
