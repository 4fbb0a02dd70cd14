"""The project's own situation puzzles in English and Chinese, as rows of a release, with their author's points."""

from pathlib import Path
from typing import Any

from builders import BENCHMARKS
from builders.release import Row, files_sha256
from builders.values import Source

FILE = Path(__file__).with_name("soups.yaml")
LANGUAGES = ("en", "zh")


def read_soups() -> tuple[tuple[Row, ...], Source]:
    """Read both languages of every sample puzzle as rows in the schema of TurtleSoup-Bench, and their source."""
    rows = [
        Row(f"{language}/{entry['id']}", {k: entry[language][k] for k in ("title", "surface", "bottom", "tips")})
        for language in LANGUAGES
        for entry in _entries()
    ]
    source = next(b for b in BENCHMARKS if b.name == "soup-samples").sources[0]
    return tuple(rows), source.model_copy(update={"sha256": files_sha256([FILE])})


def authored_points() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The logic points and details that the author wrote for each sample puzzle, by item id."""
    return {
        f"{language}/{entry['id']}": (tuple(entry[language]["logic"]), tuple(entry[language]["details"]))
        for language in LANGUAGES
        for entry in _entries()
    }


def _entries() -> list[dict[str, Any]]:
    import yaml

    entries: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return entries
