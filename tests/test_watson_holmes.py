"""Case files: what their authors get wrong is said with file, line and field, and what they wrote is never quoted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.__main__ import main as builders
from builders.case_checks import ALL_WORDS, LOCATIONS, QUESTIONS, WORDS, all_words, texts, words
from builders.release import show
from builders.splits import load_split, make_split, write_split
from builders.values import Case
from builders.watson_holmes import MAX_CASE_BYTES, case_schema, read_case, read_cases, read_sample_cases
from tests.made import SOURCE

CASES = Path(__file__).resolve().parent.parent / "builders/samples/cases"
SCHEMA = Path(__file__).resolve().parent.parent / "site/docs/case.schema.json"
SAMPLES = {case.id: case for case in read_sample_cases()[0]}
SHORT = """\
title: The Missing Spoon
introduction: A spoon is missing from the silver chest of the Dowager.
locations:
  - name: The pantry
    text: The chest stands open.
  - name: The garden
    text: Something glitters in the nest of a magpie.
questions:
  - question: Who took the spoon?
    answer: The magpie.
    examples:
      - {grade: 0, answer: The butler.}
      - {grade: 1, answer: An animal.}
      - {grade: 2, answer: A bird.}
      - {grade: 3, answer: The magpie took it.}
solution: It was the magpie.
"""


def write(folder: Path, text: str, name: str = "spoon.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_case_is_read_from_yaml_and_from_json_alike(tmp_path: Path) -> None:
    one = read_case(write(tmp_path, SHORT))
    other = read_case(write(tmp_path, json.dumps(yaml.safe_load(SHORT), indent="\t"), "spoon.json"))
    assert one.case == other.case
    assert one.case is not None
    assert (one.case.id, one.case.cluster, one.case.practice) == ("spoon", "spoon", False)


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (
            lambda s: s.replace("      - {grade: 2, answer: A bird.}\n", ""),
            11,
            "questions[0].examples: no example at grade 2",
        ),
        (
            lambda s: s.replace("The garden", "the  PANTRY"),
            6,
            "locations[1].name: the same name as locations[0] (line 4)",
        ),
        (lambda s: s.replace("    answer: The magpie.\n", ""), 9, "questions[0].answer: is missing"),
        (lambda s: s.replace("    text: The chest", "\ttext: The chest"), 5, "a tab in the indentation"),
        (
            lambda s: s.replace("The magpie.\n", "!!python/object:os.system The magpie.\n", 1),
            10,
            "tags are not allowed",
        ),
        (lambda s: s.replace("A spoon", "!secret A spoon"), 2, "tags are not allowed"),
        (
            lambda s: s.replace("title: The", "title: &a The").replace("It was the magpie.", "*a"),
            1,
            "anchors and aliases",
        ),
        (lambda s: s + "title: Once more\n", 17, "a key stands twice"),
        (lambda s: s.replace("grade: 3", "grade: 4"), 15, "questions[0].examples[3].grade: 0, 1, 2 or 3 is expected"),
        (lambda s: s.replace("answer: The magpie.", "answer: 12:30"), 10, "questions[0].answer: a text is expected"),
        (lambda s: s.replace("answer: The magpie.", "answer: no"), 10, "questions[0].answer: a text is expected"),
        (lambda s: s.replace("solution:", "solutoin:"), None, "solution: is missing"),
        (lambda s: s.replace("It was", "It was: the"), 16, "put a text with a colon in quotes"),
        (lambda s: s.replace("The chest", "The \u202echest"), 5, "locations[0].text: character U+202E"),
        (lambda s: s.replace("title:", "cluster: x\ntitle:"), 1, "cluster: not a field of a case file"),
        (lambda s: s.replace("title:", "category: exam\ntitle:"), 1, "category: `case` or `practice`"),
        (lambda s: s.replace("title:", "id: a/../../b c\ntitle:"), 1, "id: letters, digits"),
        (lambda s: "- " + s.replace("\n", "\n  "), 1, "a case is a mapping of fields"),
        (lambda _: "", 1, "a case is a mapping of fields"),
        (lambda s: s.replace("A spoon", "A \x07spoon"), 2, "the character U+0007 is not allowed"),
        (lambda _: "[" * 5000, None, "nested too deeply"),
        (lambda s: s + "#" * 2_000_000, None, "a case is a text of at most"),
    ],
)
def test_each_mistake_of_an_author_has_a_message_with_file_line_and_field(
    tmp_path: Path, change: Callable[[str], str], line: int | None, says: str
) -> None:
    found = read_case(write(tmp_path, change(SHORT)))
    refused = [o for o in found.oddities if o.severity == "refused"]
    assert found.case is None
    at = "spoon.yaml" if line is None else f"spoon.yaml:{line}"
    assert any(o.item == at and says in f"{o.field}: {o.message}" for o in refused), refused


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"title": "a", "title": "b"}', "a key stands twice"),
        ('{"title": NaN}', "NaN is no number of JSON"),
        ('{"title": "a",}', "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_two_readers_could_read_differently_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (oddity,) = read_case(write(tmp_path, text, "case.json")).oddities
    assert says in oddity.message


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_bytes(SHORT.replace("Dowager", "Döwager").encode("latin-1"))
    (oddity,) = read_case(tmp_path / "case.yaml").oddities
    assert "save it as UTF-8" in oddity.message


def test_aliases_that_would_unfold_to_gigabytes_are_refused_at_once(tmp_path: Path) -> None:
    lines = ['a: &a ["x", "x", "x", "x", "x", "x", "x", "x", "x"]']
    lines += [f"{n}: &{n} [{', '.join(['*' + p] * 9)}]" for p, n in zip("abcdefgh", "bcdefghi", strict=True)]
    (oddity,) = read_case(write(tmp_path, "\n".join(lines))).oddities
    assert (oddity.item, oddity.message.partition(";")[0]) == (
        "spoon.yaml:1",
        "not plain YAML (anchors and aliases are not allowed)",
    )


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_reader_fail_in_another_way(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    assert read_case(path).case is None


def test_no_message_quotes_what_the_author_wrote(tmp_path: Path) -> None:
    """Every line in turn is damaged in several ways; messages go to terminals and logs, and cases are secret."""
    quoted = []
    for n, line in enumerate(SHORT.splitlines()):
        for damaged in (
            line[2:],
            line.replace(":", "", 1),
            line + ": x",
            "\t" + line,
            line + " '",
            "? " + line,
            "%" + line,
        ):
            lines = SHORT.splitlines()
            lines[n] = damaged
            for oddity in read_case(write(tmp_path, "\n".join(lines))).oddities:
                said = f"{oddity.field}: {oddity.message}"
                quoted += [said for text in ("magpie", "Dowager", "glitters", "butler", "pantry") if text in said]
    assert quoted == []


def test_sizes_unlike_the_papers_are_noted_and_still_built(tmp_path: Path) -> None:
    found = read_case(write(tmp_path, SHORT))
    assert found.case is not None
    said = {o.field: o.message for o in found.oddities}
    assert all(o.severity == "note" for o in found.oddities)
    assert said["introduction"] == "11 words; 400 to 800 are usual"
    assert said["locations"] == "2 locations; 10 to 19 are usual"
    assert said["case"] == "23 words of introduction and locations; 1,700 to 4,100 are usual"
    assert said["questions[0].rating"] == "no rating; the regressions leave this question out"


def test_the_ranges_hold_the_papers_own_means() -> None:
    """Leelawat & Griffin 2026, section 3.1: words of introduction, solution, location and case, and counts."""
    assert WORDS["introduction"].fits(600)
    assert WORDS["solution"].fits(600)
    assert WORDS["text"].fits(160)
    assert LOCATIONS.fits(15)
    assert ALL_WORDS.fits(2_900)
    assert [n for n in range(10) if QUESTIONS.fits(n)] == [2, 3, 4, 5]


# --- the project's own cases


def test_there_are_three_sample_cases_and_one_is_for_practice() -> None:
    assert sorted(SAMPLES) == ["the-green-parachute", "the-lamplighters-round", "the-third-volume"]
    assert [name for name, case in SAMPLES.items() if case.practice] == ["the-lamplighters-round"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_case_is_of_real_size_and_whole(name: str) -> None:
    case = SAMPLES[name]
    assert 400 <= words(case.introduction) <= 700
    assert 400 <= words(case.solution) <= 700
    assert 10 <= len(case.locations) <= 16
    assert all(100 <= words(place.text) <= 200 for place in case.locations)
    assert 3 <= len(case.questions) <= 5
    assert ALL_WORDS.fits(all_words(case))
    assert all({e.grade for e in q.examples} == {0, 1, 2, 3} for q in case.questions)
    assert all(q.rating and q.intro_rating for q in case.questions)
    assert read_case(CASES / f"{name}.yaml").oddities == ()


@pytest.mark.parametrize(
    ("name", "clues"),
    [
        (
            "the-lamplighters-round",
            {"An inch to the hour": 1, "four inches and a half": 1, "quarter past six": 1, "47101": 1, "47112": 1},
        ),
        ("the-third-volume", {"sixth of August": 1, "tenth of February": 2, "Harrogate": 1, "boards made double": 1}),
        ("the-green-parachute", {"quarter past five": 1, "aquafortis": 2, "Dabney": 2, "it was the twelfth still": 1}),
    ],
)
def test_what_solves_a_sample_case_is_spread_over_its_locations(name: str, clues: dict[str, int]) -> None:
    """No clue is in the introduction, and no location has all of them."""
    case = SAMPLES[name]
    found = {clue: {n for n, place in enumerate(case.locations) if clue in place.text} for clue in clues}
    assert {clue: len(places) for clue, places in found.items()} == clues
    assert not [clue for clue in clues if clue in case.introduction]
    assert set.intersection(*found.values()) == set()


def test_the_numbers_of_the_sample_cases_agree() -> None:
    text = {name: " ".join(t for _, t in texts(case)) for name, case in SAMPLES.items()}
    assert 47168 - 47101 + 1 == 340 // 5, "the banknotes that Crake drew"
    assert 47118 - 47112 + 1 == 7
    assert "seven five-pound notes" in text["the-lamplighters-round"]
    assert 16.5 + (6 - 4.5) == 18, "a candle lit at half past four had burned an inch and a half at six"


@pytest.mark.parametrize(
    ("year", "month", "day", "weekday"),
    [(1887, 11, 19, "Saturday"), (1889, 10, 9, "Wednesday"), (1889, 3, 3, "Sunday"), (1893, 8, 12, "Saturday")],
)
def test_the_dates_of_the_sample_cases_fall_on_the_days_they_say(year: int, month: int, day: int, weekday: str) -> None:
    from datetime import date

    assert date(year, month, day).strftime("%A") == weekday


# --- the split, the schema, the commands


def test_the_split_of_sample_cases_comes_back_from_disk(tmp_path: Path) -> None:
    assert builders(["build", "case-samples", "--out", str(tmp_path)]) == 0
    assert load_split("sample-case", root=tmp_path).items == tuple(SAMPLES.values())


def test_a_case_with_every_field_empty_or_full_comes_back_from_disk(tmp_path: Path) -> None:
    bare = read_case(write(tmp_path, SHORT)).case
    assert bare is not None
    full = bare.model_copy(
        update={"id": "full", "special_rules": "Nobody may knock.", "questions": SAMPLES["the-third-volume"].questions}
    )
    split = make_split("sample-case", [bare, full], version="1.0.0", sources=[SOURCE])
    write_split(split, root=tmp_path)
    assert load_split("sample-case", root=tmp_path) == split


def test_the_schema_for_editors_is_the_one_of_the_value() -> None:
    assert json.loads(SCHEMA.read_text()) == case_schema(), (
        "run: python -m builders schema > site/docs/case.schema.json"
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_the_schema_takes_the_sample_cases(name: str) -> None:
    import jsonschema

    content = yaml.safe_load((CASES / f"{name}.yaml").read_text())
    jsonschema.validate(content, case_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content | {"cluster": "x"}, case_schema())
    del content["questions"][0]["examples"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, case_schema())


def test_check_says_what_to_mend_in_each_file_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write(tmp_path, SHORT), write(tmp_path, SHORT.replace("    answer: The magpie.\n", ""), "bad.yaml")
    assert builders(["check", str(good)]) == 0
    assert builders(["check", str(good), str(bad)]) == 1
    said = capsys.readouterr().out
    assert "2 locations, 1 questions, 23 words to read; 0 for practice" in said
    assert "refused  bad.yaml:9: questions[0].answer: is missing" in said


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["check", "nowhere.yaml"], "there is no such file or folder"),
        (["build", "watson-holmes", "cases"], "is never written in clear"),
        (["build", "case-samples", "cases"], "build them without SOURCE"),
        (["check", "watson-holmes"], "name the folder or file"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert builders(argv) == 1
    assert says in capsys.readouterr().err


def test_two_cases_of_one_id_are_refused(tmp_path: Path) -> None:
    write(tmp_path, SHORT)
    write(tmp_path, "id: spoon\n" + SHORT, "other.yaml")
    assert [f.case is None for f in read_cases([tmp_path])] == [False, True]


def test_a_case_shows_its_text_in_no_repr_and_no_failed_validation() -> None:
    case = SAMPLES["the-third-volume"]
    assert "the-third-volume" in repr(case)
    for _, text in texts(case):
        assert text[:25] not in repr(case)
        assert text[:25] not in str(case)
    with pytest.raises(ValueError, match="validation error") as caught:
        Case.model_validate(case.model_dump() | {"locations": [{"name": "x", "text": 5}], "extra": "the butler did it"})
    assert "butler" not in str(caught.value)
    assert len(show(str(caught.value), 5000)) < 5000
    assert MAX_CASE_BYTES < 2_000_000
