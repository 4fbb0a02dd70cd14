"""The published rows of cases, people among them, and what every drawing of cases stands on: levels, trends, years."""

from collections.abc import Sequence
from datetime import date
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from evaluators.estimate_cases import MOST
from evaluators.people import percentile
from evaluators.values import PublishedScore
from leaderboard.case_analysis import trend
from leaderboard.charts import Axis, place
from leaderboard.plots import Line, Spot, spot_plot
from leaderboard.published import PublishedModel

SCALE = Axis(0, 3, (0, 1, 2, 3))
EXPERT = 1.6448536269514722  # standard deviations above the mean of people: the 95th percentile
DAYS = 365.25
KINDS = {"rModel": "reasoning models", "cModel": "completion models"}


class PrintedLine(NamedTuple):
    """A row of the paper's table, people among models."""

    model: str
    human: bool
    released: str
    kind: str
    progressive: str
    final: str
    overall: float
    percentile: str
    again: str  # the percentile, worked out here from the printed scores of the people
    point: str
    source: str


def levels(people: Sequence[float]) -> list[Line]:
    """The average person, and the 95th percentile of a normal population with these people's mean and deviation."""
    if len(people) < 2:
        return []
    mean, spread = float(np.mean(people)), float(np.std(people))
    return [Line(0, mean, "average person"), Line(0, mean + EXPERT * spread, "95th percentile of people")]


def trend_line(points: Sequence[tuple[float, float]], name: str) -> list[Line]:
    """A line through points, over their span; empty where none can be drawn."""
    x, y = np.array(points).reshape(-1, 2).T
    fitted = trend(x, y)
    return [Line(fitted.slope, fitted.start, name, (float(x.min()), float(x.max())))] if fitted else []


def printed(cited: Sequence[PublishedScore], models: dict[str, PublishedModel]) -> tuple[PrintedLine, ...]:
    """The rows of the paper's table and of its public page, best first."""
    scores = {(p.model, p.metric): p.score for p in cited}
    humans = printed_people(cited)
    found = []
    for p in (p for p in cited if p.metric == "overall"):
        about = models.get(p.model)
        again = f"{float(percentile(p.score, np.array(humans))):.0f}" if len(humans) > 1 else "–"
        printed = {m: scores.get((p.model, m)) for m in ("progressive", "final", "percentile")}
        cells = {m: "–" if v is None else f"{v:.0f}" if m == "percentile" else f"{v:.2f}" for m, v in printed.items()}
        found.append(
            PrintedLine(
                p.model,
                p.condition == "player=human",
                about.released if about else "",
                KINDS[about.kind].removesuffix("s") if about else "",
                cells["progressive"],
                cells["final"],
                p.score,
                cells["percentile"],
                again,
                place(SCALE, p.score),
                p.table,
            )
        )
    return tuple(sorted(found, key=lambda line: (-line.overall, line.model)))


def printed_people(cited: Sequence[PublishedScore]) -> list[float]:
    """Overall scores of the paper's five people; their average is a row of its own and no person."""
    people = [p for p in cited if p.condition == "player=human" and p.metric == "overall"]
    return [p.score for p in people if not p.model.startswith("Average")]


def by_date(cited: Sequence[PublishedScore], models: dict[str, PublishedModel]) -> Markup | None:
    """Draw published scores by the day their models were released; None where fewer than two days are known."""
    dated = [(models[p.model], p.score) for p in cited if p.metric == "overall" and p.model in models]
    if len(dated) < 2:
        return None
    spots, lines = [], levels(printed_people(cited))
    for colour, (kind, name) in enumerate(KINDS.items()):
        own = [(year(m.released), score, m.model) for m, score in dated if m.kind == kind]
        spots += [Spot(x, y, who, colour) for x, y, who in own]
        lines += trend_line([(x, y) for x, y, _ in own], f"trend of {name}")
    ticks = years(spots)
    label = f"Overall score by release date of {len(spots)} published models, with trends and the level of people"
    return spot_plot(spots, ticks=ticks, lines=lines, label=label, top=MOST, caption="released")


def years(spots: Sequence[Spot]) -> list[tuple[float, str]]:
    """Whole years that hold the points, both ends included."""
    first, last = floor(min(s.x for s in spots)), ceil(max(s.x for s in spots))
    step = 1 + (last - first) // 8
    return [(float(n), str(n)) for n in range(first, max(last, first + 1) + step, step)]


def day(said: str | None) -> float | None:
    """A submitter's date as a year with its part; None where it is none."""
    try:
        return year(said) if said else None
    except ValueError:
        return None


def year(day: str) -> float:
    """A day, YYYY-MM-DD, as a year with its part.

    Raises:
        ValueError: If it is none.
    """
    found = date.fromisoformat(day)
    return found.year + (found - date(found.year, 1, 1)).days / DAYS
