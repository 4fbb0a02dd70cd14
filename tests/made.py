"""Small made-up splits and answers that several test files use."""

from pathlib import Path

from builders.splits import Split, make_split, write_split
from builders.values import GoldAnswer, Riddle, Source

SOURCE = Source(title="made", url="file:tests/made.py", licence="CC-BY-4.0", citation="tests")


def riddle(n: int, **fields: object) -> Riddle:
    """Riddle number n, answered by n."""
    made = {
        "id": f"r-{n:03}",
        "cluster": f"r-{n:03}",
        "category": "logic",
        "description": f"Riddle {n}: which number is meant?",
        "first_hint": "It is a number.",
        "second_hint": "It stands in the riddle.",
        "answer": str(n),
        "justification": "The riddle says so.",
    }
    return Riddle.model_validate(made | fields)


def gold(n: int) -> tuple[GoldAnswer, GoldAnswer]:
    """A right and a wrong answer to riddle number n, with their author's labels."""
    common = {"item_id": f"r-{n:03}", "annotator": "author"}
    right = {"name": "right", "answer": str(n), "justification": "It is said.", "is_answer_correct": True}
    wrong = {"name": "wrong", "answer": "none", "justification": "A guess.", "is_answer_correct": False}
    return (
        GoldAnswer.model_validate(common | right | {"is_justification_correct": True}),
        GoldAnswer.model_validate(common | wrong | {"is_justification_correct": False}),
    )


def made_split(items: int = 6) -> Split:
    """A split of `items` riddles with two gold answers each, under the name of a known one."""
    riddles = [riddle(n) for n in range(items)]
    labelled = [g for n in range(items) for g in gold(n)]
    return make_split("sample-llm", riddles, labelled, version="1.0.0", sources=[SOURCE])


def write_made_split(root: Path, items: int = 6) -> Split:
    """Write it where `--splits root` finds it."""
    split = made_split(items)
    write_split(split, root=root)
    return split
