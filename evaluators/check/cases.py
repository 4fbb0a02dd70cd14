"""What the record of a case says against itself and its condition, and a grade against the answer it is about."""

from evaluators.answers import CaseAnswer, CaseGame
from evaluators.units import MOST, place_of
from evaluators.values import Submission, Transcript, Verdict


def odd_case(t: Transcript, s: Submission) -> str | None:
    """Say what is wrong with an attempt at a case; None: nothing is."""
    game = t.game
    if not isinstance(game, CaseGame):
        return "holds no record of the case that was played"
    settings = game.settings
    who = "player=human" if settings.player == "human" else f"scheme={settings.scheme}"
    rubrics = [f"rubrics={game.rubrics_sha256[:8]}"] if game.rubrics_sha256 else []
    said = [part for part in s.condition.split(";") if not part.startswith("first=")]
    if said != [who, f"grader={settings.grader_mode}", *rubrics]:
        return "was played or graded under other settings than the condition says"
    if (settings.player == "human") != (s.model.provider == "human"):
        return "condition and provider do not agree on who played"
    places = [v.location for v in game.visits]
    if len(set(places)) != len(places) or any(place >= game.locations for place in places):
        return "visits a location twice, or one that the case does not have"
    return _odd_answers(t, game)


def _odd_answers(t: Transcript, game: CaseGame) -> str | None:
    if t.answer is None:
        return None
    if not isinstance(t.answer, CaseAnswer):
        return f"an answer of kind {t.answer.kind!r} to a case"
    stages = t.answer.stages
    if len(stages) != game.locations + 1 or len(game.visits) != game.locations:
        return f"a case with {game.locations} locations has as many visits and one stage more"
    if {len(row) for row in stages} != {game.questions}:
        return f"{game.questions} answers are expected at every stage"
    return None


def countable(t: Transcript) -> bool:
    """Whether the grades of an attempt can be laid out: what is refused already must not end the check."""
    if t.protocol != "case" or t.answer is None:
        return True
    return isinstance(t.answer, CaseAnswer) and len({len(row) for row in t.answer.stages}) == 1


def odd_grade(v: Verdict, t: Transcript) -> str | None:
    """Say what is wrong with a verdict on a case; None: nothing is."""
    if v.kind == "rule":
        return None if v.unit == "item" else "a rule's verdict is about the whole attempt"
    place = place_of(v.unit)
    stages = t.answer.stages if isinstance(t.answer, CaseAnswer) else ()
    if place is None or place[0] >= len(stages) or place[1] >= len(stages[place[0]]):
        return f"unit {v.unit[:40]!r} names no answer of this attempt"
    if not stages[place[0]][place[1]].strip():
        return "a grade of an answer that says nothing: that is 0 by rule"
    if v.score is not None and v.score not in range(MOST + 1):
        return f"grade {v.score} is none of 0 to {MOST}"
    return None
