"""One page a model: every board it stands on, how it was run, what changed, and where the evidence is."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from jinja2 import Environment

from evaluators.values import Estimate, Submission
from leaderboard.boards import TIERS, Line, Section, describe
from leaderboard.case_boards import CaseLine
from leaderboard.contests import Contender, Contest
from leaderboard.evidence import slug
from leaderboard.frame import Frame, heading
from leaderboard.novel_boards import NovelLine
from leaderboard.outputs import Outputs, digest
from leaderboard.pages import AnyBoard
from leaderboard.records import History, Record
from leaderboard.sealed_boards import SealedLine
from leaderboard.shown import visible
from leaderboard.soup_boards import PARTS, SoupLine, SoupSection

AnyLine = Line | SoupLine | NovelLine | CaseLine | SealedLine


class Result(NamedTuple):
    """A model's row on a board."""

    board: str  # title
    split: str
    open: bool
    about: str  # version, condition and jury in words
    key: str  # of the section; empty where its rows cannot be compared on the page for that
    line: AnyLine
    rows: int  # ranked rows beside it, itself included
    facts: tuple[tuple[str, str], ...] = ()  # further figures, by name
    estimates: tuple[Estimate, ...] = ()
    beside: str = ""  # the best row other than this one, where rows can be compared: its submission_id

    @property
    def submission(self) -> Submission:
        """The run behind the row."""
        return self.line.submission

    @property
    def graded(self) -> bool:
        """Whether the score is a grade from 0 to 3, and no points."""
        return isinstance(self.line, CaseLine)

    @property
    def runs(self) -> tuple[Submission, ...]:
        """All runs behind it: of novels one a setting."""
        return runs_of(self.line)


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
    contests = {row.like.submission_id: contest for contest in paired for row in contest.rows}
    for board in boards:
        for section in board.sections:
            parts = (f"version {section.version}", describe(section.condition), f"jury {section.jury}")
            about, own = ", ".join(filter(None, parts)), _by_submission(section.estimates)
            for line in (*section.ranked, *section.self_reported):
                key, beside = _compared(line, section, contests)
                rows, shown = len(section.ranked), (board.split, section.version) in opened
                row = Result(board.title, board.split, shown, about, key, line, rows, beside=beside)
                row = row._replace(facts=_facts(line, section), estimates=_estimates(line, own))
                found.setdefault(line.like.model, []).append(row)
    return tuple(
        Modelled(name, rows[0].line.like.provider, tuple(rows), _records(name, rows, history))
        for name, rows in sorted(found.items())
    )


def _compared(line: AnyLine, section: object, contests: Mapping[str, Contest]) -> tuple[str, str]:
    """Where a row can be compared, and the best row other than itself; empty where it cannot."""
    name = line.like.submission_id
    first: Sequence[AnyLine | Contender] = ()
    key = ""
    if isinstance(section, Section) and line.place is not None:
        key, first = section.key, section.ranked[:2]
    elif name in contests:
        key, first = contests[name].key, contests[name].rows[:2]
    return key, next((row.like.submission_id for row in first if row.like.submission_id != name), "")


def _by_submission(estimates: Sequence[Estimate]) -> dict[str, list[Estimate]]:
    found: dict[str, list[Estimate]] = {}
    for e in estimates:
        found.setdefault(e.submission_id, []).append(e)
    return found


def _estimates(line: AnyLine, own: Mapping[str, Sequence[Estimate]]) -> tuple[Estimate, ...]:
    """Every number of a row; of a riddle's the headline and its categories, of novels those of all settings."""
    if isinstance(line, Line):
        return (line.like, *line.categories)
    return tuple(e for run in runs_of(line) for e in own.get(run.submission_id, ()))


def runs_of(line: AnyLine) -> tuple[Submission, ...]:
    """The runs behind a row."""
    if isinstance(line, NovelLine):
        return tuple(s.submission for s in line.settings if s)
    return (line.submission,)


def _facts(line: AnyLine, section: object) -> tuple[tuple[str, str], ...]:
    """What a row says beside its score."""
    match line, section:
        case SoupLine(), SoupSection():
            genres = zip((g.replace("_", " ") for g in section.genres), line.genres, strict=True)
            return (*zip(PARTS, line.parts, strict=True), *genres)
        case NovelLine(), _:
            found = [(f"{s.name}, {m}", f"{f.value} ({f.interval})") for s in line.settings if s
                     for m, f in zip(("accuracy", "reasoning", "G.M."), s.figures, strict=True)]  # fmt: skip
            win = (
                [("context wins against question only", f"{line.win.value} ({line.win.interval})")] if line.win else []
            )
            return (*found, *win)
        case CaseLine(), _:
            named = ("progressive", "final", "percentile among people", "tied to people's grades")
            values = (line.progressive, line.final, line.percentile, line.tied)
            return tuple((name, value) for name, value in zip(named, values, strict=True) if value not in ("", "–"))
    return ()


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
        place = r.line.place
        found += [*(e.model_dump_json() for e in r.estimates), r.submission.model_dump_json(), place and place[:4]]
        found += [
            r.board,
            r.open,
            r.about,
            r.key,
            r.beside,
            r.rows,
            r.facts,
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
