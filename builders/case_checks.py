"""What speaks against a case as its author wrote it, and what is unusual about its size; no message quotes it."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from builders.plain_yaml import Place
from builders.release import Oddity, text_oddities
from builders.values import Case

GRADES = (0, 1, 2, 3)


class Range(NamedTuple):
    """From how many to how many is usual."""

    low: int
    high: int

    def fits(self, count: int) -> bool:
        """Whether a count is usual."""
        return self.low <= count <= self.high


# Section 3.1 of the paper gives means: 600 words for introduction and solution, 160 for a location, 15 (SD 2)
# locations, 2,900 (SD 600) words in all, 2 to 5 questions. Where it gives a SD, two of them either way; locations
# from 10, which is still a game; elsewhere a third to two fifths either way.
WORDS: Mapping[str, Range] = {"introduction": Range(400, 800), "solution": Range(400, 800), "text": Range(100, 220)}
ALL_WORDS = Range(1_700, 4_100)
LOCATIONS = Range(10, 19)
QUESTIONS = Range(2, 5)


def words(text: str) -> int:
    """Count words as the paper's figures do: what stands between white space."""
    return len(text.split())


def all_words(case: Case) -> int:
    """Words a player reads: introduction and locations."""
    return words(case.introduction) + sum(words(place.text) for place in case.locations)


class At(NamedTuple):
    """Where things stand in one file."""

    file: str
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int | None:
        """Line of a value, or of the nearest thing around it that is there."""
        return next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None)

    def odd(self, place: Place, message: str, severity: Literal["note", "refused"] = "refused") -> Oddity:
        """An oddity at a place."""
        line = self.line(place)
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
        # What stands where a key belongs may be the case's own text.
        known = all(isinstance(p, int) or p in _FIELDS for p in place)
        return odd_at(
            f"{self.file}:{line}" if line else self.file, (path or "case") if known else "file", message, severity
        )


_FIELDS = frozenset(
    {*Case.model_fields, "name", "text", "question", "answer", "examples", "rating", "intro_rating", "grade", "why"}
    | {"induction", "deduction", "abduction"}
)


def odd_at(where: str, field: str, message: str, severity: Literal["note", "refused"] = "refused") -> Oddity:
    """An oddity of a file at `file:line`, in the words of the field."""
    return Oddity(item=where, field=field, severity=severity, message=message)


def expected(error: Mapping[str, Any]) -> str:
    """Say what is expected where a validation failed; `error` is one of pydantic's."""
    known = {
        "missing": "is missing",
        "string_type": "a text is expected; put it in quotes if it looks like a number, a time, or yes or no",
        "string_too_short": "must not be empty",
        "tuple_type": "a list is expected, each entry after a dash",
        "model_type": "fields are expected here, each on its own line",
        "extra_forbidden": "not a field of a case file; is it misspelt, or a text that lost its indentation?",
        "string_pattern_mismatch": "letters, digits, dots, dashes and underscores are expected",
    }
    kind = str(error["type"])
    if kind == "literal_error":
        return f"{error['ctx']['expected']} is expected"
    return known.get(kind) or str(error["msg"])


def refusals(case: Case, at: At) -> Iterator[Oddity]:
    """What a case must not be built with."""
    names: dict[str, int] = {}
    for n, place in enumerate(case.locations):
        if (first := names.setdefault(" ".join(place.name.casefold().split()), n)) != n:
            line = at.line(("locations", first, "name"))
            yield at.odd(
                ("locations", n, "name"), f"the same name as locations[{first}] (line {line}); a player chooses by name"
            )
    if case.category not in {"case", "practice"}:
        yield at.odd(("category",), "`case` or `practice` is expected")
    for n, question in enumerate(case.questions):
        there = {e.grade for e in question.examples}
        if lost := [str(g) for g in GRADES if g not in there]:
            message = f"no example at grade {', '.join(lost)}; a grader needs one at each of 0, 1, 2 and 3"
            yield at.odd(("questions", n, "examples"), message)
    for where, text in texts(case):
        for severity, message in text_oddities(text):
            if severity == "refused":
                yield at.odd(where, message)
        if not text.strip():
            yield at.odd(where, "must not be empty")


def notes(case: Case, at: At) -> Iterator[Oddity]:
    """What its author should know: sizes that are unusual, ratings that are missing."""
    for name in ("introduction", "solution"):
        yield from _size(at, (name,), words(getattr(case, name)), WORDS[name], "words")
    for n, location in enumerate(case.locations):
        yield from _size(at, ("locations", n, "text"), words(location.text), WORDS["text"], "words")
    yield from _size(at, ("locations",), len(case.locations), LOCATIONS, "locations")
    yield from _size(at, ("questions",), len(case.questions), QUESTIONS, "questions")
    yield from _size(at, (), all_words(case), ALL_WORDS, "words of introduction and locations")
    for n, question in enumerate(case.questions):
        for name in ("rating", "intro_rating"):
            if getattr(question, name) is None:
                yield at.odd(("questions", n, name), "no rating; the regressions leave this question out", "note")


def texts(case: Case) -> Iterator[tuple[Place, str]]:
    """Every text of a case with its place."""
    for name in ("title", "introduction", "solution", "special_rules"):
        if getattr(case, name) is not None:
            yield (name,), getattr(case, name)
    for n, location in enumerate(case.locations):
        yield ("locations", n, "name"), location.name
        yield ("locations", n, "text"), location.text
    for n, question in enumerate(case.questions):
        yield ("questions", n, "question"), question.question
        yield ("questions", n, "answer"), question.answer
        for k, example in enumerate(question.examples):
            yield ("questions", n, "examples", k, "answer"), example.answer
            if example.why is not None:
                yield ("questions", n, "examples", k, "why"), example.why


def _size(at: At, place: Place, count: int, usual: Range, what: str) -> Iterator[Oddity]:
    if not usual.fits(count):
        yield at.odd(place, f"{count:,} {what}; {usual.low:,} to {usual.high:,} are usual", "note")
