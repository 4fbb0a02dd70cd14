"""The desk: labels made in a real browser, blind, saved at every key, and closed to everybody else."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from builders.__main__ import main as builders
from builders.splits import make_split, write_split
from evaluators.annotate import main as annotate
from evaluators.annotation.labels import read_labels, verdicts
from evaluators.answers import CaseAnswer
from evaluators.bundle import write_bundle
from tests.made_bundle import write_made_bundle
from tests.made_case import built, case, flat
from tests.made_case import run as case_run
from tests.made_readings import SOURCE, questions
from tests.made_readings import run as novel_run
from tests.made_soup import write_made_games

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    for name in ("sample-llm", "sample-soup-zh", "sample-soup-en"):
        assert builders(["build", name, "--out", str(root)]) == 0
    return root


@pytest.fixture(scope="module")
def case_split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cases")
    built(root, [case("c", 2, 2)])
    return root


class Served:
    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process, self.url = process, url
        self.base = url.partition("/?")[0]


@contextmanager
def desk(tmp_path: Path, splits: Path, annotator: str, *more: str, split: str = "sample-llm") -> Iterator[Served]:
    command = [sys.executable, "-m", "evaluators.annotate", "--split", split, "--annotator", annotator]
    where = ["--runs", str(tmp_path / "runs"), "--splits", str(splits), "--labels", str(tmp_path / "labels")]
    with subprocess.Popen([*command, *where, *more], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = (process.stdout.readline() if process.stdout else "").strip()
            assert line.startswith("READY "), "the desk did not start"
            yield Served(process, line.removeprefix("READY "))
        finally:
            process.kill()


def runs(tmp_path: Path) -> None:
    write_made_bundle(tmp_path / "runs", "first-1", model="acme/secret-model")
    write_made_bundle(tmp_path / "runs", "second-2", model="other/hidden-model", provider="other")


def ready(page: Any) -> None:
    """Wait until the desk hears keys, its script's last line, or has nothing left to ask."""
    expect(page.locator("fieldset.now, main > h2")).to_be_visible()


def label(page: Any, keys: str) -> None:
    """Press keys one after the other, then Enter, and wait for the next answer."""
    before = page.evaluate("location.href")
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(before)
    ready(page)


def open_page(browser: Any, served: Served) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(served.url)
    ready(page)
    return page


def label_all(page: Any, keys: tuple[str, ...], count: int) -> str:
    """Label so many answers; returns everything the page ever held."""
    sources = []
    for n in range(count):
        sources.append(page.evaluate("document.documentElement.outerHTML"))
        label(page, keys[n % len(keys)])
    return "".join(sources)


def test_two_people_label_the_same_answers_blind(tmp_path: Path, splits: Path, browser: Any) -> None:
    runs(tmp_path)
    count = int(os.environ.get("DEERSTALKER_DESK_LABELS", "6"))
    plan = ("--budget", str(count), "--overlap", "1")
    for who, keys in (("ada", ("yy", "yn")), ("ben", ("yy", "nn", "yn"))):
        with desk(tmp_path, splits, who, *plan) as served:
            page = open_page(browser, served)
            seen = label_all(page, keys, count)
            expect(page.locator("main")).to_contain_text("All labelled")
        for secret in ("secret-model", "hidden-model", "acme", "a-1", "first-1", "second-2", "votes", "custom-made"):
            assert secret not in seen
    ada, ben = (read_labels(tmp_path / f"labels/sample-llm@1.0.0/{who}.jsonl") for who in ("ada", "ben"))
    assert {x.transcript_id for x in ada} == {x.transcript_id for x in ben}
    assert len(ada) == len(ben) == count
    assert {x.state for x in (*ada, *ben)} == {"done"}
    assert all(x.seconds > 0 for x in ada)
    assert {len(x.marks) for x in ada} == {2}


def test_a_killed_desk_loses_at_most_the_open_answer(tmp_path: Path, splits: Path, browser: Any) -> None:
    runs(tmp_path)
    plan = ("--budget", "5", "--overlap", "1")
    with desk(tmp_path, splits, "ada", *plan) as served:
        page = open_page(browser, served)
        label_all(page, ("yy",), 2)
        page.keyboard.press("n")
        page.wait_for_selector("form[data-saved]", state="attached")
        served.process.kill()
    path = tmp_path / "labels/sample-llm@1.0.0/ada.jsonl"
    with path.open("ab") as file:
        file.write(b'{"split": "sample-llm@1.0.0", "item')
    with desk(tmp_path, splits, "ada", *plan) as served:
        page = open_page(browser, served)
        expect(page.locator("#place")).to_have_text("3")
        kept = page.locator("fieldset:nth-of-type(1) input[value='0']")
        expect(kept, "the key of the open answer was saved").to_be_checked()
        label_all(page, ("n", "yy", "yy"), 3)
    assert [x.state for x in read_labels(path)] == ["done"] * 5


def test_skip_undo_notes_and_a_changed_mind(tmp_path: Path, splits: Path, browser: Any) -> None:
    runs(tmp_path)
    with desk(tmp_path, splits, "ada", "--budget", "3", "--overlap", "1") as served:
        page = open_page(browser, served)
        page.keyboard.press("Enter")
        page.get_by_text("NOT SAVED").wait_for()
        page.keyboard.press("s")
        page.wait_for_url("**at=1")
        ready(page)
        page.keyboard.press("/")
        page.keyboard.type("yes and no \u4e2d\u6587")
        page.keyboard.press("Escape")
        label(page, "yy")
        page.keyboard.press("u")
        page.wait_for_url("**at=1")
        ready(page)
        page.keyboard.press("n")
        page.wait_for_selector("form[data-saved]", state="attached")
        label(page, "y")
        page.goto(served.base + "/?at=1")
        expect(page.locator("header")).to_contain_text("1 skipped")
    found = read_labels(tmp_path / "labels/sample-llm@1.0.0/ada.jsonl")
    changed = next(x for x in found if x.notes)
    assert changed.notes == "yes and no \u4e2d\u6587"
    assert sorted(x.state for x in found)[0] == "done"
    assert changed.state == "done"


def test_puzzles_are_marked_point_by_point_in_chinese(tmp_path: Path, splits: Path, browser: Any) -> None:
    from builders.splits import load_split

    write_made_games(tmp_path / "runs")
    with desk(tmp_path, splits, "ada", "--budget", "1", split="sample-soup-en") as served:
        page = open_page(browser, served)
        marks = page.locator("fieldset[data-kind=mark]").evaluate_all("all => all.length")
        label(page, "y" * marks + "3")
    (said,) = read_labels(tmp_path / "labels/sample-soup-en@1.0.0/ada.jsonl")
    (verdict,) = verdicts([said])
    assert verdict.parts == {"logic": 1.0, "details": 1.0, "conclusion": 0.75}
    assert verdict.score == pytest.approx(0.3 + 0.3 + 0.4 * 0.75)
    assert len(load_split("sample-soup-zh", root=splits).items) == 12


def test_a_case_is_graded_at_every_stage_beside_the_marking_examples(
    tmp_path: Path, browser: Any, case_split: Path
) -> None:
    """The second answer stands unchanged after the introduction and the first location: it is graded once."""
    stages = (("Nobody.", "At noon."), ("The sexton.", "At noon."), ("The sexton.", ""))
    bundle = case_run("player-1", {"c": flat(2, 2, 2)}, sizes={"c": (2, 2)})
    answer = CaseAnswer(kind="case", stages=stages)
    told = [t.model_copy(update={"answer": answer}) for t in bundle.transcripts]
    write_bundle(tmp_path / "runs/player-1", bundle.submission, told, bundle.verdicts)
    with desk(tmp_path, case_split, "ada", "--budget", "1", "--overlap", "1", split="sample-case") as served:
        page = open_page(browser, served)
        expect(page.locator("fieldset .said")).to_have_text(["Nobody.", "The sexton.", "At noon."])
        expect(page.locator("main")).to_contain_text("An answer of grade 2.")
        label(page, "031")
        page.goto(served.base + "/?at=0")
        for n, grade in enumerate("031"):
            expect(page.locator("fieldset").nth(n).locator("input:checked")).to_have_value(grade)
    (said,) = read_labels(tmp_path / "labels/sample-case@1.0.0/ada.jsonl")
    assert said.grades == {"s00.q1": 0, "s01.q1": 3, "s02.q1": 3, "s00.q2": 1, "s01.q2": 1}
    assert (said.state, {v.unit for v in verdicts([said])}) == ("done", set(said.grades))


def test_the_steps_of_a_novel_are_marked_one_by_one(tmp_path: Path, browser: Any) -> None:
    items = questions(1, 1)
    write_split(make_split("sample-novel", items, version="1.0.0", sources=[SOURCE]), root=tmp_path / "splits")
    write_bundle(tmp_path / "runs/reader-1", *novel_run(items, ["B1"], name="reader-1"))
    with desk(tmp_path, tmp_path / "splits", "ada", "--budget", "1", split="sample-novel") as served:
        page = open_page(browser, served)
        expect(page.locator("fieldset[data-kind=mark]")).to_have_count(3)
        expect(page.locator("main")).to_contain_text("Right option")
        label(page, "yny")
    (verdict,) = verdicts(read_labels(tmp_path / "labels/sample-novel@1.0.0/ada.jsonl"))
    assert verdict.marks == {"step_1": True, "step_2": False, "step_3": True}, "as the judges name them"
    assert verdict.score == pytest.approx(2 / 3)


@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_fits_its_window(tmp_path: Path, splits: Path, browser: Any, width: int) -> None:
    runs(tmp_path)
    with desk(tmp_path, splits, "ada", "--budget", "2") as served:
        page = browser.new_page(viewport={"width": width, "height": 800})
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(served.url)
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert errors == []


def test_nobody_else_gets_in(tmp_path: Path, splits: Path) -> None:
    runs(tmp_path)
    with desk(tmp_path, splits, "ada", "--budget", "2") as served, httpx.Client(trust_env=False) as outside:
        base, key = served.base, served.url.rpartition("=")[2]
        assert outside.get(base).status_code == 403
        assert outside.get(base + "/?key=wrong").status_code == 403
        assert outside.get(served.url, headers={"Host": "evil.example"}).status_code == 421
        inside = httpx.Client(trust_env=False, cookies={"desk": key})
        page = inside.get(base)
        assert page.status_code == 200
        assert "access-control-allow-origin" not in page.headers
        assert "default-src 'none'" in page.headers["content-security-policy"]
        token = page.text.partition('desk-token" content="')[2].partition('"')[0]
        body = {"place": 0, "values": {}, "act": "open"}
        assert inside.post(base + "/save", json=body).status_code == 403
        sent = {"X-Desk-Token": token}
        assert (
            inside.post(base + "/save", json=body, headers=sent | {"Origin": "https://evil.example"}).status_code == 403
        )
        assert inside.post(base + "/save", json=body, headers=sent).status_code == 200
        for bad in (
            {**body, "place": 99},
            {**body, "values": {"x": 1}},
            {**body, "act": "won"},
            {**body, "act": "done"},
        ):
            assert inside.post(base + "/save", json=bad, headers=sent).status_code == 400
        nan = b'{"place": 0, "values": {"is_answer_correct": NaN}, "act": "open"}'
        assert inside.post(base + "/save", content=nan, headers=sent).status_code == 400
        assert inside.post(base + "/save", content=b"x" * 100_000, headers=sent).status_code == 413
        assert inside.get(base + "/image/0").status_code == 404
        assert inside.get(base + "/?at=999999999999999999").status_code == 200
        inside.close()


def test_text_of_an_answer_is_text(tmp_path: Path, splits: Path) -> None:
    evil = ("<script>alert(1)</script>", "{{ 7 * 7 }} </p><img src=x onerror=alert(1)>")
    write_made_bundle(tmp_path / "runs", answer=lambda _: evil)
    with desk(tmp_path, splits, "ada", "--budget", "1") as served:
        page = httpx.get(served.base, cookies={"desk": served.url.rpartition("=")[2]}, trust_env=False).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{ 7 * 7 }}" in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--annotator", "Ada Byron"), "small letters"),
        (("--budget", "0"), "1 or more"),
        (("--overlap", "2"), "share from 0 to 1"),
        (("--runs", "nowhere"), "no answer to sample-llm@1.0.0"),
        (("--annotator", "adjudicator"), "nothing is in conflict"),
    ],
)
def test_bad_input_is_one_clear_message(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    runs(tmp_path)
    run = ["--split", "sample-llm", "--annotator", "ada", "--runs", str(tmp_path / "runs"), "--splits", str(splits)]
    assert annotate([*run, "--labels", str(tmp_path / "labels"), *more]) == 1
    assert message in capsys.readouterr().err
