"""One page a model: every board it stands on, how it was run, what changed, and where the evidence is."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from jinja2 import Environment

from evaluators.values import Submission
from leaderboard.boards import TIERS, Line, Section, describe
from leaderboard.contests import Contest
from leaderboard.evidence import slug
from leaderboard.frame import Frame, heading
from leaderboard.outputs import Outputs, digest
from leaderboard.pages import AnyBoard
from leaderboard.records import History, Record
from leaderboard.shown import visible
from leaderboard.soup_boards import SoupLine


class Result(NamedTuple):
    """A model's row on a board."""

    board: str  # title
    split: str
    open: bool
    about: str  # version, condition and jury in words
    key: str  # of the section; empty where its rows cannot be compared on the page for that
    line: Line | SoupLine
    rows: int  # ranked rows beside it, itself included

    @property
    def submission(self) -> Submission:
        """The run behind the row."""
        return self.line.submission


class Modelled(NamedTuple):
    """A model and all there is of it."""

    name: str
    provider: str
    results: tuple[Result, ...]
    records: tuple[Record, ...]

    @property
    def slug(self) -> str:
        """Name of its page."""
        return slug(self.name)


def models(
    boards: Sequence[AnyBoard],
    history: History,
    paired: Sequence[Contest] = (),
    *,
    opened: Collection[tuple[str, str]] = (),
) -> tuple[Modelled, ...]:
    """Every model of the boards, by name.

    Args:
        boards: All boards.
        history: The results changelog.
        paired: Where rows of boards that are not of riddles can be compared.
        opened: Split and version of the items that have pages.
    """
    found: dict[str, list[Result]] = {}
    keys = {row.like.submission_id: contest.key for contest in paired for row in contest.rows}
    for board in boards:
        for section in board.sections:
            about = f"version {section.version}, {describe(section.condition)}, jury {section.jury}"
            for line in (*section.ranked, *section.self_reported):
                place = getattr(line, "place", None)
                key = section.key if isinstance(section, Section) and place is not None else ""
                key = key or keys.get(line.like.submission_id, "")
                rows, shown = len(section.ranked), (board.split, section.version) in opened
                row = Result(board.title, board.split, shown, about, key, line, rows)
                found.setdefault(line.like.model, []).append(row)
    return tuple(
        Modelled(name, rows[0].line.like.provider, tuple(rows), _records(name, rows, history))
        for name, rows in sorted(found.items())
    )


def _records(name: str, rows: Sequence[Result], history: History) -> tuple[Record, ...]:
    own = {r.submission.submission_id for r in rows}
    return tuple(r for r in history.records if r.model == name or r.subject in own or r.becomes in own)


def write_model_pages(
    found: Sequence[Modelled], frame: Frame, templates: Environment, outputs: Outputs, *, code: str
) -> None:
    """Write one page a model; those whose rows are as they were are taken over."""
    template = templates.get_template("model.html.jinja")
    for model in found:
        path = f"models/{model.slug}.html"

        def make(model: Modelled = model, path: str = path) -> str:
            body = template.render(model=model, tiers=TIERS, visible=visible)
            name = heading(str(visible(model.name)))
            return frame.fill(
                path, marks(name, f"{name} on Deerstalker: {_said(model)}", f"cards/{model.slug}.png", body)
            )

        outputs.write(path, digest(code, _source(model)), make)


def _source(model: Modelled) -> list[object]:
    """All that the page of a model shows."""
    found: list[object] = [model.name, model.records]
    for r in model.results:
        place = getattr(r.line, "place", None)
        estimates = (r.line.like, *getattr(r.line, "categories", ()))
        found += [*(e.model_dump_json() for e in estimates), r.submission.model_dump_json(), place and place[:4]]
        found += [
            r.board,
            r.open,
            r.about,
            r.key,
            r.rows,
            r.line.score,
            r.line.interval,
            getattr(r.line, "these", None),
        ]
    return found


def marks(title: str, description: str, card: str, body: str) -> Mapping[str, str]:
    """Values of a frame's marks."""
    return {"title": title, "description": description, "card": card, "body": body}


def _said(model: Modelled) -> str:
    rows = [f"{r.line.score} on {r.board}" for r in model.results if r.line.rank]
    return "; ".join(rows[:4]) or "not ranked"
