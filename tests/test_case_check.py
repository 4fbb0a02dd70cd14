"""Cases that are sent: a sound bundle passes without a word; sealed cases run like public ones."""

from pathlib import Path

import pytest

from builders.splits import load_split
from evaluators.check import check_bundle
from evaluators.check.indexes import find_index
from evaluators.rubrics import rubrics_for
from evaluators.store import open_store, store_path
from evaluators.submit import main as submit
from evaluators.write_rubrics import main as write_rubrics
from leaderboard.case_boards import case_boards
from tests.made_case import built, case, made_split, table
from tests.made_sealed import hold, key, leaks
from tests.made_sealed import write as seal
from tests.servers.model_server import ModelServer
from tests.test_case_submit import CASES, options


def kinds(folder: Path, splits: Path) -> set[str]:
    return {f.kind for f in check_bundle(folder, splits=splits).findings if f.severity == "refused"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on made cases."""
    root = tmp_path_factory.mktemp("case")
    built(root / "splits", CASES, "7.0.0")  # 1.0.0 is the project's own, and its index is in git
    with pytest.MonkeyPatch.context() as patch, ModelServer(table) as server:
        patch.setenv("DEERSTALKER_STORE", str(root / "results.duckdb"))
        assert submit([*options(root, server), "--split", "sample-case@7.0"]) == 0
    return root


def test_a_sound_bundle_of_cases_passes(sound: Path) -> None:
    assert kinds(sound / "out/bundle", sound / "splits") == set()
    index = find_index("sample-case@7.0.0", sound / "splits")
    assert index is not None
    assert index.practice == ("case-practice",)


def test_sealed_cases_are_played_and_graded_by_sealed_rubrics_and_leave_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, recipient = key(tmp_path / "keys", "mine")
    hold(monkeypatch, file)
    seal(made_split([case("a", 4, 2), case("b", 3, 3)]), tmp_path / "splits", recipient)
    with ModelServer(table) as server:
        writer = ["--split", "sample-case", "--writer", "w:openai/writer", "--api-base", server.url]
        assert write_rubrics([*writer, "--splits", str(tmp_path / "splits")]) == 0
        run = options(tmp_path, server)
        at = run.index("--grader-mode")
        assert submit([*run[:at], *run[at + 2 :]]) == 0
    said = capsys.readouterr()
    assert "the evidence is encrypted" in said.out
    words = {b"Introduction of a", b"Text of a", b"Truth 1 of", b"Solution of", b"Testified ", b"Read it "}
    assert leaks(words, tmp_path) == []
    assert not [w for w in words if w.decode() in said.out + said.err]
    (rubrics,) = (tmp_path / "splits/sample-case/1.0.0.rubrics").glob("*.yaml.age")
    split = load_split("sample-case", root=tmp_path / "splits", sealed=True)
    assert rubrics_for(split, mode=5, root=tmp_path / "splits").rubrics[0].rubric.steps.startswith("Read it")
    with open_store(store_path()) as store:
        (board,) = case_boards(store)
    (line,) = board.sections[0].ranked
    assert 0 <= float(line.score) <= 3
    assert len(board.sections[0].plots) == 2
    rubrics.write_bytes(rubrics.read_bytes()[:-9])
    with ModelServer(table) as server:
        assert submit([*run[:at], *run[at + 2 :]]) == 1
        assert server.requests == []
    assert "cut or changed" in capsys.readouterr().err
