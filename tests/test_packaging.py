"""What a fresh clone stands on: lock files, make targets, instant --help, and a README whose commands exist."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.txt"))
DOCUMENTS = [
    name
    for name in ("README.md", "CONTRIBUTING.md", "MAINTAINING.md", "site/docs/submit.md", "site/docs/large-runs.md")
    if (ROOT / name).is_file()
]
HEAVY = ("litellm", "datasets", "huggingface_hub", "duckdb", "pyarrow", "scipy.stats", "PIL", "rich", "mkdocs")
# In pieces, so that this file does not name them itself.
INDEX_HOSTS = [f"{name}.{end}" for name, end in (
    ("pypi", "org"), ("pythonhosted", "org"), ("pypi.python", "org"), ("npmjs", "org"), ("npmjs", "com"),
    ("anaconda", "org"), ("crates", "io"), ("rubygems", "org"), ("proxy.golang", "org"),
)]  # fmt: skip


def entry_points() -> list[str]:
    """Modules that run: `python -m` packages and files with a `__main__` block."""
    found = []
    for room in ("builders", "evaluators", "leaderboard"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.name == "__main__.py":
                found.append(".".join(path.relative_to(ROOT).parent.parts))
            elif 'if __name__ == "__main__"' in path.read_text():
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return found


def lock_entries(name: str) -> list[str]:
    text = (ROOT / name).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def distribution(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower().replace("_", "-").replace(".", "-")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_pins_every_requirement_by_hash_and_names_no_url(name: str) -> None:
    entries = lock_entries(name)
    assert entries
    assert "://" not in (ROOT / name).read_text()
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+", entry), f"{name}: not pinned: {entry[:80]}"
        assert "--hash=sha256:" in entry, f"{name}: without a hash: {entry[:80]}"


@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.txt", ["", "dev", "site"]), ("requirements-local-model.txt", ["local-model"])]
)
def test_what_the_project_needs_is_locked(lock: str, extras: list[str]) -> None:
    groups = {"": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}
    wanted = {distribution(requirement) for extra in extras for requirement in groups[extra]}
    assert wanted <= {distribution(entry) for entry in lock_entries(lock)}


def test_no_text_of_the_repository_names_the_host_of_a_package_index() -> None:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert ROOT / "Makefile" in paths
    hosts = re.compile("|".join(re.escape(host) for host in INDEX_HOSTS).encode())
    assert not [str(path.relative_to(ROOT)) for path in paths if hosts.search(path.read_bytes())]


def make_targets() -> set[str]:
    return set(re.findall(r"^([A-Za-z./-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_the_makefile_has_the_targets_the_project_promises() -> None:
    assert {
        "help",
        "test",
        "lint",
        "bench",
        "demo",
        "lock",
        "clean",
        ".venv/ready",
        ".venv/local-model",
    } <= make_targets()


# Every line names a command, whose help a process of its own prints; they share no import but that of the values.
HELPER = f"""
import contextlib, io, json, os, runpy, sys, evaluators.values
for line in sys.stdin:
    if os.fork():
        os.wait()
        continue
    sys.argv = [*json.loads(line), "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            print("exit", stop.code or 0, *(m for m in {HEAVY!r} if m in sys.modules), file=err)
        except BaseException as error:
            print(repr(error), file=err)
    print(json.dumps([out.getvalue(), err.getvalue()]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def help_text() -> Iterator[Callable[..., str]]:
    """`help_text(module, *subcommand)`: what `python -m module subcommand --help` prints.

    Fails unless it exits 0 without having imported a heavy library.
    """
    pipe, command = subprocess.PIPE, [sys.executable, "-c", HELPER]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as helper:

        @cache
        def ask(*words: str) -> str:
            assert helper.stdin
            assert helper.stdout
            print(json.dumps(words), file=helper.stdin, flush=True)
            out, err = json.loads(helper.stdout.readline())
            assert err.strip() == "exit 0", f"python -m {' '.join(words)} --help: {err}"
            return str(out)

        yield ask


@pytest.mark.parametrize("module", entry_points())
def test_help_is_instant_because_it_imports_nothing_heavy(module: str, help_text: Callable[..., str]) -> None:
    assert help_text(module).startswith("usage:")


def documented_commands() -> list[str]:
    """Command lines of the ```sh blocks, comments left out and continued lines joined."""
    found = []
    for name in DOCUMENTS:
        for block in re.findall(r"^```sh\n(.*?)^```", (ROOT / name).read_text(), flags=re.MULTILINE | re.DOTALL):
            found += [line.strip() for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    return [command for command in found if not command.startswith("#")]


def test_the_readme_shows_the_two_commands_a_newcomer_needs() -> None:
    assert {"make demo", "make test"} <= {command.split(" #")[0].strip() for command in documented_commands()}


@pytest.mark.parametrize("command", documented_commands())
def test_a_documented_command_exists_with_all_its_options(command: str, help_text: Callable[..., str]) -> None:
    words = shlex.split(command, comments=True)
    while words and "=" in words[0]:
        words.pop(0)
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        assert set(targets) <= make_targets()
    elif words[0] == "bash":
        assert (ROOT / words[1]).is_file()
    elif "-m" in words and Path(words[0]).name.startswith("python"):
        module, *rest = words[words.index("-m") + 1 :]
        if (ROOT / module.split(".")[0]).is_dir():
            shown = help_text(module)
            if rest and re.search(rf"\b{re.escape(rest[0])}\b", shown):
                shown += help_text(module, rest[0])
            options = {word.split("=")[0] for word in rest if word.startswith("--")}
            assert options <= set(re.findall(r"--[a-z][a-z0-9-]*", shown))


def test_the_citation_file_and_the_licences_agree_with_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert all((ROOT / name).is_file() for name in PROJECT["project"]["license-files"])
    assert "Apache License" in (ROOT / "LICENSE").read_text().splitlines()[1]
