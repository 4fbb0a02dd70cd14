"""What a reader's browser takes to use a page: bytes over the wire, and milliseconds until its table can be used."""

from pathlib import Path
from shutil import which
from statistics import median
from typing import Any, NamedTuple

from tests.servers.pages import serve_pages

LOADS = 5
# The time, from the start of the navigation, at which the script has put its search above a table that holds all
# rows, and the time at which the first view with it was drawn.
_WATCH = """
const seen = new MutationObserver(() => {
  const search = document.querySelector(".ds-tools input");
  if (!search) return;
  seen.disconnect();
  window.usable = performance.now();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
});
seen.observe(document, {childList: true, subtree: true});
"""
_SEARCH = """(text) => new Promise((done) => {
  const began = performance.now(), box = document.querySelector(".ds-tools input");
  box.value = text;
  box.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""
_SHOWN = 'document.querySelector(".ds-models").querySelectorAll("tbody tr:not([hidden])").length'


class Loaded(NamedTuple):
    """One page in a browser with an empty cache; the medians of some loads."""

    kilobytes: float  # over the wire, everything that the page asks for
    usable: float  # milliseconds from the start of the navigation until the table can be searched and sorted
    drawn: float  # until that was drawn
    search: float  # from a word in the search to the drawn rows


def load(built: Path, page: str, model: str, models: int) -> Loaded | None:
    """Load a board and use it; None where there is no Chromium or no Playwright.

    Args:
        built: The built site.
        page: The board's page.
        model: A name that its search shall find.
        models: How many rows it has; the first 200 are drawn until a reader asks for more.

    Raises:
        AssertionError: If what was called usable is not: the search has to find the model and the sort to turn rows.
    """
    found = which("chromium") or which("chromium-browser") or which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if found is None:
        return None
    with serve_pages(built) as (address, sent), sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        loads = [_load(browser, f"{address}/{page}", sent, model, models) for _ in range(LOADS + 1)]
        browser.close()
    return Loaded(*(median(figures) for figures in zip(*loads[1:], strict=True)))  # the first one fills the server


def _load(browser: Any, address: str, sent: list[int], model: str, models: int) -> Loaded:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.add_init_script(_WATCH)
    sent.clear()
    tab.goto(address, wait_until="networkidle")
    tab.wait_for_function("window.drawn")
    usable, drawn, kilobytes = tab.evaluate("window.usable"), tab.evaluate("window.drawn"), sum(sent) / 1000
    assert tab.evaluate(_SHOWN) == min(models, 200), "rows are there when the table is called usable"
    search = tab.evaluate(_SEARCH, model)
    assert 1 <= tab.evaluate(_SHOWN) < models, "the search finds the model and leaves out others"
    context.close()
    return Loaded(kilobytes, usable, drawn, search)
