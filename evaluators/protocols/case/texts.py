"""The prompts of the case protocol: those of the game, and those of a grader's mode."""

from pathlib import Path

from evaluators.answers import GraderMode
from evaluators.prompts import Prompt
from evaluators.protocols.soup.texts import Texts

GAME = ("answer", "revise", "choose")
GRADING: dict[GraderMode, str] = {1: "grade-1", 2: "grade-2", 3: "grade-3", 4: "grade-rubric", 5: "grade-rubric"}
RUBRIC = "rubric"


def load_case_texts(mode: GraderMode, *, home: Path | None = None) -> Texts:
    """Read the prompts of the game and of a grader's mode.

    Raises:
        PromptError: If a file is missing or not in its form.
    """
    return Texts({name: Prompt(f"case/{name}", home=home) for name in (*GAME, GRADING[mode])}, {}, {})


def load_rubric_text(*, home: Path | None = None) -> Texts:
    """Read the prompt of the rubric's writer.

    Raises:
        PromptError: If it is missing or not in its form.
    """
    return Texts({RUBRIC: Prompt(f"case/{RUBRIC}", home=home)}, {}, {})
