"""The forms of the structured replies in a case and in its grading."""

from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, create_model

from builders.values import Value

Grade = Annotated[int, Field(strict=True, ge=0, le=3)]


class _Answers(Value):
    model_config = ConfigDict(coerce_numbers_to_str=True)  # "at 9" may come as 9


class LocationReply(Value):
    """Where to go next."""

    location: str


class GradeReply(Value):
    """A grader's reply; true or "2" are no grades."""

    score: Grade


@cache
def location_among(names: tuple[str, ...]) -> type[LocationReply]:
    """Form of a choice among so many names: an endpoint that enforces schemas gives one of them, letter by letter.

    The form itself takes any text, so that a reader may forgive a name in other letters.
    """
    field = (str, Field(json_schema_extra={"enum": list(names)}))
    return create_model("LocationReply", __base__=LocationReply, location=field)


@cache
def answers(questions: int, *, discussed: bool) -> type[Value]:
    """Form of the answers to so many questions, keyed by their numbers, with the discussion before them if asked."""
    before: dict[str, Any] = {"discussion": (str, ...)} if discussed else {}
    fields: dict[str, Any] = {str(n): (str, ...) for n in range(1, questions + 1)}
    return create_model("CaseAnswers", __base__=_Answers, **before, **fields)
