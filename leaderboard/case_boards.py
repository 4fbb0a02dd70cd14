"""What the boards of cases show: grades from 0 to 3, progress along a case, people beside models, dates and cost.

A board is a function of estimates alone, so that a sealed split, of which nothing else is known here, has the same one.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from builders import BENCHMARKS
from evaluators.estimate import RANKED
from evaluators.estimate_cases import ALONG, MOST, graded_alike
from evaluators.people import percentile
from evaluators.store import Store
from evaluators.values import Estimate, PublishedScore, Submission
from leaderboard.case_published import SCALE, PrintedLine, by_date, printed
from leaderboard.charts import Bar, bar
from leaderboard.charts import place as place_on
from leaderboard.figures import figures, keep_estimates
from leaderboard.plots import Series, line_plot
from leaderboard.published import read_published_models
from leaderboard.sections import by_tier, newest_first, rank_of, ticks_of
from leaderboard.settled import Stand, in_order, stands, stands_apart

SAMPLES = "case-samples"
SHOWN = 8  # curves in one drawing
ABOUT = {
    "watson-holmes": (
        "Watson & Holmes",
        "Private cases of a detective game, solved location by location. The cases are sealed.",
    ),
    "sample-case": ("Sample, cases", "Detective cases that this project wrote to try its own machinery."),
}


class CaseLine(NamedTuple):
    """One player on a board; grades with two decimals, or a dash."""

    like: Estimate
    rank: tuple[int, int] | None
    score: str
    interval: tuple[str, str]
    bar: Bar
    point: str
    progressive: str
    final: str
    percentile: str
    tied: str  # overall tied to people's grades, with its interval
    submission: Submission
    place: Stand | None  # None: not ranked


class CaseSection(NamedTuple):
    """The players that were graded alike: one version, jury and grading, people among them."""

    version: str
    jury: str
    grading: str
    ranked: tuple[CaseLine, ...]
    self_reported: tuple[CaseLine, ...]
    people: tuple[float, ...]  # overall of each person
    plots: tuple[tuple[str, Markup], ...]  # title and drawing
    legend: tuple[tuple[str, str], ...]  # class of the colour, and whose curve it is
    estimates: tuple[Estimate, ...]

    @property
    def condition(self) -> str:
        """What was varied, as the other boards name it."""
        return self.grading

    @property
    def ticks(self) -> tuple[tuple[int, str], ...]:
        """Where the whole grades stand on the scale."""
        return ticks_of(SCALE)


class CaseBoard(NamedTuple):
    """All that the page of a split of cases shows."""

    split: str
    benchmark: str
    title: str
    about: str
    sections: tuple[CaseSection, ...]
    published: tuple[PublishedScore, ...]
    printed: tuple[PrintedLine, ...]
    by_date: Markup | None

    @property
    def reread(self) -> tuple[()]:
        """Published rows whose released evidence was read again: the paper released none."""
        return ()

    @property
    def sample(self) -> bool:
        """Whether the split only proves that the machinery runs."""
        return self.benchmark == SAMPLES

    @property
    def template(self) -> str:
        """Template of the page."""
        return "case.md.jinja"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every number of the page, in its order."""
        return tuple(e for section in self.sections for e in section.estimates)


class _Run(NamedTuple):
    submission: Submission
    estimates: tuple[Estimate, ...]
    sealed: bool = False

    @property
    def alike(self) -> tuple[str, str, str, str]:
        s = self.submission
        first = ";".join(part for part in s.condition.split(";") if part.startswith("first="))
        return s.split, s.version, s.jury, ";".join(filter(None, (graded_alike(s.condition), first)))

    def value(self, metric: str) -> Estimate | None:
        return next((e for e in self.estimates if e.metric == metric and e.method != "ppi"), None)

    @property
    def human(self) -> bool:
        return self.submission.model.provider == "human"


def case_boards(store: Store) -> tuple[CaseBoard, ...]:
    """Work out one board for every split of cases that has players or published scores, by name."""
    cases = {b.name for b in BENCHMARKS if b.protocol == "case"}
    published = tuple(p for p in store.published_scores() if p.benchmark in cases)
    runs = _runs(store)
    benchmark = {r.submission.split: r.submission.benchmark for r in runs} | {p.split: p.benchmark for p in published}
    return tuple(_board(store, split, benchmark[split], runs, published) for split in sorted(benchmark))


def _runs(store: Store) -> list[_Run]:
    """Runs on cases with their estimates: of public splits from what is stored, of sealed ones as they came."""
    stored = [s for s in store.submissions() if s.submission.protocol == "case"]
    by_id: dict[str, tuple[Estimate, ...]] = {}
    for split, version, jury in sorted({(s.submission.split, s.submission.version, s.submission.jury) for s in stored}):
        mine = [s for s in stored if s.submission.split == split]
        known = figures(store, split, version, jury, mine)
        by_id |= {name: own.estimates for name, own in known.items()}
    found = [_Run(s.submission, by_id.get(s.submission.submission_id, ())) for s in stored]
    found += [_Run(r.submission, r.estimates, sealed=True) for r in store.sealed() if r.submission.protocol == "case"]
    return [run for run in found if run.value("overall") and run.submission.kind == "model"]


def _board(
    store: Store, split: str, benchmark: str, runs: Sequence[_Run], published: Sequence[PublishedScore]
) -> CaseBoard:
    mine = sorted((run for run in runs if run.submission.split == split), key=lambda run: run.alike)
    groups = {key[1:]: list(group) for key, group in groupby(mine, key=lambda run: run.alike)}
    placed = _stands(store, split, groups)
    sections = tuple(_section(key, groups[key], placed) for key in newest_first(groups))
    keep_estimates(store, [e for section in sections for e in section.estimates])
    title, about = ABOUT.get(split, (split, ""))
    cited = tuple(p for p in published if p.split == split)
    models = {m.model: m for m in read_published_models()}
    return CaseBoard(
        split,
        benchmark,
        title,
        about,
        sections,
        cited,
        printed(cited, models),
        by_date(cited, models),
    )


def _stands(store: Store, split: str, groups: Mapping[tuple[str, str, str], Sequence[_Run]]) -> dict[str, Stand]:
    """Where every ranked player stands: by the questions that all answered, or by intervals where a run is sealed."""
    found: dict[str, Stand] = {}
    opened: dict[tuple[str, str], dict[str, list[Sequence[Estimate]]]] = {}
    for (version, jury, grading), runs in groups.items():
        rows = [_headed(run) for run in runs]
        if any(run.sealed for run in runs):
            found |= stands_apart(rows)
        else:
            opened.setdefault((version, jury), {})[grading] = rows
    for key, graded in opened.items():
        found |= stands(store, (split, *key), "case", graded)
    return found


def _headed(run: _Run) -> Sequence[Estimate]:
    """Its estimates, overall first."""
    return _overall(run), *(e for e in run.estimates if e is not _overall(run))


def _section(key: tuple[str, str, str], runs: Sequence[_Run], placed: Mapping[str, Stand]) -> CaseSection:
    by_id = {run.submission.submission_id: run for run in runs}
    # People and models stand in one table, and so have places in one order.
    groups = in_order((_headed(run) for run in runs), placed)
    runs = [by_id[group[0].submission_id]._replace(estimates=group) for group in groups]
    ranked = [run for run in runs if _overall(run).tier in RANKED]
    people = tuple(_overall(run).value for run in ranked if run.human)
    plots, legend = _plots(ranked, people)
    return CaseSection(
        *key,
        *by_tier([_line(run, people, placed.get(run.submission.submission_id)) for run in runs]),
        people,
        plots,
        legend,
        tuple(e for group in groups for e in group),
    )


def _overall(run: _Run) -> Estimate:
    found = run.value("overall")
    if found is None:
        raise ValueError(f"{run.submission.submission_id!r} has no overall score")  # _runs() lets none through
    return found


def _line(run: _Run, people: Sequence[float], place: Stand | None) -> CaseLine:
    own = _overall(run)
    tied = next((e for e in run.estimates if e.method == "ppi"), None)
    return CaseLine(
        own,
        rank_of(own),
        _grade(own),
        (f"{own.low:.2f}", f"{own.high:.2f}"),
        bar(SCALE, own.low, own.high),
        place_on(SCALE, own.value),
        _grade(run.value("progressive")),
        _grade(run.value("final")),
        _among(run, people),
        "" if tied is None else f"{tied.value:.2f} [{tied.low:.2f}–{tied.high:.2f}]",
        run.submission,
        place,
    )


def _among(run: _Run, people: Sequence[float]) -> str:
    """The percentile among the people of a section, with its bootstrap interval where the single answers are known."""
    found = run.value("percentile")
    if found is not None:
        return f"{100 * found.value:.0f} [{100 * found.low:.0f}–{100 * found.high:.0f}]"
    c = run.submission.counts
    if run.human or len(people) < 2 or c.scored + c.no_answer < c.expected:
        return "–"
    return f"{float(percentile(_overall(run).value, np.array(people))):.0f}"


def _grade(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate.value:.2f}"


def _curve(run: _Run, name: str) -> tuple[float | None, ...]:
    steps = {int(e.metric.removeprefix(name)): e.value for e in run.estimates if e.metric.startswith(name)}
    return tuple(steps.get(n) for n in range(max(steps, default=-1) + 1))


def _plots(
    runs: Sequence[_Run], people: Sequence[float]
) -> tuple[tuple[tuple[str, Markup], ...], tuple[tuple[str, str], ...]]:
    """How grades rise along a case, and whose curve has which colour; cost and dates: `leaderboard/drawings.py`."""
    models = [run for run in runs if not run.human][:SHOWN]
    named = [(run, run.submission.model.name, n) for n, run in enumerate(models)]
    found: list[tuple[str, Markup]] = []
    for name, title, caption in (
        (ALONG[0], "Grades after each location", "locations read"),
        (ALONG[1], "The same, counted from the end", "locations unread"),
    ):
        series = [Series(who, _curve(run, name), n, name == ALONG[1]) for run, who, n in named]
        series += _average([_curve(run, name) for run in runs if run.human], reverse=name == ALONG[1])
        series = [s for s in series if any(v is not None for v in s.values)]
        if series:
            label = f"{title}: mean grade, 0 to 3, of {', '.join(s.name for s in series)}"
            found.append((title, line_plot(series, label=label, top=MOST, caption=caption)))
    legend = [(f"ds-c{n}", who) for _, who, n in named]
    return tuple(found), tuple(legend + ([("ds-people", "people, on average")] if people else []))


def _average(curves: Sequence[tuple[float | None, ...]], *, reverse: bool) -> list[Series]:
    if not curves:
        return []
    steps = range(max(len(curve) for curve in curves))
    known = [[c[n] for c in curves if n < len(c) and c[n] is not None] for n in steps]
    means = tuple(float(np.mean([v for v in values if v is not None])) if values else None for values in known)
    return [Series("people, on average", means, -1, reverse)]
