"""Labels: out and back in to the byte, merged, in conflict and decided, and beside the jury's verdicts in the store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.__main__ import main as builders
from builders.splits import load_split
from builders.values import Case, NovelQuestion
from evaluators.annotation.labels import Label, LabelError, Notebook, conflicts, merge, read_labels, verdicts
from evaluators.annotation.queue import attempts, queue
from evaluators.annotation.sheets import SheetError, case_sheet, novel_sheet
from evaluators.labels import main as labels
from evaluators.ratings import ratings
from evaluators.store import open_store
from leaderboard.ingest import ingest
from tests.made_bundle import write_made_bundle
from tests.made_soup import write_made_games

REF = "sample-llm@1.0.0"


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    for name in ("sample-llm", "sample-soup-en"):
        assert builders(["build", name, "--out", str(root)]) == 0
    return root


def made(tmp_path: Path, splits: Path, *, split: str = "sample-llm") -> list[str]:
    """Two bundles, and labels of two people on the first ten answers, who differ on two; returns the options."""
    if split == "sample-llm":
        write_made_bundle(tmp_path / "runs", "first-1")
        write_made_bundle(tmp_path / "runs", "second-2", model="other/model", provider="other")
    else:
        write_made_games(tmp_path / "runs")
    built = load_split(split, root=splits)
    there = attempts([tmp_path / "runs"], built)
    for who in ("ada", "ben"):
        book = Notebook(tmp_path / f"labels/{built.manifest.ref}/{who}.jsonl")
        for n, a in enumerate(there[:10]):
            right = n % 3 > 0 and not (who == "ben" and n in (4, 7))
            book.put(label(a.transcript, who, right))
    where = ["--runs", str(tmp_path / "runs"), "--splits", str(splits), "--labels", str(tmp_path / "labels")]
    return ["--split", split, *where]


def label(transcript, who: str, right: bool, **fields: object) -> Label:  # type: ignore[no-untyped-def]
    riddle = transcript.protocol == "riddle"
    marks = {"is_answer_correct": True, "is_justification_correct": right}
    said = (
        {"marks": marks} if riddle else {"marks": {"logic-1": right, "details-1": True}, "grades": {"conclusion": 0.5}}
    )
    about = {name: getattr(transcript, name) for name in ("split", "item_id", "transcript_id", "protocol")}
    more = {"annotator": who, "state": "done", "seconds": 12.5, "notes": "" if right else "off, 差一点"}
    return Label.model_validate({**about, **said, **more, **fields})


@pytest.mark.parametrize(
    ("form", "split"),
    [
        ("native", "sample-llm"),
        ("layton", "sample-llm"),
        ("label-studio", "sample-llm"),
        ("argilla", "sample-llm"),
        ("native", "sample-soup-en"),
        ("label-studio", "sample-soup-en"),
        ("argilla", "sample-soup-en"),
    ],
)
def test_what_goes_out_comes_back_to_the_byte(tmp_path: Path, splits: Path, form: str, split: str) -> None:
    options = made(tmp_path, splits, split=split)
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    assert labels(["export", *options, "--format", form, "--file", str(first)]) == 0
    empty = [x if x != str(tmp_path / "labels") else str(tmp_path / "empty") for x in options]
    assert labels(["import", *empty, "--format", form, "--file", str(first)]) == 0
    assert labels(["export", *empty, "--format", form, "--file", str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()
    ref = f"{split}@1.0.0"
    for who in ("ada", "ben"):
        assert read_labels(tmp_path / f"labels/{ref}/{who}.jsonl") == read_labels(tmp_path / f"empty/{ref}/{who}.jsonl")


def test_tasks_are_what_the_other_tools_take_and_name_no_model(tmp_path: Path, splits: Path) -> None:
    """The forms of Label Studio's task import and of Argilla 2's records."""
    options = made(tmp_path, splits)
    for form in ("label-studio", "argilla"):
        assert labels(["export", *options, "--format", form, "--file", str(tmp_path / f"{form}.json")]) == 0
        text = (tmp_path / f"{form}.json").read_text()
        assert not [s for s in ("acme", "other/model", "a-1", "first-1") if s in text]
    task = json.loads((tmp_path / "label-studio.json").read_text())[0]
    assert set(task) == {"data", "annotations", "predictions"}
    choice = task["annotations"][0]["result"][0]
    assert (choice["to_name"], choice["type"], choice["value"]) == ("answer", "choices", {"choices": ["yes"]})
    assert f'<Choices name="{choice["from_name"]}" toName="answer"' in (tmp_path / "label-studio.xml").read_text()
    record = json.loads((tmp_path / "argilla.json").read_text())[0]
    assert set(record) == {"id", "fields", "metadata", "responses"}
    assert record["responses"]["is_answer_correct"] == [
        {"user_id": "ada", "value": "yes"},
        {"user_id": "ben", "value": "yes"},
    ]


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("native", "not json\n", "not JSON"),
        ("native", "{}\n", "split"),
        ("layton", '{"riddle_id": "x", "model": "m", "is_answer_correct": true}\n', "0 answers of 'm'"),
        ("label-studio", "{}", "a list of tasks"),
        ("label-studio", '[{"data": {}}]', "not in the form of label-studio"),
        ("argilla", "[" * 100_000, "not JSON"),
        ("argilla", '[{"metadata": [], "responses": 1}]', "not in the form of argilla"),
    ],
)
def test_a_strange_file_is_refused_with_its_place(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], form: str, text: str, message: str
) -> None:
    options = made(tmp_path, splits)
    (tmp_path / "strange.json").write_text(text)
    assert labels(["import", *options, "--format", form, "--file", str(tmp_path / "strange.json")]) == 1
    err = capsys.readouterr().err
    assert "strange.json" in err
    assert message in err


def test_conflicts_are_shown_decided_and_only_then_one_label(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = made(tmp_path, splits)
    assert labels(["conflicts", *options]) == 0
    assert "10 answers have several labels, 2 in conflict, 2 of them undecided" in capsys.readouterr().out
    there = attempts([tmp_path / "runs"], load_split("sample-llm", root=splits))
    said = [x for who in ("ada", "ben") for x in read_labels(tmp_path / f"labels/{REF}/{who}.jsonl")]
    todo = queue(there, annotator="adjudicator", budget=9, others=said)
    assert {a.transcript.transcript_id for a in todo} == {c.transcript_id for c in conflicts(said)}
    decided = label(todo[0].transcript, "adjudicator", True)
    assert [c.decided for c in conflicts([*said, decided])].count(None) == 1
    assert len(queue(there, annotator="adjudicator", budget=9, others=[*said, decided])) == 1
    mine = [v for v in verdicts([*said, decided]) if v.transcript_id == decided.transcript_id]
    assert [(v.judge, v.kind, v.score) for v in mine] == [("adjudicator", "human", 1.0)]
    assert len(verdicts([*said, decided], adjudicated=False)) == 21


def test_labels_stand_in_the_store_beside_the_verdicts_and_can_be_made_again(tmp_path: Path, splits: Path) -> None:
    made(tmp_path, splits)
    digests = []
    for _ in range(2):
        with open_store(":memory:") as store:
            (tmp_path / "none").mkdir(exist_ok=True)
            ingest(store, tmp_path / "none", [tmp_path / "runs"], splits, labels=tmp_path / "labels")
            digests.append(store.digest())
            found = ratings(store, "sample-llm", "1.0.0", "custom-made")
            assert (found.kind == "human").sum() == 20
            assert sorted(set(found.judge[found.kind == "human"])) == ["ada", "ben"]
            ingest(store, tmp_path / "none", [tmp_path / "runs"], splits)
            assert (ratings(store, "sample-llm", "1.0.0", "custom-made").kind != "human").all()
    assert digests[0] == digests[1]


def test_labels_of_puzzles_reach_the_board(tmp_path: Path, splits: Path) -> None:
    from leaderboard.soup_boards import soup_boards

    made(tmp_path, splits, split="sample-soup-en")
    (tmp_path / "none").mkdir()
    with open_store(":memory:") as store:
        ingest(store, tmp_path / "none", [tmp_path / "runs"], splits, labels=tmp_path / "labels")
        (board,) = (b for b in soup_boards(store) if b.split == "sample-soup-en")
    assert board.sections[0].labelled == 10


def test_two_annotators_share_a_part_and_no_more(tmp_path: Path, splits: Path) -> None:
    made(tmp_path, splits)
    there = attempts([tmp_path / "runs"], load_split("sample-llm", root=splits))
    first = queue(there, annotator="ada", budget=20, overlap=0.25)
    done = [label(a.transcript, "ada", True) for a in first]
    second = queue(there, annotator="ben", budget=20, overlap=0.25, others=done)
    ids = [{a.transcript.transcript_id for a in q} for q in (first, second)]
    assert [len(x) for x in ids] == [20, 20]
    assert len(ids[0] & ids[1]) == 5
    assert first == queue(there, annotator="ada", budget=20, overlap=0.25)
    everybody = queue(there, annotator="ben", budget=20, overlap=1.0)
    assert {a.transcript for a in everybody} == {
        a.transcript for a in queue(there, annotator="ada", budget=20, overlap=1)
    }


def test_one_person_says_one_thing_of_an_answer(tmp_path: Path, splits: Path) -> None:
    made(tmp_path, splits)
    (first, *_), path = read_labels(tmp_path / f"labels/{REF}/ada.jsonl"), tmp_path / "other.jsonl"
    other = first.model_copy(update={"notes": "changed"})
    with pytest.raises(LabelError, match="twice and differently"):
        merge([[first], [other]])
    path.write_text(first.model_dump_json() + "\n" + other.model_dump_json() + "\n")
    assert read_labels(path) == (other,), "in one file the last line counts"


@given(
    marks=st.dictionaries(st.from_regex(r"[a-z]{1,8}-[1-9]", fullmatch=True), st.booleans(), max_size=5),
    notes=st.text(max_size=40),
    seconds=st.floats(0, 1e6),
    state=st.sampled_from(["open", "done", "skipped"]),
)
def test_a_label_is_the_same_after_json(marks: dict[str, bool], notes: str, seconds: float, state: str) -> None:
    about = {"split": REF, "item_id": "a", "transcript_id": "0" * 16, "annotator": "ada", "protocol": "soup"}
    made_label = Label.model_validate({**about, "marks": marks, "notes": notes, "seconds": seconds, "state": state})
    assert Label.model_validate_json(made_label.model_dump_json(exclude_defaults=True)) == made_label


def test_cases_and_novels_have_their_forms() -> None:
    """What the protocols of cases and novels plug into: grades with the author's examples, a box a step."""
    examples = [{"grade": g, "answer": f"worth {g}"} for g in range(4)]
    question = {"question": "Who?", "answer": "The butler.", "examples": examples}
    places = [{"name": n, "text": "There is nothing here."} for n in ("Hall", "Park")]
    case = Case.model_validate(
        {
            "id": "c1",
            "cluster": "c1",
            "title": "T",
            "introduction": "I",
            "locations": places,
            "questions": [question] * 2,
        }
        | {"solution": "S"}
    )
    graded = case_sheet(case, [["The maid.", ""], ["The cook.", "At noon."], ["The maid.", "At noon."]])
    assert [(f.name, f.same) for f in graded.fields] == [
        ("s00.q1", ("s02.q1",)),
        ("s01.q1", ()),
        ("s01.q2", ("s02.q2",)),
    ]
    assert [f.about for f in graded.fields] == ["The maid.", "The cook.", "At noon."]
    assert [f.levels for f in graded.fields] == [(0.0, 1.0, 2.0, 3.0)] * 3
    assert graded.fields[0].examples[3] == (3.0, "worth 3")
    with pytest.raises(SheetError, match="1 answers to the 2 questions"):
        case_sheet(case, [["one", "two"], ["one"]])
    novel = NovelQuestion.model_validate(
        {
            "id": "n1",
            "cluster": "n1",
            "category": "authored",
            "language": "zh",
            "novel": "zh/1",
            "novel_sha256": "0" * 64,
            "title": "书",
            "author": "人",
        }
        | {"question": "谁？", "options": ("甲", "乙", "丙", "丁"), "answer": "B", "distraction": (None,) * 4}
        | {"reasoning": ("一步", "又一步"), "evidence_position": (1, -1), "answer_position": 9}
    )
    boxes = novel_sheet(novel, letter="B", steps=("因为……",))
    assert [f.name for f in boxes.fields] == ["step-1", "step-2"]
    about = {"split": REF, "item_id": "n1", "transcript_id": "0" * 16, "annotator": "ada", "state": "done"}
    marks = {"step-1": True, "step-2": False}
    (share,) = verdicts([Label.model_validate({**about, "protocol": "novel", "marks": marks})])
    assert (share.score, share.marks) == (0.5, {"step_1": True, "step_2": False})
    grades = {"s03.q1": 3.0, "s03.q2": 0.0}
    found = verdicts([Label.model_validate({**about, "protocol": "case", "grades": grades})])
    assert [(v.unit, v.score) for v in found] == [("s03.q1", 3.0), ("s03.q2", 0.0)]


def test_the_layton_release_agrees_as_its_files_say(real_data: Callable[[str], Path]) -> None:
    """614 labelled answers, 610 majorities with the label: 99.3 %; kappa from the same counts."""
    from leaderboard.agree import majority, rated
    from leaderboard.import_layton import to_evidence
    from leaderboard.panels import score_panels
    from leaderboard.release import read_release

    rows = read_release(real_data("layton_eval/ppi/ppi_llm.jsonl"))
    with open_store(":memory:") as store:
        for e in to_evidence(rows, "layton-llm"):
            store.write_submission(*e, tier="released")
        found = rated(ratings(store, "layton-llm", "1.0.0", "layton"))
    sides, human = majority(found.jury), majority(found.human)
    both = sides[human == human] == human[human == human]
    assert (len(both), int(both.sum())) == (614, 610)
    panels = score_panels(found, method="betabin")
    assert len(panels) == 4 + 6 + 4
    assert panels[0].these < panels[-1].these
    assert len(panels[-1].judges) == 1, "one judge alone has the widest intervals"
