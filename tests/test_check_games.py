"""The check of bundles of games, and our own jury on their reconstructions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.__main__ import main as builders
from builders.splits import load_split
from evaluators.answers import Ablation, SoupSettings
from evaluators.bundle import read_bundle
from evaluators.check import check_bundle
from evaluators.points import points_for
from evaluators.protocols.soup.condition import read_condition, write_condition
from evaluators.rejudge import main as rejudge
from evaluators.submit import main as submit
from evaluators.values import Model
from tests.hostile import GAMES, TRANSCRIPTS, Hostile, row
from tests.made_soup import table, write_made_games
from tests.servers.model_server import ModelServer

NOWHERE = Path("no-splits")


def test_a_sound_bundle_of_games_is_accepted_without_a_word_and_so_are_reconstructions(tmp_path: Path) -> None:
    games = write_made_games(tmp_path / "one")
    brought = write_made_games(tmp_path / "two", "acme-2", brought=True)
    for folder in (games, brought):
        assert [str(f) for f in check_bundle(folder, splits=NOWHERE, placed=True).findings] == []


@pytest.mark.parametrize("hostile", GAMES, ids=lambda h: h.name)
def test_a_hostile_bundle_of_games_ends_with_a_readable_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hostile: Hostile
) -> None:
    folder = write_made_games(tmp_path)
    hostile.spoil(folder)
    assert submit(["--check", str(folder), "--splits", str(NOWHERE), "--board", str(tmp_path / "other")]) == 1
    said = capsys.readouterr()
    assert f"[{hostile.kind}]" in said.err, said.err
    assert all(len(line) <= 700 and line.isprintable() for line in (said.err + said.out).splitlines())


def test_a_game_among_brought_reconstructions_is_refused(tmp_path: Path) -> None:
    played = read_bundle(write_made_games(tmp_path / "one")).transcripts[0].game
    assert played is not None
    folder = write_made_games(tmp_path / "two", brought=True)
    row(TRANSCRIPTS, game=played.model_dump(mode="json"))(folder)
    (finding,) = check_bundle(folder, splits=NOWHERE).findings.refused
    assert finding.kind == "game"


@given(
    agent=st.sampled_from(["full", "none", "no-pruning"]),
    turns=st.integers(1, 100),
    compat=st.sampled_from([None, "released"]),
    first=st.none() | st.integers(1, 400),
    brought=st.booleans(),
    human=st.booleans(),
)
def test_a_condition_that_was_written_is_read_again(
    agent: Ablation, turns: int, compat: str | None, first: int | None, brought: bool, human: bool
) -> None:
    settings = SoupSettings.model_validate(
        {"ablation": agent, "max_turns": turns, "compat": compat, "responder": "openai/host"}
    )
    text = write_condition(settings, "ab" * 32, first=first, brought=brought, human=human)
    found = read_condition(text)
    assert found is not None
    assert (found.human, found.brought, found.turns) == (human, brought, turns)
    assert (found.agent, found.released) == (None if human or brought else agent, compat is not None)
    assert (found.responder, found.points) == ("openai/host", "abababab")


@pytest.mark.parametrize("text", ["", "hints=0", "agent=full;points=abababab", "brought;brought;points=abababab", "x"])
def test_what_is_no_condition_of_puzzles_is_not_read_as_one(text: str) -> None:
    assert read_condition(text) is None


def _rejudge(tmp_path: Path, server: ModelServer, folder: Path, *more: str) -> int:
    where = ("--out", str(tmp_path / "judged"), "--splits", str(tmp_path / "splits"))
    jury = ("--jury", "tiny-local", "--judge-api-base", server.url, "--journal", str(tmp_path / "journal"))
    return rejudge([str(folder), *where, *jury, "--spend-cap", "1", *more])


def test_our_jury_marks_their_reconstructions_against_the_very_same_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "splits"
    assert builders(["build", "sample-soup-en", "--out", str(root)]) == 0
    points = points_for(load_split("sample-soup-en", root=root), root=root)
    folder = write_made_games(tmp_path / "sent", points_sha256=points.sha256)
    needed = 3 * sum(len(p.logic) + len(p.details) + 1 for p in points.items)
    with ModelServer(table) as server:
        assert _rejudge(tmp_path, server, folder, "--most-calls", str(needed - 1)) == 1
        assert server.requests == []
        assert f"12 answers need {needed} calls" in capsys.readouterr().err
        assert _rejudge(tmp_path, server, folder) == 0
        assert len(server.requests) == needed
    sent, judged = read_bundle(folder), read_bundle(tmp_path / "judged")
    assert [(t.answer, t.game) for t in judged.transcripts] == [(t.answer, t.game) for t in sent.transcripts]
    assert (judged.submission.counts.scored, judged.submission.jury) == (12, "tiny-local")
    assert judged.submission.condition == sent.submission.condition
    assert not {v.judge for v in judged.verdicts} & {v.judge for v in sent.verdicts}
    assert check_bundle(tmp_path / "judged", splits=root).accepted


def test_reconstructions_that_were_marked_against_other_points_are_not_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert builders(["build", "sample-soup-en", "--out", str(tmp_path / "splits")]) == 0
    with ModelServer(table) as server:
        assert _rejudge(tmp_path, server, write_made_games(tmp_path / "sent")) == 1
        assert server.requests == []
    assert "against other points" in capsys.readouterr().err


def test_a_persons_reconstructions_say_so(tmp_path: Path) -> None:
    person = Model(name="acme/solver", provider="human")
    folder = write_made_games(tmp_path, brought=True, model=person)
    assert read_bundle(folder).submission.condition.startswith("player=human;brought;")
    assert check_bundle(folder, splits=NOWHERE).accepted
