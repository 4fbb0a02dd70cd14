"""DetectiveQA's builder: minted ids, positions held against labels, all that is missing, shifted or leaking told."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import BENCHMARKS
from builders.__main__ import main
from builders.detectiveqa import describe_questions, novel_texts, read_release, to_questions
from builders.novel_checks import against_text, of_question
from builders.release import Oddity, ReleaseError, Row
from builders.splits import load_split
from builders.values import Language, NovelQuestion
from tests.made_novel import annotated, annotation, paragraph, paragraphs, release, text

PINNED = next(b for b in BENCHMARKS if b.name == "detectiveqa").sources[0]


def built(folder: Path, language: Language = "en") -> tuple[tuple[NovelQuestion, ...], tuple[Oddity, ...]]:
    return to_questions(read_release(str(folder), language, PINNED))


def said(folder: Path, field: str) -> list[tuple[str, str]]:
    return [(o.severity, o.message) for o in built(folder)[1] if o.field == field]


def one(folder: Path, **fields: Any) -> Path:
    return release(folder, AIsup_anno_7=[annotated(**fields)])


# --- the three public facts about keys and positions


def test_an_id_in_both_folders_is_two_annotations_of_one_novel_with_keys_of_their_own(tmp_path: Path) -> None:
    release(tmp_path, AIsup_anno_7=[annotated(), annotated(4, -1)], human_anno_7=[annotated(5, -1, question="Why?")])
    questions, _ = built(tmp_path)
    assert [q.id for q in questions] == ["en/AIsup_anno/7/0", "en/AIsup_anno/7/1", "en/human_anno/7/0"]
    assert {(q.cluster, q.novel, q.title, q.author) for q in questions} == {
        ("7", "en/7", "The Quiet House", "A. Nobody")
    }
    assert [q.category for q in questions] == ["AIsup_anno", "AIsup_anno", "human_anno"]


def test_positions_are_held_against_the_last_label_and_never_against_num_paragraphs(tmp_path: Path) -> None:
    """The release counts 12 paragraphs here, the text has 40: position 40 is in it, 41 is past its end."""
    questions, oddities = built(one(tmp_path / "in", answer_position=40))
    assert questions[0].answer_position == 40
    assert [o.field for o in oddities] == ["folder"]
    questions, _ = built(one(tmp_path / "past", answer_position=41))
    assert questions == ()
    assert said(tmp_path / "past", "answer_position") == [
        ("refused", "[41] is past the end of the text, whose last label is [40]")
    ]


def test_positions_are_labels_counted_from_one_with_minus_one_for_an_inference(tmp_path: Path) -> None:
    """A byte order mark stands before [1]; a blank line and a second line of a paragraph count nothing."""
    loose = text().replace("[3] ", "\n[3] ").replace("[17] ", "and on it went.\n[17] ")
    release(tmp_path, AIsup_anno_7=[annotated(1, 17, -1)], texts={"7-The Quiet House-A. Nobody.txt": loose})
    questions, _ = built(tmp_path)
    assert questions[0].evidence_position == (1, 17, -1)
    paragraphs = dict(dict(novel_texts(read_release(str(tmp_path), "en", PINNED), questions))["en/7"])
    assert (paragraphs[1], paragraphs[17]) == (paragraph(1), paragraph(17))
    assert paragraphs[16] == f"{paragraph(16)}\nand on it went."


# --- what is missing, faulty, shifted or leaking


def test_a_novel_without_its_text_is_missing_and_says_which_file_is_expected(tmp_path: Path) -> None:
    release(
        tmp_path, AIsup_anno_7=[annotated()], AIsup_anno_8=[annotated()], texts={"8-T-A.txt": text(), "9-T-A.txt": "x"}
    )
    questions, oddities = built(tmp_path)
    assert [q.id for q in questions] == ["en/AIsup_anno/8/0"]
    assert ("en/7", "refused") in {(o.item, o.severity) for o in oddities if "novel_data_en/<id>" in o.message}
    assert [o.item for o in oddities if "no annotation is about" in o.message] == ["en/9"]


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"options": {"A": "a", "B": "b", "C": "c"}}, "options", "where A, B, C and D are expected"),
        ({"options": {"A": "a", "B": "b", "C": "c", "E": "d"}}, "options", "where A, B, C and D are expected"),
        ({"options": ["a", "b", "c", "d"]}, "options", "where A, B, C and D are expected"),
        ({"options": {"A": "a", "B": " ", "C": "c", "D": "d"}}, "options", "option B is ' ', not text"),
        ({"options": {"A": "a", "B": "b", "C": "B", "D": "d"}}, "options", "the same as the right one"),
        ({"answer": "E"}, "answer", "is none of A, B, C, D"),
        ({"answer": ["B"]}, "answer", "is none of A, B, C, D"),
        ({"question": ""}, "question", "where text belongs"),
        ({"question": "Who\u202e?"}, "question", "hides or reorders text"),
        ({"reasoning": []}, "reasoning", "where a list of steps belongs"),
        ({"reasoning": ["a", 3, "c"]}, "reasoning", "where a list of steps belongs"),
        ({"clue_position": [3, 17]}, "clue_position", "2 positions for 3 steps"),
        ({"clue_position": "3"}, "clue_position", "where one list of positions belongs"),
        ({"clue_position": [3, 0, -1]}, "clue_position", "0 is neither a label nor -1"),
        ({"clue_position": [3, 2.5, -1]}, "clue_position", "2.5 is neither a label nor -1"),
        ({"clue_position": [3, True, -1]}, "clue_position", "True is neither a label nor -1"),
        ({"clue_position": [3, 99, -1]}, "clue_position", "[99] is past the end"),
        ({"answer_position": 1}, "answer_position", "there is no context"),
        ({"answer_position": None}, "answer_position", "None is no label"),
        ({"answer_position": 10**30}, "answer_position", "is no label"),
        ({"distraction": ["x"]}, "distraction", "where texts by letter belong"),
    ],
)
def test_what_cannot_be_asked_or_marked_is_refused(
    tmp_path: Path, fields: dict[str, Any], field: str, message: str
) -> None:
    one(tmp_path, **fields)
    assert built(tmp_path)[0] == ()
    assert any(severity == "refused" and message in told for severity, told in said(tmp_path, field))


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"clue_position": [3, 30, -1]}, "clue_position", "a step rests on the paragraph that gives the answer away"),
        ({"clue_position": [3, 31, -1]}, "clue_position", "evidence after the answer"),
        ({"clue_position": [-1, -1, -1]}, "clue_position", "no step rests on the text"),
        ({"options": {"A": "Translation: a", "B": "b", "C": "c", "D": "d"}}, "options", "option A reads like a remark"),
        ({"options": {"A": "译文：甲", "B": "b", "C": "c", "D": "d"}}, "options", "option A reads like a remark"),
        ({"options": {"A": "a", "B": "b\nSecond line", "C": "c", "D": "d"}}, "options", "option B reads like a remark"),
        ({"options": {"A": "A. a", "B": "b", "C": "c", "D": "d"}}, "options", "option A begins with a letter"),
        ({"options": {"A": "a", "B": "b", "C": "c", "D": " C"}}, "options", "two wrong options read the same"),
        ({"question": " 200] Why?"}, "question", "holds a paragraph's label"),
        ({"question": "谁?"}, "question", "Chinese script in the English text"),
        ({"distraction": None}, "distraction", "is missing"),
        ({"distraction": {"E": "x"}}, "distraction", "which is no option"),
        ({"colour": 3}, "'colour'", "not a column of the release"),
    ],
)
def test_what_leaks_or_looks_odd_is_told_and_changes_nothing(
    tmp_path: Path, fields: dict[str, Any], field: str, message: str
) -> None:
    questions, _ = built(one(tmp_path, **fields))
    assert len(questions) == 1
    assert any(severity == "note" and message in told for severity, told in said(tmp_path, field))


def test_a_remark_that_a_story_may_make_is_no_translators_chatter(tmp_path: Path) -> None:
    options = {"A": "The sure-footed translator", "B": "Here is where he hid", "C": "A note", "D": "He was sorry"}
    assert said(one(tmp_path, options=options), "options") == []


def test_an_answer_paragraph_that_stands_in_the_context_too_is_a_leak(tmp_path: Path) -> None:
    given_away = "It was the sister, who had walked through the garden at night and taken the portrait with her."
    lines = text().replace(paragraph(30), given_away).replace(paragraph(12), f"He read: {given_away.upper()}")
    release(tmp_path, AIsup_anno_7=[annotated()], texts={"7-The Quiet House-A. Nobody.txt": lines})
    assert said(tmp_path, "answer_position") == [("note", "the answer's paragraph stands in the context too, at [12]")]


def test_a_text_whose_labels_are_shifted_against_the_annotations_is_noticed(tmp_path: Path) -> None:
    questions = [annotated(3, 17, 21, -1), annotated(6, 12, 25, -1)]
    shifted = "".join(f"[{n + 2}] {paragraph(n)}\n" for n in range(1, 41))
    release(tmp_path / "shifted", AIsup_anno_7=questions, texts={"7-T-A.txt": f"[1] Title\n[2] Author\n{shifted}"})
    [(_, message)] = said(tmp_path / "shifted", "positions")
    assert "those of AIsup_anno look shifted: over 6 steps, paragraphs +2 fit" in message
    assert said(release(tmp_path / "right", AIsup_anno_7=questions), "positions") == []


def test_the_papers_name_of_the_positions_is_read_too(tmp_path: Path) -> None:
    question = annotated()
    question["evidence_position"] = question.pop("clue_position")
    questions, _ = built(release(tmp_path, AIsup_anno_7=[question]))
    assert questions[0].evidence_position == (3, 17, -1)
    question["clue_position"] = [1]
    assert built(release(tmp_path, AIsup_anno_7=[question]))[0] == ()


def test_english_titles_come_from_a_table_where_the_files_bear_chinese_ones(tmp_path: Path) -> None:
    release(tmp_path, AIsup_anno_7=[annotated()], texts={"7-寂静的房子-无名.txt": text()})
    assert built(tmp_path)[0][0].title == "寂静的房子"
    assert any("novels.tsv" in message for _, message in said(tmp_path, "title"))
    (tmp_path / "novels.tsv").write_text("7\tThe Quiet House\tA. Nobody\n")
    questions, oddities = built(tmp_path)
    assert (questions[0].title, questions[0].author) == ("The Quiet House", "A. Nobody")
    assert [o.field for o in oddities] == ["folder"]
    (tmp_path / "novels.tsv").write_text("7 The Quiet House\n")
    with pytest.raises(ReleaseError, match=r"novels\.tsv:1: id, title and author"):
        built(tmp_path)


@given(
    st.lists(st.integers(-3, 50) | st.none() | st.text(max_size=2), min_size=1, max_size=6),
    st.integers(-3, 50) | st.none() | st.floats(),
)
def test_a_question_that_nothing_refuses_points_into_its_novel(evidence: list[Any], answer: Any) -> None:
    question = annotated(*[1] * len(evidence), clue_position=evidence, answer_position=answer)
    row = Row("en/human_anno/7/0", question)
    found = list(of_question(row))
    if not any(o.severity == "refused" for o in found):
        found += against_text(row, paragraphs(40))
    sound = answer in range(2, 41) and all(p == -1 or p in range(1, 41) for p in evidence)
    assert sound == (not any(o.severity == "refused" for o in found))
    if sound:
        assert any(p >= answer for p in evidence) == any("never shown" in o.message for o in found)


# --- hostile files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "not a JSON document in UTF-8"),
        ("{}", "a list with the novel's annotation is expected"),
        ("[]", "a list with the novel's annotation is expected"),
        ("[3]", "has no list of questions"),
        ('[{"novel_id": 7, "questions": 3}]', "has no list of questions"),
        ('[{"novel_id": 8, "questions": []}]', "novel_id is 8; the file's name says 7"),
        ('[{"novel_id": 7, "questions": []}]', "no question in it"),
        ('[{"novel_id": 7, "questions": [3]}]', "question 0 is 3"),
        ('[{"novel_id": 7, "novel_id": 7, "questions": []}]', "a key occurs twice"),
        ('[{"novel_id": NaN, "questions": []}]', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_damaged_annotation_file_is_one_error_that_names_it(tmp_path: Path, content: str, message: str) -> None:
    release(tmp_path, human_anno_7=content)
    with pytest.raises(ReleaseError, match=r"human_anno/7\.json: ") as caught:
        built(tmp_path)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no label at all", "no line begins with a label"),
        (b"", "no line begins with a label"),
        (b"[0] a\n[1] b\n", "with 0 every position would be shifted"),
        (b"[1] a\n[2] b\n[2] c\n", "txt:3: label [2] after [2]"),
        (b"[1] a\n[5] b\n[3] c\n", "txt:3: label [3] after [5]"),
        (b"[1] caf\xe9\n", "byte 7 is not UTF-8"),
        ("[1] a\u202eb\n".encode(), "paragraph [1]: character U+202E"),
        (b"[1] a\x00b\n", "paragraph [1]: control character"),
        (b"\xff\xfe[\x001\x00", "is not UTF-8"),
    ],
)
def test_a_text_that_cannot_be_trusted_refuses_its_novel_and_no_other(
    tmp_path: Path, content: bytes, message: str
) -> None:
    release(tmp_path, AIsup_anno_7=[annotated()], AIsup_anno_8=[annotated()], texts={"8-T-A.txt": text()})
    (tmp_path / "novel_data_en/7-T-A.txt").write_bytes(content)
    questions, oddities = built(tmp_path)
    assert [q.id for q in questions] == ["en/AIsup_anno/8/0"]
    assert any(o.item == "en/7" and o.severity == "refused" and message in o.message for o in oddities)


def test_links_and_unknown_names_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(text())
    folder = release(tmp_path / "a", AIsup_anno_7=[annotated()], texts={})
    (folder / "novel_data_en/7-T-A.txt").symlink_to(secret)
    with pytest.raises(ReleaseError, match="is a link or no plain file"):
        built(folder)
    folder = release(tmp_path / "b", AIsup_anno_7=[annotated()])
    (folder / "anno_data_en/human_anno").symlink_to(tmp_path / "a/anno_data_en/AIsup_anno")
    with pytest.raises(ReleaseError, match="human_anno is a link"):
        built(folder)
    folder = release(tmp_path / "c", texts={"7-T-A.txt": text(), "7-U-A.txt": text()})
    with pytest.raises(ReleaseError, match="a second text of novel 7"):
        built(folder)
    folder = release(tmp_path / "d", texts={"7-T-A.txt": text(), "README.txt": "x"})
    assert ("note", "'README.txt' is not <id>-<title>-<author>.txt; left out") in said(folder, "novel")
    (folder / "anno_data_en/AIsup_anno/notes.json").write_text("[]")
    with pytest.raises(ReleaseError, match=r"notes\.json: annotations are named"):
        built(folder)


# --- commands


def test_check_and_build_tell_and_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(one(tmp_path / "r", answer_position=99))
    assert main(["check", "detectiveqa-en", folder]) == 1
    assert "refused  answer_position: [99] is past the end of the text" in capsys.readouterr().out
    assert main(["build", "detectiveqa-en", folder, "--out", str(tmp_path / "s")]) == 1
    assert main(["build", "detectiveqa-en", folder, "--leave-out-refused", "--out", str(tmp_path / "s")]) == 1
    assert not (tmp_path / "s").exists()
    release(tmp_path / "r", AIsup_anno_7=[annotated(answer_position=99), annotated()])
    capsys.readouterr()
    assert main(["build", "detectiveqa-en", folder, "--leave-out-refused", "--out", str(tmp_path / "s")]) == 0
    assert "1 items without the refused ones; this is not the split that others have" in capsys.readouterr().out
    assert [i.id for i in load_split("detectiveqa-en", root=tmp_path / "s").items] == ["en/AIsup_anno/7/1"]


def test_a_missing_release_says_where_to_get_it_and_novels_may_lie_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "detectiveqa", "--out", str(tmp_path)]) == 1
    assert "huggingface.co/datasets/Phospheneser/DetectiveQA" in capsys.readouterr().err
    folder = release(tmp_path / "r")
    (folder / "novel_data_en").rename(tmp_path / "mine")
    assert main(["check", "detectiveqa-en", str(folder)]) == 1
    assert main(["check", "detectiveqa-en", str(folder), "--novels", str(tmp_path / "mine")]) == 0
    assert main(["check", "samples", "--novels", str(tmp_path / "mine")]) == 1
    assert "takes no --novels" in capsys.readouterr().err


def test_both_languages_are_built_and_a_novel_is_one_cluster(tmp_path: Path) -> None:
    release(tmp_path / "r")
    release(
        tmp_path / "r", language="zh", texts={"7-寂静的房子-无名.txt": text()}, human_anno_7=[annotated(question="谁?")]
    )
    assert main(["build", "detectiveqa", str(tmp_path / "r"), "--out", str(tmp_path / "s")]) == 0
    chinese = load_split("detectiveqa-zh", root=tmp_path / "s")
    english = load_split("detectiveqa-en", root=tmp_path / "s")
    assert (chinese.manifest.language, english.manifest.language) == ("zh", "en")
    assert {i.cluster for i in (*chinese.items, *english.items)} == {"7"}
    assert {i.title for i in chinese.items if isinstance(i, NovelQuestion)} == {"寂静的房子"}


def test_the_two_released_files_build_with_every_position_held_against_a_text_of_their_form(
    real_data: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The novels are under copyright, so that the texts here have the release's form and nobody's words."""
    source = real_data("detectiveqa")
    last = {}
    for name, file in (("104-首相绑架案-阿加莎克里斯蒂", "104"), ("117-阳光下的罪恶-阿加莎克里斯蒂", "117")):
        [read] = json.loads((source / f"anno_data_en/AIsup_anno/{file}.json").read_text())
        last[file] = max(q["answer_position"] for q in read["questions"])
        (tmp_path / f"{name}.txt").write_text(text(last[file]))
    words = ["detectiveqa-en", str(source), "--novels", str(tmp_path)]
    assert main(["check", *words]) == 0
    assert "14 items can be built" in capsys.readouterr().out
    assert main(["build", *words, "--out", str(tmp_path / "s")]) == 0
    items = [i for i in load_split("detectiveqa-en", root=tmp_path / "s").items if isinstance(i, NovelQuestion)]
    assert describe_questions(items) == "2 novels; 7.00 reference steps a question; right: A 2, B 1, C 3, D 8"
    assert [i.id for i in items[:2]] == ["en/AIsup_anno/104/0", "en/AIsup_anno/104/1"]
    assert {i.author for i in items} == {"Agatha Christie"}
    for item in items:
        explicit = [p for p in item.evidence_position if p != -1]
        assert 1 <= min(explicit) <= max(explicit) < item.answer_position <= last[item.cluster]
    # With a text one paragraph too short the question at its end is past it.
    shutil.copy(tmp_path / "117-阳光下的罪恶-阿加莎克里斯蒂.txt", tmp_path / "whole")
    (tmp_path / "117-阳光下的罪恶-阿加莎克里斯蒂.txt").write_text(text(last["117"] - 1))
    capsys.readouterr()
    assert main(["check", *words]) == 1
    assert f"[{last['117']}] is past the end of the text" in capsys.readouterr().out


def test_more_than_one_annotation_in_a_file_counts_on(tmp_path: Path) -> None:
    twice = [*annotation(7, [annotated()]), *annotation(7, [annotated(question="Why?")])]
    questions, _ = built(release(tmp_path, human_anno_7=json.dumps(twice)))
    assert [q.id for q in questions] == ["en/human_anno/7/0", "en/human_anno/7/1"]
