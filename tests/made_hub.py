"""Small benchmarks to publish, and this process or a child pointed at a Hub on loopback."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from builders.splits import Split, make_split, write_split
from builders.values import GoldAnswer, Riddle, Source
from tests.made import SOURCE, gold, riddle
from tests.servers.hub import TOKEN, Hub

REPO = "deer/samples"


def write_samples(
    root: Path,
    version: str = "1.0.0",
    *,
    riddles: Sequence[Riddle] | None = None,
    labelled: Sequence[GoldAnswer] | None = None,
    source: Source = SOURCE,
) -> Split:
    """Both splits of the benchmark `samples`: the one in words as given, the other always the same."""
    found = [riddle(n) for n in range(4)] if riddles is None else riddles
    answers = [g for n in range(2) for g in gold(n)] if labelled is None else labelled
    made = make_split("sample-llm", found, answers, version=version, sources=[source])
    write_split(made, root=root, force=True)
    other = make_split("sample-vlm", [riddle(9, image=b"\x89PNG")], version=version, sources=[source])
    write_split(other, root=root, force=True)
    return made


def child_environment(hub: Hub, home: Path) -> dict[str, str]:
    """What a child process needs to talk to the server, as a user sets it."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def point_at(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point huggingface_hub in this process, which reads its environment only once, at the server."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    # The library waits longer and longer between attempts.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
