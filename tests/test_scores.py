import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.scores import label, tally
from evaluators.values import Verdict

ATTEMPT = "0123456789abcdef"


def verdict(judge: str, score: float | None = 1.0, kind: str = "model", **fields: object) -> Verdict:
    said = {"score": score} if score is not None else {"failure": "unparsed"}
    return Verdict.model_validate({"transcript_id": ATTEMPT, "judge": judge, "kind": kind} | said | fields)


@given(st.permutations([verdict("a", 1), verdict("b", 0), verdict("c", 1), verdict("h", 0, "human")]))
def test_the_order_of_the_judges_does_not_matter(verdicts: list[Verdict]) -> None:
    score = tally(verdicts)
    assert score is not None
    assert score.value == pytest.approx(2 / 3)
    assert score.votes == (("a", 1.0), ("b", 0.0), ("c", 1.0))


@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        [verdict("a"), verdict("b")],
        [verdict("a"), verdict("b"), verdict("c"), verdict("d")],
        [verdict("a"), verdict("b"), verdict("c", None)],
        [verdict("a"), verdict("b"), verdict("b")],
        [verdict("a"), verdict("b"), verdict("h", kind="human")],
        [verdict("a"), verdict("b"), verdict("c", unit="step-1")],
    ],
    ids=["none", "two", "four", "unreadable", "one twice", "human", "part"],
)
def test_anything_but_three_readable_votes_is_no_score(verdicts: list[Verdict]) -> None:
    assert tally(verdicts) is None


def test_a_release_is_taken_with_the_jury_it_has() -> None:
    score = tally([verdict("a", 1), verdict("b", 0), verdict("c", None)], seats=None)
    assert score is not None
    assert score.value == 0.5
    assert tally([verdict("c", None)], seats=None) is None


def test_a_rule_decides_alone() -> None:
    score = tally([verdict("a"), verdict("b"), verdict("c"), verdict("no-answer", 0, "rule")])
    assert score is not None
    assert (score.value, score.votes) == (0, (("no-answer", 0.0),))


def test_another_metric_takes_the_mark_of_its_name() -> None:
    marks = {"is_answer_correct": True, "is_justification_correct": False}
    verdicts = [verdict(judge, 0, marks=marks) for judge in "abc"]
    values = [tally(verdicts, metric=name) for name in ("is_answer_correct", "is_justification_correct", "unheard_of")]
    assert [v and v.value for v in values] == [1, 0, None]


def test_verdicts_of_two_attempts_are_refused() -> None:
    other = Verdict(transcript_id="f" * 16, judge="b", kind="model", score=1)
    with pytest.raises(ValueError, match="2 attempts"):
        tally([verdict("a"), other])


def test_a_label_is_the_mean_of_what_people_said_and_an_author_is_nobody_next_to_them() -> None:
    author = verdict("w", 1, "author")
    people = [verdict("h1", 1, "human"), verdict("h2", 0, "human")]
    assert label([author, *people, verdict("a")]) == (0.5, "human")
    assert label([author, verdict("a")]) == (1, "author")
    assert label([verdict("a"), verdict("h", None, "human")]) is None
