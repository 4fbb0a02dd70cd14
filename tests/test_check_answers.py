"""The check of bundles about novels and of cases: each way to spoil one ends with one readable finding."""

import shutil
import time
from pathlib import Path

import pytest

from evaluators.check import check_bundle
from evaluators.check.indexes import HOME, SplitIndex
from evaluators.submit import main as submit
from tests.hostile import Hostile
from tests.hostile_answers import CASES as HOSTILE_CASES
from tests.hostile_answers import NOVELS
from tests.made_case import built
from tests.made_case import table as play
from tests.made_novel import release
from tests.servers.model_server import ModelServer
from tests.test_case_submit import CASES
from tests.test_case_submit import options as case_options
from tests.test_novel_submit import NOVELS as TEXTS
from tests.test_novel_submit import QUESTIONS
from tests.test_novel_submit import options as novel_options
from tests.test_novel_submit import table as read


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Bundle and splits of a run about novels and of a run on cases."""
    from builders.__main__ import main as builders

    novel, case = tmp_path_factory.mktemp("novel"), tmp_path_factory.mktemp("case")
    release(novel / "release", texts=TEXTS, **QUESTIONS)
    where = ["--source", str(novel / "release"), "--out", str(novel / "splits")]
    assert builders(["build", "detectiveqa-en", *where]) == 0
    built(case / "splits", CASES, "7.0.0")  # 1.0.0 is the project's own, and its index is in git
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEERSTALKER_STORE", str(novel / "results.duckdb"))
        with ModelServer(read) as server:
            assert submit(novel_options(novel, novel / "splits", server)) == 0
        with ModelServer(play) as server:
            assert submit([*case_options(case, server), "--split", "sample-case@7.0"]) == 0
    return {"novel": (novel / "out/bundle", novel / "splits"), "case": (case / "out/bundle", case / "splits")}


@pytest.mark.parametrize("kind", ["novel", "case"])
def test_a_sound_bundle_passes(sound: dict[str, tuple[Path, Path]], kind: str) -> None:
    folder, splits = sound[kind]
    assert check_bundle(folder, splits=splits).accepted


@pytest.mark.parametrize(
    ("kind", "hostile"),
    [*(("novel", h) for h in NOVELS), *(("case", h) for h in HOSTILE_CASES)],
    ids=[*(f"novel, {h.name}" for h in NOVELS), *(f"case, {h.name}" for h in HOSTILE_CASES)],
)
def test_a_hostile_bundle_ends_with_a_readable_finding(
    sound: dict[str, tuple[Path, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    hostile: Hostile,
) -> None:
    source, splits = sound[kind]
    folder = shutil.copytree(source, tmp_path / "bundle")
    hostile.spoil(folder)
    before, began = sorted(tmp_path.rglob("*")), time.process_time()
    assert submit(["--check", str(folder), "--splits", str(splits), "--board", str(tmp_path / "board")]) == 1
    assert time.process_time() - began < 5
    said = capsys.readouterr()
    assert f"[{hostile.kind}]" in said.err, said.err
    assert "Traceback" not in said.err
    assert all(len(line) <= 700 and line.isprintable() for line in (said.err + said.out).splitlines())
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize("path", sorted(HOME.glob("*.json")), ids=lambda p: p.stem)
def test_an_index_in_git_is_that_of_the_split_as_it_is_built_today(path: Path, tmp_path: Path) -> None:
    from builders.__main__ import main as builders
    from builders.splits import load_split
    from evaluators.check.indexes import write_index

    kept = SplitIndex.model_validate_json(path.read_bytes())
    m = kept.manifest
    assert builders(["build", m.split, "--version", m.version, "--out", str(tmp_path)]) == 0
    assert load_split(m.ref, root=tmp_path).manifest.sha256 == m.sha256
    assert SplitIndex.model_validate_json(write_index(m.ref, tmp_path, tmp_path / "home").read_bytes()) == kept


def test_every_public_sample_split_has_its_index_so_that_stage_a_works_for_it() -> None:
    from builders import BENCHMARKS

    samples = {split for b in BENCHMARKS for split in b.splits if split.startswith("sample-")}
    assert samples == {path.stem.partition("@")[0] for path in HOME.glob("*.json")}
