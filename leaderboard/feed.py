"""The results changelog as an Atom feed."""

from xml.etree import ElementTree as ET

from leaderboard.records import History
from leaderboard.shown import visible

ATOM = "http://www.w3.org/2005/Atom"


def atom(history: History, *, site_url: str | None) -> str:
    """Write the feed, newest change first; names are text, as in every other place.

    Args:
        history: The changelog.
        site_url: Where the site stands, ending in a slash; None: entries link to the page by its name alone.

    Source: RFC 4287.
    """
    ET.register_namespace("", ATOM)
    feed = ET.Element(f"{{{ATOM}}}feed")

    def add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
        child = ET.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
        child.text = text
        return child

    newest = max((r.date for r in history.records), default="2026-01-01")
    add(feed, "id", f"{site_url or 'urn:deerstalker:'}feed")
    add(feed, "title", "Deerstalker: changes to results")
    add(feed, "updated", f"{newest}T00:00:00Z")
    add(add(feed, "author"), "name", "Deerstalker maintainers")
    add(feed, "link", rel="self", href=f"{site_url or ''}feed.xml")
    for number, record in reversed(list(enumerate(history.records))):
        entry = add(feed, "entry")
        add(entry, "id", f"{site_url or 'urn:deerstalker:'}change-{number}")
        add(entry, "title", f"{record.action}: {visible(record.model or record.subject)}")
        add(entry, "updated", f"{record.date}T00:00:00Z")
        add(entry, "link", href=f"{site_url or ''}history.html")
        add(entry, "summary", str(visible(record.reason)))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode") + "\n"
