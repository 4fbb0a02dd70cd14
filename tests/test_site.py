"""The built site in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluators.store import open_store
from leaderboard.build import build_site
from tests.made_board import HOSTILE, IMAGE, LINK, fill

PAGES = ("index", "layton-llm", "layton-vlm", "sample-llm", "method", "data")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with open_store(folder / "s.duckdb") as store:
        fill(store)
        return build_site(store, folder / "out", fit=lambda _: None).parent


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with browser.new_context(viewport={"width": 360, "height": 800}) as context:
        opened = context.new_page()
        opened.requests, opened.dialogs = [], []
        opened.on("request", lambda request: opened.requests.append(request.url))
        opened.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
        yield opened


def open_page(page: Any, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_the_screen(page: Any, site: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for name in PAGES:
        open_page(page, site, name)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        wide, screen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= screen, name


def test_no_request_leaves_the_machine(page: Any, site: Path) -> None:
    for name in PAGES:
        open_page(page, site, name)
    assert len(page.requests) > len(PAGES)
    assert not [url for url in page.requests if not url.startswith("file://")]


def test_hostile_names_are_shown_as_text_and_nothing_runs(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    names = page.locator(".ds-models .ds-name > bdi, .ds-models .ds-name > a > bdi").all_text_contents()
    assert {name.replace("\u061c", "[U+061C]") for name in HOSTILE} <= set(names)
    assert page.locator(".md-content img").count() == 0
    assert page.locator(".md-content script").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.dialogs == []
    assert page.locator(".ds-models a", has_text=IMAGE).get_attribute("href") == "https://models.example/m"
    assert page.locator(".ds-models a", has_text=LINK).count() == 0


def test_every_plot_says_its_numbers_and_every_header_its_direction(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    plots = page.locator(".ds-plot")
    assert plots.count() == 7
    for label in plots.evaluate_all("all => all.map(p => p.getAttribute('role') + ' ' + p.getAttribute('aria-label'))"):
        assert label.startswith("img ")
        assert "95 percent interval" in label
    without = page.locator(".ds-board th:not([scope])")
    assert without.count() == 0
    assert page.locator(".ds-board table").count() == page.locator(".ds-board table > caption").count()


def test_interval_bars_stand_where_the_numbers_are(page: Any, site: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    open_page(page, site, "layton-llm")
    rows = page.locator(".ds-models").first.locator("tbody tr")
    for n in range(rows.count()):
        row = rows.nth(n)
        cell = row.locator(".ds-plot-cell")
        low, high = (float(cell.get_attribute(name)) for name in ("data-low", "data-high"))
        frame = row.locator(".ds-plot").bounding_box()
        line = row.locator(".ds-plot .thin").bounding_box()
        shown = row.locator("[data-label='95 %']").evaluate("e => e.firstChild.textContent").split("–")
        for end, x in zip(shown, (line["x"], line["x"] + line["width"]), strict=True):
            expected = frame["x"] + frame["width"] * (float(end) - low) / (high - low)
            assert abs(x - expected) < 2, row.inner_text()


def test_dark_and_light_follow_the_system_and_can_be_switched(browser: Any, site: Path) -> None:
    found = {}
    for scheme in ("light", "dark"):
        with browser.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            open_page(page, site, "layton-llm")
            found[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.locator("label[for^='__palette']:visible").click()
            assert page.evaluate("document.body.getAttribute('data-md-color-media')") != "(prefers-color-scheme)"
    assert found["light"] != found["dark"]


def test_a_board_reads_without_javascript(browser: Any, site: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        open_page(page, site, "layton-llm")
        assert page.locator(".ds-models").first.is_visible()
        assert "plain-model" in page.locator(".ds-models").first.inner_text()
        page.locator("summary", has_text="The runs behind these rows").click()
        assert page.locator(".ds-runs").first.is_visible()


def test_links_of_the_front_page_lead_to_boards_and_data(page: Any, site: Path) -> None:
    open_page(page, site, "index")
    page.locator(".ds-board a", has_text="layton-eval, text riddles").click()
    assert page.url.endswith("layton-llm.html")
    for link in page.locator(".ds-files a").evaluate_all("all => all.map(a => a.href)"):
        assert Path(link.removeprefix("file://")).is_file(), link


def test_the_sample_page_warns_before_it_shows_a_number(page: Any, site: Path) -> None:
    open_page(page, site, "sample-llm")
    warning, table = (page.locator(s).first.bounding_box() for s in (".ds-warning", ".ds-models"))
    assert warning["y"] < table["y"]
    assert "not a result" in page.locator(".ds-warning").inner_text()
