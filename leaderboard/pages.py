"""Boards as Markdown pages that hold their tables as HTML, so that no name is ever read as markup."""

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluators.store import Store
from leaderboard.boards import TIERS, Board
from leaderboard.case_boards import CaseBoard
from leaderboard.coverage import table
from leaderboard.jury_page import MEANING, jury_views
from leaderboard.novel_boards import NovelBoard
from leaderboard.records import NO_HISTORY, History
from leaderboard.sealed_boards import SealedBoard
from leaderboard.similarity_page import maps
from leaderboard.soup_boards import GENRES, SoupBoard

AnyBoard = Board | SoupBoard | NovelBoard | CaseBoard | SealedBoard
# Result of `python -m leaderboard coverage --out`, kept with its seed and commit.
STUDY = Path(__file__).with_name("coverage.json")
TEMPLATES = Path(__file__).with_name("templates")
# Characters that turn the text around them, or that nobody sees, are spelled out. Joiners shape words of some scripts.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d\n")


def write_pages(
    boards: Sequence[AnyBoard], folder: Path, history: History = NO_HISTORY, *, store: Store | None = None
) -> None:
    """Write front page, boards, games, questions, benchmarks compared, juries, downloads, history, any re-analysis.

    Args:
        boards: What to show.
        folder: Where, made if it is missing.
        history: The results changelog.
        store: Where votes and labels are; without it the page on juries is empty.

    Raises:
        OSError: If a page cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    templates = _environment()
    for name in ("index", "data", "history", *(["reanalysis"] if any(b.reread for b in boards) else [])):
        text = templates.get_template(f"{name}.md.jinja").render(boards=boards, tiers=TIERS, history=history)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    text = templates.get_template("similarity.md.jinja").render(maps=maps(boards))
    (folder / "similarity.md").write_text(text, encoding="utf-8")
    views = jury_views(store) if store else ()
    text = templates.get_template("juries.md.jinja").render(views=views, meaning=MEANING)
    (folder / "juries.md").write_text(text, encoding="utf-8")
    if STUDY.exists():
        result = json.loads(STUDY.read_text(encoding="utf-8"))
        text = templates.get_template("coverage.md.jinja").render(result=result, table=Markup(table(result)))  # noqa: S704
        (folder / "coverage.md").write_text(text, encoding="utf-8")
    for board in boards:
        (folder / f"{board.split}.md").write_text(render_board(board, templates), encoding="utf-8")
        if isinstance(board, SoupBoard) and board.games:
            text = templates.get_template("games.md.jinja").render(board=board)
            (folder / f"games-{board.split}.md").write_text(text, encoding="utf-8")
        if isinstance(board, NovelBoard) and board.asked:
            text = templates.get_template("questions.md.jinja").render(board=board)
            (folder / f"questions-{board.split}.md").write_text(text, encoding="utf-8")


def render_board(board: AnyBoard, templates: Environment | None = None) -> str:
    """The Markdown of one board."""
    return (templates or _environment()).get_template(board.template).render(board=board, tiers=TIERS, genres=GENRES)


def visible(text: object) -> object:
    """Spell out what cannot be seen: a name may not turn the text around or pass for another."""
    if type(text) is not str:  # Markup is this project's own
        return text
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _HIDDEN and c not in _JOINERS else c for c in text)


def is_web(url: str | None) -> bool:
    """Whether a submitter's address may become a link."""
    return url is not None and url.startswith(("https://", "http://"))


def _environment() -> Environment:
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
    return found
