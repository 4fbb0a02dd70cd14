"""The forms of the structured replies in a game and in its scoring."""

from functools import cache
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema, create_model

from builders.values import Genre, Value
from evaluators.answers import Proposal

# Engines that decode under a grammar hold a number to a list of values but not to limits: judges are offered levels.
# Any share is read all the same, for endpoints that take no schema.
LEVELS = tuple(n / 20 for n in range(21))
Share = Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number", "enum": list(LEVELS)})]
MOST_POINTS = 20  # a summary of hundreds of guesses would buy points by their number


def _words(text: str) -> str:
    # Small models copy the dots that stand for a text in the prompt's example.
    if not any(c.isalnum() for c in text):
        raise ValueError(f"{text[:20]!r} holds no word; write the text itself")
    return text


Words = Annotated[str, AfterValidator(_words)]
# A player may leave a list empty; the schema asks for one entry at least, because weak models close lists at once.
Told = Annotated[tuple[str, ...], Field(max_length=MOST_POINTS, json_schema_extra={"minItems": 1})]


class Story(Value):
    """What a player believes: a belief state, or the final summary."""

    details: Told
    logic: Told
    conclusion: str


class Proposals(Value):
    """Doubts about a belief, with questions that would settle them."""

    proposals: tuple[Proposal, ...] = Field(min_length=1, max_length=5)


class GenreReply(Value):
    """One vote on the kind of story."""

    genre: Genre


class KeyClueReply(Value):
    """Whether a question touches a key clue."""

    key_clue: bool


@cache
def questions(wanted: int) -> type[Value]:
    """Form of a reply with exactly so many questions."""
    field = (tuple[Words, ...], Field(min_length=wanted, max_length=wanted))
    return create_model("Questions", __base__=Value, questions=field)


@cache
def choice(among: int) -> type[Value]:
    """Form of a choice of one of so many."""
    return create_model("Choice", __base__=Value, choice=(int, Field(ge=1, le=among)))


@cache
def similarities(texts: int) -> type[Value]:
    """Form of a judge's reply: one similarity in [0, 1] for each text."""
    field = (tuple[Share, ...], Field(min_length=texts, max_length=texts))
    return create_model("Similarities", __base__=Value, similarities=field)


@cache
def points(logic: int, details: int) -> type[Value]:
    """Form of a solution cut into exactly so many points."""
    return create_model(
        "Points",
        __base__=Value,
        logic=(tuple[Words, ...], Field(min_length=logic, max_length=logic)),
        details=(tuple[Words, ...], Field(min_length=details, max_length=details)),
    )
