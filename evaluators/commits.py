"""Commits made beside the working tree, and a stranger's commit read as data: git's objects, never a checkout."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SECONDS = 120
SHA = re.compile(r"[0-9a-f]{40}")


class GitError(RuntimeError):
    """Git, the remote or gh failed; the message is one line."""


class Entry(NamedTuple):
    """One path that differs between two commits; `sha` is None where the path is gone."""

    path: str
    mode: str
    sha: str | None
    added: bool


def git(*words: str, folder: Path = Path(), data: bytes | None = None, index: Path | None = None) -> bytes:
    """Run git and return what it prints.

    Raises:
        GitError: If git is missing, takes too long or fails.
    """
    # No prompt for a password, no hook and no file-system monitor of a repository may run.
    safe = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C", str(folder)]
    settings = {"GIT_TERMINAL_PROMPT": "0"} | ({"GIT_INDEX_FILE": str(index)} if index else {})
    try:
        done = subprocess.run(  # noqa: S603
            [*safe, *words], input=data, capture_output=True, check=False, timeout=SECONDS, env=os.environ | settings
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {words[0]}: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-300:]
        raise GitError(f"git {words[0]} failed: {said}")
    return done.stdout


def fetch_head(pull: int, head: str, *, remote: str, folder: Path = Path()) -> None:
    """Fetch the objects of a pull request whose live head must be exactly `head`.

    Raises:
        GitError: If the remote cannot be reached, or the request has moved on since.
    """
    listed = git("ls-remote", "--", remote, f"refs/pull/{pull}/head", folder=folder).decode().split()
    if not listed:
        raise GitError(f"{remote} has no pull request {pull}")
    if listed[0] != head:
        raise GitError(f"pull request {pull} is at {listed[0]} now, not at {head}: look at it again, then start again")
    # Objects are checked as they arrive: malformed ones never reach the store.
    options = ["-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]
    git(*options, "--no-recurse-submodules", "--", remote, f"refs/pull/{pull}/head", folder=folder)
    if git("cat-file", "-t", head, folder=folder).strip() != b"commit":
        raise GitError(f"{head} is no commit")


def changes(base: str, head: str, *, folder: Path = Path()) -> tuple[Entry, ...]:
    """What `head` changes since it left `base`, by path; contents are not read."""
    fork = git("merge-base", base, head, folder=folder).decode().strip()
    raw = git("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", fork, head, folder=folder)
    parts = raw.decode("utf-8", errors="surrogateescape").split("\0")
    found = []
    for about, path in zip(parts[::2], parts[1::2], strict=False):
        _, mode, _, sha, status = about.split(" ")
        found.append(Entry(path, mode, sha if SHA.fullmatch(sha) and status != "D" else None, status == "A"))
    return tuple(found)


def size_of(sha: str, *, folder: Path = Path()) -> int:
    """Bytes of a blob, known without reading it."""
    return int(git("cat-file", "-s", sha, folder=folder))


def read_blob(sha: str, *, folder: Path = Path()) -> bytes:
    """Contents of a blob; look at `size_of` first."""
    return git("cat-file", "blob", sha, folder=folder)


def push_files(
    paths: Sequence[Path], branch: str, message: str, *, remote: str, base: str = "HEAD", folder: Path = Path()
) -> str:
    """Commit files on top of `base` and push the commit as `branch`; working tree, index and branches stay as they are.

    Returns:
        The commit.

    Raises:
        GitError: If git or the remote refuses.
    """
    top = Path(git("rev-parse", "--show-toplevel", folder=folder).decode().strip())
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch) / "index"
        git("read-tree", base, folder=top, index=index)
        for path in paths:
            sha = git("hash-object", "-w", "--stdin", folder=top, data=path.read_bytes()).decode().strip()
            name = path.resolve().relative_to(top.resolve()).as_posix()
            git("update-index", "--add", "--cacheinfo", f"100644,{sha},{name}", folder=top, index=index)
        tree = git("write-tree", folder=top, index=index).decode().strip()
    parent = git("rev-parse", f"{base}^{{commit}}", folder=top).decode().strip()
    commit = git("commit-tree", tree, "-p", parent, "-F", "-", folder=top, data=message.encode()).decode().strip()
    git("push", "--quiet", "--", remote, f"{commit}:refs/heads/{branch}", folder=top)
    return commit


def open_request(folder: Path, branch: str, title: str, body: str, *, remote: str) -> str:
    """Push a packed bundle as a branch of its own and open a pull request where `gh` is there.

    Returns:
        What to tell the submitter.

    Raises:
        GitError: If the branch cannot be pushed or `gh` refuses.
    """
    commit = push_files(sorted(folder.iterdir()), branch, f"{title}\n", remote=remote)
    pushed = f"pushed {commit[:12]} as {branch} to {remote}"
    gh = shutil.which("gh")
    if gh is None:
        return f"{pushed}\nnext: open a pull request from that branch on the repository's page"
    words = [gh, "pr", "create", "--head", branch, "--title", title, "--body", body]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"{pushed}, but gh failed ({error})") from None
    if done.returncode:
        raise GitError(f"{pushed}, but gh failed: {' '.join(done.stderr.split())[-300:]}")
    return f"{pushed}\n{done.stdout.strip()}"
