"""Publishing against a Hub on loopback: whole or not at all, the same twice, and never what must stay here."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import hub as door
from builders.__main__ import main as builders
from builders.hub import HubError, HubRefusedError
from builders.packing import PackError
from builders.publish import Plan, carry_out, describe, plan
from builders.release import ReleaseError
from builders.remote import read_release
from builders.splits import SplitError, load_split
from builders.values import Source
from builders.verify import verify_published
from builders.versions import VersionError
from tests.made import SOURCE, gold, riddle
from tests.made_hub import REPO, point_at, write_samples
from tests.made_sealed import cases, hold, key, runs_of, write
from tests.servers.hub import Hub, Repo, serve

ITEMS, VISUAL = "sample-llm/items.parquet", "sample-vlm/items.parquet"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve(Hub()) as server:
        point_at(server, tmp_path / "hf", monkeypatch)
        yield server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_samples(tmp_path / "splits")
    return tmp_path / "splits"


def publish(root: Path, version: str = "1.0.0", *, ids_only: bool = False, create_pr: bool = False) -> str:
    made = plan("samples", version=version, repo=REPO, root=root, ids_only=ids_only)
    return carry_out(made, create_pr=create_pr)


def repository(hub: Hub) -> Repo:
    return hub.repos["dataset", REPO]


def tagged(hub: Hub, version: str = "1.0.0") -> dict[str, bytes]:
    repo = repository(hub)
    return repo.commits[repo.refs[f"refs/tags/v{version}"]]


def writes(hub: Hub) -> list[str]:
    return [r.split("?")[0] for r in hub.requests if r.startswith(("POST /api/repos", "POST /api/datasets", "PUT"))]


# --- what is published


def test_a_release_is_one_commit_and_one_tag_with_everything_in_it(hub: Hub, root: Path) -> None:
    assert publish(root).startswith(f"published {REPO} at v1.0.0, commit ")
    files = tagged(hub)
    assert set(files) == {
        ".gitattributes",
        "README.md",
        "CHANGELOG.md",
        "eval.yaml",
        "release.json",
        *(f"sample-llm/{f}" for f in ("items.parquet", "gold.parquet", "manifest.json")),
        *(f"sample-vlm/{f}" for f in ("items.parquet", "manifest.json")),
    }
    assert len(repository(hub).commits) == 2, "the empty one that makes a repository, and ours"
    for name in (ITEMS, VISUAL, "sample-llm/manifest.json"):
        split, file = name.split("/")
        assert files[name] == (root / split / "1.0.0" / file).read_bytes()


def test_a_dry_run_asks_and_writes_nothing(hub: Hub, root: Path) -> None:
    lines = describe(plan("samples", version="1.0.0", repo=REPO, root=root))
    assert lines[0] == f"{REPO} v1.0.0: a new repository"
    assert "  sample-llm: new split with 4 items" in lines
    assert not writes(hub)
    assert not hub.repos


def test_the_second_publication_changes_nothing(hub: Hub, root: Path) -> None:
    publish(root)
    refs, before = dict(repository(hub).refs), len(writes(hub))
    assert publish(root) == f"{REPO} has v1.0.0 with this very content; nothing was changed"
    assert repository(hub).refs == refs
    assert len(writes(hub)) == before


def test_equal_rows_in_other_bytes_are_the_same_release(hub: Hub, root: Path) -> None:
    import pyarrow.parquet as pq

    publish(root)
    path = root / "sample-llm" / "1.0.0" / "items.parquet"
    pq.write_table(pq.read_table(path), path, compression="snappy")
    assert path.read_bytes() != tagged(hub)[ITEMS]
    assert publish(root).endswith("nothing was changed")


def test_private_and_gated_are_set_and_a_stranger_sees_nothing(
    hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(plan("samples", version="1.0.0", repo=REPO, root=root), private=True, gated="manual")
    assert (repository(hub).private, repository(hub).gated) == (True, "manual")
    monkeypatch.delenv("HF_TOKEN")
    assert door.look(REPO) is None


def test_a_proposal_opens_one_pull_request_and_sets_no_tag(hub: Hub, root: Path) -> None:
    said = publish(root, create_pr=True)
    assert said.startswith(f"proposed {hub.url}/datasets/{REPO}/discussions/1; when it is merged")
    again = publish(root, create_pr=True)
    assert again.startswith(f"{REPO} has pull request 1 with this content")
    repo = repository(hub)
    assert sorted(repo.refs) == ["refs/heads/main", "refs/pr/1"]
    repo.refs["refs/heads/main"] = repo.refs["refs/pr/1"]
    commits = len(repo.commits)
    publish(root)
    assert repo.refs["refs/tags/v1.0.0"] == repo.refs["refs/pr/1"]
    assert len(repo.commits) == commits


# --- versions


def test_added_items_need_a_minor_version_and_the_changelog_names_them(hub: Hub, root: Path) -> None:
    publish(root)
    for version in ("1.0.1", "1.1.0"):
        write_samples(root, version, riddles=[riddle(n) for n in range(5)])
    with pytest.raises(VersionError, match=r"1\.0\.1 is too small after 1\.0\.0 for a minor change: give 1\.1\.0"):
        publish(root, "1.0.1")
    publish(root, "1.1.0")
    text = tagged(hub, "1.1.0")["CHANGELOG.md"].decode()
    assert text.index("## 1.1.0 (minor)") < text.index("- sample-llm: 1 item added: r-004") < text.index("## 1.0.0")
    assert publish(root, "1.1.0").endswith("nothing was changed")
    assert tagged(hub, "1.1.0")[VISUAL] == tagged(hub)[VISUAL]


def test_changed_prompts_need_a_major_version(hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(root)
    monkeypatch.setattr("builders.publish.prompts_sha256", lambda _: "f" * 64)
    write_samples(root, "1.9.0")
    with pytest.raises(VersionError, match=r"give 2\.0\.0 or higher"):
        publish(root, "1.9.0")


def test_a_version_below_the_newest_is_refused(hub: Hub, root: Path) -> None:
    publish(root)
    write_samples(root, "0.9.0")
    with pytest.raises(VersionError, match=r"has v1\.0\.0 already: give a version above"):
        publish(root, "0.9.0")


def test_a_file_that_a_version_no_longer_has_is_removed_and_foreign_files_stay(hub: Hub, root: Path) -> None:
    publish(root)
    repo = repository(hub)
    repo.commit("refs/heads/main", tagged(hub) | {"assets/logo.png": b"theirs"})
    write_samples(root, "2.0.0", labelled=[])
    assert any("removes sample-llm/gold.parquet" in line for line in describe(_plan(root, "2.0.0")))
    publish(root, "2.0.0")
    assert read_release(REPO, "v2.0.0").release.version == "2.0.0"
    assert "logo.png" not in {name.rpartition("/")[2] for name in hub.downloads}
    assert "sample-llm/gold.parquet" not in tagged(hub, "2.0.0")
    assert "assets/logo.png" in tagged(hub, "2.0.0")


def _plan(root: Path, version: str) -> Plan:
    return plan("samples", version=version, repo=REPO, root=root)


def test_an_attempt_that_was_never_tagged_leaves_no_rows_behind(hub: Hub, root: Path) -> None:
    publish(root)
    del repository(hub).refs["refs/tags/v1.0.0"]
    write_samples(root, labelled=[])
    publish(root)
    assert "sample-llm/gold.parquet" not in tagged(hub)


def test_a_tag_with_other_content_is_refused(hub: Hub, root: Path) -> None:
    publish(root)
    write_samples(root, riddles=[riddle(n) for n in range(5)])
    with pytest.raises(VersionError, match=r"has v1\.0\.0 with other content \(.*README\.md"):
        publish(root)


# --- what must not go out


def manifest(root: Path, **changes: object) -> None:
    path = root / "sample-llm" / "1.0.0" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"licence": ""}, PackError, "has no licence"),
        ({"canary": " "}, PackError, "has no canary"),
        ({"canary": "another"}, PackError, "says canary 'another', the code"),
        ({"licence": "MIT"}, PackError, "says licence 'MIT', the code 'CC-BY-4.0'"),
        ({"sha256": "0" * 64}, SplitError, "do not have the digest that manifest.json says"),
        ({"items": 3}, SplitError, "has 4 rows where manifest.json says 3"),
        ({"visibility": "sealed"}, PackError, "is sealed, but gold.parquet, items.parquet lie in"),
        ({"version": "3.0.0"}, SplitError, "it says it is sample-llm@3.0.0"),
    ],
)
def test_a_split_that_is_not_what_its_manifest_says_stays_here(
    hub: Hub, root: Path, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    manifest(root, **changes)
    with pytest.raises(error, match=message):
        publish(root)
    assert not hub.requests, "refused before the Hub was asked"


def test_a_licence_that_forbids_passing_on_lets_only_ids_and_digests_out(hub: Hub, root: Path) -> None:
    closed = SOURCE.model_copy(update={"licence": "LicenseRef-research-only"})
    split = write_samples(root, source=closed)
    with pytest.raises(PackError, match="'LicenseRef-research-only', which is not known to let anyone pass its rows"):
        publish(root)
    publish(root, ids_only=True)
    assert {p for p in tagged(hub) if p.startswith("sample-llm/")} == {
        "sample-llm/ids.parquet",
        "sample-llm/manifest.json",
    }
    everything = hub.everything()
    for item in split.items:
        assert item.description.encode() not in everything
        assert item.id.encode() in everything
    lines = list(verify_published(REPO, ("sample-llm",), "1.0.0", root=root))
    assert lines[1].endswith(f"equal to the one in {root}")
    write_samples(root, source=closed, riddles=[riddle(0, answer="other"), *(riddle(n) for n in range(1, 4))])
    with pytest.raises(SplitError, match="1 item changed: r-000"):
        list(verify_published(REPO, ("sample-llm",), "1.0.0", root=root))


def seal(root: Path) -> None:
    """Take both splits out of the clear, as `python -m builders seal` does."""
    _, recipient = key(root.parent / "keys", "own")
    for name in ("sample-llm", "sample-vlm"):
        write(load_split(name, root=root), root, recipient)


@pytest.mark.parametrize("lfs", [False, True])
def test_of_a_sealed_split_no_byte_of_its_text_reaches_the_server(hub: Hub, root: Path, lfs: bool) -> None:
    hub.lfs = lfs
    secret = "The gardener did it, with the second key."
    split = write_samples(root, riddles=[riddle(0, description=secret, answer="gardener"), riddle(1)])
    seal(root)
    publish(root)
    everything = hub.everything()
    texts = [t for item in split.items for t in (item.description, item.justification, item.id)]
    assert not [t for t in (*texts, "gardener") if t.encode() in everything]
    assert json.loads(tagged(hub)["sample-llm/manifest.json"])["seal"]["words"] > 0
    (line, *_) = [line for line in verify_published(REPO, ("sample-llm",), "1.0.0", root=root) if "sealed" in line]
    assert "are whole and those of its manifest, checked without opening them" in line
    assert b"viewer: false" in tagged(hub)["README.md"]
    assert {p for p in tagged(hub) if p.startswith("sample-llm/")} == {
        "sample-llm/items.age",
        "sample-llm/manifest.json",
    }
    assert publish(root).endswith("nothing was changed")


def test_a_published_sealed_split_opens_for_a_holder_and_for_nobody_else(
    hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = load_split("sample-llm", root=root)
    seal(root)
    publish(root)
    ref = f"hub:{REPO}/sample-llm@1.0.0"
    hold(monkeypatch, None)
    with pytest.raises(SplitError, match="is sealed and there is no identity"):
        load_split(ref, sealed=True)
    hold(monkeypatch, root.parent / "keys/own")
    assert [i.description for i in load_split(ref, sealed=True).items] == [i.description for i in split.items]


def test_other_recipients_of_a_published_split_need_a_patch(
    hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal(root)
    publish(root)
    hold(monkeypatch, root.parent / "keys/own")
    _, recipient = key(root.parent / "keys", "second")
    rotate_all(root, recipient, "1.0.0")
    with pytest.raises(VersionError, match="give a higher"):
        publish(root)
    _, recipient = key(root.parent / "keys", "third")
    rotate_all(root, recipient, "1.0.1")
    assert "at v1.0.1" in publish(root, "1.0.1")


def rotate_all(root: Path, recipient: str, version: str) -> None:
    for name in ("sample-llm", "sample-vlm"):
        argv = ["rotate", f"{name}@1.0.0", "--add", recipient, "--version", version, "--out", str(root)]
        assert builders(argv) == 0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "items.parquet").write_bytes(b"PAR1"), "lie in .* in clear"),
        (lambda folder: (folder / "items.age").write_bytes(b"not encrypted"), "it was cut or changed"),
        (lambda folder: (folder / "items.age").unlink(), "is missing"),
    ],
)
def test_a_sealed_split_goes_out_as_ciphertext_or_not_at_all(hub: Hub, root: Path, spoil, message: str) -> None:
    seal(root)
    spoil(root / "sample-llm" / "1.0.0")
    with pytest.raises((PackError, SplitError), match=message):
        publish(root)
    assert not hub.requests


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sample-llm", "published with its benchmark, all splits at one version: samples"),
        ("nope", "unknown benchmark 'nope'; there are layton, samples"),
        ("layton", "layton-llm@1.0.0 is not built in"),
    ],
)
def test_only_whole_built_benchmarks_are_published(hub: Hub, root: Path, name: str, message: str) -> None:
    with pytest.raises(PackError, match=message):
        plan(name, version="1.0.0", repo=REPO, root=root)


# --- what a published copy is worth


def test_a_moved_tag_and_changed_files_are_noticed(hub: Hub, root: Path) -> None:
    publish(root)
    repo = repository(hub)
    good, ref = tagged(hub), "refs/tags/v1.0.0"
    spoiled = json.loads(good["sample-llm/manifest.json"]) | {"items": 3}
    for name, data, message in (
        ("sample-llm/manifest.json", json.dumps(spoiled).encode(), "has not the sha256"),
        (ITEMS, good[VISUAL], "has not the sha256"),
        (ITEMS, None, "is missing"),
        ("release.json", b"{}", "is not a release"),
        ("release.json", None, "has no release.json"),
    ):
        files = {p: b for p, b in (good | {name: data}).items() if b is not None}
        repo.commit(ref, files)
        with pytest.raises(SplitError, match=message):
            list(verify_published(REPO, ("sample-llm",), "1.0.0", root=root))
        with pytest.raises(SplitError, match="The tag was moved or what it names was changed"):
            publish(root)
    repo.commit(ref, good)
    assert list(verify_published(REPO, ("sample-llm",), "1.0.0", root=root))


def test_a_tag_moved_to_another_sound_release_is_noticed(hub: Hub, root: Path) -> None:
    publish(root)
    write_samples(root, "2.0.0", riddles=[riddle(n) for n in range(1, 4)], labelled=[])
    publish(root, "2.0.0")
    repo = repository(hub)
    repo.refs["refs/tags/v1.0.0"] = repo.refs["refs/tags/v2.0.0"]
    with pytest.raises(SplitError, match=r"names release 2\.0\.0: somebody moved it"):
        list(verify_published(REPO, ("sample-llm",), "1.0.0", root=root))
    with pytest.raises(SplitError, match="The tag was moved"):
        publish(root)


def test_a_release_reads_back_row_by_row(hub: Hub, root: Path) -> None:
    publish(root)
    found = read_release(REPO, "v1.0.0")
    assert set(found.splits["sample-llm"].items) == {i.id for i in load_split("sample-llm", root=root).items}
    assert set(found.splits["sample-llm"].gold) == {f"{g.item_id}/{g.name}" for n in range(2) for g in gold(n)}


# --- faults


def requests_of_a_publication(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, *, lfs: bool) -> list[str]:
    with serve(Hub(lfs=lfs)) as server:
        point_at(server, home, monkeypatch)
        publish(root)
        return server.requests


@pytest.mark.parametrize("lfs", [False, True])
def test_whatever_request_is_cut_off_nothing_is_half_published_and_a_repeat_ends_right(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lfs: bool
) -> None:
    count = len(requests_of_a_publication(root, tmp_path / "hf", monkeypatch, lfs=lfs))
    assert count >= 9
    for n in range(count):
        for faults in ({n: "lost"}, dict.fromkeys(range(n, n + 60), "drop")):
            with serve(Hub(lfs=lfs)) as server:
                point_at(server, tmp_path / "hf", monkeypatch)
                server.faults = faults
                failed = None
                try:
                    publish(root)
                except HubError as error:
                    failed = str(error)
                    assert "run the same command again" in failed
                assert failed or "drop" not in faults.values()
                repo = server.repos.get(("dataset", REPO))
                if repo and "refs/tags/v1.0.0" in repo.refs:
                    assert "release.json" in tagged(server)
                server.faults = {}
                publish(root)
                assert "release.json" in tagged(server)
                assert len(repository(server).commits) == 2, "the commit is not made twice"


@pytest.mark.parametrize("what", ["/commit/", "/tag/", "/objects/"])
@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (401, HubRefusedError, "missing, expired or may not do this: set HF_TOKEN"),
        (403, HubRefusedError, "missing, expired or may not do this: set HF_TOKEN"),
        (409, HubError, "somebody else changed .* run the same command again"),
        (412, HubError, "somebody else changed .* run the same command again"),
        (413, HubRefusedError, "too large"),
        (429, HubError, "asks for fewer requests"),
        (500, HubError, "did not answer"),
    ],
)
def test_every_refusal_says_what_to_do_and_leaves_no_half_version(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, status: int, error: type, message: str
) -> None:
    lfs = what == "/objects/"
    requests = requests_of_a_publication(root, tmp_path / "hf", monkeypatch, lfs=lfs)
    first = next(n for n, r in enumerate(requests) if what in r)
    with serve(Hub(lfs=lfs)) as server:
        point_at(server, tmp_path / "hf", monkeypatch)
        server.faults = dict.fromkeys(range(first, first + 1 if status in (409, 412) else first + 60), status)
        with pytest.raises(error, match=message):
            publish(root)
        assert "refs/tags/v1.0.0" not in repository(server).refs
        server.faults = {}
        publish(root)
        assert "release.json" in tagged(server)


def test_an_expired_token_is_refused_with_the_remedy(hub: Hub, root: Path) -> None:
    hub.token = "hf_renewed"
    with pytest.raises(HubRefusedError, match="expired"):
        publish(root)
    assert not hub.repos


def test_without_a_token_a_new_repository_is_refused(hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ReleaseError, match="hf auth login"):
        publish(root)


def test_somebody_elses_commit_in_between_is_not_overwritten(
    hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(root)
    write_samples(root, "2.0.0", labelled=[])
    made = _plan(root, "2.0.0")
    theirs = repository(hub).commit("refs/heads/main", tagged(hub) | {"README.md": b"theirs"})
    with pytest.raises(HubError, match="somebody else changed"):
        carry_out(made)
    assert repository(hub).refs["refs/heads/main"] == theirs


def test_a_card_that_the_hub_rejects_is_not_committed(hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builders.publish.card", lambda *_, **__: "---\nlicense: [broken]\n---\n")
    with pytest.raises(HubRefusedError, match="refuses the files"):
        publish(root)
    assert "release.json" not in repository(hub).commits[repository(hub).refs["refs/heads/main"]]


def test_sources_of_a_split_are_part_of_its_metadata(hub: Hub, root: Path) -> None:
    publish(root)
    other = Source(title="made again", url="file:tests", licence="CC-BY-4.0", citation="tests")
    write_samples(root, "1.0.1", source=other)
    publish(root, "1.0.1")
    assert "- sample-llm: sources changed" in tagged(hub, "1.0.1")["CHANGELOG.md"].decode()


# --- the commands


def command(root: Path, *arguments: str) -> int:
    from builders.__main__ import main

    return main([*arguments, "--out", str(root)])


def test_the_command_says_what_it_would_do_and_does_it_only_when_told(
    hub: Hub, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["publish", "samples", "--repo", REPO]
    for more in ([], ["--dry-run"]):
        assert command(root, *asked, *more) == 0
        assert capsys.readouterr().out.endswith("nothing was sent; --no-dry-run does it\n")
        assert not hub.repos
    assert command(root, *asked, "--no-dry-run", "--private", "--gated", "auto") == 0
    assert f"published {REPO} at v1.0.0" in capsys.readouterr().out
    assert (repository(hub).private, repository(hub).gated) == (True, "auto")
    for more in ([], ["--hub", "--repo", REPO]):
        for name in ("samples@1.0.0", "sample-llm@1.0.0"):
            assert command(root, "verify", name, *more) == 0
            assert "sample-llm@1.0.0: 4 items and 4 gold answers as the manifest says" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["publish", "samples"], "this benchmark has no repository of its own on the Hub yet; give one with --repo"),
        (["publish", "samples", "--repo", "../x"], "is not a repository"),
        (["publish", "samples", "--repo", REPO, "--version", "3.0.0"], "sample-llm@3.0.0 is not built in"),
        (["publish", "nope", "--repo", REPO], "unknown benchmark 'nope'"),
        (["verify", "nope@1.0.0"], "unknown split or benchmark 'nope'"),
        (["verify", "samples@2.0.0"], "sample-llm@2.0.0 is not built in"),
        (["verify", "samples@1.0.0", "--hub"], "give one with --repo"),
        (["verify", "samples@1.0.0", "--repo", REPO], f"the Hub does not show {REPO}@v1.0.0"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_1(
    hub: Hub, root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert command(root, *arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_a_hub_that_fails_is_exit_code_3(hub: Hub, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.broken = True
    assert command(root, "publish", "samples", "--repo", REPO) == 3
    assert capsys.readouterr().err.startswith(f"error: the Hub did not answer for {REPO}")


def test_a_local_copy_that_was_touched_does_not_verify(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "sample-llm" / "1.0.0" / "items.parquet"
    path.write_bytes((root / "sample-vlm" / "1.0.0" / "items.parquet").read_bytes())
    assert command(root, "verify", "samples@1.0.0") == 1
    assert "is damaged" in capsys.readouterr().err


def test_every_prompt_file_of_a_protocol_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from builders.publish import prompts_sha256

    monkeypatch.setattr("builders.publish.PROMPTS", tmp_path)
    assert prompts_sha256("riddle") is None
    seen = set()
    for name, text in (("a.md", "1"), ("a.md", "2"), ("zh/a.md", "1"), ("zh/b.yaml", "1"), ("zh/b.txt", "1")):
        path = tmp_path / "riddle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        seen.add(prompts_sha256("riddle"))
    assert len(seen) == 4


# --- cases


def test_the_sample_cases_go_out_with_a_card_that_names_their_columns(hub: Hub, tmp_path: Path) -> None:
    assert builders(["build", "case-samples", "--out", str(tmp_path / "splits")]) == 0
    carry_out(plan("case-samples", version="1.0.0", repo=REPO, root=tmp_path / "splits"))
    head = tagged(hub)["README.md"].decode().split("---")[1]
    assert "- name: locations\n    list:\n    - name: name\n      dtype: string" in head
    assert "- name: rating\n      struct:\n      - name: induction\n        dtype: int64" in head
    assert load_split(f"hub:{REPO}/sample-case@1.0.0") == load_split("sample-case", root=tmp_path / "splits")


def test_the_private_cases_go_out_as_ciphertext_and_no_stored_byte_tells_of_them(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, recipient = key(tmp_path / "keys", "own")
    made = cases(2)
    write(made, tmp_path / "splits", recipient)
    carry_out(plan("watson-holmes", version="1.0.0", repo=REPO, root=tmp_path / "splits"))
    everything = hub.everything()
    assert len(everything) > 5000
    assert not [s for s in runs_of(made.items) if s in everything]
    assert set(tagged(hub)) == {
        *(".gitattributes", "README.md", "CHANGELOG.md", "release.json"),
        *("watson-holmes/items.age", "watson-holmes/manifest.json"),
    }
    hold(monkeypatch, file)
    opened = load_split(f"hub:{REPO}/watson-holmes@1.0.0", sealed=True)
    assert [c.solution for c in opened.items] == [c.solution for c in made.items]
