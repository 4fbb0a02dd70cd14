"""Agreement by group and panels of judges, on a store whose facts are known."""

from pathlib import Path

import numpy as np
import pytest

from evaluators.ratings import Ratings, ratings, verdict_costs
from evaluators.store import Store, open_store, store_path
from evaluators.values import Verdict
from leaderboard.__main__ import main
from leaderboard.agree import agreements, majority, rated
from leaderboard.jury_page import most_labelled
from leaderboard.pages import write_pages
from leaderboard.panels import favours, panel_line, score_panels
from leaderboard.published import read_published_agreements
from tests.made_case import CASES, flat, run
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


def test_what_verdicts_cost_is_read_from_the_bundles_and_prices_the_panels() -> None:
    with open_store(":memory:") as made:
        for n in range(4):
            s, transcripts, verdicts = made_run(f"m{n}", ["3+", "0-", "2+"] * 8, provider=f"p{n % 2}")
            priced = {"a": 0.002, "b": 0.004}
            paid = [v.model_copy(update={"cost_usd": priced.get(v.judge)}) for v in verdicts]
            made.write_submission(s, transcripts, paid, tier="scored-here")
        costs = verdict_costs(made, *KEY)
        found = rated(ratings(made, *KEY))
    assert costs == {"a": pytest.approx(0.002), "b": pytest.approx(0.004)}
    usd = {p.judges: p.usd for p in score_panels(found, method="betabin", prices=costs)}
    assert usd["a",] == pytest.approx(0.002 * 96)
    assert usd["a", "b"] == pytest.approx(0.006 * 96)
    assert usd["a", "c"] is None, "the price of c is not known"


def test_printed_agreement_is_that_of_the_papers() -> None:
    """Watson & Holmes, Table 2; DetectiveQA, Tables 4 and 5."""
    found = {(p.benchmark, p.raters): p for p in read_published_agreements()}
    assert len(found) == 6 + 1 + 4
    people, best = found["watson-holmes", "Human-Human"], found["watson-holmes", "Mode 5-Human"]
    assert (people.exact, people.rms, best.exact, best.rms) == (0.886, 0.40, 0.874, 0.41)
    judge = found["detectiveqa", "Human vs GPT4"]
    assert (judge.exact, judge.kappa, judge.answers) == (0.92, 0.83, 100)
    rouge = [found["detectiveqa", f"Human vs Rouge-{n}"].r for n in "12L"]
    assert [found["detectiveqa", "Human vs GPT4 (Ours)"].r, *rouge] == [0.91, 0.52, 0.61, 0.58]


def cases(store: Store) -> tuple[str, str, str]:
    """Three graders who say 2 everywhere, and a person who says 3 to every third answer of two cases and else 2."""
    human = {name: [[3 if n % 3 == 0 else 2] * CASES[name][1] for n in range(CASES[name][0] + 1)] for name in "ab"}
    table = {name: flat(2, *size) for name, size in CASES.items()}
    for n in range(4):
        bundle = run(f"case-{n}", table, human=human, provider=f"p{n % 2}", benchmark="watson-holmes")
        store.write_submission(*bundle, tier="scored-here")
    return "sample-case", "1.0.0", "three"


def test_grades_of_cases_stand_in_the_form_of_the_paper_beside_its_figures() -> None:
    """Case a has 5 stages of 2 questions, case b 4 of 3: 2 * 2 + 2 * 3 of 22 grades are one apart."""
    with open_store(":memory:") as store:
        key = cases(store)
        tables = {title: lines for title, _, lines in agreements(store, *key, resamples=20)}
        panels = score_panels(rated(ratings(store, *key)), method="betabin")
    (jury,) = tables["The jury with people"]
    assert jury[:2] == ("nearest grade", str(4 * 22))
    assert jury[3].startswith(f"{100 * 12 / 22:.1f} [")
    assert jury[6].startswith(f"{np.sqrt(10 / 22):.3f} [")
    printed = tables["As the paper prints it, of its own answers"]
    assert printed[0] == ("Human-Human", "–", "–", "88.6", "–", "–", "0.40", "–", "–", "Table 2")
    assert [line[0] for line in printed[1:]] == [f"Mode {n}-Human" for n in range(1, 6)]
    assert panels[0].exact == pytest.approx(12 / 22)
    assert panels[0].bias.point == pytest.approx(-10 / 22 / 3), "in shares of full marks"


def test_single_marks_are_held_against_peoples() -> None:
    """Steps of two answers: the judge finds the first of each, the person both of the second."""
    marks = {"j": ([1, 0], [1, 0]), "ada": ([1, 0], [1, 1])}
    s, transcripts, _ = made_run("m", ["3", "3"])
    said = [
        Verdict(
            transcript_id=t.transcript_id,
            judge=who,
            kind="human" if who == "ada" else "model",
            score=sum(own[n]) / 2,
            marks={f"step_{k}": bool(x) for k, x in enumerate(own[n], start=1)},
        )
        for who, own in marks.items()
        for n, t in enumerate(transcripts)
    ]
    with open_store(":memory:") as store:
        store.write_submission(s, transcripts, said, tier="scored-here")
        found = rated(ratings(store, *KEY, of="mark"))
    assert np.array_equal(found.votes[:, 0], [1, 0, 1, 0])
    assert np.array_equal(found.labels[:, 0], [1, 0, 1, 1])
    assert set(found.item) == {"r-000#step_1", "r-000#step_2", "r-001#step_1", "r-001#step_2"}
    assert found.cluster.tolist() == [0, 0, 1, 1]


def test_the_page_on_juries_shows_agreement_panels_and_who_is_favoured(store: Path, tmp_path: Path) -> None:
    with open_store(store) as made:
        made.write_submission(*made_run("alone", ["3", "0"] * 5, version="2.0.0"), tier="scored-here")
        cases(made)
        write_pages([], tmp_path, store=made)
        panels = score_panels(rated(ratings(made, *KEY)), method="betabin")
    page = (tmp_path / "juries.md").read_text()
    assert page.count("<section") == 3
    assert "No answer of this jury has a label of a person" in page
    assert "The jury with people, by length of the answer" not in page, "all are as long"
    assert "The jury with people, by maker of the answering model" in page
    for text in ("Human-Human", "88.6", "Leelawat", "Whom each judge favours", *panel_line(panels[0])[2:4]):
        assert text in page
    assert "<bdi>a</bdi><br><bdi>b</bdi><br><bdi>c</bdi>" in page


def test_of_many_models_the_page_compares_panels_on_those_with_most_labels() -> None:
    with open_store(":memory:") as made:
        for n in range(30):
            made.write_submission(*made_run(f"m{n:02}", ["3+", "3" if n < 10 else "0-"]), tier="scored-here")
        models, labels = most_labelled(made, *KEY)
        found = ratings(made, *KEY, only=models)
        known = ratings(made, *KEY, labelled=True)
    assert models == tuple(f"m{n:02}" for n in [*range(10, 30), *range(5)])
    assert labels == 10 + 2 * 20
    assert set(found.submission) == set(models)
    assert len(set(known.transcript)) == 10 + 2 * 20


def test_a_page_without_a_store_says_that_nothing_has_been_judged(tmp_path: Path) -> None:
    write_pages([], tmp_path)
    assert "Nothing has been judged yet" in (tmp_path / "juries.md").read_text()


def test_a_tie_is_no_majority() -> None:
    assert np.array_equal(majority(np.array([0.5, 0.6, 0.4, np.nan])), [np.nan, 1, 0, np.nan], equal_nan=True)


def test_without_labels_there_is_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(store_path()) as made:
        made.write_submission(*made_run("m", ["3", "0"] * 5), tier="scored-here")
    assert main(["agreement", "layton-llm"]) == 1
    assert main(["panels", "layton-llm"]) == 1
    assert capsys.readouterr().err.count("labelled") == 2
