"""Agreement by group and panels of judges, on a store whose facts are known."""

from pathlib import Path

import numpy as np
import pytest

from evaluators.ratings import Ratings, ratings
from evaluators.store import open_store, store_path
from leaderboard.__main__ import main
from leaderboard.agree import agreements, majority, rated
from leaderboard.panels import favours, score_panels
from tests.made_runs import made_run

KEY = ("layton-llm", "1.0.0", "three")


@pytest.fixture
def store() -> Path:
    """Five models of three makers, labelled in part."""
    with open_store(store_path()) as made:
        for n in range(5):
            run = made_run(f"m{n}", ["3+", "0-"] * 12 + ["2+", "1-", "2-", "3", "0"], provider=f"p{n % 3}")
            made.write_submission(*run, tier="scored-here")
    return store_path()


def made_ratings(votes: list[tuple[str, str, str, float]]) -> Ratings:
    """Ratings of answers as (answer, rater, kind, score); the answer's first letter is its maker."""
    texts = [[v[0] for v in votes], [v[0][0] for v in votes], [v[0] for v in votes], [v[0] for v in votes]]
    columns = [np.array(c) for c in (*texts, texts[0], [""] * len(votes))]
    rest = (np.array([v[1] for v in votes]), np.array([v[2] for v in votes]), np.array([v[3] for v in votes]))
    return Ratings(*columns, np.arange(len(votes)), *rest)


def test_a_judge_that_favours_one_maker_is_shown_to() -> None:
    votes = []
    for n in range(40):
        maker = "ab"[n % 2]
        votes += [(f"{maker}{n}", "fair", "model", float(n % 4 < 2)), (f"{maker}{n}", "ada", "human", float(n % 4 < 2))]
        votes.append((f"{maker}{n}", "biased", "model", 1.0 if maker == "a" else float(n % 4 < 2)))
    found = rated(made_ratings(votes))
    makers, lines = favours(found)
    by_judge = {line[0]: line[1:] for line in lines}
    assert makers == ("a", "b")
    assert by_judge["biased"][0].startswith("+50.0 [")
    assert by_judge["biased"][1].startswith("+0.0 [")
    assert by_judge["fair"][0].startswith("+0.0 [")


def test_every_panel_is_scored_and_a_price_makes_it_comparable(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store, read_only=True) as opened:
        found = rated(ratings(opened, *KEY))
    prices = dict.fromkeys(found.judges, 0.01)
    panels = score_panels(found, method="betabin", prices=prices)
    assert len(panels) == 3 + 3 + 1
    three = next(p for p in panels if len(p.judges) == 3)
    votes = int((~np.isnan(found.votes)).sum())
    assert three.usd == pytest.approx(0.01 * votes)
    assert [p.these for p in panels] == sorted(p.these for p in panels)
    assert main(["panels", "layton-llm", "--method", "betabin"]) == 0
    assert "Bias of each judge by maker" in capsys.readouterr().out
    assert main(["panels", "layton-llm", "--method", "betabin", "--price", "nobody=1"]) == 1
    assert main(["panels", "layton-llm", "--price", "x=nan"]) == 1
    assert "is no price" in capsys.readouterr().err


def test_agreement_is_told_by_judge_maker_and_length(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store, read_only=True) as opened:
        tables = {title: lines for title, _, lines in agreements(opened, *KEY, resamples=20)}
    assert {line[0] for line in tables["The jury with people, by maker of the answering model"]} == {"p0", "p1", "p2"}
    (whole,) = tables["The jury with people"]
    # Of the 27 labels of each model 24 are unanimous and right, 2+ and 1- too; 2- is the jury's mistake.
    assert whole[1] == str(5 * 27)
    assert whole[3].startswith(f"{100 * 26 / 27:.1f} [")
    assert main(["agreement", "layton-llm", "--resamples", "20"]) == 0
    assert "On labelled answers only" in capsys.readouterr().out


def test_a_tie_is_no_majority() -> None:
    assert np.array_equal(majority(np.array([0.5, 0.6, 0.4, np.nan])), [np.nan, 1, 0, np.nan], equal_nan=True)


def test_without_labels_there_is_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store_path()) as made:
        made.write_submission(*made_run("m", ["3", "0"] * 5), tier="scored-here")
    assert main(["agreement", "layton-llm"]) == 1
    assert main(["panels", "layton-llm"]) == 1
    assert capsys.readouterr().err.count("labelled") == 2
