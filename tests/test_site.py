"""The built site in a real browser, from files and from a web server on loopback."""

import csv
import io
import json
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from evaluators.fit import fit_split
from evaluators.store import open_store
from leaderboard.build import Options, build_site
from leaderboard.evidence import slug
from tests.made_board import FORMULA, HOSTILE, IMAGE, LINK, fill

ITEM = "items/layton-llm-1.0.0/r-000"
MODEL = f"models/{slug(IMAGE)}"
PAGES = (
    *("index", "layton-llm", "layton-vlm", "sample-llm", "method", "data", "compare", "calibration", "history"),
    *("cite", "public", "submit", "coverage", MODEL, "items/layton-llm-1.0.0/index", ITEM),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with open_store(folder / "s.duckdb") as store:
        fill(store)
        fit = partial(fit_split, draws=200, max_sweeps=200)
        return build_site(store, folder / "out", fit=fit, options=Options(repository="owner/name")).parent


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


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
    assert page.locator(".ds-board script").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.dialogs == []
    first, second = (page.locator(".ds-models tbody tr", has_text=name) for name in (IMAGE, LINK))
    assert first.locator("a", has_text="about it").get_attribute("href") == "https://models.example/m"
    assert second.locator("a", has_text="about it").count() == 0
    assert first.locator("a", has_text=IMAGE).get_attribute("href") == f"{MODEL}.html"


def test_every_plot_says_its_numbers_and_every_header_its_direction(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    plots = page.locator(".ds-plot")
    assert plots.count() == 8
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
        assert Path(link.removeprefix("file://").partition("?")[0]).is_file(), link


def test_the_sample_page_warns_before_it_shows_a_number(page: Any, site: Path) -> None:
    open_page(page, site, "sample-llm")
    warning, table = (page.locator(s).first.bounding_box() for s in (".ds-warning", ".ds-models"))
    assert warning["y"] < table["y"]
    assert "not a result" in page.locator(".ds-warning").inner_text()


def rows(page: Any) -> list[str]:
    return list(page.locator(".ds-models").first.locator("tbody tr:visible .ds-name > a bdi").all_text_contents())


def test_a_board_is_sorted_filtered_and_kept_in_its_address(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served}/layton-llm.html")
    ranked = rows(page)
    page.get_by_role("button", name="Score").first.click()
    page.get_by_role("button", name="Score").first.click()
    assert rows(page) == ranked[::-1]
    assert page.locator("th[aria-sort]").first.get_attribute("aria-sort") == "ascending"
    page.locator(".ds-tools").first.get_by_label("Search").fill("PLAIN")
    assert rows(page) == ["plain-model"]
    assert page.locator(".ds-count").first.inner_text() == f"1 of {len(ranked)} rows"
    page.get_by_text("Columns").first.click()
    page.get_by_label("Tokens").first.check()
    page.reload()
    assert rows(page) == ["plain-model"]
    assert "find=PLAIN" in page.url
    assert page.locator(".ds-models th", has_text="Tokens").first.is_visible()
    page.locator(".ds-tools").first.get_by_role("button", name="Clear").click()
    assert rows(page) == ranked
    assert "?" not in page.url
    page.goto(f"{served}/layton-llm.html?open=open&sort=model.up")
    assert len(rows(page)) == 1
    page.goto(f"{served}/layton-llm.html?sort=nothing&find=%3Cimg&columns=nothing,tier")
    assert rows(page) == [IMAGE]


def test_the_csv_of_a_view_is_the_view_and_runs_in_no_spreadsheet(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served}/layton-llm.html")
    found = []
    for n in range(2):
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV of this view").nth(n).click()
        found += list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"))))
    names = [line[1] for line in found]
    assert f"'{FORMULA}" in names
    assert IMAGE in names
    assert not [
        c for line in found for c in line if c.startswith(("=", "+", "@")) or (c[:1] == "-" and not c[1:2].isdigit())
    ]
    assert found[0][:3] == ["Rank", "Model", "Score"]


def test_models_are_compared_as_the_command_compares_them(page: Any, served: str, site: Path) -> None:
    """Difference and interval on the page are those of the joint draws, worked out apart with numpy."""
    (path,) = (p for p in (site / "api/v1/compare").glob("layton-llm-*.json"))
    head = json.loads(path.read_text())
    first, second = (row["submission_id"] for row in head["rows"][:2])
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served}/compare.html?board={head['section']['key']}&m={first},{second}")
    cell = page.locator(".ds-pairs .ds-like").inner_text()
    draws = [json.loads((path.with_suffix("") / f"{name}.json").read_text()) for name in (first, second)]
    like = [np.frombuffer(b64decode(d["like"]), dtype="<u2") / 65535 for d in draws]
    lead = like[0] - like[1]
    low, high = np.quantile(lead, [0.025, 0.975], method="inverted_cdf")
    numbers = [f"{100 * x:+.1f}".replace("-", "−") for x in (lead.mean(), low, high)]
    assert cell == f"{numbers[0]} ({numbers[1]} to {numbers[2]})"
    won, lost, tied = (int(page.locator(".ds-pairs tbody td").nth(n).inner_text()) for n in (3, 4, 5))
    both = [(a, b) for a, b in zip(*(d["scores"] for d in draws), strict=True) if a is not None and b is not None]
    assert (won, lost) == (sum(a > b for a, b in both), sum(a < b for a, b in both))
    assert won + lost + tied == len(both)
    third = head["rows"][2]["model"]
    page.get_by_role("combobox", name="Model").fill(third)
    page.keyboard.press("Enter")
    page.locator(".ds-pairs tbody tr").nth(2).wait_for()
    assert page.locator(".ds-pairs tbody tr").count() == 3
    assert f"{first}%2C{second}%2C" in page.url or f"{first},{second}," in page.url


def test_an_item_shows_every_answer_and_vote_and_searches_them(page: Any, served: str) -> None:
    page.goto(f"{served}/{ITEM}.html")
    page.locator(".ds-count").wait_for()
    talk = page.locator(".ds-answer", has_text="talk/")
    assert IMAGE in talk.inner_text()
    assert "[U+202E]" in talk.inner_text()
    assert talk.locator(".ds-votes li").count() == 4
    assert "person" in talk.inner_text()
    everyone = page.locator(".ds-answer").count()
    page.get_by_label("Model").fill("plain-model")
    assert page.locator(".ds-answer").count() == 1 < everyone
    assert page.locator(".ds-board img, .ds-board script").count() == 0
    assert page.dialogs == []


def test_items_and_answers_read_without_javascript(browser: Any, site: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        open_page(page, site, ITEM)
        assert page.locator(".ds-answer").count() >= 6
        assert page.locator(".ds-votes li").first.is_visible()
        open_page(page, site, "compare")
        assert "python -m leaderboard compare" in page.locator(".ds-compare").inner_text()
        open_page(page, site, MODEL)
        assert IMAGE in page.locator("h1").inner_text()


def test_a_board_is_used_by_keyboard_alone(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served}/layton-llm.html")
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.type"))
        if reached[-1] == "Score":
            break
    assert {"search", "Columns", "CSV of this view", "Clear", "Rank", "Model"} <= set(reached)
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline not in ("none", "")
    page.keyboard.press("Enter")
    assert "sort=score" in page.url


def test_what_is_shared_has_a_title_a_description_and_a_picture(page: Any, served: str, site: Path) -> None:
    for name, title in ((MODEL, IMAGE), ("layton-llm", "layton-eval, text riddles")):
        page.goto(f"{served}/{name}.html")
        meta = {
            m["property"]: m["content"]
            for m in page.locator("meta[property]").evaluate_all(
                "all => all.map(m => ({property: m.getAttribute('property'), content: m.content}))"
            )
        }
        assert title in page.title()
        assert title in meta["og:title"]
        assert len(meta["og:description"]) > 20
        picture = (site / name).parent / meta["og:image"]
        assert picture.resolve().is_file(), picture
    report = page.locator("a", has_text="report this row").first.get_attribute("href")
    assert report.startswith("https://github.com/owner/name/issues/new?title=Row+")


SERIOUS = {"serious", "critical"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_kind_of_page_has_a_serious_fault_of_accessibility(browser: Any, served: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        found = {}
        for name in PAGES:
            page.goto(f"{served}/{name}.html")
            page.wait_for_load_state("networkidle")
            result = axe.Axe().run(page, options={"resultTypes": ["violations"]})
            for fault in result.response["violations"]:
                if fault["impact"] in SERIOUS:
                    found[name, fault["id"]] = [node["html"][:120] for node in fault["nodes"]][:3]
        assert not found
