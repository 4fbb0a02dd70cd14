"""Boards as Markdown pages that hold their tables as HTML, so that no name is ever read as markup."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from builders import BENCHMARKS
from evaluators.store import Store
from leaderboard.boards import TIERS, Board
from leaderboard.calibration import calibrations, labelling
from leaderboard.case_boards import CaseBoard
from leaderboard.charts import board_charts
from leaderboard.coverage import table
from leaderboard.downloads import AGGREGATES, EVIDENCE, ITEMS, QUERIES
from leaderboard.evidence import page_of, slug
from leaderboard.jury_page import MEANING, jury_views
from leaderboard.novel_boards import NovelBoard
from leaderboard.records import NO_HISTORY, History
from leaderboard.sealed_boards import SealedBoard
from leaderboard.shown import cost, is_web, reasoning, report_url, signed, tokens, visible
from leaderboard.similarity_page import maps
from leaderboard.soup_boards import GENRES, SoupBoard

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
) -> None:
    """Write front page, boards, games, questions, benchmarks compared, juries, downloads, history, any re-analysis.

    Raises:
        OSError: If a page cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    templates = environment(repository)
    riddles = tuple(b for b in boards if isinstance(b, Board))
    shown = {
        "calibrations": calibrations(store, riddles) if store else (),
        "labelling": labelling(boards),
        "queries": QUERIES,
        "tables": (*AGGREGATES, *EVIDENCE, *ITEMS),
        "benchmarks": BENCHMARKS,
        "sections": tuple((b, s) for b in riddles for s in b.sections if len(s.ranked) > 1 and s.ranked[0].place),
    }
    names = ["index", "data", "history", "compare", "calibration", "cite"]
    for name in [*names, "reanalysis"] if any(b.reread for b in boards) else names:
        text = templates.get_template(f"{name}.md.jinja").render(boards=boards, tiers=TIERS, history=history, **shown)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    text = templates.get_template("similarity.md.jinja").render(maps=maps(boards))
    (folder / "similarity.md").write_text(text, encoding="utf-8")
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
        text = render_board(board, templates, repository=repository)
        (folder / f"{board.split}.md").write_text(text, encoding="utf-8")
        if isinstance(board, Board) and any(s.categories for s in board.sections):
            text = templates.get_template("breakdown.md.jinja").render(board=board)
            (folder / f"breakdown-{board.split}.md").write_text(text, encoding="utf-8")
        if isinstance(board, SoupBoard) and board.games:
            text = templates.get_template("games.md.jinja").render(board=board)
            (folder / f"games-{board.split}.md").write_text(text, encoding="utf-8")
        if isinstance(board, NovelBoard) and board.asked:
            text = templates.get_template("questions.md.jinja").render(board=board)
            (folder / f"questions-{board.split}.md").write_text(text, encoding="utf-8")


def render_board(board: AnyBoard, templates: Environment | None = None, *, repository: str | None = None) -> str:
    """The Markdown of one board."""
    template = (templates or environment(repository)).get_template(board.template)
    charts = board_charts(board) if isinstance(board, Board) else {}
    return template.render(board=board, tiers=TIERS, genres=GENRES, charts=charts, report=repository is not None)


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
    found.tests["web"] = is_web
    filters = {"slug": slug, "signed": signed, "cost": cost, "tokens": tokens, "reasoning": reasoning}
    found.filters |= {**filters, "report": partial(report_url, repository), "item_page": page_of}
    return found
