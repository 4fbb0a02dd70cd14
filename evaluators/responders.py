"""How well a model answers yes/no questions: TurtleBench's labelled guesses put to it, with the prompt of the games.

Source: Yu et al. 2024, TurtleBench, arXiv:2410.05262; 32 stories and 1532 guesses with labels in each language.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from builders.release import ReleaseError, show
from builders.values import Language, Sha256, Soup, Value
from evaluators.answers import YesNo
from evaluators.models import public
from evaluators.protocols.soup.desk import Desk, GameEndedError, fence
from evaluators.protocols.soup.texts import Texts
from evaluators.protocols.soup.yesno import YesNoReply, yes_or_no
from evaluators.run import together
from evaluators.runner import Runner
from evaluators.values import Model

MOST_BYTES = 16 * 2**20
LABELS: Mapping[str, YesNo] = {
    **{"Correct": "yes", "Incorrect": "no", "Unknown": "unknown"},
    **{"T": "yes", "F": "no", "N": "unknown"},
}


class ResponderCheck(Value):
    """What a model answered to the labelled guesses of one language."""

    model: Model
    language: Language
    asked: int = Field(ge=1, description="Labelled guesses put to the model.")
    confusion: dict[str, dict[str, int]] = Field(
        description="Count by label and answer: yes, no, unknown; `unread`, `refused` and `failed` are no answers."
    )
    prompt_sha256: Sha256
    data_sha256: Sha256 = Field(description="Digest of the stories and the labelled guesses that were put.")
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")

    @property
    def accuracy(self) -> float:
        """Share of all guesses answered as labelled; what was not read or failed is not right."""
        return sum(row.get(label, 0) for label, row in self.confusion.items()) / self.asked

    def recall(self, label: YesNo) -> float | None:
        """Share of the guesses of one label answered so; None where there are none."""
        row = self.confusion.get(label, {})
        return row.get(label, 0) / sum(row.values()) if sum(row.values()) else None


class Guess(NamedTuple):
    """A labelled guess about a story."""

    story: Soup
    text: str
    label: YesNo


def read_guesses(folder: Path, language: Language) -> tuple[Guess, ...]:
    """Read TurtleBench's guesses of one language: `<language>/stories.json` and `<language>/cases.list`.

    Raises:
        ReleaseError: If a file is not in its form; the message names file and line.
        OSError: If a file cannot be read.
    """
    home = folder / language
    stories = _stories(home / "stories.json", language)
    path, found = home / "cases.list", []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        # English has " | " between tabs, Chinese tabs alone.
        cells = [cell.strip() for cell in line.replace("\t|\t", "\t").split("\t")]
        if len(cells) != 3 or cells[1] not in stories or cells[2] not in LABELS or not cells[0]:
            raise ReleaseError(
                f"{path}:{number}: {show(line)} is not guess, title of a story and label, with tabs between"
            )
        found.append(Guess(stories[cells[1]], cells[0], LABELS[cells[2]]))
    if not found:
        raise ReleaseError(f"{path}: holds no guess")
    return tuple(found)


async def check_responder(
    guesses: Sequence[Guess],
    model: Model,
    texts: Texts,
    runner: Runner,
    *,
    language: Language,
    date: str,
    on_done: Callable[[], None] = lambda: None,
) -> ResponderCheck:
    """Put every guess to a model as a Responder and count what it answers."""
    counts: dict[str, Counter[str]] = {label: Counter() for label in ("yes", "no", "unknown")}
    queue = iter(guesses)

    async def work() -> None:
        for guess in queue:
            desk = Desk(runner.complete(model), model.decoding, texts)
            values = {"soup": guess.story, "question": guess.text, "fence": fence(guess.text)}
            try:
                reply = await desk.ask("answer", values, YesNoReply, reader=yes_or_no)
                counts[guess.label]["unread" if reply is None else reply.answer] += 1
            except GameEndedError as end:
                counts[guess.label]["refused" if end.failure == "refused" else "failed"] += 1
            on_done()

    await together(work, min(runner.concurrency, len(guesses)))
    return ResponderCheck(
        model=public(model),
        language=language,
        asked=len(guesses),
        confusion={label: dict(sorted(row.items())) for label, row in counts.items()},
        prompt_sha256=texts.prompts["answer"].sha256,
        data_sha256=_digest(guesses),
        date=date,
    )


def _digest(guesses: Sequence[Guess]) -> str:
    rows = [[g.story.surface, g.story.bottom, g.text, g.label] for g in guesses]
    return sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def _stories(path: Path, language: Language) -> dict[str, Soup]:
    try:
        rows = json.loads(_text(path))
        return {
            row["title"]: Soup(
                id=f"{language}/{n}",
                cluster=str(n),
                category="Original_Data",  # TurtleBench has no genres; the Responder is not told one
                language=language,
                title=row["title"],
                surface=row["surface"],
                bottom=row["bottom"],
                tips=("none",),
            )
            for n, row in enumerate(rows)
        }
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReleaseError(
            f"{path}: not a list of stories with title, surface and bottom ({show(str(error))})"
        ) from None


def _text(path: Path) -> str:
    if path.stat().st_size > MOST_BYTES:
        raise ReleaseError(f"{path}: more than {MOST_BYTES >> 20} MB; TurtleBench's files are far smaller")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ReleaseError(f"{path}: not text in UTF-8") from None
