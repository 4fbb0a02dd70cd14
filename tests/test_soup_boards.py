"""Boards of situation puzzles: scores by genre, people as the baseline, ablations, cited tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.samples.soups import read_soups
from builders.splits import make_split
from builders.turtlesoup import to_soups
from evaluators.answers import SoupAnswer, SoupBelief, SoupGame, SoupSettings, SoupTurn
from evaluators.estimate_means import estimate_means
from evaluators.responders import ResponderCheck
from evaluators.store import Store, open_store, store_path
from evaluators.values import Counts, Model, Submission, Transcript, Verdict, transcript_id
from leaderboard.build import build_site
from leaderboard.datafiles import as_csv, as_json
from leaderboard.pages import render_board, write_pages
from leaderboard.published import read_published_scores
from leaderboard.soup_boards import SoupBoard, soup_boards

SCRIPT = "<script>alert(1)</script> {{ 7*7 }} \u202e"
POINTS = "points=0396cfb2"
EVERY = to_soups(read_soups()[0])[0]
SOUPS = [s for s in EVERY if s.language == "en"]


def game(**fields: Any) -> SoupGame:
    turns = (
        SoupTurn(question=f"Is it {SCRIPT}?", answer="yes", key_clue=True, genre="Mind_Game"),
        SoupTurn(question="Is he dead?", answer="unknown"),
    )
    doubt = {"doubt": "Why there?", "analysis": "a", "question": "q"}
    belief = SoupBelief(turn=1, logic=("l",), details=("d",), conclusion=f"Belief {SCRIPT}", proposals=(doubt,))  # type: ignore[arg-type]
    made = {"settings": SoupSettings(responder="openai/host"), "points_sha256": "0" * 64, "turns": turns}
    return SoupGame.model_validate({**made, "beliefs": (belief,), "calls": 9, **fields})


def write(store: Store, name: str, scores: list[float | None], *, condition: str, **fields: Any) -> None:
    """A run of one game an item; None is a call that failed."""
    transcripts, verdicts = [], []
    split = fields.pop("split", "sample-soup-en")
    model = Model(name=fields.pop("model", name), provider=fields.pop("provider", "acme"))
    common = {"split": f"{split}@1.0.0", "model": model.name, "protocol": "soup", "condition": condition}
    for item, score in zip((s for s in EVERY if split.endswith(s.language)), scores, strict=False):
        key = transcript_id(name, item.id, 0)
        answer = SoupAnswer(kind="soup", logic=("l",), details=("d",), conclusion=f"So it was. {SCRIPT}")
        said: dict[str, Any] = {"failure": "timeout"} if score is None else {"answer": answer}
        transcripts.append(Transcript(transcript_id=key, item_id=item.id, game=game(), **common, **said))
        for judge in "abc" if score is not None else ():
            parts = {"logic": score, "details": score, "conclusion": score}
            verdicts.append(
                Verdict(transcript_id=key, judge=judge, provider="j", kind="model", score=score, parts=parts)
            )
    failed = sum(score is None for score in scores)
    made: dict[str, Any] = {
        **{"submission_id": name.lower(), "benchmark": "soup-samples", "split": split, "version": "1.0.0"},
        **{
            "split_sha256": None,
            "protocol": "soup",
            "condition": condition,
            "jury": "three",
            "judges": ("a", "b", "c"),
        },
        **{"model": model, "date": "2026-03-04"},
        "counts": Counts(
            expected=len(scores), scored=len(scores) - failed, no_answer=0, unjudged=0, failed=failed, missing=0
        ),
    }
    store.write_submission(Submission(**made), transcripts, verdicts, tier="scored-here")


def fill(store: Store) -> None:
    for language in ("en", "zh"):
        items = [s for s in EVERY if s.language == language]
        split = make_split(f"sample-soup-{language}", items, version="1.0.0", sources=[read_soups()[1]])
        store.write_split(split.manifest, split.items)
    write(store, "Good", [0.8] * 6 + [0.6] * 6, condition=f"agent=full;responder=openai/host;{POINTS}")
    write(store, "good-none", [0.2] * 12, model="Good", condition=f"agent=none;responder=openai/host;{POINTS}")
    write(store, "Failing", [0.8] * 6 + [None] * 6, condition=f"agent=full;responder=openai/host;{POINTS}")
    write(store, "Ada", [0.9] * 12, condition=f"player=human;responder=openai/host;{POINTS}", provider="human")
    store.write_published_scores(read_published_scores())
    check = {"confusion": {"yes": {"yes": 3, "no": 1}, "no": {"no": 4}, "unknown": {"unread": 2}}, "asked": 10}
    row = {"model": Model(name="openai/host", provider="h"), "language": "en", "prompt_sha256": "0" * 64, **check}
    store.write_responder_check(ResponderCheck.model_validate({**row, "data_sha256": "0" * 64, "date": "2026-01-02"}))


@pytest.fixture
def board() -> SoupBoard:
    with open_store(store_path()) as store:
        fill(store)
        return next(b for b in soup_boards(store) if b.split == "sample-soup-en")


def test_models_are_measured_by_part_and_genre_and_against_people(board: SoupBoard) -> None:
    section = next(s for s in board.sections if s.condition.startswith("agent=full"))
    good = next(line for line in section.ranked if line.like.model == "Good")
    assert (good.score, good.parts) == ("70.0", ("70.0", "70.0", "70.0"))
    assert good.genres[section.genres.index("Crime_Thriller")] == "80.0"
    assert good.genres[section.genres.index("Original_Data")] == "60.0"
    assert section.human
    assert good.reductions[0] == "-20.0"
    assert good.reductions[1 + section.genres.index("Original_Data")] == "-30.0"
    assert good.course == ("2.00", "0.50", "50 %", "0 %")


def test_a_model_that_fails_where_it_is_hard_is_not_placed_above_by_it(board: SoupBoard) -> None:
    section = next(s for s in board.sections if s.condition.startswith("agent=full"))
    failing = next(line for line in section.ranked if line.like.model == "Failing")
    assert failing.score == "80.0"
    assert float(failing.interval[0]) < 40
    assert any("6 of 12 games unknown" in note for note in failing.like.notes)
    assert failing.rank == (1, 2)


def test_ablations_of_one_model_and_the_papers_stand_in_one_chart(board: SoupBoard) -> None:
    mine = [(row.model, row.agent, row.score, row.bar is not None) for row in board.ablations]
    assert mine == [("Good", "full", "70.0", True), ("Good", "none", "20.0", True)]
    with open_store(store_path()) as store:
        boards = {b.split: b for b in soup_boards(store)}
    paper = boards["turtlesoup-zh"].ablations
    assert [(r.agent, r.score) for r in paper][:2] == [("full", "57.14"), ("no-deliberation", "51.76")]
    assert len(paper) == 6


def test_players_run_in_both_languages_are_compared_by_genre() -> None:
    with open_store(store_path()) as store:
        fill(store)
        condition = "agent=full;responder=openai/host;points=ffffffff"
        write(store, "good-zh", [0.5] * 12, model="Good", condition=condition, split="sample-soup-zh")
        board = next(b for b in soup_boards(store) if b.split == "sample-soup-en")
    rows = [(r.model, r.language, r.overall, r.genres[0]) for r in board.languages]
    assert rows == [("Good", "en", "70.0", "80.0"), ("Good", "zh", "50.0", "50.0")]
    assert "Genre by language" in render_board(board)


def test_published_tables_are_those_of_the_paper() -> None:
    """Zhou et al. 2025: Table 2 has 78 scores, 72 of models; each reduction is the score less the human baseline."""
    rows = [r for r in read_published_scores() if r.benchmark == "turtlesoup"]
    table2 = [r for r in rows if r.table == "Table 2"]
    human = {r.category: r.score for r in table2 if r.condition == "player=human"}
    models = [r for r in table2 if r.condition != "player=human"]
    assert (len(models), len(human), len(rows)) == (72, 6, 102)
    odd = [r for r in models if abs((r.reduction or 0) - (r.score - human[r.category])) > 0.011]
    assert not odd
    table3 = {(r.condition, r.metric): r.score for r in rows if r.table == "Table 3"}
    assert table3["agent=no-key-clue;responder=symmetric", "overall"] == 46.73


def test_pages_show_every_figure_and_run_nothing_that_models_say(board: SoupBoard, tmp_path: Path) -> None:
    write_pages((board,), tmp_path)
    page = (tmp_path / "sample-soup-en.md").read_text()
    assert page == render_board(board)
    assert "<script>" not in page
    assert "\u202e" not in page
    assert "70.0" in page
    assert "yes: yes 3, no 1" in page, "the Responder's confusion stands on the page"
    data = json.loads(as_json(board))
    assert {e["metric"] for e in data["estimates"]} >= {"overall", "logic", "overall/Mind_Game"}
    assert as_csv(board.estimates).count("\n") == len(board.estimates) + 1


def test_puzzles_of_a_release_without_a_licence_are_never_shown() -> None:
    with open_store(store_path()) as store:
        split = make_split("turtlesoup-en", SOUPS, version="1.0.0", sources=[read_soups()[1]])
        assert split.manifest.licence == "LicenseRef-none-stated"
        store.write_split(split.manifest, split.items)
        assert store.query("SELECT count(*) FROM puzzles").fetchone() == (0,)


def test_estimates_are_the_same_from_a_store_without_the_split() -> None:
    condition = f"agent=full;responder=openai/host;{POINTS}"
    with open_store(store_path()) as store:
        write(store, "Good", [0.8] * 6 + [0.6] * 6, condition=condition)
        (overall, *_) = estimate_means(store, "sample-soup-en", "1.0.0", "three", condition)
    assert (overall.metric, round(overall.value, 6), overall.method) == ("overall", 0.7, "cluster-t")


def test_the_site_builds_with_boards_that_lead_to_their_games(tmp_path: Path) -> None:
    with open_store(store_path()) as store:
        fill(store)
        index = build_site(store, tmp_path / "site")
    built = index.parent
    assert "items/sample-soup-en-1.0.0/index.html" in (built / "sample-soup-en.html").read_text()
    assert "Who answers the questions" in (built / "sample-soup-en.html").read_text()
    assert "w/o" not in (built / "turtlesoup-zh.html").read_text()
    assert (built / "data/sample-soup-en.csv").exists()
