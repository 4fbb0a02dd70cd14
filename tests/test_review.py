"""A pull request as data: one sound bundle passes, everything else is refused, and nothing of it is checked out."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluators.commits import GitError, fetch_head
from evaluators.submit import main as submit
from leaderboard.__main__ import main
from tests.hostile import HOSTILE
from tests.made_bundle import write_made_bundle
from tests.made_request import Upstream, git, make_upstream

BOARD = "leaderboard/submissions"
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    files = {f"{BOARD}/README.md": b"bundles\n", "evaluators/ppi.py": b"# scores\n"}
    return make_upstream(tmp_path_factory.mktemp("git"), files)


def bundle(root: Path, name: str = "acme-1") -> Path:
    return write_made_bundle(root / BOARD, name)


def review(upstream: Upstream, pull: int, head: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    monkeypatch.chdir(upstream.clone)
    return main(["review", "--pull", str(pull), "--head", head, *more])


def test_a_sound_bundle_passes_and_nothing_of_the_request_is_checked_out(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = upstream.request(1, bundle)
    before = git(upstream.clone, "status", "--porcelain"), git(upstream.clone, "for-each-ref")
    into, summary = tmp_path / "sent", tmp_path / "summary.md"
    assert review(upstream, 1, head, monkeypatch, "--into", str(into), "--summary", str(summary)) == 0
    assert sorted(p.name for p in into.iterdir()) == ["submission.yaml", "transcripts.jsonl.zst", "verdicts.jsonl.zst"]
    assert (git(upstream.clone, "status", "--porcelain"), git(upstream.clone, "for-each-ref")) == before
    assert summary.read_text().startswith("## Your submission: passes")


def link(root: Path) -> None:
    bundle(root)
    (root / BOARD / "samples/acme-1/more").symlink_to("/etc/passwd")


def script(root: Path) -> None:
    path = bundle(root) / "submission.yaml"
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def submodule(root: Path) -> None:
    bundle(root)
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{BOARD}/samples/acme-1/sub")
    (root / BOARD / "samples/acme-1/sub").mkdir()


def many(root: Path) -> None:
    folder = bundle(root)
    for n in range(30):
        (folder / f"f{n}").write_text("x")


def odd_name(root: Path) -> None:
    (bundle(root) / "a\u202eb\n::add-mask::x").write_text("x")


def large(root: Path) -> None:
    (bundle(root) / "verdicts.jsonl.zst").write_bytes(os.urandom(17 * 2**20))


REFUSED: dict[str, tuple[Change, str]] = {
    "nothing": (lambda root: (root / "leaderboard/.keep").touch(), "outside"),
    "a change of the scorer": (lambda root: (bundle(root), (root / "evaluators/ppi.py").write_text("#")), "outside"),
    "a workflow": (lambda r: (bundle(r), (r / ".github").mkdir(), (r / ".github/x.yml").write_text("x")), "outside"),
    "a file deleted": (lambda root: (bundle(root), (root / BOARD / "README.md").unlink()), "outside"),
    "a record of its own": (lambda r: (bundle(r), (r / "leaderboard/records.jsonl").write_text("{}")), "outside"),
    "two bundles": (lambda root: (bundle(root), bundle(root, "acme-2")), "files"),
    "a link": (link, "mode"),
    "a script": (script, "mode"),
    "thirty files": (many, "files"),
    "a name that gives commands": (odd_name, "outside"),
    "17 MB": (large, "too-large"),
    "a nested folder": (lambda r: ((bundle(r) / "a").mkdir(), (r / BOARD / "samples/acme-1/a/b").touch()), "outside"),
    "a place that is not its name": (lambda r: bundle(r).rename(r / BOARD / "samples/other-1"), "place"),
    "code": (lambda root: (bundle(root) / "conftest.py").write_text("raise SystemExit"), "other-file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_that_is_not_one_new_bundle_is_refused(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    change, kind = REFUSED[case]
    number = 100 + list(REFUSED).index(case)
    head = upstream.request(number, change)
    into, summary = tmp_path / "sent", tmp_path / "summary.md"
    assert review(upstream, number, head, monkeypatch, "--into", str(into), "--summary", str(summary)) == 1
    err = capsys.readouterr().err
    assert f"[{kind}]" in err
    assert all(line.startswith(("refused: ", "reported: ")) for line in err.splitlines())
    assert not into.exists()
    told = summary.read_text().splitlines()
    assert told[0] == "## Your submission: needs changes"
    assert all(line.startswith("    ") for line in told[4:]), "nothing of the request leaves its block of code"


def test_a_hostile_bundle_in_a_request_is_refused_as_on_the_submitters_machine(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = next(h for h in HOSTILE if h.name == "HTML in a name")
    head = upstream.request(50, lambda root: hostile.spoil(bundle(root)))
    assert review(upstream, 50, head, monkeypatch) == 1
    err = capsys.readouterr().err
    assert "[name]" in err
    assert err.startswith(f"refused: {BOARD}/samples/acme-1/submission.yaml:"), "the author's path, not the job's"


def test_a_request_that_moved_on_is_our_pipelines_to_start_again(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = upstream.request(60, bundle)
    new = upstream.request(60, lambda root: bundle(root, "acme-2"))
    assert review(upstream, 60, old, monkeypatch, "--summary", str(tmp_path / "s.md")) == 3
    assert f"is at {new} now, not at {old}" in capsys.readouterr().err
    assert (tmp_path / "s.md").read_text().startswith("## Our pipeline failed")
    with pytest.raises(GitError, match="has no pull request 61"):
        fetch_head(61, old, remote="origin", folder=upstream.clone)


@pytest.mark.parametrize(
    ("pull", "head"),
    [("1; true", "0" * 40), ("$(id)", "0" * 40), ("-1", "0" * 40), ("1", "main"), ("1", "--upload-pack=x"), ("1", "")],
)
def test_options_are_checked_by_pattern(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, pull: str, head: str
) -> None:
    monkeypatch.chdir(upstream.clone)
    with pytest.raises(SystemExit) as end:
        main(["review", f"--pull={pull}", f"--head={head}"])
    assert end.value.code == 2


def open_pr(folder: Path) -> list[str]:
    return ["--open-pr", str(folder), "--splits", "no-splits"]


def test_open_pr_pushes_one_folder_and_leaves_the_working_tree_alone(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(upstream.clone)
    for name, value in (("NAME", "me"), ("EMAIL", "me@tests")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    gh = tmp_path / "bin/gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path / "said"}\necho https://example.org/pull/7\n')
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gh.parent}:{os.environ['PATH']}")
    folder = bundle(upstream.clone, "mine-1")
    (upstream.clone / "notes.txt").write_text("mine, not to be sent")
    before = git(upstream.clone, "status", "--porcelain"), git(upstream.clone, "branch", "--show-current")
    assert submit(open_pr(folder.relative_to(upstream.clone))) == 0
    assert (git(upstream.clone, "status", "--porcelain"), git(upstream.clone, "branch", "--show-current")) == before
    pushed = git(upstream.remote, "diff", "--name-only", "main", "submit/mine-1").splitlines()
    assert len(pushed) == 3
    assert all(name.startswith(f"{BOARD}/samples/mine-1/") for name in pushed)
    assert "https://example.org/pull/7" in capsys.readouterr().out
    assert "Submit acme/solver on sample-llm@1.0.0" in (tmp_path / "said").read_text()


def test_without_a_remote_open_pr_says_how_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = bundle(tmp_path)
    assert submit(open_pr(folder.relative_to(tmp_path))) == 3
    err = capsys.readouterr().err
    assert "git switch -c submit/acme-1" in err
    assert "zip the folder" in err


def test_leaks_are_named_and_never_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import zstandard

    from tests.made import write_made_split

    split = write_made_split(tmp_path / "splits")
    out = tmp_path / "out"
    out.mkdir()
    search = ["leaks", str(out), "--splits", str(tmp_path / "splits"), "--keep-out", "sample-llm"]
    (out / "page.html").write_text("ordinary words about riddles and numbers, and nothing else of any kind")
    assert main(search) == 0
    secret = "hf_" + "a" * 34
    told = {
        "key.json": json.dumps({"k": secret}).encode(),
        "canary.html": split.manifest.canary.encode(),
        "text.jsonl.zst": zstandard.compress(b"... Riddle  3: WHICH number is meant? the riddle says so ... "),
    }
    for name, data in told.items():
        (out / name).write_bytes(data)
    assert main(search) == 1
    err = capsys.readouterr().err
    assert {name for name in told if name in err} == {"key.json", "canary.html"}, "five words give nothing away"
    assert secret not in err


def test_eight_words_of_an_unpublished_text_are_a_leak_in_any_spelling(tmp_path: Path) -> None:
    from builders.splits import make_split
    from leaderboard.leaks import find_leaks, unpublished_of
    from tests.made import SOURCE, riddle

    item = riddle(1, description="The butler was seen at nine with a candle and a wet umbrella.")
    unpublished = unpublished_of([make_split("sample-llm", [item], version="1.0.0", sources=[SOURCE])])
    (tmp_path / "log.txt").write_text("error: the BUTLER was seen - at nine, with a candle!")
    (leak,) = find_leaks(tmp_path, unpublished)
    assert "8 words in a row" in leak.kind
    (tmp_path / "log.txt").write_text("the butler was seen somewhere with a candle")
    assert not list(find_leaks(tmp_path, unpublished))
