"""The forms of the structured replies of the novel protocol."""

from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, create_model, field_validator

from builders.values import Value
from evaluators.answers import Letter

MOST_STEPS = 60  # the longest reference has 27; hundreds of guesses would find every step by their number

Step = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def bare_letter(value: Any) -> Any:
    """Take "b", "B." and "(B)" for that letter; "B or C" and "B. The valet" stay what they are, no letter."""
    return value.strip().strip("().:").upper() if isinstance(value, str) else value


class SolverReply(Value):
    """Form of a solver's reply; the steps stand first, so that the letter follows from them."""

    reasoning: tuple[Step, ...] = Field(min_length=1, max_length=MOST_STEPS)
    answer: Letter

    @field_validator("answer", mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        return bare_letter(value)


def _once(found: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(found)) != len(found):
        raise ValueError("an index stands twice")
    return found


@cache
def steps_found(steps: int) -> type[Value]:
    """Form of a judge's reply on so many reference steps: the indexes of those it found, from 1, each once."""
    index = Annotated[int, Field(strict=True, ge=1, le=steps)]
    found: Any = (Annotated[tuple[index, ...], AfterValidator(_once)], Field(max_length=steps))
    return create_model("StepsFound", __base__=Value, explanation=(str, Field()), found=found)
