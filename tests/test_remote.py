"""A published split is loaded at its tag, offline from the cache, and only with the digests it is cited by."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.hub import HubError
from builders.publish import carry_out, plan
from builders.release import ReleaseError
from builders.splits import SplitError, load_split
from tests.made_hub import REPO, point_at, write_samples
from tests.servers.hub import Hub, serve

REF = f"hub:{REPO}/sample-llm@1.0.0"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve(Hub()) as server:
        point_at(server, tmp_path / "hf", monkeypatch)
        write_samples(tmp_path / "splits")
        carry_out(plan("samples", version="1.0.0", repo=REPO, root=tmp_path / "splits"))
        yield server


def test_a_published_split_is_the_one_that_was_built_and_only_its_files_are_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.downloads.clear()
    assert load_split(REF) == load_split("sample-llm", root=tmp_path / "splits")
    assert sorted(hub.downloads) == [f"sample-llm/{f}" for f in ("gold.parquet", "items.parquet", "manifest.json")]


def test_a_cached_split_is_loaded_without_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    split = load_split(REF)
    count = len(hub.requests)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert load_split(REF) == split
    assert len(hub.requests) == count
    with pytest.raises(HubError, match="offline mode is enabled"):
        load_split(f"hub:{REPO}/sample-llm@2.0.0")


def test_a_hub_that_is_gone_is_no_obstacle_to_what_is_cached(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    split = load_split(REF)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert load_split(REF) == split


def test_a_pin_accepts_the_cited_items_and_no_others(hub: Hub, tmp_path: Path) -> None:
    digest = load_split(REF).manifest.sha256
    for ref, root in ((REF, tmp_path), ("sample-llm@1.0.0", tmp_path / "splits")):
        assert load_split(f"{ref}#{digest}", root=root) == load_split(f"{ref}#{digest[:12]}", root=root)
        with pytest.raises(SplitError, match=r"not 0{12}: it is not the split that was cited"):
            load_split(f"{ref}#{'0' * 12}", root=root)


@pytest.mark.parametrize(
    ("ref", "error", "message"),
    [
        ("hub:deer/samples", SplitError, "write it as hub:namespace/repository/split@1.0.0"),
        (f"hub:{REPO}/sample-llm@1.0", SplitError, "write it as hub:"),
        (f"hub:{REPO}/../x/sample-llm@1.0.0", SplitError, "write it as hub:"),
        (f"hub:{REPO}/sample-llm@9.0.0", ReleaseError, r"does not show deer/samples@v9\.0\.0"),
        ("hub:nobody/samples/sample-llm@1.0.0", ReleaseError, "does not show nobody/samples"),
        (f"hub:{REPO}/layton-llm@1.0.0", SplitError, "has no layton-llm/manifest.json, so layton-llm cannot be loaded"),
    ],
)
def test_what_cannot_be_had_is_said(hub: Hub, ref: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_split(ref)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("manifest.json", b"[", "is damaged"),
        ("manifest.json", b"1" * 5_000_001, "more than 5,000,000 bytes"),
        ("items.parquet", b"PAR1 and nothing more", "is damaged"),
        ("gold.parquet", b"", "is damaged"),
    ],
)
def test_a_damaged_copy_is_not_used(hub: Hub, name: str, data: bytes, message: str) -> None:
    repo = hub.repos["dataset", REPO]
    repo.commit("refs/tags/v1.0.0", repo.commits[repo.refs["refs/tags/v1.0.0"]] | {f"sample-llm/{name}": data})
    with pytest.raises(SplitError, match=f"{message}.*do not use it, and tell who published it"):
        load_split(REF)


def test_a_manifest_that_promises_fewer_rows_is_noticed_before_the_rows_are_read(hub: Hub) -> None:
    repo = hub.repos["dataset", REPO]
    files = repo.commits[repo.refs["refs/tags/v1.0.0"]]
    said = json.loads(files["sample-llm/manifest.json"]) | {"items": 1}
    repo.commit("refs/tags/v1.0.0", files | {"sample-llm/manifest.json": json.dumps(said).encode()})
    with pytest.raises(SplitError, match=r"has 4 rows where manifest\.json says 1"):
        load_split(REF)
