"""`python -m builders` as a user runs it: its output, its one line of error and its exit codes."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.splits import list_built, load_split

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: object, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "builders", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120, preexec_fn=before
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    done = run("build", "samples", "--out", root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sample-llm@1.0.0: 24 items" in done.stdout
    return root


def test_build_samples_writes_both_splits_and_list_shows_them(built: Path) -> None:
    assert [m.ref for m in list_built(built)] == ["sample-llm@1.0.0", "sample-vlm@1.0.0"]
    split = load_split("sample-vlm@1", root=built)
    assert all(item.image is not None for item in split.items)
    shown = run("list", "--out", built)
    assert shown.returncode == 0
    assert "sample-llm@1.0.0  24 items" in shown.stdout
    assert "layton-llm  not built" in shown.stdout


def test_building_again_makes_the_same_bytes(built: Path, tmp_path: Path) -> None:
    assert run("build", "samples", "--out", tmp_path).returncode == 0
    files = sorted(p.relative_to(built) for p in built.rglob("*") if p.is_file())
    assert len(files) == 6
    assert files == sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert all((built / f).read_bytes() == (tmp_path / f).read_bytes() for f in files)


def test_check_prints_oddities_in_groups_and_exits_1_where_one_is_refused(tmp_path: Path) -> None:
    assert run("check", "samples").returncode == 0
    row = {
        **dict.fromkeys(["img", "url", "first_hint", "second_hint", "third_hint", "special_hint", "solution"]),
        **{"category": "Input", "description": "One or two?", "picarats": 0, "justification": "So it is."},
    }
    rows = [{**row, "id": f"00{i}-{i}", "answer": a, "split": "llm"} for i, a in ((1, "one"), (2, None), (3, "two"))]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    done = run("check", "layton-llm", tmp_path)
    assert done.returncode == 1
    assert "2 items can be built" in done.stdout
    assert "refused  answer: null (1 x: 002-2)" in done.stdout
    assert (
        "note     picarats: 0 points, which stands for unknown; read as null (3 x: 001-1, 002-2, 003-3)" in done.stdout
    )
    refused = run("build", "layton-llm", tmp_path, "--out", tmp_path / "splits")
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: layton-llm is not built: answer: null (1 x: 002-2)")
    assert not (tmp_path / "splits").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("build", "nope"), 1, "unknown benchmark or split 'nope'; there are layton (layton-llm, layton-vlm), samples"),
        (("build", "samples", "."), 1, "the samples are part of the repository"),
        (("build", "layton"), 1, "give --revision"),
        (("check", "layton", "./nowhere"), 1, "'./nowhere' is neither a file or folder nor a Hub repository"),
        (("build", "samples", "--version", "1.0"), 2, "'1.0' is not a version such as 1.0.0"),
        (("build",), 2, "NAME"),
        ((), 2, "list|build|check"),
        (("seize",), 2, "seize"),
        (("build", "samples", "--out", "/proc/nowhere"), 1, "/proc/nowhere"),
    ],
)
def test_bad_input_gets_one_line_and_the_right_exit_code(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_full_disk_leaves_the_built_version_as_it_was(tmp_path: Path) -> None:
    assert run("build", "sample-llm", "--out", tmp_path).returncode == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = run("build", "sample-llm", "--force", "--out", tmp_path, before=no_room)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_help_needs_no_heavy_library() -> None:
    code = "import sys, builders.__main__ as m\ntry: m.main(['--help'])\nexcept SystemExit: pass\n"
    code += "sys.exit(bool({'pyarrow', 'datasets', 'huggingface_hub', 'PIL', 'yaml', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "build" in done.stdout
