"""Games from end to end: submit, resume after a kill, reference points, brought and human players, checks, pages."""

import io
import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.__main__ import main as builders
from builders.splits import load_split
from evaluators.bundle import read_bundle
from evaluators.check import check_bundle
from evaluators.check_responder import main as check_responder
from evaluators.extract_points import main as extract_points
from evaluators.points import PointsError, points_for
from evaluators.store import open_store, store_path
from evaluators.submit import main as submit
from leaderboard.soup_boards import soup_boards
from tests.kill_runs import start
from tests.made_soup import form, number, table
from tests.servers.model_server import Answer, ModelServer

JUDGES = "a:openai/j1,b:openai/j2,c:openai/j3"
# One puzzle of this split has 2 logic points and 4 details: 7 comparisons a judge.
MARKING = 3 * (2 + 4 + 1)


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("splits")
    assert builders(["build", "soup-samples", "--out", str(root)]) == 0
    return root


def options(tmp_path: Path, splits: Path, server: ModelServer, *more: str, out: str = "out") -> list[str]:
    return [
        *("--model", "openai/solver", "--provider", "maker", "--api-base", server.url),
        *("--judges", JUDGES, "--judge-api-base", server.url),
        *("--responder", "host:openai/host", "--responder-api-base", server.url),
        *("--split", "sample-soup-en@1.0", "--splits", str(splits), "--out", str(tmp_path / out), *more),
    ]


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_games_end_with_scores_by_part_and_genre_and_a_second_run_costs_nothing(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--limit", "2", "--turns", "3")
        assert submit(run) == 0
        calls, said = len(server.requests), capsys.readouterr().out
        before = digests(tmp_path / "out/bundle")
        assert submit(run) == 0
        assert (len(server.requests), digests(tmp_path / "out/bundle")) == (calls, before)
    assert "2 attempts: 2 judged" in said
    assert all(word in said for word in ("overall", "logic", "details", "conclusion", "Crime_Thriller"))
    bundle = read_bundle(tmp_path / "out/bundle")
    games = [t.game for t in bundle.transcripts if t.game]
    assert calls == sum(game.calls for game in games) + 2 * MARKING
    assert "agent=full;responder=openai/host;turns=3;points=" in bundle.submission.condition
    assert bundle.submission.condition.endswith(";first=2")
    assert {len(v.parts) for v in bundle.verdicts} == {3}
    assert "127.0.0.1" not in (bundle.submission.command or "") + bundle.transcripts[0].model_dump_json()
    with open_store(store_path()) as store:
        measured = store.measured("sample-soup-en", "1.0.0", bundle.submission.jury)[bundle.submission.submission_id]
    assert measured.values["game turns"].tolist() == [3.0, 3.0]
    assert measured.categories == ("Crime_Thriller", "Crime_Thriller")


def test_a_killed_game_goes_on_at_its_turn_and_repeats_only_what_was_in_flight(tmp_path: Path, splits: Path) -> None:
    more = ("--limit", "6", "--turns", "4", "--concurrency", "6")
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, *more, out="whole")) == 0
        asked = [json.dumps(body, sort_keys=True) for body in server.requests]
    votes = len(asked) - len(set(asked))  # one question, put three times
    seen: list[str] = []

    def stall(body: dict[str, Any], attempt: int) -> Answer:
        seen.append(json.dumps(body, sort_keys=True))
        answer = table(body, attempt)
        return answer if len(seen) <= 60 else Answer(content=answer.content, hold=True)

    with ModelServer(stall) as server:
        run = options(tmp_path, splits, server, *more)
        child = start(run)
        server.wait_for_requests(66)
        child.kill()
        child.join()
        server.release()
        assert not (tmp_path / "out/bundle").exists()
        assert submit(run) == 0
        assert 1 <= len(seen) - len(set(seen)) - votes <= 6
    assert digests(tmp_path / "out/bundle") == digests(tmp_path / "whole/bundle")


def test_faults_lose_no_game_and_change_no_byte(tmp_path: Path, splits: Path) -> None:
    def faulty(body: dict[str, Any], attempt: int) -> Answer:
        faults = [Answer(status=429, headers={"Retry-After": "0"}), Answer(status=500), Answer(fault="drop")]
        spoiled = [*faults, Answer(content="{not json ]]")] if form(body) != "words" else faults
        n = number(body) % 40
        return spoiled[n] if attempt == 1 and n < len(spoiled) else table(body)

    more = ("--limit", "3", "--turns", "3")
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, *more, out="calm")) == 0
        calm = len(server.requests)
    with ModelServer(faulty) as server:
        assert submit(options(tmp_path, splits, server, *more, out="faulty")) == 0
        assert len(server.requests) > calm
    assert digests(tmp_path / "calm/bundle") == digests(tmp_path / "faulty/bundle")


def test_a_responder_that_fails_is_not_the_players_fault(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(body: dict[str, Any], attempt: int) -> Answer:
        if form(body) == "YesNoReply" and "windscreen" in str(body):
            return Answer(content="Yes and no.")
        return Answer(content="I would rather not.") if "Clockmaker" in str(body) else table(body, attempt)

    with ModelServer(reply) as server:
        assert submit(options(tmp_path, splits, server, "--limit", "2", "--turns", "2")) == 3
    counts = read_bundle(tmp_path / "out/bundle").submission.counts
    assert (counts.scored, counts.no_answer, counts.failed) == (1, 0, 1)
    assert "unknown (failed, unjudged or missing)" in capsys.readouterr().out


def test_points_are_cut_once_kept_and_refused_for_another_version(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "splits"
    assert builders(["build", "sample-soup-zh", "--out", str(root)]) == 0
    shared = ["--split", "sample-soup-zh", "--splits", str(root)]
    with ModelServer(table) as server:
        cut = [*shared, "--judge", "j:openai/cutter", "--api-base", server.url]
        assert extract_points(cut) == 0
        assert len(server.requests) == 12
        assert extract_points(cut) == 1, "people may have edited the file"
        assert extract_points([*cut, "--force"]) == 0
        assert len(server.requests) == 12, "the journal holds what was paid for"
    split = load_split("sample-soup-zh", root=root)
    points = points_for(split, root=root)
    assert (points.judge, points.split_sha256) == ("openai/cutter", split.manifest.sha256)
    (path,) = (root / "sample-soup-zh/1.0.0.points").glob("*.yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["items"][0]["logic"][0], content["reviewer"] = "人改过的一条", "a person"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    edited = points_for(split, root=root)
    assert edited.items[0].logic[0] == "人改过的一条"
    assert edited.sha256 != points.sha256
    for change in ({"split": "sample-soup-zh@1.0.1"}, {"split_sha256": "0" * 64}, {"items": content["items"][1:]}):
        other = tmp_path / "other.yaml"
        other.write_text(yaml.safe_dump({**content, **change}, allow_unicode=True), encoding="utf-8")
        with pytest.raises(PointsError, match=r"belong to|once for each item"):
            points_for(split, root=root, path=other)
    with ModelServer(table) as server:
        run = options(tmp_path, root, server, "--split", "sample-soup-zh", "--points", str(other))
        assert submit(run) == 1
        assert server.requests == []
    assert "error: " in capsys.readouterr().err


def test_brought_reconstructions_are_scored_by_the_same_protocol(tmp_path: Path, splits: Path) -> None:
    mine = tmp_path / "stories.jsonl"
    story = {"logic": ["a"], "details": ["b"], "conclusion": "c"}
    rows = [{"item_id": f"en/Crime_Thriller/{n}", **story} for n in (0, 1)]
    mine.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--limit", "2", "--predictions", str(mine))
        assert submit(run) == 0
        assert {b["model"] for b in server.requests} == {"j1", "j2", "j3"}
        mine.write_text(json.dumps({**rows[0], "logic": "not a list"}) + "\n")
        assert submit(run) == 1
    submission = read_bundle(tmp_path / "out/bundle").submission
    assert submission.condition.startswith("brought;responder=openai/host")
    assert (submission.counts.scored, submission.evidence) == (2, "answers brought")
    assert check_bundle(tmp_path / "out/bundle", splits=splits).accepted


def test_a_persons_summaries_are_scored_labelled_human_and_become_the_baseline(tmp_path: Path, splits: Path) -> None:
    story = {"logic": ["a"], "details": ["b"], "conclusion": "c"}
    mine = tmp_path / "people.jsonl"
    mine.write_text("".join(json.dumps({"item_id": f"en/Crime_Thriller/{n}", **story}) + "\n" for n in (0, 1)))
    with ModelServer(table) as server:
        assert submit(options(tmp_path, splits, server, "--limit", "2", "--turns", "2", out="model")) == 0
        brought = ("--limit", "2", "--predictions", str(mine), "--model", "ada", "--provider", "human")
        alone = options(tmp_path, splits, server, *brought, out="person")
        del alone[alone.index("--responder") : alone.index("--responder") + 4]
        assert submit(alone) == 0
    submission = read_bundle(tmp_path / "person/bundle").submission
    assert submission.condition.startswith("player=human;brought;points="), "nobody knows who had answered"
    assert submission.model.provider == "human"
    with open_store(store_path()) as store:
        (board,) = (b for b in soup_boards(store) if b.split == "sample-soup-en")
    model, person = sorted(board.sections, key=lambda section: section.condition)
    assert (model.human, person.human) == (True, False)
    assert model.ranked[0].reductions[0] not in {"–", ""}
    assert (model.labelled, person.labelled) == (0, 0)


def test_a_person_plays_at_the_terminal_and_goes_on_where_they_stopped(
    tmp_path: Path, splits: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(table) as server:
        run = options(tmp_path, splits, server, "--limit", "1", "--player", "human")
        run[1:4:2] = ["ada", "human"]
        monkeypatch.setattr(sys, "stdin", io.StringIO("Is he dead?\n\nIs it a crime?\n"))
        assert submit(run) == 3, "the input ended"
        first = len(server.requests)
        rest = "done\nThe husband is dead; He is in the piano\nA lie is found out\nHe lies in the piano.\n"
        monkeypatch.setattr(sys, "stdin", io.StringIO(rest))
        assert submit(run) == 0
        assert len(server.requests) == first + MARKING, "no question is answered twice"
    (transcript,) = read_bundle(tmp_path / "out/bundle").transcripts
    assert transcript.game is not None
    assert [t.question for t in transcript.game.turns] == ["Is he dead?", "Is it a crime?"]
    assert transcript.answer is not None
    assert transcript.answer.texts == (
        "He lies in the piano.",
        "A lie is found out\nThe husband is dead\nHe is in the piano",
    )
    assert "A piano tuner is called" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--hints", "1"), 2, "for riddles"),
        (("--responder", "someone"), 2, "say who made it"),
        (("--points", "no-such-file"), 1, "extract_points"),
        (("--player", "human", "--responder", "symmetric"), 2, "against a Responder"),
        (("--turns", "0"), 2, "1 or more"),
        (("--turns", "900"), 1, "max_turns"),
        (("--prompts", "no-such-folder"), 1, "no-such-folder"),
        (("--split", "turtlesoup-zh"), 1, "--source <folder with the release>"),
    ],
)
def test_bad_input_is_one_clear_message(
    tmp_path: Path, splits: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], code: int, message: str
) -> None:
    run = ["--model", "openai/gpt-5.1", "--split", "sample-soup-en", "--splits", str(splits), "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as end:
        sys.exit(submit([*run, *more]))
    assert end.value.code == code
    assert message in capsys.readouterr().err


def test_a_dry_run_rehearses_and_sends_nothing(splits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert submit(["--model", "openai/gpt-5.1", "--split", "sample-soup-en", "--splits", str(splits), "--dry-run"]) == 0
    lines = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert lines["model"][1] == "1,380", "115 calls a game"
    assert lines["responder"][1] == "720"
    assert lines["judge claude-opus-4-5-20251101"][2] == "84"


def test_responders_are_checked_on_labelled_guesses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = [{"title": "A", "surface": "s", "bottom": "b"}]
    for language, line in (("en", "He left{n}\t|\tA\t|\t{label}"), ("zh", "他走了{n}\tA\t{label}")):
        labels = ("Correct", "Incorrect", "Unknown") if language == "en" else ("T", "F", "N")
        (tmp_path / language).mkdir()
        (tmp_path / language / "stories.json").write_text(json.dumps(story))
        lines = [line.format(n=n, label=labels[n % 3]) for n in range(6)]
        (tmp_path / language / "cases.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
        with ModelServer(lambda body, _: Answer(content="No.")) as server:
            run = [
                "--model",
                "m:openai/host",
                "--data",
                str(tmp_path),
                "--language",
                language,
                "--api-base",
                server.url,
            ]
            assert check_responder([*run, "--out", str(tmp_path / f"check-{language}")]) == 0
        with open_store(store_path()) as store:
            (check,) = store.responder_checks(language)
        assert (check.accuracy, check.recall("no"), check.recall("yes")) == (pytest.approx(1 / 3), 1, 0)
    assert "33.3 % of 6 guesses as labelled" in capsys.readouterr().out
    (tmp_path / "en/cases.list").write_text("He left\t|\tA\t|\tPerhaps\n")
    assert check_responder(["--model", "m:openai/host", "--data", str(tmp_path)]) == 1
    assert "cases.list:1" in capsys.readouterr().err
