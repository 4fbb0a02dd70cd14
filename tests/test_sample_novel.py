"""The sample novella holds to its own facts: positions, sums, the tide, and who was where when it mattered."""

import datetime
import itertools
import json
import re
from collections import Counter
from fractions import Fraction

import pytest

from builders import BENCHMARKS
from builders.detectiveqa import Annotations, novel_texts, read_release, to_questions
from builders.samples import NOVEL
from builders.values import NovelQuestion

SOURCE = next(b for b in BENCHMARKS if b.name == "novel-samples").sources[0]
READ: Annotations = read_release(str(NOVEL), "en", SOURCE, folders=("authored",))
QUESTIONS, ODDITIES = to_questions(READ)
TEXT = dict(dict(novel_texts(READ, QUESTIONS))["en/1"])
WHOLE = "\n".join(TEXT.values())
every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
# By question, a phrase that each explicit step needs in its paragraph.
NEEDED = {
    0: ("sixty", "sealed with lead", "seals were whole", "August and in January", "scale in Hull", "three and four"),
    1: (
        "like wet silk",
        "not grow in the strong brine",
        "Three hundred",
        "fifty-six grains",
        "three-quarters",
        "little",
    ),
    2: ("pint to the drop", "half past six", "Two ounces in the hour", "leaps", "Not one drop", "brown at the tip"),
    3: ("eight in all", "number three", "dead cat", "ballast stones", "fifty-two pounds", "missing"),
    4: ("ten minutes past seven", "nowt in her but weed", "set a foot", "wheels", "sixteen stone", "starved"),
    5: ("Not out of your salt", "garnet clasp", "Mawson's window", "velvet", "Michaelmas", "That is the clasp"),
    6: ("J. Arden", "Jane Arden", "violet ink", "six hundred and twenty-two", "violet ink", "write down the tally"),
    7: (
        *("eighteen years", "'eighty-five", "pan-house together", "linen-press", "over it, and written down", "alone"),
        *(
            "porter",
            "mittens",
            "white and rough",
            "back to the window",
            "light is out",
            "there it is still",
            "in a book",
        ),
    ),
}


def test_nothing_is_odd_about_the_novella() -> None:
    assert ODDITIES == ()
    assert len(QUESTIONS) == 8
    assert 8_000 <= len(WHOLE.split()) <= 12_000
    assert 180 <= len(TEXT) <= 300
    assert list(TEXT) == list(range(1, len(TEXT) + 1))
    assert (QUESTIONS[0].title, QUESTIONS[0].author) == ("Salt and Measure", "The Deerstalker contributors")


def test_right_letters_are_balanced_and_questions_spread_over_the_book() -> None:
    assert Counter(q.answer for q in QUESTIONS) == dict.fromkeys("ABCD", 2)
    ends = [Fraction(q.answer_position, len(TEXT)) for q in QUESTIONS]
    assert ends == sorted(ends)
    assert ends[0] < Fraction(1, 3)
    assert ends[-1] > Fraction(9, 10)
    depths = Counter(4 * p // len(TEXT) for q in QUESTIONS for p in q.evidence_position if p != -1)
    assert min(depths[quarter] for quarter in range(4)) >= 5
    for _, run in itertools.groupby(q.answer for q in QUESTIONS):
        assert len(list(run)) == 1


@every_question
def test_evidence_stands_before_the_answer_and_says_what_its_step_says(question: NovelQuestion) -> None:
    explicit = [p for p in question.evidence_position if p != -1]
    assert max(explicit) < question.answer_position
    assert len(explicit) >= 6
    assert question.evidence_position[-1] == -1
    needed = NEEDED[int(question.id.rpartition("/")[2])]
    assert len(needed) == len(explicit)
    for phrase, position in zip(needed, explicit, strict=True):
        assert phrase in TEXT[position], (position, TEXT[position])


def test_no_question_tells_its_own_answer_or_names_who_did_it() -> None:
    for question in QUESTIONS:
        assert "Oakes" not in question.question
        assert question.options["ABCD".index(question.answer)] not in question.question


# --- the sums


def test_the_fifteenth_of_october_1903_was_a_thursday() -> None:
    assert "Thursday, the fifteenth of October, 1903" in WHOLE
    assert datetime.date(1903, 10, 15).strftime("%A") == "Thursday"


def test_a_half_hundredweight_of_52_pounds_makes_sacks_of_108_and_22_sacks_over() -> None:
    assert 56 + 52 == 108 == 112 - 4
    assert Fraction(4, 112) == Fraction(1, 28)
    assert "one part in twenty-eight" in WHOLE
    sacks, dust = divmod(600 * 112, 108)
    assert (sacks, dust) == (622, 24)
    assert "Two-and-twenty sacks a month" in WHOLE
    assert WHOLE.count("six hundred and twenty-two") >= 2


def test_the_bottle_tells_sea_water_from_brine() -> None:
    """Sea water is about 1.026 times as heavy as water, saturated brine about 1.20 times."""
    assert round(Fraction(2565, 2500), 3) == Fraction(1026, 1000)
    assert abs(Fraction(25675, 25000) - Fraction(1026, 1000)) < Fraction(2, 1000)
    assert Fraction(300, 250) == Fraction(6, 5)
    assert "six parts where water is five" in WHOLE


def test_six_ounces_burn_from_half_past_six_to_half_past_nine_and_a_pint_until_half_past_four() -> None:
    lit, ounces_an_hour = datetime.datetime(1903, 10, 15, 18, 30), 2
    assert lit + datetime.timedelta(hours=6 / ounces_an_hour) == datetime.datetime(1903, 10, 15, 21, 30)
    assert lit + datetime.timedelta(hours=20 / ounces_an_hour) == datetime.datetime(1903, 10, 16, 4, 30)
    assert 20 - 6 == 14
    assert "It came to fourteen ounces." in WHOLE


def test_the_account_holds_what_two_and_twenty_sacks_a_month_bring_in() -> None:
    months = (1903 - 1902) * 12 + 10 - 4
    assert 8 <= Fraction(146, months) <= 9
    assert "eight or nine pounds" in WHOLE


def test_the_tide_lets_everybody_over_who_crosses() -> None:
    """Dry from two to eight on Thursday, then from half past two to half past eight, then from a quarter to three."""
    dry = [(14.0, 20.0), (26.5, 32.5), (38.75, 44.75)]
    crossings = {"Whitlow": 19.58, "Coverdale": 19.83, "constable": 31.5, "Hallam": 32.0, "home": 38.75}
    for hour in crossings.values():
        assert any(start <= hour <= end for start, end in dry)
    lows = [(start + end) / 2 for start, end in dry]
    assert [round(b - a, 2) for a, b in itertools.pairwise(lows)] == [12.5, 12.25]
    assert lows[0] == 17.0


def test_only_clara_oakes_is_vouched_for_by_nobody_while_the_truck_goes_by() -> None:
    """From which minute after seven to which others vouch for each; who has crossed the Wath does not come back.

    The crank wants ten minutes and the truck goes by at twenty minutes to eight.
    """
    vouched = {
        "Tully": ("together from half past seven until nearly eight", 30, 58),
        "Gray": ("They had gone up at five-and-twenty past seven", 25, 60),
        "Whitlow": ("It was then a quarter past.", 15, 90),
        "Edmund": ("Edmund Venn went next, on foot, at twenty past", 20, 90),
        "Coverdale": ("at five-and-twenty past seven he whipped up", 25, 90),
        "Oakes": ("At five past eight four of us sat down to whist", 65, 210),
    }
    assert all(quoted in WHOLE for quoted, _, _ in vouched.values())
    assert [who for who, (_, since, until) in vouched.items() if since > 30 or until < 40] == ["Oakes"]


def test_she_speaks_of_the_lamp_before_it_goes_out() -> None:
    spoken = next(n for n, text in TEXT.items() if "Mr. Venn's light is out" in text)
    assert "No, there it is still" in TEXT[spoken + 1]
    assert "now it is gone" in TEXT[spoken + 1]


def test_the_novella_is_in_the_releases_form() -> None:
    [path] = (NOVEL / "novel_data_en").iterdir()
    assert re.fullmatch(r"1-[^-]+-[^-]+\.txt", path.name)
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf[1] ")
    assert b"\r" not in data
    [read] = json.loads((NOVEL / "anno_data_en/authored/1.json").read_text())
    assert set(read) == {"novel_id", "num_paragraphs", "time_cost", "questions"}
    assert {frozenset(q) for q in read["questions"]} == {
        frozenset({"question", "options", "answer", "distraction", "reasoning", "clue_position", "answer_position"})
    }
