"""Cases and a scripted table for them: what the loopback server says as player, grader and writer of rubrics."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders.splits import Split, make_split, write_split
from builders.values import Case, Source
from tests.made_soup import form, number
from tests.servers.model_server import Answer

Body = dict[str, Any]
SOURCE = Source(title="Made", url="file:tests", licence="CC-BY-4.0", citation="The Deerstalker contributors.")


def case(name: str = "a", locations: int = 4, questions: int = 2, **fields: Any) -> Case:
    """A case whose every text names itself."""
    examples = [{"grade": g, "answer": f"An answer of grade {g}."} for g in range(4)]
    made = {
        "id": f"case-{name}",
        "cluster": f"case-{name}",
        "title": f"The Affair {name}",
        "introduction": f"Introduction of {name}: a bell rang at noon.",
        "locations": [{"name": f"The Inn {name}{n}", "text": f"Text of {name}, place {n}."} for n in range(locations)],
        "questions": [
            {"question": f"Question {n} of {name}?", "answer": f"Truth {n} of {name}.", "examples": examples}
            for n in range(1, questions + 1)
        ],
        "solution": f"Solution of {name}: it was the sexton.",
    }
    return Case.model_validate({**made, **fields})


def built(root: Path, cases: Sequence[Case]) -> Split:
    """A split of cases, built below `root`."""
    split = make_split("sample-case", cases, version="1.0.0", sources=[SOURCE])
    write_split(split, root=root)
    return split


def left_of(body: Body) -> list[str]:
    """The places that a choice is asked among."""
    return re.findall(r"^- (The .+)$", body["messages"][1]["content"].partition("# Places not yet visited")[2], re.M)


def table(body: Body, _: int = 1) -> Answer:
    """Every reply well-formed, and the same for the same request; the last place listed is chosen."""
    n = number(body)
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    level = {"definition": "d", "examples": ["one", "two"], "edge_cases": "e"}
    replies: dict[str, Any] = {
        "CaseAnswers": lambda: {key: f"Reply {n} to {key}" for key in wanted["required"]},
        "LocationReply": lambda: {"location": left_of(body)[-1]},
        "GradeReply": lambda: {"score": n % 4},
        "Rubric": lambda: {"levels": [level] * 4, "steps": f"Read it {n} times."},
    }
    return Answer(content=json.dumps(replies[form(body)]()))
