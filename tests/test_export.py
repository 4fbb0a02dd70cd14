"""Results in the formats of others: read by their own parsers, complete with interval, never more than aggregates."""

import json
from pathlib import Path

import pytest
import yaml

from builders import hub as door
from evaluators.store import open_store
from leaderboard.__main__ import main
from leaderboard.boards import Board, boards
from leaderboard.export import FORMATS, documents
from leaderboard.export_formats import Place, Result, notes, plain, results
from tests.made_board import HOSTILE, fill
from tests.made_hub import point_at
from tests.servers.hub import Hub, Repo, serve

PLACE = Place("deer/layton", "c" * 40)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Board, ...]]:
    """A store with every kind of row, and its boards, worked out once."""
    path = tmp_path_factory.mktemp("store") / "results.duckdb"
    with open_store(path) as store:
        fill(store)
        return path, boards(store, fit=lambda _: None)


@pytest.fixture
def found(filled: tuple[Path, tuple[Board, ...]], monkeypatch: pytest.MonkeyPatch) -> tuple[Result, ...]:
    path, worked_out = filled
    monkeypatch.setenv("DEERSTALKER_STORE", str(path))
    monkeypatch.setattr("leaderboard.boards.boards", lambda _: worked_out)
    return results(worked_out)


def export(tmp_path: Path, *arguments: str) -> int:
    return main(["export", "--out", str(tmp_path / "out"), *arguments])


def test_every_model_of_every_board_is_there_once_for_each_condition(found: tuple[Result, ...]) -> None:
    names = [r.like.model for r in found]
    assert {*HOSTILE, "plain-model"} <= set(names)
    assert len(names) == len(set(names))
    assert "gold" not in {r.submission.submission_id for r in found}


def test_eval_results_are_read_by_the_hubs_own_parser_with_the_interval_in_the_notes(
    found: tuple[Result, ...],
) -> None:
    from huggingface_hub import parse_eval_result_entries

    files = documents(found, "eval-results", PLACE)
    assert len(files) == len(found)
    for name, text in files.items():
        assert "/.eval_results/" in name
        (entry,) = parse_eval_result_entries(yaml.safe_load(text))
        (result,) = [r for r in found if name.startswith(f"{r.developer}/{r.model}/")]
        assert entry.value == round(100 * result.like.value, 2)
        assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == (PLACE.dataset, result.like.split, "c" * 40)
        assert f"95 % interval {100 * result.like.low:.1f} to {100 * result.like.high:.1f}" in entry.notes
        assert f"tier {result.like.tier}" in entry.notes


def test_model_index_is_read_by_the_hubs_own_parser(found: tuple[Result, ...]) -> None:
    from huggingface_hub.repocard_data import model_index_to_eval_results

    files = documents(found, "model-index", PLACE)
    name, text = next((n, t) for n, t in files.items() if "plain-model" in n)
    model, read = model_index_to_eval_results(yaml.safe_load(text)["model-index"])
    (result,) = [r for r in found if r.like.model == "plain-model"]
    assert (model, read[0].metric_value) == ("plain-model", round(100 * result.like.value, 2))
    assert read[0].dataset_type == PLACE.dataset
    assert name == "q/plain-model/model-index.yaml"


@pytest.mark.parametrize("place", [PLACE, Place(None, None)])
def test_every_eval_ever_has_score_and_interval_as_fractions(found: tuple[Result, ...], place: Place) -> None:
    files = documents(found, "every-eval-ever", place)
    told = {d["source_metadata"]["additional_details"]["submission_id"]: d for d in map(json.loads, files.values())}
    assert len(told) == len(found)
    for result in found:
        (one,) = told[result.submission.submission_id]["evaluation_results"]
        interval = one["score_details"]["uncertainty"]["confidence_interval"]
        assert one["score_details"]["score"] == result.like.value
        assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (
            result.like.low,
            result.like.high,
            0.95,
        )
        assert len(one["metric_config"]["llm_scoring"]["judges"]) == 3
        assert one["source_data"]["source_type"] == (
            "hf_dataset" if place.dataset else one["source_data"]["source_type"]
        )


def test_every_eval_ever_documents_fit_its_own_schema(
    found: tuple[Result, ...], every_eval_ever_schema: Path, tmp_path: Path
) -> None:
    schema = str(every_eval_ever_schema)
    assert export(tmp_path, "--format", "every-eval-ever", "--schema", schema) == 0
    assert export(tmp_path, "--format", "every-eval-ever", "--schema", schema, "--dataset", "deer/layton") == 0


def test_a_document_that_does_not_fit_a_schema_is_refused_and_nothing_is_written(
    found: tuple[Result, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"type": "object", "required": ["nowhere"]}))
    assert export(tmp_path, "--format", "inspect", "--schema", str(schema)) == 1
    assert "'nowhere' is a required property" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    schema.write_text(json.dumps({"type": "object", "required": ["eval", "results"]}))
    assert export(tmp_path, "--format", "inspect", "--schema", str(schema)) == 0


def test_an_inspect_header_counts_what_was_scored_and_what_was_not(found: tuple[Result, ...]) -> None:
    logs = [json.loads(text) for text in documents(found, "inspect", PLACE).values()]
    for log in logs:
        (score,) = log["results"]["scores"]
        assert score["scored_samples"] + score["unscored_samples"] == log["results"]["total_samples"]
        assert "samples" not in log


@pytest.mark.parametrize("format_", FORMATS)
def test_no_format_tells_an_item_an_answer_or_a_judges_words(
    found: tuple[Result, ...], format_: str, tmp_path: Path
) -> None:
    assert export(tmp_path, "--format", format_, "--dataset", "deer/layton") == 0
    text = "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert text
    assert "r-000" not in text
    assert "sample_ids" not in text


@pytest.mark.parametrize("format_", FORMATS)
def test_the_same_store_makes_the_same_files_and_no_name_leaves_the_folder(
    found: tuple[Result, ...], format_: str, tmp_path: Path
) -> None:
    assert documents(found, format_, PLACE) == documents(found, format_, PLACE)
    assert export(tmp_path, "--format", format_, "--dataset", "deer/layton") == 0
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".duckdb"] == ["out"]


def test_names_of_strangers_become_different_plain_path_components() -> None:
    names = ["../../etc", "a/b", "a_b", "a:b", ".", "..", "", "-", "x" * 300, "x" * 301, *HOSTILE]
    made = [plain(name) for name in names]
    assert len(set(made)) == len(made)
    assert all(m and m not in (".", "..") and "/" not in m and len(m) < 100 for m in made)


def test_what_a_bare_number_leaves_out_is_in_the_notes(found: tuple[Result, ...]) -> None:
    (result,) = [r for r in found if r.like.model == "plain-model"]
    for part in ("layton-llm@1.0.0", "hints=0", "jury three: a, b, c", "tier scored-here", f"n={result.like.n}"):
        assert part in notes(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "eval-results"], "give it with --dataset"),
        (["--format", "model-index"], "give it with --dataset"),
        (["--format", "inspect", "--dataset", "no"], "is not a repository"),
        (["--format", "inspect", "--revision", "main"], "is not a commit of 40 hex digits"),
        (["--format", "inspect", "--split", "nope"], "splits with rows: layton-llm, sample-llm"),
        (["--format", "eval-results", "--create-pr"], "give --model and --model-repo"),
        (["--format", "model-index", "--schema", "x"], "--schema checks JSON documents"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    found: tuple[Result, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert export(tmp_path, *arguments) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_a_store_there_is_nothing_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(tmp_path, "--format", "inspect") == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_results_are_proposed_to_the_models_repository_once(
    found: tuple[Result, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--format", "eval-results", "--model", "plain-model", "--dataset", "deer/layton", "--create-pr"]
    with serve(Hub()) as hub:
        point_at(hub, tmp_path / "hf", monkeypatch)
        hub.repos["model", "q/plain"] = repo = Repo()
        main_ = repo.commit("refs/heads/main", {"README.md": b"theirs"})
        assert export(tmp_path, *asked, "--model-repo", "q/plain") == 0
        assert "proposed " in capsys.readouterr().out
        assert set(door.blobs("q/plain", repo.refs["refs/pr/1"], kind="model")) == {
            "README.md",
            ".eval_results/deerstalker-layton-llm.yaml",
        }
        assert export(tmp_path, *asked, "--model-repo", "q/plain") == 0
        assert "pull request 1; nothing was changed" in capsys.readouterr().out
        assert (repo.refs["refs/heads/main"], repo.pulls) == (main_, 1)
        assert export(tmp_path, *asked, "--model-repo", "q/other") == 1
        assert "the Hub shows no model q/other" in capsys.readouterr().err
        hub.faults = dict.fromkeys(range(len(hub.requests), len(hub.requests) + 60), "drop")
        assert export(tmp_path, *asked, "--model-repo", "q/plain") == 3
