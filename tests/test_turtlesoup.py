"""TurtleSoup-Bench's builder: minted ids, pairs, clusters, and everything odd reported by id."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from builders.__main__ import main
from builders.release import ReleaseError, Row
from builders.samples.soups import authored_points, read_soups
from builders.splits import SplitError, load_split, make_split, write_split
from builders.turtlesoup import GENRES, LANGUAGES, describe_puzzles, read_release, to_soups
from builders.values import Soup
from evaluators.protocols.soup.lengths import PointCounts, point_counts, sentences
from tests.made import SOURCE, riddle

WORDS = {"en": "0123456789abcdef", "zh": "她丢了房子钥匙没有人知道雨夜来信"}


def text(language: str, n: int) -> str:
    """Text number n of a language, unlike every other: about 60 characters in English, 17 in Chinese."""
    digits = sha256(str(n).encode()).hexdigest()[: 60 if language == "en" else 17]
    return "".join(WORDS[language][int(digit, 16)] for digit in digits)


def puzzle(language: str, n: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "title": f"T{n}",
        "surface": text(language, n + 100),
        "bottom": text(language, n),
        "tips": ["a", "b"],
        **fields,
    }


def release(folder: Path, **files: list[Any]) -> Path:
    """A release with one puzzle a file, or those given as `en_Mind_Game=[...]`."""
    number = 0
    for language in LANGUAGES:
        (folder / language).mkdir(parents=True, exist_ok=True)
        for n, genre in enumerate(GENRES):
            rows = files.get(f"{language}_{genre}", [puzzle(language, n)])
            (folder / language / f"{genre}.json").write_text(json.dumps(rows, ensure_ascii=False))
            number += len(rows)
    return folder


def odd(folder: Path, field: str) -> list[tuple[str, str, str]]:
    rows, _ = read_release(str(folder))
    return [(o.item, o.severity, o.message) for o in to_soups(rows)[1] if o.field == field]


def test_ids_are_minted_and_languages_paired(tmp_path: Path) -> None:
    rows, source = read_release(str(release(tmp_path)))
    soups, oddities = to_soups(rows)
    assert len(soups) == 12
    assert not oddities
    by_id = {s.id: s for s in soups}
    one = by_id["zh/Mind_Game/0"]
    assert (one.language, one.category, one.pair, one.cluster) == ("zh", "Mind_Game", "en/Mind_Game/0", "Mind_Game/0")
    assert one.cluster == by_id["en/Mind_Game/0"].cluster
    assert source.licence.startswith("LicenseRef-")
    assert len(source.sha256 or "") == 64


def test_oddities_are_reported_by_id_and_change_nothing(tmp_path: Path) -> None:
    english = [
        puzzle("en", 1, title="Same"),
        puzzle("en", 2, title="Same"),
        puzzle("en", 1, title="Again", bottom=text("en", 1) + " So."),
        puzzle("en", 3, tips=["a", "b", "c"]),
        puzzle("en", 4, bottom=f"{text('en', 4)} 星期日."),
        puzzle("en", 5, bottom="Short: " + text("en", 5)[:20]),
    ]
    chinese = [puzzle("zh", n) for n in range(10, 16)]
    folder = release(tmp_path, en_Mind_Game=english, zh_Mind_Game=chinese)
    assert ("en/Mind_Game/1", "note", "the same title as en/Mind_Game/0; titles are no keys") in odd(folder, "title")
    assert [o[0] for o in odd(folder, "tips")] == ["en/Mind_Game/3"]
    messages = {(item, message.split(":")[0].split(" (")[0]) for item, _, message in odd(folder, "bottom")}
    assert ("en/Mind_Game/4", "Chinese script in the English text") in messages
    assert ("en/Mind_Game/5", "condensed") in messages
    assert any(item == "en/Mind_Game/2" and "retells en/Mind_Game/0" in text for item, _, text in odd(folder, "bottom"))
    rows, _ = read_release(str(folder))
    soups, _ = to_soups(rows)
    cluster = {s.id: s.cluster for s in soups}
    assert cluster["en/Mind_Game/2"] == cluster["zh/Mind_Game/2"] == "Mind_Game/0"
    assert next(s for s in soups if s.id == "en/Mind_Game/4").bottom.endswith("星期日.")


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"title": "T", "surface": "s", "bottom": "b"}, "tips"),
        (puzzle("en", tips=[]), "tips"),
        (puzzle("en", tips="a"), "tips"),
        (puzzle("en", tips=["a", 3]), "tips"),
        (puzzle("en", bottom=" "), "bottom"),
        (puzzle("en", surface=None), "surface"),
        (puzzle("en", bottom="Hidden \u202e text"), "bottom"),
    ],
)
def test_what_is_no_puzzle_is_refused(row: dict[str, Any], field: str) -> None:
    soups, oddities = to_soups([Row("en/Mind_Game/0", row)])
    assert soups == ()
    assert any(o.field == field and o.severity == "refused" for o in oddities)


@pytest.mark.parametrize("text", ["[", "{}", "[]", "[3]", '{"a": 1}'])
def test_a_damaged_file_is_one_error_that_names_it(tmp_path: Path, text: str) -> None:
    (release(tmp_path) / "zh/Mind_Game.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"zh/Mind_Game\.json"):
        read_release(str(tmp_path))


def test_a_missing_release_says_where_to_get_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "turtlesoup", "--out", str(tmp_path)]) == 1
    assert "git clone https://" in capsys.readouterr().err
    (release(tmp_path) / "en/Mind_Game.json").unlink()
    with pytest.raises(ReleaseError, match=r"Mind_Game\.json is missing"):
        read_release(str(tmp_path))


def test_a_revision_of_a_clone_is_read_as_it_was_committed(tmp_path: Path) -> None:
    folder = release(tmp_path / "clone/data")
    git = ["git", "-C", str(tmp_path / "clone"), "-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    before = read_release(str(tmp_path / "clone"))[0]
    (folder / "en/Mind_Game.json").write_text("[]")
    rows, source = read_release(str(tmp_path / "clone"), revision="HEAD")
    assert (rows, source.revision) == (before, commit)
    with pytest.raises(ReleaseError, match="cannot read this revision"):
        read_release(str(tmp_path / "clone"), revision="no-such")


def test_a_split_of_puzzles_comes_back_from_disk(tmp_path: Path) -> None:
    assert main(["build", "soup-samples", "--out", str(tmp_path)]) == 0
    split = load_split("sample-soup-zh", root=tmp_path)
    assert (split.manifest.language, split.manifest.protocol, split.manifest.items) == ("zh", "soup", 12)
    assert all(isinstance(item, Soup) and item.language == "zh" for item in split.items)
    write_split(split, root=tmp_path)  # an equal split is left alone
    with pytest.raises(SplitError, match="is a Riddle, the split holds Soups"):
        make_split("sample-soup-en", [riddle(1)], version="1.0.0", sources=[SOURCE])


def test_the_samples_are_twelve_puzzles_two_a_genre_in_both_languages_with_points() -> None:
    rows, source = read_soups()
    soups, oddities = to_soups(rows)
    assert not oddities
    assert source.licence == "CC-BY-4.0"
    assert Counter((s.language, s.category) for s in soups) == {(x, g): 2 for x in LANGUAGES for g in GENRES}
    points = authored_points()
    assert set(points) == {s.id for s in soups}
    assert all(2 <= len(logic) <= 5 and 3 <= len(details) <= 8 for logic, details in points.values())


def test_the_real_release_has_the_counts_of_table_1b(
    real_data: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zhou et al. 2025, Table 1b: 164, 120, 62, 116, 138 and 200 puzzles in both languages, 5.7 key clues each."""
    assert main(["build", "turtlesoup", str(real_data("turtlesoup_bench")), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    items = [i for x in LANGUAGES for i in load_split(f"turtlesoup-{x}", root=tmp_path).items if isinstance(i, Soup)]
    assert len(items) == 800
    assert Counter(i.category for i in items) == {
        **{"Crime_Thriller": 164, "Mind_Game": 120, "Supernatural_Fantasy": 62},
        **{"Constant_Change": 116, "Clever_Logic": 138, "Original_Data": 200},
    }
    assert describe_puzzles(items).endswith("5.72 key clues a puzzle")
    assert said.count("5.72 key clues a puzzle") == 2
    rows, _ = read_release(str(real_data("turtlesoup_bench")))
    found = to_soups(rows)[1]
    assert [o.item for o in found if o.field == "tips" and "differ" in o.message] == ["en/Constant_Change/5"]
    assert sum(o.message.startswith("condensed") for o in found) == 12
    retold = {o.item for o in found if o.message.startswith("retells")}
    assert retold == {"en/Mind_Game/41", "zh/Mind_Game/41"}


@pytest.mark.parametrize(
    ("length", "stops", "expected"),
    [
        (139, 1, (2, 3)),
        (140, 1, (2, 4)),
        (179, 9, (2, 4)),
        (199, 5, (2, 4)),
        (200, 5, (2, 5)),
        (200, 4, (2, 4)),
        (249, 4, (2, 4)),
        (250, 6, (3, 5)),
        (250, 7, (3, 6)),
        (349, 6, (3, 5)),
        (350, 7, (4, 6)),
        (350, 8, (4, 7)),
        (499, 7, (4, 6)),
        (500, 1, (5, 8)),
    ],
)
def test_points_are_counted_by_the_limits_of_the_released_code(length: int, stops: int, expected: PointCounts) -> None:
    text = "x." * stops + "y" * (length - 2 * stops - 1) + "." if length > 2 * stops else ""
    text = "x." * (stops - 1) + "y" * (length - 2 * stops + 1) + "."
    assert (len(text), sentences(text)) == (length, stops)
    assert point_counts(text, language="en") == expected
    assert point_counts(text, language="zh", compat="released") == expected


def test_a_chinese_solution_is_cut_as_finely_as_its_translation() -> None:
    assert point_counts("字" * 100, language="zh") == point_counts("x" * 357, language="en") == (4, 6)
    assert point_counts("字" * 100, language="zh", compat="released") == (2, 3)
