"""What tests in a browser share: waiting until the scripts of a page are done, and its faults of accessibility.

Whatever looks at what a script changes waits: `expect(locator)` and `expect(page)` of Playwright look again until they
find it. `tests/test_layout.py` refuses the calls that look once.
"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

# Opens whatever can be opened; done when the scripts that fill what is open have heard of it.
_OPEN = """() => Promise.all([...document.querySelectorAll("details:not([open])")].map((box) => new Promise((heard) => {
    box.addEventListener("toggle", heard, {once: true});
    box.open = true;
}))).then(() => null)"""
# Contrast takes four fifths of all rules' time and is the same for texts that are set alike: it is measured on the
# first of those that stand in elements of the same names, on the same grounds, in the same letters.
_FAULTS = """async () => {
    const numbers = new Map(), known = new Map(), firsts = new Set();
    const number = (said) => numbers.get(said) ?? numbers.set(said, numbers.size).get(said);
    const ground = (e) => {
        if (!e) return -1;
        if (!known.has(e)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
            const own = [ground(e.parentElement), e.tagName, e.className, backgroundColor, backgroundImage, opacity];
            known.set(e, number(own.join(" ")));
        }
        return known.get(e);
    };
    const spoken = (e) => e.matches("input, select, textarea")
        || [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
    for (const e of document.querySelectorAll("body *")) {
        e.removeAttribute("data-first");
        if (!spoken(e) || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(e);
        const like = [ground(e), color, fontSize, fontWeight].join(" ");
        e.toggleAttribute("data-first", !firsts.has(like));
        firsts.add(like);
    }
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-first]" }] });
    // That all content lies in a landmark is advice, of moderate weight, and takes long to see.
    const rules = { region: { enabled: false } };
    const { violations } = await axe.run(document, { resultTypes: ["violations"], rules });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
        .map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 120))]);
}"""


def settled(page: Any) -> None:
    """Wait until nothing that a script fills is on its way; a script marks it as busy before the page is loaded."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def still(page: Any) -> None:
    """Bring whatever moves or changes its colour to its end."""
    page.wait_for_function(
        "() => { document.getAnimations().forEach((one) => one.finish()); return !document.getAnimations().length; }"
    )


def open_all(page: Any) -> None:
    """Open everything that can be opened."""
    page.evaluate(_OPEN)
    settled(page)


def faults(page: Any) -> list[tuple[str, list[str]]]:
    """Serious and critical faults of accessibility that axe finds: rules, each with its first elements."""
    still(page)
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    return [(rule, elements) for rule, elements in page.evaluate(_FAULTS)]
