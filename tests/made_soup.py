"""A scripted table for situation puzzles: what the loopback server says as player, Responder and judge."""

import json
from hashlib import sha256
from typing import Any

from builders.values import Soup
from tests.servers.model_server import Answer

Body = dict[str, Any]


def soup(**fields: Any) -> Soup:
    """A puzzle."""
    made = {
        "id": "en/Mind_Game/0",
        "cluster": "Mind_Game/0",
        "category": "Mind_Game",
        "language": "en",
        "title": "The Key",
        "surface": "She threw the key away and laughed.",
        "bottom": "It was the key of the prison that she had left for good.",
        "tips": ("It is about a prison.", "She is free."),
    }
    return Soup.model_validate({**made, **fields})


def form(body: Body) -> str:
    """Name of the reply's form; `words` where the request names none."""
    wanted = body.get("response_format") or {}
    return str(wanted["json_schema"]["name"]) if wanted else "words"


def number(body: Body) -> int:
    return int(sha256(json.dumps(body["messages"]).encode()).hexdigest()[:8], 16)


def table(body: Body, _: int = 1) -> Answer:
    """Every reply well-formed, and the same for the same request; questions differ from turn to turn."""
    n = number(body)
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    replies: dict[str, Any] = {
        "Questions": lambda: {"questions": [f"Is it {n}-{i}?" for i in range(size(schema, "questions"))]},
        "Choice": lambda: {"choice": 1 + n % 3},
        "YesNoReply": lambda: {"answer": ("yes", "no", "unknown")[n % 3]},
        "KeyClueReply": lambda: {"key_clue": n % 4 == 0},
        "GenreReply": lambda: {"genre": "Clever_Logic"},
        "Story": lambda: {
            "details": [f"Fact {n}."],
            "logic": ["One thing leads to another."],
            "conclusion": f"It was {n}.",
        },
        "Proposals": lambda: {"proposals": [{"doubt": "Why?", "analysis": "It may be so.", "question": "Is it so?"}]},
        "Similarities": lambda: {"similarities": [round(n % 11 / 10, 1)] * size(schema, "similarities")},
        "Points": lambda: {k: [f"{k} {i} of {n}" for i in range(size(schema, k))] for k in ("logic", "details")},
        "words": lambda: f"What is certain now: {n}.",
    }
    said = replies[form(body)]()
    return Answer(content=said if isinstance(said, str) else json.dumps(said))


def size(schema: Body, name: str) -> int:
    return int(schema["properties"][name]["maxItems"])
