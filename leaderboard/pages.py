"""Boards as Markdown pages that hold their tables as HTML, so that no name is ever read as markup."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from builders import BENCHMARKS
from evaluators.scores import FULL_MARKS
from evaluators.store import Store
from leaderboard.boards import TIERS, Board, describe
from leaderboard.calibration import calibrations, labelling
from leaderboard.case_boards import CaseBoard
from leaderboard.contests import Contest, contests_of
from leaderboard.coverage import table
from leaderboard.downloads import AGGREGATES, EVIDENCE, ITEMS, QUERIES
from leaderboard.drawings import board_charts, jury_charts
from leaderboard.evidence import open_splits, page_of, slug
from leaderboard.jury_page import MEANING, jury_views
from leaderboard.novel_boards import NovelBoard
from leaderboard.parts import Parts, parts_of
from leaderboard.records import NO_HISTORY, History
from leaderboard.sealed_boards import SealedBoard
from leaderboard.settled import is_paired
from leaderboard.shown import cost, is_web, reasoning, report_url, signed, tokens, visible
from leaderboard.similarity_page import maps
from leaderboard.soup_boards import GENRES, SoupBoard
from leaderboard.vega import FOLDER, Chart

AnyBoard = Board | SoupBoard | NovelBoard | CaseBoard | SealedBoard
# Result of `python -m leaderboard coverage --out`, kept with its seed and commit.
STUDY = Path(__file__).with_name("coverage.json")
TEMPLATES = Path(__file__).with_name("templates")


def write_pages(
    boards: Sequence[AnyBoard],
    folder: Path,
    history: History = NO_HISTORY,
    *,
    store: Store | None = None,
    repository: str | None = None,
    paired: Sequence[Contest] = (),
) -> None:
    """Write front page, boards, questions, benchmarks compared, juries, downloads, history, any re-analysis.

    Raises:
        OSError: If a page cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    templates = environment(repository)
    riddles = tuple(b for b in boards if isinstance(b, Board))
    opened = frozenset((s.split, s.version) for s in open_splits(store)) if store else frozenset()
    calibrated = calibrations(store, riddles) if store else ()
    juries = jury_charts(calibrated)
    shown = {
        "calibrations": calibrated,
        "jury_charts": juries,
        "labelling": labelling(boards),
        "queries": QUERIES,
        "tables": (*AGGREGATES, *EVIDENCE, *ITEMS),
        "benchmarks": BENCHMARKS,
        "sections": tuple((b, s) for b in riddles for s in b.sections if len(s.ranked) > 1 and s.ranked[0].place),
        "paired": paired,
    }
    names = ["index", "data", "history", "compare", "calibration", "cite"]
    for name in [*names, "reanalysis"] if any(b.reread for b in boards) else names:
        text = templates.get_template(f"{name}.md.jinja").render(boards=boards, tiers=TIERS, history=history, **shown)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    found = maps(boards)
    text = templates.get_template("similarity.md.jinja").render(maps=found)
    (folder / "similarity.md").write_text(text, encoding="utf-8")
    drawn = [(c.file, c.document) for c in juries.values()]
    drawn += [(m.file, m.document) for m in found]
    views = jury_views(store) if store else ()
    text = templates.get_template("juries.md.jinja").render(
        views=views, meaning=MEANING, splits={b.split for b in boards}
    )
    (folder / "juries.md").write_text(text, encoding="utf-8")
    if STUDY.exists():
        result = json.loads(STUDY.read_text(encoding="utf-8"))
        text = templates.get_template("coverage.md.jinja").render(result=result, table=Markup(table(result)))  # noqa: S704
        (folder / "coverage.md").write_text(text, encoding="utf-8")
    for board in boards:
        drawn += _write_board(
            board, folder, templates, boards=boards, repository=repository, opened=opened, paired=paired
        )
    (folder / FOLDER).mkdir(exist_ok=True)
    for name, text in drawn:
        (folder / name).write_text(text, encoding="utf-8")


def _write_board(
    board: AnyBoard,
    folder: Path,
    templates: Environment,
    *,
    boards: Sequence[AnyBoard],
    repository: str | None,
    opened: Collection[tuple[str, str]],
    paired: Sequence[Contest],
) -> list[tuple[str, str]]:
    """Write a board and the pages that go with it; files and documents of its charts."""
    charts, chosen = _charts(board), parts_of(board, boards)
    text = render_board(
        board, templates, chosen=chosen, repository=repository, charts=charts, opened=opened, paired=paired
    )
    (folder / f"{board.split}.md").write_text(text, encoding="utf-8")
    listed = [(s, c.parts) for s, c in zip(board.sections, chosen, strict=True) if c.parts]
    if listed:
        text = templates.get_template("breakdown.md.jinja").render(board=board, listed=listed, kind=chosen[0].kind)
        (folder / f"breakdown-{board.split}.md").write_text(text, encoding="utf-8")
    if isinstance(board, NovelBoard) and board.asked:
        text = templates.get_template("questions.md.jinja").render(board=board, opened=opened)
        (folder / f"questions-{board.split}.md").write_text(text, encoding="utf-8")
    return [(c.file, c.document) for own in charts.values() for c in own]


def render_board(
    board: AnyBoard,
    templates: Environment | None = None,
    *,
    chosen: Sequence[Parts] | None = None,
    repository: str | None = None,
    charts: Mapping[int, Sequence[Chart]] | None = None,
    opened: Collection[tuple[str, str]] = (),
    paired: Sequence[Contest] = (),
) -> str:
    """The Markdown of one board.

    Args:
        board: The board.
        templates: From `environment`; None: made here.
        chosen: What can be chosen, by section; None: found here, in no other language.
        repository: On GitHub, where rows are reported; None: nowhere.
        charts: By section; None: they are drawn here.
        opened: Split and version of the items that have pages.
        paired: What can be compared on the page for that, of boards that are not of riddles.
    """
    template = (templates or environment(repository)).get_template(board.template)
    known = {"board": board, "tiers": TIERS, "genres": GENRES, "report": repository is not None}
    chosen = parts_of(board, ()) if chosen is None else chosen
    shown = {"charts": _charts(board) if charts is None else charts, "chosen": chosen}
    return template.render(**known, **shown, opened=opened, contests_of=partial(contests_of, paired, board.split))


def _charts(board: AnyBoard) -> dict[int, list[Chart]]:
    return board_charts(board, most=FULL_MARKS["case"] if isinstance(board, CaseBoard) else 100)


@cache
def environment(repository: str | None = None) -> Environment:
    """Templates with the filters that pages use; names are escaped and what cannot be seen is spelled out."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.tests |= {"web": is_web, "paired": is_paired}
    filters = {"slug": slug, "signed": signed, "cost": cost, "tokens": tokens, "reasoning": reasoning}
    found.filters |= {**filters, "report": partial(report_url, repository), "item_page": page_of}
    found.filters |= {"describe": describe, "named_parts": _named_parts}
    return found


def _named_parts(parts: Parts) -> str:
    """Names of parts and of their files, as JSON for an attribute."""
    return json.dumps([(part.name, part.page) for part in parts.parts])
