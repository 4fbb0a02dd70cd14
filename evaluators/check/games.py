"""What the record of a game says against its condition, and a judge's verdict on it against its own parts."""

import json
from math import isclose

from evaluators.answers import SoupGame
from evaluators.bundle import TRANSCRIPTS, VERDICTS
from evaluators.check.findings import Findings
from evaluators.check.form import Form
from evaluators.protocols.soup.condition import Condition, read_condition
from evaluators.protocols.soup.matching import FULL, VALID, WEIGHTS, overall
from evaluators.values import Submission, Transcript, Verdict

REPACK = "write the bundle with python -m evaluators.submit and change nothing in it by hand"


def check_games(form: Form, s: Submission, found: Findings) -> None:
    """Refuse games that are not of their condition and scores that are not those of their parts."""
    said = read_condition(s.condition)
    if said is None:
        remedy = "a run writes it: who asked, who answered, and the reference points"
        found.refuse("condition", form.key("condition"), f"{s.condition[:80]!r} is none of situation puzzles", remedy)
        return
    if said.human != (s.model.provider == "human"):
        remedy = "a person's games have --provider human and a condition that begins with player=human"
        found.refuse("condition", form.key("condition"), "condition and provider do not agree on who played", remedy)
    truths = {t.game.points_sha256 for _, t in form.transcripts if isinstance(t.game, SoupGame)}
    for line, t in form.transcripts:
        if problem := _odd_game(t, said):
            found.refuse("game", form.at(TRANSCRIPTS, line), problem, REPACK)
        elif isinstance(t.game, SoupGame) and (len(truths) > 1 or not t.game.points_sha256.startswith(said.points)):
            found.refuse("game", form.at(TRANSCRIPTS, line), "was marked against other reference points", REPACK)
    for line, v in form.verdicts:
        if v.kind not in {"human", "author"} and (problem := _odd_score(v, said)):
            found.refuse("score", form.at(VERDICTS, line), problem, REPACK)


def _odd_game(t: Transcript, said: Condition) -> str | None:
    if said.brought:
        return "holds a game where only reconstructions were brought" if t.game else None
    game = t.game
    if not isinstance(game, SoupGame):
        return "holds no game of a puzzle, and the condition says that one was played"
    settings = game.settings
    player = "human" if said.human else "model"
    wanted = (said.responder, said.turns, player, said.released, said.agent or "full")
    there = (settings.responder, settings.max_turns, settings.player, bool(settings.compat), settings.ablation)
    if there != wanted:
        return "was played under other settings than the condition says"
    if len(game.turns) > settings.max_turns:
        return f"{len(game.turns)} turns, and {settings.max_turns} were allowed"
    if t.answer is not None and not said.human and len(game.turns) < settings.max_turns:
        return f"a model asks {settings.max_turns} questions before it says the story, this one {len(game.turns)}"
    return _odd_course(game)


def _odd_course(game: SoupGame) -> str | None:
    told = [belief.turn for belief in game.beliefs]
    if told != sorted(set(told)) or any(turn > len(game.turns) for turn in told):
        return "beliefs are not in the order of the turns"
    if any(turn.candidates and turn.question not in turn.candidates for turn in game.turns):
        return "a question that is none of its candidates"
    if game.calls < len(game.turns):
        return f"{len(game.turns)} turns in {game.calls} calls"
    return None


def _odd_score(v: Verdict, said: Condition) -> str | None:
    if v.score is None:
        return "a verdict that failed has parts" if v.parts else None
    if set(v.parts) != set(WEIGHTS) or not all(0 <= share <= 1 for share in v.parts.values()):
        return f"its parts are not shares of {', '.join(WEIGHTS)}"
    if not isclose(v.score, overall(v.parts), abs_tol=1e-9):
        return f"score {v.score} is not that of its parts"
    if v.kind == "rule":
        return None
    try:
        rows = json.loads(v.reply or "")
        most = {name: _most(rows[name], released=said.released) for name in WEIGHTS}
    except (ValueError, KeyError, TypeError, RecursionError):
        return "its reply holds no similarities from which it could be scored again"
    return next((f"{n} is more than its similarities allow" for n in WEIGHTS if v.parts[n] > most[n] + 1e-9), None)


def _most(rows: list[list[float]], *, released: bool) -> float:
    """What points can be worth at most: each with its best text, and no more full marks than there are texts."""
    if not rows:
        raise ValueError("no similarities")
    best = [max(row, default=0.0) for row in rows]
    if len(rows) == 1:  # one row may be the conclusion, which knows no thresholds
        return max(0.0, min(1.0, best[0]))
    worth = [1.0 if x >= FULL else x if x >= VALID else 0.0 for x in best]
    texts = len(rows) if released else min(len(rows), max(len(row) for row in rows))
    return sum(sorted(worth, reverse=True)[:texts]) / len(rows)
