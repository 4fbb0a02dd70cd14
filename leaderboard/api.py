"""The site's data at stable paths, `/api/v1/...`, described by one JSON schema."""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from builders.values import Name, Value, Version
from evaluators.means import reach
from evaluators.ppi import Interval
from evaluators.store import Store
from evaluators.values import Estimate, Submission, Tier
from leaderboard.boards import Board, Line, Section
from leaderboard.contests import Contender, Contest
from leaderboard.evidence import open_splits, page_of, slug, vectors
from leaderboard.model_pages import Modelled
from leaderboard.outputs import Outputs, digest
from leaderboard.pages import AnyBoard
from leaderboard.part_files import ApiPart


class ApiSection(Value):
    """A section of a board: rows that were measured alike, and may be compared with one another."""

    key: str = Field(description="Names the section in addresses.")
    split: Name
    version: Version
    condition: str
    jury: Name
    models: int = Field(description="Rows that are ranked.")


class ApiIndex(Value):
    """All boards: `/api/v1/index.json`."""

    boards: tuple[Name, ...]
    sections: tuple[ApiSection, ...] = Field(description="Those whose rows can be compared in pairs.")
    models: tuple[str, ...] = Field(description="Pages of models, without folder and ending.")


class ApiRow(Value):
    """A row of a section, for choosing and comparing."""

    submission_id: str
    model: str
    slug: str
    provider: str
    tier: Tier
    score: float = Field(description="Share in [0, 1].")
    low: float
    high: float
    best_rank: int | None
    worst_rank: int | None
    tie_group: int | None = Field(description="Rows of one group cannot be told from its first; null: not known.")
    lead: float | None = Field(description="Score minus the leader's, on the same items; null: they share none.")
    lead_low: float | None
    lead_high: float | None


class ApiCompare(Value):
    """A section with its rows, best first: `/api/v1/compare/<key>.json`."""

    section: ApiSection
    items: tuple[str, ...] = Field(description="Items in the order of each row's scores; empty where they are sealed.")
    pages: tuple[str, ...] = Field(description="Page of each item, without its ending, in `item_pages`.")
    item_pages: str = Field(description="Folder of the items' pages; empty where they are sealed.")
    rows: tuple[ApiRow, ...]
    most: float = Field(1, description="What a share of 1 is shown as: 3 where answers are graded from 0 to 3.")
    clusters: tuple[int, ...] = Field(
        (), description="Story of each item, numbered from 0, where scores are the jury's own; else empty."
    )
    t: float | None = Field(
        None,
        description="Student's t for the 95 % interval of a difference: the mean over the items, its variance that of "
        "sums over stories. None: rows have draws, or there is one story only.",
    )


class ApiDraws(Value):
    """A row's scores: `/api/v1/compare/<key>/<submission_id>.json`.

    Where scores are estimated from labels there are joint draws. Draw number d of every row of a section belongs
    together: subtract them draw by draw, and the 2.5 % and 97.5 % quantiles of what is left are the interval of the
    difference. Where scores are the jury's own, `like` and `these` are empty.
    """

    submission_id: str
    like: str = Field(description="Score on items like these: base64 of little-endian uint16; 65535 is a share of 1.")
    these: str = Field(description="Score on these items, in the same form.")
    scores: tuple[int | None, ...] = Field(description="Score on each item in thousandths; null: unknown.")
    low: tuple[int, ...] = Field((), description="With unknown attempts at 0; empty: every attempt is known.")
    high: tuple[int, ...] = Field((), description="With unknown attempts at 1.")


class ApiModel(Value):
    """A model with all its numbers: `/api/v1/models/<slug>.json`."""

    model: str
    slug: str
    provider: str
    submissions: tuple[Submission, ...]
    estimates: tuple[Estimate, ...]


DOCUMENTS: dict[str, type[Value]] = {
    "index": ApiIndex,
    "compare": ApiCompare,
    "draws": ApiDraws,
    "model": ApiModel,
    "part": ApiPart,
}


def schema() -> str:
    """JSON schema of every document, each under its name in `$defs`."""
    from pydantic.json_schema import models_json_schema

    wanted: list[tuple[type[Value], Literal["serialization"]]] = [(m, "serialization") for m in DOCUMENTS.values()]
    _, found = models_json_schema(wanted, title="Deerstalker API v1")
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def write_api(
    store: Store,
    boards: Sequence[AnyBoard],
    paired: Sequence[Contest],
    models: Sequence[Modelled],
    outputs: Outputs,
    *,
    code: str,
) -> None:
    """Write every document of the API; `paired` are the contests of the boards that are not of riddles."""
    sections = [(b, s) for b in boards if isinstance(b, Board) for s in b.sections if _compared(s)]
    index = ApiIndex(
        boards=tuple(b.split for b in boards),
        sections=(*(_section(b, s) for b, s in sections), *(_contest_section(c) for c in paired)),
        models=tuple(m.slug for m in models),
    )
    _put(outputs, "api/v1/index.json", index, code)
    outputs.write("api/v1/schema.json", code, schema)
    for model in models:
        _model(model, outputs, code)
    opened = {(s.split, s.version): s for s in open_splits(store)}
    for board, section in sections:
        split = opened.get((board.split, section.version))
        found = vectors(store, split, section.jury, section.condition) if split else ([], {})
        _compare(board, section, found, outputs, code)
    for contest in paired:
        _contest(contest, outputs, code)


def _put(outputs: Outputs, name: str, value: Value, code: str) -> None:
    text = value.model_dump_json()
    outputs.write(name, digest(code, text), lambda: text + "\n")


def _compared(section: Section) -> bool:
    return sum(line.place is not None for line in section.ranked) > 1


def _section(board: Board, s: Section) -> ApiSection:
    about = {"split": board.split, "version": s.version, "condition": s.condition, "jury": s.jury}
    return ApiSection.model_validate({"key": s.key, **about, "models": len(s.ranked)})


def _compare(
    board: Board,
    section: Section,
    found: tuple[list[str], dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]],
    outputs: Outputs,
    code: str,
) -> None:
    items, scores = found
    name = f"api/v1/compare/{section.key}"
    head = ApiCompare(
        section=_section(board, section),
        items=tuple(items),
        pages=tuple(page_of(item) for item in items),
        item_pages=f"items/{board.split}-{section.version}" if items else "",
        rows=tuple(_row(line) for line in section.ranked if line.place),
    )
    _put(outputs, f"{name}.json", head, code)
    for line in section.ranked:
        if line.place is None:
            continue
        own = scores.get(line.like.submission_id, np.empty(0))
        like, these = line.place.likes, line.place.these

        def make(line: Line = line, own: np.ndarray[tuple[int], np.dtype[np.float64]] = own) -> str:
            assert line.place is not None
            draws = ApiDraws(
                submission_id=line.like.submission_id,
                like=b64encode(line.place.likes).decode(),
                these=b64encode(line.place.these).decode(),
                scores=tuple(None if np.isnan(x) else round(1000 * x) for x in own.tolist()),
            )
            return draws.model_dump_json() + "\n"

        source = digest(code, line.like.submission_id, like, these, own.tobytes())
        outputs.write(f"{name}/{line.like.submission_id}.json", source, make)


def _row(line: Line) -> ApiRow:
    assert line.place is not None
    return _api_row(line.like, line.group, Interval(line.place.lead, line.place.low, line.place.high))


def _api_row(e: Estimate, group: int | None, lead: Interval | None, most: float = 1.0) -> ApiRow:
    point, low, high = lead or (None, None, None)
    return ApiRow(
        submission_id=e.submission_id,
        model=e.model,
        slug=slug(e.model),
        provider=e.provider,
        tier=e.tier,
        score=e.value / most,
        low=e.low / most,
        high=e.high / most,
        best_rank=e.best_rank,
        worst_rank=e.worst_rank,
        tie_group=group,
        lead=point,
        lead_low=low,
        lead_high=high,
    )


def _contest_section(c: Contest) -> ApiSection:
    about = {"split": c.split, "version": c.version, "condition": c.condition, "jury": c.jury}
    return ApiSection.model_validate({"key": c.key, **about, "models": len(c.rows)})


def _contest(c: Contest, outputs: Outputs, code: str) -> None:
    stories = {name: n for n, name in enumerate(dict.fromkeys(c.clusters))}
    head = ApiCompare(
        section=_contest_section(c),
        items=tuple(unit.label for unit in c.units),
        pages=tuple(page_of(unit.item_id) for unit in c.units),
        item_pages=f"items/{c.folder}",
        rows=tuple(_api_row(row.like, row.group, row.lead, c.most) for row in c.rows),
        most=c.most,
        clusters=tuple(stories[name] for name in c.clusters),
        t=reach(len(stories)),
    )
    _put(outputs, f"api/v1/compare/{c.key}.json", head, code)
    for row in c.rows:
        _put(outputs, f"api/v1/compare/{c.key}/{row.like.submission_id}.json", _settled(row), code)


def _settled(row: Contender) -> ApiDraws:
    """A row whose scores are known, in the form of one that has draws."""
    low, high = (tuple(round(1000 * x) for x in side.tolist()) for side in (row.scores.low, row.scores.high))
    return ApiDraws(
        submission_id=row.like.submission_id,
        like="",
        these="",
        scores=tuple(None if np.isnan(x) else round(1000 * x) for x in row.scores.point.tolist()),
        low=() if low == high else low,
        high=() if low == high else high,
    )


def _model(model: Modelled, outputs: Outputs, code: str) -> None:
    runs = {run.submission_id: run for r in model.results for run in r.runs}
    found = tuple(e for r in model.results for e in r.estimates)
    value = ApiModel(
        model=model.name,
        slug=model.slug,
        provider=model.provider,
        submissions=tuple(runs.values()),
        estimates=found,
    )
    _put(outputs, f"api/v1/models/{model.slug}.json", value, code)
