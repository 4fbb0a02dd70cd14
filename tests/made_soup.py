"""A scripted table for situation puzzles: what the loopback server says as player, Responder and judge."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from builders.values import Soup
from evaluators.answers import SoupBelief, SoupGame, SoupSettings, SoupTurn
from evaluators.bundle import write_bundle
from evaluators.check import find_index
from evaluators.protocols.soup.condition import write_condition
from evaluators.protocols.soup.judge import scored
from evaluators.protocols.soup.matching import overall
from evaluators.run import Outcome, count
from evaluators.values import Model, Submission, Transcript, Verdict, transcript_id
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


def write_made_games(board: Path, name: str = "acme-1", *, brought: bool = False, **fields: Any) -> Path:
    """Write a bundle of twelve short games on the sample puzzles where a board keeps it; returns its folder.

    Args:
        brought: Reconstructions only.
        fields: Of the submission.
    """
    index = find_index("sample-soup-en@1.0.0", Path("no-splits"))
    assert index is not None
    settings = SoupSettings(responder="openai/host", max_turns=2)
    truth = fields.pop("points_sha256", "5" * 64)
    person = fields.get("model", Model(name="acme/solver", provider="acme")).provider == "human"
    said = write_condition(settings, truth, first=None, brought=brought, human=person)
    transcripts, verdicts = [], []
    for n, item in enumerate(index.ids):
        story = {"kind": "soup", "logic": [f"step {n}"], "details": [f"fact {n}"], "conclusion": f"It was clue {n}."}
        turn = SoupTurn(question=f"Is it {n}?", answer="no", candidates=(f"Is it {n}?", "Or not?"), analysis="Hm.")
        belief = SoupBelief(turn=1, logic=("so",), details=("that",), conclusion="thus")
        game = SoupGame(settings=settings, points_sha256=truth, turns=(turn, turn), beliefs=(belief,), calls=11)
        made = {"transcript_id": transcript_id(name, item, 0), "split": index.manifest.ref, "item_id": item}
        about = {"model": "acme/solver", "protocol": "soup", "condition": said, "answer": story}
        t = Transcript.model_validate(made | about | ({} if brought else {"game": game}))
        transcripts.append(t)
        verdicts += [_vote(t, judge) for judge in ("a-1", "b-1", "c-1")]
    outcome = Outcome(tuple(transcripts), tuple(verdicts))
    described = {
        **{"submission_id": name, "benchmark": "soup-samples", "split": "sample-soup-en", "version": "1.0.0"},
        **{"split_sha256": index.manifest.sha256, "protocol": "soup", "condition": said, "jury": "custom-made"},
        **{"model": Model(name="acme/solver", provider="acme"), "judges": ("a-1", "b-1", "c-1"), "date": "2026-11-01"},
        **{"counts": count(outcome, expected=12), "contamination": "not that we know", "contact": "somebody"},
        "evidence": "answers brought" if brought else "run",
    }
    folder = board / "soup-samples" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, Submission.model_validate(described | fields), *outcome)
    return folder


def _vote(transcript: Transcript, judge: str) -> Verdict:
    rows = {"logic": [(0.9,), (0.6,)], "details": [(0.5,), (0.1,)], "conclusion": [(0.7,)]}
    parts = scored(rows)
    made = {"transcript_id": transcript.transcript_id, "judge": judge, "provider": judge[0], "kind": "model"}
    reply = json.dumps(rows, sort_keys=True)
    return Verdict(**made, score=overall(parts), parts=parts, reply=reply, prompt_sha256="0" * 64)  # type: ignore[arg-type]
