"""The built site in a real browser, from files and from a web server on loopback."""

import csv
import io
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from evaluators.fit import fit_split
from evaluators.store import open_store
from leaderboard.build import Options, build_site
from leaderboard.evidence import slug
from tests.browsing import faults, open_all, settled, still
from tests.made_board import FORMULA, HOSTILE, IMAGE, LINK
from tests.made_site import CATEGORIES, RICH, fill_every
from tests.servers.pages import serve_pages

ITEM = "items/layton-llm-1.0.0/r-000"
MODEL = f"models/{slug(IMAGE)}"
CONTENT = re.compile(r'<article class="md-content__inner md-typeset">(.*?)</article>', re.DOTALL)


def kinds(site: Path) -> list[str]:
    """One page of every kind, the longest: pages of a folder that are made of the same parts are of one kind.

    Found in the built site, so that a new kind of page is tested without a word here. Pages of prose stand for
    themselves.
    """
    found: dict[tuple[str, frozenset[str]], tuple[int, str]] = {}
    for path in sorted(site.rglob("*.html")):
        name = str(path.relative_to(site).with_suffix(""))
        content = CONTENT.search(path.read_text(encoding="utf-8"))
        body = content[1] if content else ""
        parts = {c for names in re.findall(r'class="([^"]*)"', body) for c in names.split() if c.startswith("ds-")}
        folder, _, rest = name.rpartition("/")
        group = f"{folder.partition('/')[0]} {rest == 'index'}" if folder else "" if parts else name
        key = (group, frozenset(parts))
        found[key] = max(found.get(key, (0, "")), (len(body), name))
    # Pages by the thousand differ in what happened to be said there; those outside folders are written singly.
    poorer = {key for key in found for other in found if key[0] and key[0] == other[0] and key[1] < other[1]}
    return sorted(name for key, (_, name) in found.items() if key not in poorer)


# For the session: a worker that comes back to this module after tests of others would build it anew.
@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with open_store(folder / "s.duckdb") as store:
        fill_every(store, folder / "splits")
        fit = partial(fit_split, draws=200, max_sweeps=200)
        return build_site(store, folder / "out", fit=fit, options=Options(repository="owner/name")).parent


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    with serve_pages(site) as (address, _):
        yield address


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
    settled(page)


def visit(page: Any, served: str, name: str) -> None:
    page.goto(f"{served}/{name}")
    settled(page)


def resize(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("width => innerWidth === width", arg=width)
    still(page)  # the theme's search grows and shrinks for a while


# Everything that a page of names from outside must not hold: what runs, loads or leads to a script.
RUNS = ".md-content article :is(script, iframe, object, img[onerror], [onload], a[href^='javascript' i])"
SCREENS = (("light", "default", 1280), ("dark", "slate", 360))


def test_every_kind_of_page_fits_is_accessible_and_neither_runs_names_nor_asks_elsewhere(
    browser: Any, site: Path, served: str
) -> None:
    found: list[tuple[object, ...]] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("request", lambda r: r.url.startswith((served, "data:")) or found.append(("leaves", r.url)))
        page.on("dialog", lambda dialog: (found.append(("ran", dialog.message)), dialog.dismiss()))
        page.on("pageerror", lambda error: found.append(("fails", error.stack or str(error))))
        for name in kinds(site):
            visit(page, served, f"{name}.html")
            for scheme, theirs, width in SCREENS:
                page.emulate_media(color_scheme=scheme)
                resize(page, width)
                expect(page.locator("body")).to_have_attribute("data-md-color-scheme", theirs)
                found += [(name, scheme, *fault) for fault in faults(page)]
            open_all(page)
            for _, _, width in reversed(SCREENS):
                resize(page, width)
                wide, screen, runs = page.evaluate(
                    f"""[document.documentElement.scrollWidth, document.documentElement.clientWidth,
                        document.querySelectorAll({json.dumps(RUNS)}).length]"""
                )
                found += [(name, "wider than the screen", wide)] if wide > screen else []
                found += [(name, "could run", runs)] if runs else []
    assert not found


def test_faults_are_found_in_the_last_of_many_rows_that_look_alike(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    assert faults(page) == []
    last = page.locator(".ds-models").first.locator("tbody tr").last
    last.locator(".ds-score").evaluate("e => { e.style.color = '#ccc'; }")
    last.locator("td").last.evaluate("e => e.append(document.createElement('input'))")
    assert {rule for rule, _ in faults(page)} == {"color-contrast", "label"}


def test_every_kind_of_page_is_walked_by_keyboard_and_never_holds_it_fast(
    browser: Any, site: Path, served: str
) -> None:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        for name in kinds(site):
            visit(page, served, f"{name}.html")
            stops = page.evaluate(STOPS)
            walked = []
            for _ in range(min(stops, 12)):
                page.keyboard.press("Tab")
                walked.append(page.evaluate(FOCUS))
            if not walked:
                continue
            # A date has three fields and a button in one place; anything longer is a trap.
            assert max(len(list(same)) for _, same in groupby(place for place, _ in walked)) <= 4, (name, walked)
            assert all(seen for _, seen in walked), (name, walked)


# Begins at the content, and counts what in it can be reached.
STOPS = """(() => {
    const start = document.querySelector('article');
    start.tabIndex = -1;
    start.focus();
    const all = [...start.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')];
    return all.filter(e => e.checkVisibility() && !e.disabled).length })()"""
# Where the focus is, and whether it can be seen.
FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e);
    return [[...document.querySelectorAll('*')].indexOf(e), e.checkVisibility()
        && (s.outlineStyle !== 'none' || s.boxShadow !== 'none')] })()"""


def test_every_kind_of_page_reads_without_javascript(browser: Any, site: Path, served: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        for name in kinds(site):
            page.goto(f"{served}/{name}.html")
            content = page.locator(".md-content__inner")
            expect(content.locator("h1").first).to_be_visible()
            was, closed = content.evaluate(DETAILS)
            for n in range(min(closed, 6)):
                content.locator("details:not([open]) > summary:visible").first.click()
                expect(content.locator("details[open]")).to_have_count(was + n + 1)
            content.locator("details").evaluate_all("all => all.forEach(box => { box.open = true; })")
            expect(content.locator("table:has(tbody tr):not(:visible)"), name).to_have_count(0)
            expect(content.locator("figure svg:not(:visible)"), name).to_have_count(0)


# How many boxes are open, and how many more a reader sees that can be opened.
DETAILS = """e => [e.querySelectorAll('details[open]').length,
    [...e.querySelectorAll('details:not([open]) > summary')].filter(s => s.checkVisibility()).length]"""


def test_hostile_names_are_shown_as_text_and_nothing_runs(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    names = texts(page.locator(".ds-models .ds-name > bdi, .ds-models .ds-name > a > bdi"))
    assert {name.replace("\u061c", "[U+061C]") for name in HOSTILE} <= set(names)
    for none in (".md-content img", ".ds-board script", "a[href^='javascript']"):
        expect(page.locator(none)).to_have_count(0)
    assert page.dialogs == []
    first, second = (page.locator(".ds-models tbody tr", has_text=name) for name in (IMAGE, LINK))
    expect(first.locator("a", has_text="about it")).to_have_attribute("href", "https://models.example/m")
    expect(second.locator("a", has_text="about it")).to_have_count(0)
    expect(first.locator("a", has_text=IMAGE)).to_have_attribute("href", f"{MODEL}.html")


def texts(found: Any) -> list[str]:
    """What elements say now: for pages that are at rest, and for what a test reckons with."""
    return list(found.evaluate_all("all => all.map(e => e.textContent)"))


def test_every_plot_says_its_numbers_and_every_header_its_direction(page: Any, site: Path) -> None:
    open_page(page, site, "layton-llm")
    plots = page.locator(".ds-plot")
    expect(plots).to_have_count(8)
    for label in plots.evaluate_all("all => all.map(p => p.getAttribute('role') + ' ' + p.getAttribute('aria-label'))"):
        assert label.startswith("img ")
        assert "95 percent interval" in label
    expect(page.locator(".ds-board th:not([scope])")).to_have_count(0)
    expect(page.locator(".ds-board table:not(:has(> caption))")).to_have_count(0)


def test_interval_bars_stand_where_the_numbers_are(page: Any, site: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    open_page(page, site, "layton-llm")
    rows = page.locator(".ds-models").first.locator("tbody tr").evaluate_all(BARS)
    assert rows
    for axis, shown, ends, (left, width) in rows:
        low, high = map(float, axis)
        for end, x in zip(shown.split("–"), ends, strict=True):
            assert abs(x - left - width * (float(end) - low) / (high - low)) < 2, shown


# Of each row: the ends of its axis, its interval in words, where its bar ends, and where its plot stands and how wide.
BARS = """all => all.map((row) => {
    const cell = row.querySelector(".ds-plot-cell"), box = (part) => row.querySelector(part).getBoundingClientRect();
    const [frame, line] = [box(".ds-plot"), box(".ds-plot .thin")];
    return [[cell.dataset.low, cell.dataset.high], row.querySelector("[data-label='95 %']").firstChild.textContent,
        [line.left, line.right], [frame.left, frame.width]];
})"""


def test_dark_and_light_follow_the_system_and_can_be_switched(browser: Any, site: Path) -> None:
    found = {}
    for scheme, theirs, _ in SCREENS:
        with browser.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            open_page(page, site, "layton-llm")
            expect(page.locator("body")).to_have_attribute("data-md-color-scheme", theirs)
            still(page)
            found[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            system = ("data-md-color-media", "(prefers-color-scheme)")
            expect(page.locator("body")).to_have_attribute(*system)
            page.locator("label[for^='__palette']:visible").click()
            expect(page.locator("body")).not_to_have_attribute(*system)
    assert found["light"] != found["dark"]


def test_a_board_reads_without_javascript(browser: Any, site: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        open_page(page, site, "layton-llm")
        expect(page.locator(".ds-models").first).to_be_visible()
        expect(page.locator(".ds-models").first).to_contain_text("plain-model")
        page.locator("summary", has_text="The runs behind these rows").click()
        expect(page.locator(".ds-runs").first).to_be_visible()


def test_a_long_board_draws_its_first_rows_and_searches_all(browser: Any, site: Path) -> None:
    """The rows of a real board, many times over; each copy has a name of its own."""
    text = (site / "layton-llm.html").read_text(encoding="utf-8")
    first = re.search(r'<tr role="row" data-run.*?</tr>', text, re.DOTALL)
    copies = "".join(re.sub(r"<bdi>.*?</bdi>", f"<bdi>copy-{n}</bdi>", first[0], count=1) for n in range(230))
    (site / "long.html").write_text(text.replace(first[0], copies, 1), encoding="utf-8")
    with browser.new_context() as context:
        page = context.new_page()
        open_page(page, site, "long")
        rows = page.locator(".ds-models").first.locator("tbody tr")
        whole = len(texts(rows))
        assert whole > 230
        expect(rows.locator("visible=true")).to_have_count(200)
        expect(page.locator(".ds-count").first).to_contain_text("the first 200 shown")
        page.locator(".ds-tools input[type=search]").first.fill("copy-229")
        expect(named(page)).to_have_text(["copy-229"])
        page.locator(".ds-tools input[type=search]").first.fill("")
        page.locator("button.ds-all").click()
        expect(rows.locator("visible=true")).to_have_count(whole)
        expect(page).to_have_url(re.compile("rows=all"))
        page.reload()
        expect(rows.locator("visible=true")).to_have_count(whole)
        expect(page.locator("button.ds-all")).to_be_hidden()
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        open_page(page, site, "long")
        rows = page.locator(".ds-models").first.locator("tbody tr:visible")
        expect(rows, "all, without a script").to_have_count(whole)
    (site / "long.html").unlink()


def test_links_of_the_front_page_lead_to_boards_and_data(page: Any, site: Path) -> None:
    open_page(page, site, "index")
    page.locator(".ds-board a", has_text="layton-eval, text riddles").click()
    page.wait_for_url("**/layton-llm.html")
    for link in page.locator(".ds-files a").evaluate_all("all => all.map(a => a.href)"):
        assert Path(link.removeprefix("file://").partition("?")[0]).is_file(), link


def test_the_sample_page_warns_before_it_shows_a_number(page: Any, site: Path) -> None:
    open_page(page, site, "sample-llm")
    warning, table = (page.locator(s).first.bounding_box() for s in (".ds-warning", ".ds-models"))
    assert warning["y"] < table["y"]
    expect(page.locator(".ds-warning")).to_contain_text("not a result")


def named(page: Any) -> Any:
    """The names in the first table, of the rows that are shown."""
    return page.locator(".ds-models").first.locator("tbody tr:visible .ds-name > a bdi")


def test_a_board_is_sorted_filtered_and_kept_in_its_address(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, "layton-llm.html")
    ranked = texts(named(page))
    page.get_by_role("button", name="Score").first.click()
    page.get_by_role("button", name="Score").first.click()
    expect(named(page)).to_have_text(ranked[::-1])
    expect(page.locator("th[aria-sort]").first).to_have_attribute("aria-sort", "ascending")
    page.locator(".ds-tools").first.get_by_label("Search").fill("PLAIN")
    expect(named(page)).to_have_text(["plain-model"])
    expect(page.locator(".ds-count").first).to_have_text(f"1 of {len(ranked)} rows")
    page.get_by_text("Columns").first.click()
    page.get_by_label("Tokens").first.check()
    expect(page).to_have_url(re.compile("columns=[^&]*tokens"))
    page.reload()
    expect(named(page)).to_have_text(["plain-model"])
    expect(page).to_have_url(re.compile("find=PLAIN"))
    expect(page.locator(".ds-models th", has_text="Tokens").first).to_be_visible()
    page.locator(".ds-tools").first.get_by_role("button", name="Clear").click()
    expect(named(page)).to_have_text(ranked)
    expect(page).to_have_url(re.compile("^[^?]*$"))
    visit(page, served, "layton-llm.html?open=open&sort=model.up")
    expect(named(page)).to_have_count(1)
    visit(page, served, "layton-llm.html?sort=nothing&find=%3Cimg&columns=nothing,tier")
    expect(named(page)).to_have_text([IMAGE])


def test_the_csv_of_a_view_is_the_view_and_runs_in_no_spreadsheet(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, "layton-llm.html")
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


def figures(page: Any) -> list[tuple[str, ...]]:
    """Rank, name, score, interval and n of the first table's visible rows."""
    table = page.locator(".ds-models").first
    cells = table.locator("tbody tr:visible").evaluate_all(
        """all => all.map(r => ['.ds-rank', '.ds-name bdi', '.ds-score', '[data-label="95 %"]', '[data-label="n"]']
            .map(s => r.querySelector(s)?.textContent.trim()))"""
    )
    return [tuple(row) for row in cells]


def test_a_board_is_narrowed_to_a_category_with_the_figures_of_its_document(page: Any, served: str, site: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, f"{RICH}.html")
    everything = figures(page)
    whole = page.locator(".ds-count").first
    expect(whole).to_have_text(f"{len(everything)} rows")
    assert not [url for url in page.requests if "/parts/" in url], "a part is fetched when it is asked for"
    (path,) = site.glob(f"api/v1/parts/{RICH}-*/{CATEGORIES[0]}.json")
    part = json.loads(path.read_text())
    page.get_by_label("Category").first.select_option(CATEGORIES[0])
    page.get_by_text(f"{len(part['rows'])} rows, {CATEGORIES[0]} only").wait_for()
    shown = figures(page)
    points = [f"{100 * row['value']:.1f}" for row in part["rows"]]
    assert [row[2] for row in shown] == points
    assert [row[3] for row in shown] == [f"{100 * r['low']:.1f}–{100 * r['high']:.1f}" for r in part["rows"]]
    assert [row[4] for row in shown] == [str(row["n"]) for row in part["rows"]]
    places = [(row["best_rank"], row["worst_rank"]) for row in part["rows"]]
    assert [row[0] for row in shown] == [f"{a}–{b}" if a != b else f"{a}" for a, b in places]
    assert [row[1] for row in shown] != [row[1] for row in everything], "another model leads here"
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of this view").first.click()
    head, *lines = csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig")))
    assert [line[head.index("Score")] for line in lines] == points
    assert {line[head.index("category")] for line in lines} == {CATEGORIES[0]}
    assert {line[head.index("To leader")] for line in lines} == {"–"}, (
        "no figure of all items stands among those of one"
    )
    page.reload()
    page.get_by_text(f"{CATEGORIES[0]} only").wait_for()
    assert figures(page) == shown
    page.locator(".ds-tools").first.get_by_role("button", name="Clear").click()
    expect(whole).to_have_text(f"{len(everything)} rows")
    assert figures(page) == everything
    expect(page).not_to_have_url(re.compile("category"))


def test_a_part_that_cannot_be_loaded_is_said_and_leaves_the_board_as_it_was(page: Any, site: Path) -> None:
    open_page(page, site, RICH)
    everything = figures(page)
    page.get_by_label("Category").first.select_option(CATEGORIES[1])
    page.get_by_text("could not be loaded").wait_for()
    assert figures(page) == everything


def test_a_part_that_fails_late_leaves_the_one_that_was_chosen_since(page: Any, served: str) -> None:
    held: list[Any] = []
    page.route(re.compile(r"/parts/.*\.json"), lambda one: one.continue_() if held else held.append(one))
    visit(page, served, f"{RICH}.html")
    for category in CATEGORIES[:2]:
        page.get_by_label("Category").first.select_option(category)
    page.get_by_text(f"rows, {CATEGORIES[1].replace('_', ' ')} only").wait_for()
    with page.expect_event("requestfailed"):
        held[0].abort()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page).to_have_url(re.compile(f"category={CATEGORIES[1]}"))
    expect(page.get_by_text("could not be loaded")).to_have_count(0)


def test_players_in_another_language_stand_one_click_away_with_theirs_alone(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, "sample-soup-en.html")
    names = page.locator("section:has(.ds-languages) .ds-models tbody .ds-name > a bdi")
    expect(names).to_have_count(2)
    assert set(texts(names)) == {"Good", IMAGE}
    page.locator(".ds-languages a", has_text="Chinese").click()
    page.wait_for_url("**/sample-soup-zh.html*")
    expect(names).to_have_count(3)
    assert set(texts(names)) == {"Good", IMAGE, "Late"}
    expect(page.locator(".ds-languages strong")).to_have_text("Chinese")
    visit(page, served, "sample-soup-zh.html?genre=Mind_Game&sort=score.up")
    page.get_by_text("3 rows, Mind Game only").wait_for()
    assert [row[2] for row in figures(page)] == ["40.0", "50.0", "70.0"]


def test_a_chart_comes_alive_where_a_reader_asks_and_its_library_is_not_loaded_before(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, f"{RICH}.html")
    figure = page.locator("figure[data-chart]").first
    wake = figure.get_by_role("button", name="Show figures")
    expect(wake).to_be_visible()
    expect(figure.locator(".ds-drawing svg")).to_be_visible()
    said = figure.locator(".ds-drawing svg").evaluate("e => e.getAttribute('aria-label')")
    assert not [url for url in page.requests if "vega" in url or "/charts/" in url]
    wake.click()
    expect(figure).to_have_attribute("data-state", "live")
    live = figure.locator(".ds-live svg[role=img]")
    expect(live).to_be_visible()
    expect(figure.locator(".ds-drawing")).to_be_hidden()
    expect(live).to_have_attribute("aria-label", said)
    dot = live.locator(".mark-symbol path").first
    dot.hover()
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text(IMAGE)
    (score,) = (row[2] for row in figures(page) if IMAGE in row[1])
    expect(tooltip).to_contain_text(score)
    expect(tooltip.locator("img")).to_have_count(0)
    assert page.dialogs == []
    dot.click()
    page.wait_for_url("**/models/rich-*.html")
    assert not [url for url in page.requests if not url.startswith((served, "data:"))]


def test_models_are_compared_as_the_command_compares_them(page: Any, served: str, site: Path) -> None:
    """Difference and interval on the page are those of the joint draws, worked out apart with numpy."""
    (path,) = (p for p in (site / "api/v1/compare").glob("layton-llm-*.json"))
    head = json.loads(path.read_text())
    first, second = (row["submission_id"] for row in head["rows"][:2])
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, f"compare.html?board={head['section']['key']}&m={first},{second}")
    draws = [json.loads((path.with_suffix("") / f"{name}.json").read_text()) for name in (first, second)]
    like = [np.frombuffer(b64decode(d["like"]), dtype="<u2") / 65535 for d in draws]
    lead = like[0] - like[1]
    low, high = np.quantile(lead, [0.025, 0.975], method="inverted_cdf")
    numbers = [f"{100 * x:+.1f}".replace("-", "−") for x in (lead.mean(), low, high)]
    expect(page.locator(".ds-pairs .ds-like")).to_have_text(f"{numbers[0]} ({numbers[1]} to {numbers[2]})")
    both = [(a, b) for a, b in zip(*(d["scores"] for d in draws), strict=True) if a is not None and b is not None]
    counts = (sum(a > b for a, b in both), sum(a < b for a, b in both), sum(a == b for a, b in both))
    for n, count in enumerate(counts, start=3):
        expect(page.locator(".ds-pairs tbody td").nth(n)).to_have_text(str(count))
    third = head["rows"][2]["model"]
    page.get_by_role("combobox", name="Model").fill(third)
    page.keyboard.press("Enter")
    expect(page.locator(".ds-pairs tbody tr")).to_have_count(3)
    expect(page).to_have_url(re.compile(f"{re.escape(first)}(,|%2C){re.escape(second)}(,|%2C)"))


def test_an_item_shows_every_answer_and_vote_and_searches_them(page: Any, served: str, site: Path) -> None:
    visit(page, served, f"{ITEM}.html")
    everyone = len(json.loads((site / f"{ITEM}-0.json").read_text())["rows"])
    answers = page.locator(".ds-answer")
    expect(answers).to_have_count(everyone)
    talk = page.locator(".ds-answer", has_text="talk/")
    for said in (IMAGE, "[U+202E]", "person"):
        expect(talk).to_contain_text(said)
    expect(talk.locator(".ds-votes li")).to_have_count(4)
    page.get_by_label("Model").fill("plain-model")
    expect(answers).to_have_count(1)
    assert everyone > 1
    expect(page.locator(".ds-board img, .ds-board script")).to_have_count(0)
    assert page.dialogs == []


def test_items_and_answers_read_without_javascript(browser: Any, site: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        open_page(page, site, ITEM)
        expect(page.locator(".ds-answer").nth(5)).to_be_visible()
        expect(page.locator(".ds-votes li").first).to_be_visible()
        open_page(page, site, "compare")
        expect(page.locator(".ds-compare")).to_contain_text("python -m leaderboard compare", use_inner_text=True)
        open_page(page, site, MODEL)
        expect(page.locator("h1")).to_contain_text(IMAGE)


def test_a_board_is_used_by_keyboard_alone(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, served, "layton-llm.html")
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
    expect(page).to_have_url(re.compile("sort=score"))


def test_what_is_shared_has_a_title_a_description_and_a_picture(page: Any, served: str, site: Path) -> None:
    for name, title in ((MODEL, IMAGE), ("layton-llm", "layton-eval, text riddles")):
        visit(page, served, f"{name}.html")
        meta = {
            m["property"]: m["content"]
            for m in page.locator("meta[property]").evaluate_all(
                "all => all.map(m => ({property: m.getAttribute('property'), content: m.content}))"
            )
        }
        expect(page).to_have_title(re.compile(re.escape(title)))
        assert title in meta["og:title"]
        assert len(meta["og:description"]) > 20
        picture = (site / name).parent / meta["og:image"]
        assert picture.resolve().is_file(), picture
    report = page.locator("a", has_text="report this row").first
    expect(report).to_have_attribute("href", re.compile(r"^https://github\.com/owner/name/issues/new\?title=Row\+"))
