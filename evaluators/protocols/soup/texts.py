"""The prompts of the soup protocol in one language, and what the game says in it."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import yaml

from builders.values import Language
from evaluators.prompts import HOME, Prompt, PromptError

GAME = ("answer", "clue", "analysis", "belief", "proposals", "genre", "candidates", "screening", "summary")
SCORING = ("similarity",)
WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {"yes": "yes", "no": "no", "unknown": "unknown"},
    "zh": {"yes": "是", "no": "不是", "unknown": "未知"},
}


class Texts(NamedTuple):
    """Prompts by name, questioning strategies by genre (`general`: none settled), and words for the answers."""

    prompts: Mapping[str, Prompt]
    strategies: Mapping[str, str]
    words: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """Digest of everything that players, Responders and judges are told."""
        said = [f"{name} {prompt.sha256}" for name, prompt in sorted(self.prompts.items())]
        said += [f"{genre} {text}" for genre, text in sorted(self.strategies.items())]
        return sha256("\n".join(said).encode()).hexdigest()


def load_texts(language: Language, *, home: Path | None = None, names: tuple[str, ...] = GAME + SCORING) -> Texts:
    """Read the prompts and strategies of a language.

    Raises:
        PromptError: If a file is missing or not in its form.
    """
    prompts = {name: Prompt(f"soup/{language}/{name}", home=home) for name in names}
    strategies = _strategies((home or HOME) / "soup" / language / "strategies.yaml") if set(names) & set(GAME) else {}
    return Texts(prompts, strategies, WORDS[language])


def _strategies(path: Path) -> dict[str, str]:
    from typing import get_args

    from builders.values import Genre

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PromptError(f"{path}: {error}; give a text for `general` and for each genre") from None
    needed = {"general", *get_args(Genre)}
    if not isinstance(found, dict) or set(found) != needed or not all(isinstance(t, str) for t in found.values()):
        raise PromptError(f"{path}: a text is expected for each of {', '.join(sorted(needed))}, and nothing else")
    return found
