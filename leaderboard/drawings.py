"""Which charts stand where: scores against cost and release date, benchmarks side by side, the jury against people."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from math import log10

from markupsafe import Markup

from leaderboard.boards import section_key
from leaderboard.calibration import Calibrated
from leaderboard.case_published import day, levels, trend_line
from leaderboard.charts import axis
from leaderboard.evidence import slug
from leaderboard.parts import AnyBoardOf, AnyLine, AnySection
from leaderboard.plots import Line
from leaderboard.shown import attempt_cost, signed, visible
from leaderboard.vega import HEIGHT, WIDTH, Chart, Point, document, drawn, frontier, score_layers, spots_layers

COST = (
    "Each dot is a model with its 95 % interval. Models on the line score best for their price: whatever scores higher "
    "costs more. Prices are those of the model's own replies."
)
RELEASED = "Each dot is a model with its 95 % interval; the line steps up with each new best score."
JURY = (
    "Each dot is a maker of models: how often the jury and how often people call its answers right. On the dashed line "
    "both agree; above it the jury is lenient, below it strict."
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def board_charts(board: AnyBoardOf, *, most: float = 100.0) -> dict[int, list[Chart]]:
    """The charts of each section of a board that has something to draw.

    Args:
        board: A board of any protocol.
        most: What a full score is shown as: 100 points, or grade 3.
    """
    return {n: found for n, section in enumerate(board.sections) if (found := _charts(board, n, section, most))}


def _charts(board: AnyBoardOf, place: int, section: AnySection, most: float) -> list[Chart]:
    models = [line for line in section.ranked if line.like.provider != "human"]
    priced = [(price, line) for line in models if (price := attempt_cost(line.submission)) and price > 0]
    dated = [(line.submission.release_date or "", line) for line in models]
    dated = [(said, line) for said, line in dated if _DAY.fullmatch(said) and day(said) is not None]
    people = getattr(section, "people", ())
    reached = [line for line in levels(people) if line.start <= most]
    dashed = f" Dashed: {' and '.join(line.name for line in reached)}." if reached else ""
    found = []
    for kind, title, said, x_title, rows in (
        ("cost", "Score against cost", COST, "US dollars an item, log scale", priced),
        ("released", "Score against release date", RELEASED, "released", dated),
    ):
        if len({x for x, _ in rows}) > 1:
            points = [_point(x, line, most) for x, line in rows]
            drawing, text, best = _scores(points, x_title, most=most, people=reached)
            found.append(Chart(f"{board.split}-{place + 1}-{kind}", title, said + dashed, drawing, text, best))
    return found


def _point(x: float | str, line: AnyLine, most: float) -> Point:
    e = line.like
    # Grades are kept as grades, shares as shares.
    times = most if most == 100 else 1.0
    value, low, high = (round(times * share, 3) for share in (e.value, e.low, e.high))
    digits = ".1f" if most == 100 else ".2f"
    name, page = str(visible(e.model))[:48], f"models/{slug(e.model)}.html"
    return Point(x, value, low, high, name, f"{low:{digits}}–{high:{digits}}", _said(x), page)


def _scores(
    points: Sequence[Point], x_title: str, *, most: float, people: Sequence[Line]
) -> tuple[Markup, str, tuple[tuple[str, str | None, str], ...]]:
    """The drawing, its document, and who stands on the line."""
    scale = axis([x for p in points for x in (p.low, p.high)])
    domain = (float(scale.low), float(scale.high)) if most == 100 else (0.0, most)
    trend = () if most == 100 else _trend(points)
    across = [{"score": round(line.start, 3), "name": line.name} for line in people]
    layers = score_layers(points, x_title=x_title, domain=domain, levels=across, trend=trend)
    digits = ".1f" if most == 100 else ".2f"
    tooltip = [
        ("name", "model", ""),
        ("score", "score", digits),
        ("interval", "95 % interval", ""),
        ("place", "at", ""),
    ]
    words = tuple((p.name, p.href, f"{p.score:{digits}} ({p.interval}), {p.place}") for p in frontier(points))
    label = f"{len(points)} models: score against {x_title}; the models on the line are listed below it"
    return drawn(layers, said=label), document(layers, tooltip), words


def _trend(points: Sequence[Point]) -> list[dict[str, object]]:
    """Both ends of the straight line through scores over release dates, or over the logarithm of the price."""
    spots = [(date.fromisoformat(p.x).toordinal() if isinstance(p.x, str) else log10(p.x), p) for p in points]
    ends = min(spots, key=lambda s: s[0]), max(spots, key=lambda s: s[0])
    lines = trend_line([(float(at), p.score) for at, p in spots], "trend")
    return [{"x": p.x, "score": round(line.start + line.slope * at, 3)} for line in lines for at, p in ends]


def _said(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:.2g} US dollars an item"


def jury_charts(calibrations: Sequence[Calibrated]) -> dict[int, Chart]:
    """How often the jury and people call each maker's answers right, for each split and jury with two makers."""
    found = {}
    for n, c in enumerate(calibrations):
        if len(c.bias) > 1:
            spots = [
                {
                    **{"x": round(100 * human, 2), "y": round(100 * vote, 2), "name": str(visible(maker))[:48]},
                    **{"lead": signed(vote - human), "votes": votes, "href": None},
                }
                for maker, vote, human, votes in c.bias
            ]
            found[n] = _jury_chart(f"jury-{section_key(c.split, c.version, c.jury, '')}", spots)
    return found


def _jury_chart(name: str, spots: Sequence[Mapping[str, object]]) -> Chart:
    titles = ("people call right, in points", "the jury calls right")
    scale = axis([float(str(spot[field])) for spot in spots for field in "xy"])
    ends = (float(scale.low), float(scale.high))
    layers = spots_layers(spots, titles=titles, domains=(ends, ends), diagonal=True)
    tooltip = [("name", "maker", ""), ("y", "jury", ".1f"), ("x", "people", ".1f"), ("lead", "difference", "")]
    tooltip.append(("votes", "votes", ""))
    label = f"The jury against people on the answers of {len(spots)} makers; the table above has the figures"
    return Chart(name, "Whom the jury favours", JURY, drawn(layers, said=label), document(layers, tooltip))


def map_document(spots: Sequence[tuple[float, float]], names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The map of benchmarks for a browser, with the correlations of each spot.

    Args:
        spots: Places on a plane whose two scales are one.
        names: One a spot.
        rows: Correlations of each with all, as text.
    """
    reach = 1.25 * max([*(abs(c) for spot in spots for c in spot), 1e-9])
    values = [
        {
            **{"x": round(x, 4), "y": round(y, 4), "name": name, "href": None},
            "alike": "; ".join(f"{other} {r}" for other, r in zip(names, row, strict=True) if other != name),
        }
        for (x, y), name, row in zip(spots, names, rows, strict=True)
    ]
    # As wide as high, so that distances count alike both ways on a screen of any width.
    wide = (-reach * WIDTH / HEIGHT, reach * WIDTH / HEIGHT)
    layers = spots_layers(values, titles=("", ""), domains=(wide, (-reach, reach)), diagonal=False)
    return document(layers, [("name", "benchmark", ""), ("alike", "correlations", "")])
