"""What a person is shown of an answer and asked about it, by protocol: a sheet, without model, jury or votes."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field as Described

from builders.values import Case, CaseQuestion, Item, NovelQuestion, Riddle, Soup, Value
from evaluators.answers import CaseAnswer, NovelAnswer, SoupAnswer
from evaluators.points import ItemPoints
from evaluators.units import unit_of
from evaluators.values import RiddleAnswer, Transcript


class SheetError(ValueError):
    """An answer that the desk cannot show."""


class Block(Value):
    """A titled text of a sheet; lists are shown as lists."""

    title: str
    lines: tuple[str, ...]


class Field(Value):
    """One thing to say: yes or no, or a grade out of a few."""

    name: str = Described(pattern=r"^([a-z][a-z_]*(-\d+)?|s\d{2,3}\.q\d{1,2})$")
    question: str
    kind: Literal["mark", "grade"]
    levels: tuple[float, ...] = Described((), description="Of a grade, ascending.")
    examples: tuple[tuple[float, str], ...] = Described((), description="Grade and an answer that has it.")
    about: str = Described("", description="What was said, where the field is about one text among several.")
    same: tuple[str, ...] = Described(
        (), description="Units that say the same to the same question, and get its grade."
    )


class Sheet(Value):
    """All of one page of the desk."""

    protocol: str
    language: str
    item: tuple[Block, ...]
    image: bytes | None = Described(None, repr=False)
    gold: tuple[Block, ...]
    answer: tuple[Block, ...]
    fields: tuple[Field, ...]


CONCLUSION = (0.0, 0.25, 0.5, 0.75, 1.0)
GRADES = (0.0, 1.0, 2.0, 3.0)


def sheet(item: Item, transcript: Transcript, points: ItemPoints | None = None) -> Sheet:
    """Lay out one answer.

    Args:
        item: The item it answers.
        transcript: The attempt; only its answer is shown.
        points: Reference points, of a situation puzzle.

    Raises:
        SheetError: If there is no answer to label, or it is not one to this item.
    """
    answer = transcript.answer
    if isinstance(item, Riddle) and isinstance(answer, RiddleAnswer):
        return riddle_sheet(item, answer)
    if isinstance(item, Soup) and isinstance(answer, SoupAnswer) and points is not None:
        return soup_sheet(item, answer, points)
    if isinstance(item, NovelQuestion) and isinstance(answer, NovelAnswer):
        return novel_sheet(item, letter=answer.letter, steps=answer.steps)
    if isinstance(item, Case) and isinstance(answer, CaseAnswer):
        return case_sheet(item, answer.stages)
    raise SheetError(f"attempt {transcript.transcript_id} at {item.id!r} holds no answer that the desk can show")


def riddle_sheet(item: Riddle, answer: RiddleAnswer) -> Sheet:
    """Two marks: is the answer right, is its justification?"""
    return Sheet(
        protocol="riddle",
        language="en",
        item=_blocks(("Riddle", item.description)),
        image=item.image,
        gold=_blocks(
            ("Official answer", item.answer),
            ("Official solution", item.solution),
            ("Reference justification", item.justification),
        ),
        answer=_blocks(("Answer", answer.answer or "(empty)"), ("Justification", answer.justification or "(empty)")),
        fields=(
            Field(name="is_answer_correct", question="Is the answer right?", kind="mark"),
            Field(name="is_justification_correct", question="Is the justification right?", kind="mark"),
        ),
    )


def soup_sheet(item: Soup, answer: SoupAnswer, points: ItemPoints) -> Sheet:
    """A mark for each reference point, and a grade for the story as a whole."""
    return Sheet(
        protocol="soup",
        language=item.language,
        item=_blocks(("The account", item.surface)),
        gold=_blocks(("What happened", item.bottom)),
        answer=(
            Block(title="Story told", lines=(answer.conclusion or "(empty)",)),
            Block(title="Logic told", lines=answer.logic or ("(none)",)),
            Block(title="Details told", lines=answer.details or ("(none)",)),
        ),
        fields=(
            *_found("logic", "Is this step told?", points.logic),
            *_found("details", "Is this detail told?", points.details),
            Field(name="conclusion", question="How far is the story the same?", kind="grade", levels=CONCLUSION),
        ),
    )


def novel_sheet(item: NovelQuestion, *, letter: str, steps: Sequence[str]) -> Sheet:
    """A mark for each reference step: does the reasoning hold it?"""
    options = tuple(f"{name}. {text}" for name, text in zip("ABCD", item.options, strict=True))
    return Sheet(
        protocol="novel",
        language=item.language,
        item=(
            *_blocks(("Novel", f"{item.title}, {item.author}"), ("Question", item.question)),
            Block(title="Options", lines=options),
        ),
        gold=_blocks(("Right option", item.answer)),
        answer=(*_blocks(("Option chosen", letter)), Block(title="Reasoning", lines=tuple(steps) or ("(empty)",))),
        fields=_found("step", "Does the reasoning hold this step?", item.reasoning),
    )


def case_sheet(item: Case, stages: Sequence[Sequence[str]]) -> Sheet:
    """A grade from 0 to 3 for the answer to each question at each stage, with the author's marking examples.

    A text that stands unchanged at several stages is graded once, as graders do it, and an empty one not at all: it
    is 0 by rule.

    Args:
        item: The case.
        stages: Answers after the introduction, after the first location, and so on; one to each question.

    Raises:
        SheetError: If the number of answers is another.
    """
    if wrong := next((row for row in stages if len(row) != len(item.questions)), None):
        raise SheetError(f"{len(wrong)} answers to the {len(item.questions)} questions of {item.id!r}")
    units: dict[tuple[int, str], list[int]] = {}
    for n in range(len(item.questions)):
        for stage, row in enumerate(stages):
            if row[n].strip():
                units.setdefault((n, row[n]), []).append(stage)
    gold = [Block(title=f"Model answer {n}", lines=(q.answer,)) for n, q in enumerate(item.questions, start=1)]
    told = [
        Block(title=f"{n + 1}. {item.questions[n].question} ({_when(there)})", lines=(text,))
        for (n, text), there in units.items()
    ]
    return Sheet(
        protocol="case",
        language="en",
        item=_blocks(("Case", item.title), ("Introduction", item.introduction)),
        gold=(*gold, *_blocks(("Solution", item.solution))),
        answer=tuple(told),
        fields=tuple(_graded(item.questions[n], n + 1, text, there) for (n, text), there in units.items()),
    )


def _graded(question: CaseQuestion, number: int, text: str, stages: Sequence[int]) -> Field:
    names = tuple(unit_of(stage, number) for stage in stages)
    return Field(
        name=names[0],
        question=f"{number}. {question.question} ({_when(stages)})",
        kind="grade",
        levels=GRADES,
        examples=tuple((float(e.grade), e.answer) for e in question.examples),
        about=text,
        same=names[1:],
    )


def _when(stages: Sequence[int]) -> str:
    return "after " + ", ".join(f"location {n}" if n else "the introduction" for n in stages)


def _found(name: str, question: str, texts: Sequence[str]) -> tuple[Field, ...]:
    return tuple(
        Field(name=f"{name}-{n}", question=f"{question} {text}", kind="mark") for n, text in enumerate(texts, start=1)
    )


def _blocks(*titled: tuple[str, str | None]) -> tuple[Block, ...]:
    return tuple(Block(title=title, lines=(text,)) for title, text in titled if text)
