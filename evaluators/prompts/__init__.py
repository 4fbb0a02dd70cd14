"""Prompt texts: templates in this folder, rendered with the values of an item, named by their digest."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from builders.values import Language, SplitManifest
from evaluators.values import Message

HOME = Path(__file__).parent


def language_of(manifest: SplitManifest) -> Language:
    """The language that a split's models and judges are spoken to in: English but for Chinese."""
    return "zh" if manifest.language == "zh" else "en"


class PromptError(ValueError):
    """A prompt template is missing or broken."""


class Prompt:
    """A system and a user template, for example `riddle/judge`: the files NAME.system.md and NAME.user.md.

    Args:
        name: Path of the pair below the folder of prompts, without endings.
        home: Another folder of the same layout, for those who own a paper's original wording (`--prompts DIR`).

    Raises:
        PromptError: If a file is missing, not UTF-8 or not a template.
    """

    def __init__(self, name: str, *, home: Path | None = None) -> None:
        from jinja2 import StrictUndefined, TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
        texts = []
        for part in ("system", "user"):
            path = (home or HOME) / f"{name}.{part}.md"
            try:
                texts.append(path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise PromptError(
                    f"prompt {path}: {error}; give a folder with riddle/solver.*.md and riddle/judge.*.md"
                ) from None
        try:
            self._system, self._user = (environment.from_string(text) for text in texts)
        except TemplateError as error:
            raise PromptError(f"prompt {(home or HOME) / name}: {error}") from None
        self.sha256 = sha256("\0".join(texts).encode()).hexdigest()

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, Message]:
        """Fill both templates.

        Raises:
            PromptError: If a template names a value that there is not.
        """
        from jinja2 import TemplateError

        try:
            return (
                Message(role="system", text=self._system.render(values).strip()),
                Message(role="user", text=self._user.render(values).strip()),
            )
        except TemplateError as error:
            raise PromptError(f"prompt template: {error}") from None
