"""How values are shown: names without what cannot be seen, prices, tokens, differences."""

import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from evaluators.values import Submission

if TYPE_CHECKING:
    from leaderboard.boards import Line

# Characters that turn the text around them, or that nobody sees, are spelled out. Joiners shape words of some scripts.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d\n")


def visible(text: object) -> object:
    """Spell out what cannot be seen: a name may not turn the text around or pass for another."""
    if type(text) is not str or text.isprintable():  # Markup is this project's own
        return text
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _HIDDEN and c not in _JOINERS else c for c in text)


def is_web(url: str | None) -> bool:
    """Whether a submitter's address may become a link."""
    return url is not None and url.startswith(("https://", "http://"))


def signed(share: float, most: float = 100.0) -> str:
    """A difference with its sign: in points or, where `most` is the best grade, in grades."""
    return f"{most * share:+.{1 if most == 100 else 2}f}".replace("-", "−")


def cost(run: Submission) -> str:
    """Price of one attempt in US dollars, to two significant digits."""
    price = attempt_cost(run)
    return "–" if price is None else f"{price:.2g}" if price < 0.0995 else f"{price:.2f}"


def attempt_cost(run: Submission) -> float | None:
    """Price of the model's own replies for one attempt, in US dollars; None: unknown."""
    tried = run.counts.expected - run.counts.missing
    return None if run.cost_usd is None or not tried else run.cost_usd / tried


def tokens(run: Submission) -> str:
    """Output tokens for one attempt."""
    tried = run.counts.expected - run.counts.missing
    used = run.usage.output_tokens
    return "–" if used is None or not tried else f"{used / tried:.0f}"


def reasoning(run: Submission) -> str:
    """Effort or budget of thinking that was asked for."""
    d = run.model.decoding
    return d.reasoning_effort or (f"{d.thinking_tokens} tokens" if d.thinking_tokens else "–")


def report_url(repository: str | None, line: "Line") -> str:
    """Address of a new issue about a row, its text filled in."""
    e = line.like
    title = f"Row {e.submission_id} on {e.split}"
    body = (
        f"Row: {e.submission_id}\nBoard: {e.split}@{e.version}, {e.condition}, jury {e.jury}\n"
        f"Score shown: {line.score} ({line.interval[0]} to {line.interval[1]})\n\n"
        "What is wrong with it, and how you know:\n"
    )
    return f"https://github.com/{repository}/issues/new?{urlencode({'title': title, 'body': body})}"
