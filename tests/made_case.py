"""Cases and a scripted table for them: what the loopback server says as player, grader and writer of rubrics."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders.splits import Split, make_split, write_split
from builders.values import Case, Source
from evaluators.answers import CaseAnswer, CaseGame, CaseSettings, CaseVisit
from evaluators.bundle import Bundle
from evaluators.units import unit_of
from evaluators.values import Counts, Model, Submission, Transcript, Verdict, transcript_id
from tests.made_soup import form, number
from tests.servers.model_server import Answer

Body = dict[str, Any]
SCRIPT = "<script>alert(1)</script> {{ 7*7 }} \u061c"
CASES = {"a": (4, 2), "b": (3, 3), "c": (2, 2)}  # locations and questions
Grades = Sequence[Sequence[int | None]]  # by stage and question; None: a judge that could not be read
SOURCE = Source(title="Made", url="file:tests", licence="CC-BY-4.0", citation="The Deerstalker contributors.")


def case(name: str = "a", places: int = 4, asked: int = 2, **fields: Any) -> Case:
    """A case whose every text names itself."""
    examples = [{"grade": g, "answer": f"An answer of grade {g}."} for g in range(4)]
    made = {
        "id": f"case-{name}",
        "cluster": f"case-{name}",
        "title": f"The Affair {name}",
        "introduction": f"Introduction of {name}: a bell rang at noon.",
        "locations": [{"name": f"The Inn {name}{n}", "text": f"Text of {name}, place {n}."} for n in range(places)],
        "questions": [
            {"question": f"Question {n} of {name}?", "answer": f"Truth {n} of {name}.", "examples": examples}
            for n in range(1, asked + 1)
        ],
        "solution": f"Solution of {name}: it was the sexton.",
    }
    return Case.model_validate({**made, **fields})


def built(root: Path, cases: Sequence[Case], version: str = "1.0.0") -> Split:
    """A split of cases, built below `root`."""
    split = made_split(cases, version)
    write_split(split, root=root)
    return split


def made_split(cases: Sequence[Case], version: str = "1.0.0") -> Split:
    """A split of cases, not written anywhere."""
    return make_split("sample-case", cases, version=version, sources=[SOURCE])


def left_of(body: Body) -> list[str]:
    """The places that a choice is asked among."""
    return re.findall(r"^- (The .+)$", body["messages"][1]["content"].partition("# Places not yet visited")[2], re.M)


def table(body: Body, _: int = 1) -> Answer:
    """Every reply well-formed, and the same for the same request; the last place listed is chosen."""
    n = number(body)
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    level = {"definition": "d", "examples": ["one", "two"], "edge_cases": "e"}
    replies: dict[str, Any] = {
        "CaseAnswers": lambda: {key: f"Testified {n} to {key}" for key in wanted["required"]},
        "LocationReply": lambda: {"location": left_of(body)[-1]},
        "GradeReply": lambda: {"score": n % 4},
        "Rubric": lambda: {"levels": [level] * 4, "steps": f"Read it {n} times."},
    }
    return Answer(content=json.dumps(replies[form(body)]()))


def flat(grade: int, locations: int, questions: int) -> Grades:
    """The same grade everywhere."""
    return [[grade] * questions for _ in range(locations + 1)]


def run(
    name: str,
    tables: Mapping[str, Grades | None],
    *,
    human: Mapping[str, Grades] | None = None,
    sizes: Mapping[str, tuple[int, int]] = CASES,
    orders: Mapping[str, Sequence[int]] | None = None,
    **fields: Any,
) -> Bundle:
    """A run with one table of grades a case; None is a call that failed."""
    person = fields.get("provider") == "human"
    settings = CaseSettings(kind="case", grader_mode=3, player="human" if person else "model")
    condition = fields.pop("condition", "player=human;grader=3" if person else "scheme=simple;grader=3")
    model = Model(name=fields.pop("model", name), provider=fields.pop("provider", "acme"))
    transcripts, verdicts = [], []
    for item, table in tables.items():
        locations, questions = sizes[item]
        key = transcript_id(name.lower(), f"case-{item}", 0)
        order = (orders or {}).get(item, range(locations))
        visits = tuple(CaseVisit(location=n, how="chosen") for n in order)
        game = CaseGame(settings=settings, locations=locations, questions=questions, visits=visits)
        answer = CaseAnswer(kind="case", stages=tuple((f"So. {SCRIPT}",) * questions for _ in range(locations + 1)))
        said: dict[str, Any] = {"failure": "timeout"} if table is None else {"answer": answer}
        common = {"split": "sample-case@1.0.0", "model": model.name, "protocol": "case", "condition": condition}
        transcripts.append(Transcript(transcript_id=key, item_id=f"case-{item}", game=game, **common, **said))
        for kind, rows, judges in (("model", table, "xyz"), ("human", (human or {}).get(item), "h")):
            for stage, row in enumerate(rows or ()):
                for n, grade in enumerate(row, start=1):
                    outcome: dict[str, Any] = {"failure": "unparsed"} if grade is None else {"score": grade}
                    about = {"transcript_id": key, "kind": kind, "unit": unit_of(stage, n), **outcome}
                    verdicts += [Verdict.model_validate({**about, "judge": judge}) for judge in judges]
    failed = sum(table is None for table in tables.values())
    counts = {"expected": len(sizes), "scored": len(tables) - failed, "failed": failed}
    counts |= {"no_answer": 0, "unjudged": 0, "missing": len(sizes) - len(tables)}
    made: dict[str, Any] = {
        **{"submission_id": name.lower(), "benchmark": "case-samples", "split": "sample-case", "version": "1.0.0"},
        **{"split_sha256": None, "protocol": "case", "condition": condition, "jury": "three", "judges": tuple("xyz")},
        **{"model": model, "date": "2026-03-04", "counts": Counts.model_validate(counts)},
    }
    return Bundle(Submission.model_validate({**made, **fields}), tuple(transcripts), tuple(verdicts))
