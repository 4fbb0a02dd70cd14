"""The site's data at stable paths, `/api/v1/...`, described by one JSON schema."""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from builders.values import Name, Value, Version
from evaluators.store import Store
from evaluators.values import Estimate, Submission, Tier
from leaderboard.boards import Board, Line, Section
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
    lead: float = Field(description="Score minus the leader's, on the same items.")
    lead_low: float
    lead_high: float


class ApiCompare(Value):
    """A section with its rows, best first: `/api/v1/compare/<key>.json`."""

    section: ApiSection
    items: tuple[str, ...] = Field(description="Items in the order of each row's scores; empty where they are sealed.")
    pages: tuple[str, ...] = Field(description="Page of each item, without its ending, in `item_pages`.")
    item_pages: str = Field(description="Folder of the items' pages; empty where they are sealed.")
    rows: tuple[ApiRow, ...]


class ApiDraws(Value):
    """A row's joint draws: `/api/v1/compare/<key>/<submission_id>.json`.

    Draw number d of every row of a section belongs together: subtract them draw by draw, and the 2.5 % and 97.5 %
    quantiles of what is left are the interval of the difference.
    """

    submission_id: str
    like: str = Field(description="Score on items like these: base64 of little-endian uint16; 65535 is a share of 1.")
    these: str = Field(description="Score on these items, in the same form.")
    scores: tuple[int | None, ...] = Field(description="Score on each item in thousandths; null: unknown.")


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
    store: Store, boards: Sequence[AnyBoard], models: Sequence[Modelled], outputs: Outputs, *, code: str
) -> None:
    """Write every document of the API."""
    sections = [(b, s) for b in boards if isinstance(b, Board) for s in b.sections if _compared(s)]
    index = ApiIndex(
        boards=tuple(b.split for b in boards),
        sections=tuple(_section(b, s) for b, s in sections),
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
    e, place = line.like, line.place
    assert place is not None
    return ApiRow(
        submission_id=e.submission_id,
        model=e.model,
        slug=slug(e.model),
        provider=e.provider,
        tier=e.tier,
        score=e.value,
        low=e.low,
        high=e.high,
        best_rank=e.best_rank,
        worst_rank=e.worst_rank,
        lead=place.lead,
        lead_low=place.low,
        lead_high=place.high,
    )


def _model(model: Modelled, outputs: Outputs, code: str) -> None:
    runs = {r.submission.submission_id: r.submission for r in model.results}
    found = tuple(e for r in model.results for e in (r.line.like, *getattr(r.line, "categories", ())))
    value = ApiModel(
        model=model.name,
        slug=model.slug,
        provider=model.provider,
        submissions=tuple(runs.values()),
        estimates=found,
    )
    _put(outputs, f"api/v1/models/{model.slug}.json", value, code)
