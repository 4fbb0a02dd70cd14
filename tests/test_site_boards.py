"""Puzzles, novels and cases in a real browser: compared in pairs, and item by item."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from evaluators.means import Bounded, paired_mean
from evaluators.store import open_store
from leaderboard.build import build_site
from leaderboard.evidence import page_of, slug
from tests import test_novel_boards, test_soup_boards
from tests.browsing import faults, open_all, settled
from tests.made_case import CASES, built, case, flat, run
from tests.servers.pages import serve_pages

CASE = "items/sample-case-1.0.0/case-a"
PUZZLE = f"items/sample-soup-en-1.0.0/{page_of('en/Crime_Thriller/0')}"
QUESTION = f"items/sample-novel-1.0.0/{page_of(test_novel_boards.ITEMS[0].id)}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with two puzzlers, one of which fails, three readers of novels, two detectives and two people."""
    folder = tmp_path_factory.mktemp("site")
    split = built(folder / "splits", [case(name, *size) for name, size in CASES.items()])
    with open_store(folder / "s.duckdb") as store:
        store.write_split(split.manifest, split.items)
        for n, name in enumerate(("Holmes", "Watson")):
            grades = {c: flat(3 - n - (c == "b"), *size) for c, size in CASES.items()}
            store.write_submission(*run(name, grades), tier="scored-here")
        for n, name in enumerate(("Ben", "Cy")):
            grades = {c: flat(n, *size) for c, size in CASES.items()}
            store.write_submission(*run(name, grades, provider="human"), tier="scored-here")
        test_soup_boards.fill(store)
        test_novel_boards.fill(store)
        return build_site(store, folder / "out", fit=lambda _: None).parent


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with serve_pages(site) as (address, _):
        yield address


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        opened = context.new_page()
        opened.errors = []
        opened.on("pageerror", lambda error: opened.errors.append(str(error)))
        yield opened
        assert opened.errors == []


def visit(page: Any, served: str, name: str) -> None:
    page.goto(f"{served}/{name}")
    settled(page)


def heads(site: Path) -> dict[str, dict[str, Any]]:
    """Contests by the words that only one of them has."""
    found = [json.loads(path.read_text()) for path in (site / "api/v1/compare").glob("*.json")]
    return {f"{h['section']['split']} {h['section']['condition']}": h for h in found}


def bounded(site: Path, key: str, name: str) -> Bounded:
    row = json.loads((site / f"api/v1/compare/{key}/{name}.json").read_text())
    point = np.array([np.nan if x is None else x / 1000 for x in row["scores"]])
    return Bounded(point, *(np.array(row[side]) / 1000 if row[side] else point for side in ("low", "high")))


@pytest.mark.parametrize("board", ["sample-soup-en agent=full", "sample-novel setting=context", "sample-case grader=3"])
def test_a_pair_on_the_page_is_the_pair_of_python(page: Any, served: str, site: Path, board: str) -> None:
    head = next(h for name, h in heads(site).items() if name.startswith(board))
    first, second = (row["submission_id"] for row in head["rows"][:2])
    key, most = head["section"]["key"], head["most"]
    visit(page, served, f"compare.html?board={key}&m={first},{second}")
    cells = page.locator(".ds-pairs tbody td")
    one, other = bounded(site, key, first), bounded(site, key, second)
    found = paired_mean(one, other, [str(c) for c in head["clusters"]])
    unit, digits = (100, 1) if most == 1 else (most, 2)
    ends = [re.sub("-", "−", f"{unit * x:+.{digits}f}") for x in found]
    said = f"{ends[0]} ({ends[1]} to {ends[2]})"
    either = {said, said.replace("+0.0 ", "−0.0 ")}  # nothing has a sign of its own in each of the two languages
    expect(cells.first).to_have_text(re.compile(f"^({'|'.join(map(re.escape, either))})$"))
    lead = one.point - other.point
    known = lead[np.isfinite(lead)]
    for n, count in enumerate(((known > 0).sum(), (known < 0).sum(), (known == 0).sum()), start=3):
        expect(cells.nth(n)).to_have_text(str(count))
    links = page.locator(".ds-plain tbody a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all((site / link).is_file() for link in links)


def test_four_players_are_compared_people_among_them_and_items_sorted(page: Any, served: str, site: Path) -> None:
    head = next(h for name, h in heads(site).items() if name.startswith("sample-case"))
    names = ",".join(row["submission_id"] for row in head["rows"])
    visit(page, served, f"compare.html?board={head['section']['key']}&m={names}")
    expect(page.locator(".ds-pairs tbody tr")).to_have_count(6)
    expect(page.get_by_role("button", name="Add")).to_be_disabled()
    holmes = page.locator(".ds-plain th", has_text="Holmes")
    column = page.locator(".ds-plain tbody tr td:nth-child(2)")
    grades = sorted(column.evaluate_all("all => all.map(e => e.textContent)"))
    assert {"2.00", "3.00"} == set(grades), "grades, not points"
    for way, expected in (("descending", grades[::-1]), ("ascending", grades)):
        holmes.get_by_role("button").click()
        expect(holmes).to_have_attribute("aria-sort", way)
        expect(column).to_have_text(expected)


def test_a_board_that_cannot_be_loaded_is_said_where_pairs_would_stand(page: Any, served: str, site: Path) -> None:
    first, other = [head["section"]["key"] for head in heads(site).values()][:2]
    visit(page, served, f"compare.html?board={first}")
    page.route(f"**/compare/{other}.json", lambda route: route.abort())
    page.locator(".ds-compare select").select_option(other)
    expect(page.locator(".ds-compare [role=status]")).to_contain_text("Nothing could be loaded")
    settled(page)


def test_a_game_opens_turn_by_turn_and_what_it_says_is_text(page: Any, served: str) -> None:
    visit(page, served, f"{PUZZLE}.html")
    good = page.locator(".ds-answer", has_text="Good").first
    good.locator("summary").click()
    table = good.locator(".ds-turns")
    expect(table.locator("tbody tr")).to_have_count(2)
    for said in ("<script>alert(1)</script>", "[U+202E]", "key clue"):
        expect(table).to_contain_text(said)
    expect(page.locator(".ds-board script")).to_have_count(0)


def test_a_case_opens_stage_by_stage_without_javascript_and_on_a_phone(browser: Any, site: Path) -> None:
    with browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800}) as context:
        page = context.new_page()
        page.goto((site / f"{CASE}.html").as_uri())
        page.locator(".ds-answer", has_text="Holmes").locator("summary").click()
        table = page.locator(".ds-answer", has_text="Holmes").locator(".ds-turns")
        expect(table).to_be_visible()
        expect(table).to_contain_text("The Inn a2")
        expect(table).to_contain_text("x 3, y 3, z 3")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360


def test_boards_lead_to_items_and_pairs_and_models_back(page: Any, served: str) -> None:
    for board in ("sample-soup-en", "sample-novel", "sample-case"):
        visit(page, served, f"{board}.html")
        page.locator("a", has_text=re.compile("^Every (puzzle|question|case)")).first.click()
        page.wait_for_url(f"**/items/{board}-1.0.0/index.html")
        page.locator(".ds-items tbody a").first.click()
        page.wait_for_url(re.compile(f"/items/{board}-1.0.0/(?!index)"))
        settled(page)
        page.locator(".ds-answer h3 a", has_text=re.compile("^(Good|Holmes)$")).first.click()
        page.wait_for_url("**/models/*")
        page.locator("a", has_text="Compare with others").first.wait_for()
        page.locator("a", has_text="Items, answers and votes").first.click()
        page.wait_for_url("**/items/**")
    visit(page, served, f"{QUESTION}.html")
    page.locator("a", has_text="side by side").click()
    page.wait_for_url("**/questions-sample-novel.html*")
    page.locator("summary").nth(1).click()
    page.locator("a", has_text="Each answer with every vote").nth(1).click()
    page.wait_for_url("**/items/sample-novel-1.0.0/*")


def test_these_pages_have_no_serious_fault_of_accessibility(browser: Any, served: str, site: Path) -> None:
    head = next(h for name, h in heads(site).items() if name.startswith("sample-case"))
    names = ",".join(row["submission_id"] for row in head["rows"])
    pages = (PUZZLE, CASE, QUESTION, "sample-novel")  # with all that opens; test_site.py looks at them as they come
    found = {}
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        for name in [*(f"{name}.html" for name in pages), f"compare.html?board={head['section']['key']}&m={names}"]:
            visit(page, served, name)
            open_all(page)
            for scheme, theirs in (("light", "default"), ("dark", "slate")):
                page.emulate_media(color_scheme=scheme)
                expect(page.locator("body")).to_have_attribute("data-md-color-scheme", theirs)
                found |= {(scheme, name, rule): elements for rule, elements in faults(page)}
    assert not found


@pytest.mark.parametrize(("board", "unit"), [("sample-soup-en", 100), ("sample-novel", 100), ("sample-case", 3)])
def test_the_difference_to_the_leader_is_sorted_kept_in_the_address_and_that_of_the_api(
    page: Any, served: str, site: Path, board: str, unit: int
) -> None:
    condition = {"sample-soup-en": "agent=full", "sample-novel": "setting=context", "sample-case": "grader=3"}[board]
    head = next(h for name, h in heads(site).items() if name.startswith(f"{board} {condition}"))
    rows = {row["submission_id"]: row for row in head["rows"]}
    section = "[data-board*='agent=full']" if board == "sample-soup-en" else ""
    page.goto(f"{served}/{board}.html")
    table = page.locator(f"table[data-board]{section}").first
    column = table.locator("thead th[data-sort=lead]")
    column.get_by_role("button").click()
    expect(page).to_have_url(re.compile(r"[?&](t\d\.)?sort=lead"))
    expect(column).to_have_attribute("aria-sort", "descending")
    for name, row in rows.items():
        cell = table.locator(f"tr[data-run='{name}'] td[data-label='To leader']")
        if row["lead_low"] == row["lead_high"]:
            expect(cell).to_have_text("–")
        else:
            digits = 1 if unit == 100 else 2
            lead, low, high = (
                re.sub("-", "−", f"{unit * row[side]:+.{digits}f}") for side in ("lead", "lead_low", "lead_high")
            )
            expect(cell).to_have_text(f"{lead}{low} to {high}")
            place = table.locator(f"tr[data-run='{name}'] td[data-label='Rank']")
            expect(place).to_contain_text(f"group {row['tie_group']}")
    last = table.locator("tbody tr").last
    page.reload()
    expect(table.locator("thead th[data-sort=lead]")).to_have_attribute("aria-sort", "descending")
    leader = next(name for name, row in rows.items() if row["lead_low"] == row["lead_high"])
    expect(last).to_have_attribute("data-run", leader)


def test_compare_begins_with_the_first_two_of_its_board_and_keeps_what_is_chosen_after(
    page: Any, served: str, site: Path
) -> None:
    head = next(h for name, h in heads(site).items() if name.startswith("sample-case"))
    first, second = (row for row in head["rows"][:2])
    page.goto(f"{served}/compare.html?board={head['section']['key']}")
    pairs = page.locator(".ds-pairs tbody tr")
    expect(pairs).to_have_count(1)
    expect(pairs).to_contain_text(first["model"])
    expect(pairs).to_contain_text(second["model"])
    expect(page).to_have_url(re.compile(f"m={first['submission_id']}%2C{second['submission_id']}"))
    page.get_by_role("button", name=f"Remove {first['model']}").click()
    expect(page.locator(".ds-chosen li")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"m={second['submission_id']}$"))
    page.reload()
    expect(page.locator(".ds-chosen li")).to_have_count(1)
    page.goto(f"{served}/compare.html")
    expect(page.locator(".ds-pairs tbody tr")).to_have_count(1)
    expect(page.locator(".ds-chosen li")).to_have_count(2)


def test_a_models_page_leads_to_its_comparison_with_the_best_other_one(page: Any, served: str) -> None:
    for name, other in (("Holmes", "Watson"), ("Watson", "Holmes")):
        page.goto(f"{served}/models/{slug(name)}.html")
        page.get_by_role("link", name="Compare with others").click()
        pairs = page.locator(".ds-pairs tbody tr")
        expect(pairs).to_have_count(1)
        expect(pairs.locator("th")).to_have_text(re.compile(f"{name}.*minus.*{other}", re.DOTALL))
