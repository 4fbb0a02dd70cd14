"""What the boards of sealed splits show: numbers of each run as a whole, and nothing by item."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluators.store import Store
from evaluators.stored import Sealed
from evaluators.values import Estimate, Submission
from leaderboard.charts import Axis, Bar, axis
from leaderboard.sections import by_tier, drawn, interval, newest_first, points, rank_of, ticks_of
from leaderboard.settled import Stand, in_order, stands_apart


class SealedLine(NamedTuple):
    """One model on a board; numbers are points with one decimal, or a dash."""

    like: Estimate
    rank: tuple[int, int] | None
    score: str
    interval: tuple[str, str]
    bar: Bar
    point: str
    others: tuple[str, ...]  # the section's further metrics
    submission: Submission
    place: Stand | None  # None: not ranked


class SealedSection(NamedTuple):
    """The models that were measured alike: one version, jury and condition."""

    version: str
    jury: str
    condition: str
    scale: Axis
    ticks: tuple[tuple[int, str], ...]
    metrics: tuple[str, ...]  # the headline first
    ranked: tuple[SealedLine, ...]
    self_reported: tuple[SealedLine, ...]
    estimates: tuple[Estimate, ...]


class SealedBoard(NamedTuple):
    """All that the page of a sealed split shows."""

    of: str
    benchmark: str
    items: int | None  # None: its manifest is not here
    words: int | None
    sections: tuple[SealedSection, ...]

    @property
    def split(self) -> str:
        """Name of the page and of its data files."""
        return f"sealed-{self.of}"

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.of}, sealed"

    @property
    def about(self) -> str:
        """What a reader has to know first."""
        size = "" if self.items is None else f"{self.items} items, {self.words or 0:,} words. "
        return f"{size}Only holders of a key can read the items, the answers and the verdicts."

    @property
    def sample(self) -> bool:
        """Whether the split only proves that the machinery runs."""
        return self.benchmark.endswith("samples")

    @property
    def published(self) -> tuple[()]:
        """Figures of papers stand on the page of the public split."""
        return ()

    @property
    def reread(self) -> tuple[()]:
        """No paper's evidence is read again here."""
        return ()

    @property
    def template(self) -> str:
        """Template of the page."""
        return "sealed.md.jinja"

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every number of the page, in its order."""
        return tuple(e for section in self.sections for e in section.estimates)


def sealed_boards(store: Store) -> tuple[SealedBoard, ...]:
    """Work out one board for every sealed split that models were run on, by name."""
    # Cases, whose grades are no shares, have boards of their own: leaderboard/case_boards.py.
    shares = [run for run in store.sealed() if run.submission.protocol != "case"]
    runs = [run for run in shares if run.estimates and run.submission.kind == "model"]
    manifests = {m.ref: m for m in store.splits() if m.sealed}
    found = []
    for name in sorted({run.submission.split for run in runs}):
        mine = [run for run in runs if run.submission.split == name]
        keys = newest_first({_key(run) for run in mine})
        sections = tuple(_section(key, [run for run in mine if _key(run) == key]) for key in keys)
        manifest = manifests.get(f"{name}@{sections[0].version}")
        items, words = (manifest.items, manifest.seal.words) if manifest and manifest.seal else (None, None)
        found.append(SealedBoard(name, mine[0].submission.benchmark, items, words, sections))
    return tuple(found)


def _key(run: Sealed) -> tuple[str, str, str]:
    return run.submission.version, run.submission.jury, run.submission.condition


def _section(key: tuple[str, str, str], runs: Sequence[Sealed]) -> SealedSection:
    placed = stands_apart(run.estimates for run in runs)
    groups = in_order((run.estimates for run in runs), placed)
    by_id = {run.submission.submission_id: run.submission for run in runs}
    heads = [group[0] for group in groups]
    scale = axis([100 * x for e in heads for x in (e.low, e.high)])
    metrics = tuple(dict.fromkeys(e.metric for group in groups for e in group))
    lines = [_line(group, by_id[group[0].submission_id], scale, metrics, placed) for group in groups]
    estimates = tuple(e for group in groups for e in group)
    return SealedSection(*key, scale, ticks_of(scale), metrics, *by_tier(lines), estimates)


def _line(
    group: Sequence[Estimate],
    submission: Submission,
    scale: Axis,
    metrics: tuple[str, ...],
    placed: Mapping[str, Stand],
) -> SealedLine:
    own = group[0]
    by_metric = {e.metric: e for e in group}
    return SealedLine(
        own,
        rank_of(own),
        points(own.value),
        interval(own),
        *drawn(own, scale),
        tuple(points(by_metric[m].value) if m in by_metric else "–" for m in metrics[1:]),
        submission,
        placed.get(own.submission_id),
    )
