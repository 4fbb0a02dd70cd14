"""A repository with its remote and a fork-like clone, and pull requests in it, all on this disk."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WHO = {f"GIT_{role}_{part}": f"{role.lower()}@tests" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(folder: Path, *words: str, data: bytes | None = None) -> str:
    command = ["git", "-C", str(folder), *words]
    environment = os.environ | WHO | ALONE
    done = subprocess.run(command, input=data, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


class Upstream(NamedTuple):
    """The bare repository that stands for the hosted one, and a clone of its main as a job has it."""

    remote: Path
    clone: Path

    def request(self, number: int, change: Callable[[Path], object]) -> str:
        """Open a pull request: a branch off main changed by `change`, under refs/pull; returns its commit."""
        fork = self.remote.with_name(f"fork-{number}")
        git(self.remote.parent, "clone", "--quiet", str(self.remote), str(fork))
        change(fork)
        git(fork, "add", "--all", "--force")
        git(fork, "commit", "--quiet", "--message", f"request {number}")
        git(fork, "push", "--quiet", "--force", "origin", f"HEAD:refs/pull/{number}/head")
        head = git(fork, "rev-parse", "HEAD")
        shutil.rmtree(fork)
        return head


def make_upstream(folder: Path, files: Mapping[str, bytes] | None = None) -> Upstream:
    """Make a remote whose main holds `files`, or this checkout as it stands, and clone it."""
    seed, remote, clone = folder / "seed", folder / "remote.git", folder / "clone"
    seed.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", str(seed))
    if files is None:
        _copy_checkout(seed)
    for name, data in (files or {}).items():
        (seed / name).parent.mkdir(parents=True, exist_ok=True)
        (seed / name).write_bytes(data)
    git(seed, "add", "--all")
    git(seed, "commit", "--quiet", "--message", "start")
    git(folder, "clone", "--quiet", "--bare", str(seed), str(remote))
    git(folder, "clone", "--quiet", str(remote), str(clone))
    return Upstream(remote, clone)


def _copy_checkout(seed: Path) -> None:
    names = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in names:
        if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (seed / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, seed / name)


def lend_environment(clone: Path) -> None:
    """Give a clone the environment that runs these tests, as `make .venv/ready` would: nothing is installed again."""
    (clone / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name not in ("ready", "uv", "local-model"):
            (clone / ".venv" / path.name).symlink_to(path)
    for name in ("uv", "ready"):
        (clone / ".venv" / name).touch()
    for path in clone.glob("requirements*.txt"):
        os.utime(path, (0, 0))
