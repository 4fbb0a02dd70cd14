"""The words of submission.yaml: what a board, a log and a spreadsheet will show, and what must never be published."""

import re
import unicodedata
from collections.abc import Callable
from datetime import date

from evaluators.check.findings import Findings
from evaluators.values import Submission

Place = Callable[[str], str]

# Letters, digits, spaces and the signs that names of models use; no mark-up of HTML or Markdown, no formula.
_NAME = re.compile(r"[\w(][\w .:/@+()~,#=;-]*")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?(/[A-Za-z0-9._~!$&'()*+,;=:@%/?#-]*)?")
_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
LONGEST_NAME, LONGEST_URL, LONGEST_TEXT, MOST_SNAPSHOTS = 200, 500, 4000, 50

# Forms of keys that have been published by accident before; a hit is never quoted.
KEYS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}"
    r"|\bAKIA[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bxox[abpr]-[A-Za-z0-9-]{10,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)


def check_words(submission: Submission, place: Place, found: Findings) -> None:
    """Refuse names with mark-up or hidden characters, odd addresses, endless texts and anything that is a key."""
    s = submission
    names = {"model.name": s.model.name, "condition": s.condition}
    names |= {f"judges.{n}": judge for n, judge in enumerate(s.judges)}
    names |= {f"snapshots.{n}": name for n, name in enumerate(s.snapshots[:MOST_SNAPSHOTS])}
    names |= {"model.decoding.reasoning_effort": s.model.decoding.reasoning_effort or "none"}
    for key, name in names.items():
        _check_name(name, key, place, found)
    if len(s.snapshots) > MOST_SNAPSHOTS:
        problem = f"snapshots: {len(s.snapshots)} names, at most {MOST_SNAPSHOTS}"
        found.refuse("name", place("snapshots"), problem, "name each snapshot once")
    for key, url in {"url": s.url, "model.api_base": s.model.api_base}.items():
        if url is not None and (len(url) > LONGEST_URL or not _URL.fullmatch(url)):
            found.refuse("url", place(key), f"{key}: {url!r} is no plain web address", "write https://host/path")
    if s.release_date is not None and not _DAY.fullmatch(s.release_date):
        found.refuse("date", place("release_date"), f"release_date: {s.release_date!r}", "write YYYY-MM-DD")
    try:
        date.fromisoformat(s.date)
    except ValueError:
        found.refuse("date", place("date"), f"date: {s.date!r} is no day", "write the day the run began, YYYY-MM-DD")
    for key in ("command", "code_version", "contamination", "contact", "note"):
        _check_text(getattr(s, key), key, place, found)
    text = s.model_dump_json()
    if KEYS.search(text):
        found.refuse("key", place("command"), "holds what looks like a secret key", "take it out and revoke the key")


def _check_name(name: str, key: str, place: Place, found: Findings) -> None:
    # Two names that look alike must be alike: NFKC folds full-width and styled letters.
    folded = unicodedata.normalize("NFKC", name) == name
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name) or not folded or not _plain(name, allowed=""):
        problem = f"{key}: {name!r} is no plain name"
        found.refuse("name", place(key), problem, "write letters, digits, spaces and . : / @ + - _ ( ) ~ , # = ; only")


def _check_text(text: str | None, key: str, place: Place, found: Findings) -> None:
    if text is None:
        return
    if len(text) > LONGEST_TEXT:
        problem = f"{key}: {len(text):,} characters, at most {LONGEST_TEXT:,}"
        found.refuse("text", place(key), problem, "say it shorter and link to the rest")
    elif not _plain(text, allowed="\n\t"):
        found.refuse("text", place(key), f"{key}: {text!r} holds hidden characters", "write plain text")


def _plain(text: str, *, allowed: str) -> bool:
    return not any(unicodedata.category(c) in _HIDDEN and c not in allowed for c in text)
