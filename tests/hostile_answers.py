"""What somebody may do to a bundle of answers about novels or of cases before sending it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hostile import BIDI, RIDDLE, SECRET, TRANSCRIPTS, VERDICTS, Hostile, Rows, Spoil, row, rows, said


def change(path: str, value: object, name: str = TRANSCRIPTS) -> Spoil:
    """Set a value deep in the first row, `game.visits.0.location`."""

    def spoil(read: Rows) -> None:
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        inside: Any = read[0]
        for part in parents:
            inside = inside[part]
        inside[last] = value

    return rows(name, spoil)


def verdict(kind: str, alter: Callable[[dict[str, Any]], object]) -> Spoil:
    """Alter the first verdict of a kind."""

    def spoil(read: Rows) -> None:
        alter(next(v for v in read if v["kind"] == kind))

    return rows(VERDICTS, spoil)


def again(kind: str) -> Spoil:
    return rows(VERDICTS, lambda read: [*read, next(v for v in read if v["kind"] == kind)])


def without(kind: str) -> Spoil:
    return rows(VERDICTS, lambda read: [v for v in read if v["kind"] != kind])


def all_right(folder: Path) -> None:
    rows(VERDICTS, lambda read: [v | ({"score": 1.0} if v["kind"] == "rule" else {}) for v in read])(folder)


def nested(depth: int) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = [found]
    return found


GAME = {"settings": {"kind": "case", "grader_mode": 3}, "locations": 2, "questions": 1}
ENDLESS = "w " * 150_000
NOVELS = [
    Hostile("a letter that is none", change("answer.letter", "E"), "row"),
    Hostile("a riddle's answer to a question", row(TRANSCRIPTS, answer=RIDDLE), "mixed"),
    Hostile("a game in a novel", row(TRANSCRIPTS, game=GAME), "mixed"),
    Hostile("no record of what was shown", rows(TRANSCRIPTS, lambda read: read[0].pop("novel")), "novel"),
    Hostile("another novel", change("novel.novel", "en/9"), "novel"),
    Hostile("the answer's own paragraph", change("novel.last", 999), "novel"),
    Hostile("a cut that nobody said", change("novel.cut", 5), "novel"),
    Hostile("another setting", change("novel.setting", "evidence"), "novel"),
    Hostile("a setting made up", change("novel.setting", "everything"), "row"),
    Hostile("endless depths", change("novel.depths", [0.5] * 9000), "novel"),
    Hostile("a depth below the ground", change("novel.depths", nested(500)), "row"),
    Hostile("a condition of cases", said(condition="scheme=simple;grader=3"), "mixed"),
    Hostile("answers that pass for brought ones", said(condition="setting=context;brought"), "mixed"),
    Hostile("a turned letter in the reasoning", change("answer.steps.0", f"She {BIDI} left."), "hidden"),
    Hostile("a key in the reasoning", change("answer.steps.0", SECRET), "key"),
    Hostile("a reasoning without end", change("answer.steps.0", ENDLESS), "long-text"),
    Hostile("every letter right", all_right, "score"),
    Hostile("no letters", without("rule"), "letter"),
    Hostile("a letter twice", again("rule"), "duplicate"),
    Hostile("half a letter right", verdict("rule", lambda v: v.update(score=0.5)), "rule"),
    Hostile("a letter by a person", verdict("rule", lambda v: v.update(kind="human")), "label"),
    Hostile("steps that are none", verdict("model", lambda v: v.update(marks={"step_99": True})), "score"),
    Hostile("more than its steps", verdict("model", lambda v: v.update(score=0.99)), "score"),
    Hostile("a part made up", verdict("model", lambda v: v.update(parts={"style": 1.0})), "score"),
    Hostile("a judge of the model's own maker", verdict("model", lambda v: v.update(provider="maker")), "own-judge"),
    Hostile("a judge without a seat", verdict("model", lambda v: v.update(judge="kind-1")), "judge"),
]  # fmt: skip
CASES = [
    Hostile("no record", rows(TRANSCRIPTS, lambda read: read[0].pop("game")), "game"),
    Hostile("other scheme", change("game.settings.scheme", "revision"), "game"),
    Hostile("other grader", change("game.settings.grader_mode", 1), "game"),
    Hostile("a scheme made up", change("game.settings.scheme", "better"), "row"),
    Hostile("a model that passes for a person", change("game.settings.player", "human"), "game"),
    Hostile("rubrics that nobody named", change("game.rubrics_sha256", "a" * 64), "game"),
    Hostile("visited twice", change("game.visits.0.location", 0), "game"),
    Hostile("no such place", change("game.visits.0.location", 9), "game"),
    Hostile("a place below the ground", change("game.visits.0.location", -1), "row"),
    Hostile("a visit made up", change("game.visits.0.how", "guided"), "row"),
    Hostile("a word of the case in the record", change("game.visits.0.text", "the sexton"), "row"),
    Hostile("a stage short", rows(TRANSCRIPTS, lambda read: bool(read[0]["answer"]["stages"].pop())), "game"),
    Hostile("a thousand stages", change("answer.stages", [["x", "y"]] * 1000), "row"),
    Hostile("deep stages", change("answer.stages", nested(500)), "row"),
    Hostile("stages without an answer", change("answer.stages.0", []), "game"),
    Hostile("an answer too many", change("answer.stages.0", ["a", "b", "c"]), "game"),
    Hostile("an answer turned around", change("answer.stages.0.0", f"It {BIDI} was she."), "hidden"),
    Hostile("a key in an answer", change("answer.stages.0.0", SECRET), "key"),
    Hostile("an answer without end", change("answer.stages.0.0", ENDLESS), "long-text"),
    Hostile("a riddle's answer to a case", row(TRANSCRIPTS, answer=RIDDLE), "mixed"),
    Hostile("practice", row(TRANSCRIPTS, item_id="case-practice"), "practice"),
    Hostile("a condition made up", said(condition="scheme=better;grader=3"), "mixed"),
    Hostile("grade of no answer", row(VERDICTS, unit="s99.q1"), "score"),
    Hostile("grade of the whole", row(VERDICTS, unit="item"), "score"),
    Hostile("half a grade", row(VERDICTS, score=1.5), "score"),
    Hostile("too high a grade", row(VERDICTS, score=4.0), "score"),
    Hostile("a second grade", again("model"), "duplicate"),
    Hostile("a grade by a person", row(VERDICTS, kind="human"), "label"),
    Hostile("a grader of the model's own maker", row(VERDICTS, provider="maker"), "own-judge"),
    Hostile("a grader without a seat", row(VERDICTS, judge="kind-1"), "judge"),
    Hostile("bad grades left out", rows(VERDICTS, lambda read: [v for v in read if v.get("score") != 0]), "counts"),
]  # fmt: skip
