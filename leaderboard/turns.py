"""Games turn by turn for the pages of items: what was asked or visited, what came back, and what the player held true.

A turn is `[number, asked, answer, mark, notes]` and a note `[name, text, votes]`, so that one table shows them all.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from builders.values import Case
from evaluators.answers import CaseGame, SoupBelief, SoupGame
from evaluators.store import Store
from evaluators.units import unit_of

Note = tuple[str, str, str | None]
Turn = tuple[int, str, str, str | None, tuple[Note, ...]]
MOST = 500  # characters of one text; the bundle and the Parquet files have it whole
HEADS: Mapping[str, tuple[str, str, str, str]] = {
    "soup": ("Turn", "Question", "Answer", "What the player believed after it"),
    "case": ("Stage", "Read", "Mean grade", "Answers, each with its grades"),
}
_GAMES = """SELECT g.submission_id, g.transcript_id, g.item_id, g.game
    FROM games g JOIN place USING (submission_id) JOIN batch USING (item_id) ORDER BY ALL"""
_STAGES = """SELECT submission_id, transcript_id, stages FROM stages JOIN place USING (submission_id)
    JOIN transcripts USING (submission_id, transcript_id) JOIN batch USING (item_id)"""
_GRADES = """SELECT v.submission_id, v.transcript_id, v.unit, v.judge, v.kind, v.score
    FROM verdicts v JOIN place USING (submission_id) JOIN transcripts t USING (submission_id, transcript_id)
    JOIN batch USING (item_id) WHERE v.unit <> 'item' ORDER BY ALL"""
_MEANS = """SELECT submission_id, transcript_id, metric, value FROM scores JOIN place USING (submission_id)
    JOIN transcripts USING (submission_id, transcript_id) JOIN batch USING (item_id)
    WHERE starts_with(metric, 'stage ')"""


def turns(store: Store, split: str, version: str, protocol: str) -> tuple[list[str], list[str], list[str]]:
    """The games on the items of the temporary table `batch` by the submissions of `place`.

    Returns:
        Three columns: submission_id, transcript_id, and the turns as JSON. Empty where the protocol has no games.
    """
    if protocol not in HEADS:
        return [], [], []
    tell: Callable[[tuple[str, str], str, str], Sequence[Turn]]
    tell = _Cases(store, split, version) if protocol == "case" else _soup
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for submission, transcript, item, game in store.query(_GAMES).fetchall():
        told = json.dumps(tell((submission, transcript), item, game), ensure_ascii=False, separators=(",", ":"))
        for column, value in zip(columns, (submission, transcript, told), strict=True):
            column.append(value)
    return columns


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]} […]"


def _soup(_: tuple[str, str], __: str, text: str) -> list[Turn]:
    game = SoupGame.model_validate_json(text)
    beliefs = {belief.turn: belief for belief in game.beliefs}
    found: list[Turn] = []
    for n, turn in enumerate(game.turns, start=1):
        notes = _belief(beliefs[n]) if n in beliefs else ()
        if turn.genre:
            notes = (*notes, ("strategy", turn.genre.replace("_", " "), None))
        found.append((n, _cut(turn.question), turn.answer, "key clue" if turn.key_clue else None, notes))
    return found


def _belief(belief: SoupBelief) -> tuple[Note, ...]:
    doubts = tuple(p.doubt for p in belief.proposals)
    parts = (("", (belief.conclusion,)), ("logic", belief.logic), ("details", belief.details), ("doubts", doubts))
    return tuple((name, _cut("\n".join(texts)), None) for name, texts in parts if texts)


class _Cases:
    """What is known of the attempts of a batch at cases, and how one of them went."""

    def __init__(self, store: Store, split: str, version: str) -> None:
        query = "SELECT item FROM puzzles WHERE split = ? AND version = ?"
        cases = (Case.model_validate_json(text) for (text,) in store.query(query, [split, version]).fetchall())
        self._places = {case.id: [place.name for place in case.locations] for case in cases}
        self._said = {(s, t): json.loads(text) for s, t, text in store.query(_STAGES).fetchall()}
        self._means = {(s, t, m): float(value) for s, t, m, value in store.query(_MEANS).fetchall()}
        self._grades: dict[tuple[str, str, str], list[str]] = {}
        for s, t, unit, judge, kind, score in store.query(_GRADES).fetchall():
            who = {"human": "person ", "author": "author "}.get(kind, "")
            grade = "unreadable" if score is None else f"{score:g}"
            self._grades.setdefault((s, t, unit), []).append(f"{who}{judge} {grade}")

    def __call__(self, key: tuple[str, str], item: str, text: str) -> list[Turn]:
        game, places = CaseGame.model_validate_json(text), self._places.get(item, [])
        said = self._said.get(key, [])
        read = [("The introduction", None), *((_name(places, v.location), v.how) for v in game.visits)]
        found: list[Turn] = []
        for stage, (name, how) in enumerate(read):
            answers = said[stage] if stage < len(said) else []
            notes = tuple(
                (f"question {q}", _cut(answer), ", ".join(self._grades.get((*key, unit_of(stage, q)), ())) or None)
                for q, answer in enumerate(answers, start=1)
            )
            mean = self._means.get((*key, f"stage {stage:02}"))
            mark = "no choice could be read" if how == "fallback" else None
            found.append((stage, name, "–" if mean is None else f"{mean:.2f} of 3", mark, notes))
        return found


def _name(places: Sequence[str], place: int) -> str:
    return places[place] if place < len(places) else f"location {place + 1}"
