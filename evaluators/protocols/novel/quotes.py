"""Replies that repeat a novel: what stands in them word for word at length is cut out before anything is kept."""

import re
from collections.abc import Sequence

from builders.values import Language
from evaluators.protocols.novel.excerpt import Paragraph

# Fewer words in a row are a quotation that carries an argument; `python -m leaderboard leaks` looks for as many.
PASSAGE = 25  # words, in Chinese characters
_WINDOW = {"en": 30, "zh": 12}  # characters: any longer passage holds one that begins at a multiple of this
_UNIT = {"en": re.compile(r"\w+"), "zh": re.compile(r"[\u3400-\u9fff]")}
# One character each, so that places in the text stay what they are.
_ALIKE = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\t\n\r", "''\"\"    ")


def flat(paragraphs: Sequence[Paragraph]) -> str:
    """A novel's words as one line, in which passages are looked up."""
    return " ".join(text for _, text in paragraphs).translate(_ALIKE)


def steps_without(steps: Sequence[str], novel: str, *, language: Language) -> tuple[str, ...]:
    """The steps of a reasoning with the novel's passages cut out of each."""
    return tuple(without_passages(step, novel, language=language) for step in steps)


def without_passages(said: str, novel: str, *, language: Language) -> str:
    """Cut passages of a novel out of a text.

    Args:
        said: What a model wrote.
        novel: From `flat`.
        language: Of the novel.

    Returns:
        The text, with a note in place of every 25 words in a row, or in Chinese 25 characters, that stand in the novel.
    """
    width, text = _WINDOW[language], said.translate(_ALIKE)
    kept, at, start = [], 0, 0
    while start + width <= len(text):
        place = novel.find(text[start : start + width])
        if place < 0:
            start += width
            continue
        low, high = start, start + width
        while low > at and place > 0 and text[low - 1] == novel[place - 1]:
            low, place = low - 1, place - 1
        while high < len(text) and place + high - low < len(novel) and text[high] == novel[place + high - low]:
            high += 1
        count = len(_UNIT[language].findall(text[low:high]))
        if count >= PASSAGE:
            what = "words" if language == "en" else "characters"
            kept += [said[at:low], f"[{count} {what} of the novel]"]
            at = high
        start = max(high, start + width)
    return "".join(kept) + said[at:]
