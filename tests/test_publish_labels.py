"""Labels go to the Hub in the columns of layton-eval's release: all of them, the same twice, people's apart."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from builders.publish import carry_out, describe
from builders.versions import VersionError
from evaluators.store import Store, open_store
from leaderboard.__main__ import main
from leaderboard.label_rows import label_rows
from leaderboard.publish_labels import LabelError, plan_labels
from tests.made_hub import child_environment, point_at
from tests.made_runs import made_run
from tests.servers.hub import Hub, serve, validate

REPO = "deer/layton-ppi"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve(Hub()) as server:
        point_at(server, tmp_path / "hf", monkeypatch)
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.duckdb") as opened:
        opened.write_submission(*made_run("one", ["3+", "0-", "2?", "1", "none", "fail"]), tier="scored-here")
        yield opened


def publish(store: Store, version: str = "1.0.0") -> str:
    return carry_out(plan_labels(store, "layton", version=version, repo=REPO))


def tagged(hub: Hub, version: str = "1.0.0") -> dict[str, bytes]:
    repo = hub.repos["dataset", REPO]
    return repo.commits[repo.refs[f"refs/tags/v{version}"]]


def test_each_answer_is_a_row_with_every_vote_and_a_null_where_nobody_spoke(store: Store) -> None:
    found = label_rows(store, "layton-llm", "riddle")
    assert found is not None
    rows = {row["item_id"]: row for row in found.table.to_pylist()}
    assert (found.rows, found.labelled, found.authored) == (5, 2, 0), "an answer that failed was not judged"
    right, wrong, unread, unlabelled, none = (rows[f"r-{n:03}"] for n in range(5))
    assert (right["both_correct_a"], right["human_both_correct"], right["human_labels"]) == (True, True, 1)
    assert (wrong["both_correct_a"], wrong["human_both_correct"]) == (False, False)
    assert (unread["both_correct_b"], unread["both_correct_c"]) == (True, None), "unreadable is not wrong"
    assert unlabelled["human_both_correct"] is None
    assert unlabelled["human_labels"] == 0
    assert none["no_answer"]
    assert none["both_correct_a"] is None
    assert (right["riddle_id"], right["n_hints"]) == ("r-000", 0)


def test_labels_of_an_author_never_stand_in_a_human_column(store: Store) -> None:
    store.write_submission(*made_run("gold", ["3+", "0-"], kind="gold", labels="author"), tier="scored-here")
    found = label_rows(store, "layton-llm", "riddle")
    assert found is not None
    gold = [row for row in found.table.to_pylist() if row["submission_id"] == "gold"]
    assert [(row["author_both_correct"], row["human_both_correct"], row["human_labels"]) for row in gold] == [
        (True, None, 0),
        (False, None, 0),
    ]
    assert found.authored == 2


def test_verdicts_that_a_submitter_brought_are_not_published(store: Store) -> None:
    store.write_submission(*made_run("theirs", ["3+"]), tier="self-reported")
    found = label_rows(store, "layton-llm", "riddle")
    assert found is not None
    assert {row["submission_id"] for row in found.table.to_pylist()} == {"one"}


def test_people_who_disagree_evenly_leave_the_label_open(store: Store) -> None:
    run = made_run("two", ["3+"])
    other = next(v for v in run.verdicts if v.kind == "human").model_copy(update={"judge": "human-2", "score": 0.0})
    store.write_submission(run.submission, run.transcripts, (*run.verdicts, other), tier="scored-here")
    found = label_rows(store, "layton-llm", "riddle")
    assert found is not None
    row = next(row for row in found.table.to_pylist() if row["submission_id"] == "two")
    assert (row["human_both_correct"], row["human_labels"]) == (None, 2)


def test_the_card_says_what_is_labelled_and_the_hub_takes_its_header(store: Store, hub: Hub) -> None:
    assert publish(store).startswith(f"published {REPO} at v1.0.0")
    files = tagged(hub)
    assert {"README.md", "CHANGELOG.md", "labels.json", "layton-llm/rows.parquet"} <= set(files)
    card = files["README.md"].decode()
    head = yaml.safe_load(card.split("---")[1])
    assert not validate(card)["errors"]
    assert head["configs"][0]["data_files"][0]["path"] == "layton-llm/rows.parquet"
    assert "| layton-llm | 5 | 2 | 0 |" in card
    rows = pq.read_table(io.BytesIO(files["layton-llm/rows.parquet"]))
    assert [f["name"] for f in head["dataset_info"][0]["features"]] == rows.schema.names
    assert json.loads(files["labels.json"])["splits"][0]["human"] == 2


def test_what_the_card_tells_a_reader_to_run_runs_in_a_fresh_process(store: Store, hub: Hub, tmp_path: Path) -> None:
    publish(store)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", tagged(hub)["README.md"].decode(), re.MULTILINE | re.DOTALL))
    # Arrow's threads now and then abort an interpreter that ends; what the card says has all run by then.
    end = "\nassert layton_llm.num_rows == 5\nimport os, sys\nsys.stdout.flush()\nos._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code + end],
        env={**os.environ, **child_environment(hub, tmp_path / "fresh")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'human_both_correct': True" in done.stdout


def test_the_second_publication_changes_nothing_and_new_rows_need_a_minor_version(store: Store, hub: Hub) -> None:
    publish(store)
    assert publish(store) == f"{REPO} has v1.0.0 with this very content; nothing was changed"
    store.write_submission(*made_run("more", ["3+", "1"]), tier="scored-here")
    with pytest.raises(VersionError, match=r"1\.1\.0"):
        plan_labels(store, "layton", version="1.0.1", repo=REPO)
    assert "  layton-llm: 2 rows added" in describe(plan_labels(store, "layton", version="1.1.0", repo=REPO))
    publish(store, "1.1.0")
    assert "2 rows added" in tagged(hub, "1.1.0")["CHANGELOG.md"].decode()
    store.remove_submission("one")
    with pytest.raises(VersionError, match=r"2\.0\.0"):
        plan_labels(store, "layton", version="1.2.0", repo=REPO)


def test_a_published_version_with_other_rows_is_refused(store: Store, hub: Hub) -> None:
    publish(store)
    store.write_submission(*made_run("more", ["3+"]), tier="scored-here")
    with pytest.raises(VersionError, match="other content"):
        plan_labels(store, "layton", version="1.0.0", repo=REPO)


@pytest.mark.parametrize(
    ("name", "message"), [("turtlesoup", "LicenseRef-none-stated"), ("samples", "no labelled answer")]
)
def test_what_may_not_go_out_is_refused_before_the_hub_is_asked(
    store: Store, hub: Hub, name: str, message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        plan_labels(store, name, version="1.0.0", repo=REPO)
    assert not hub.requests


def test_without_being_told_the_command_sends_nothing(
    store: Store, hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store.path
    store._connection.close()
    monkeypatch.setenv("DEERSTALKER_STORE", str(path))
    assert main(["publish-labels", "layton", "--repo", REPO]) == 0
    assert "nothing was sent" in capsys.readouterr().out
    assert not hub.repos
    assert main(["publish-labels", "layton", "--repo", "no"]) == 1
    assert "is not a repository" in capsys.readouterr().err


def test_the_real_release_comes_out_as_it_went_in(
    real_data: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = real_data("layton_eval/ppi/ppi_llm.jsonl")
    monkeypatch.setenv("DEERSTALKER_STORE", str(tmp_path / "real.duckdb"))
    assert main(["import-layton", str(source)]) == 0
    with open_store(tmp_path / "real.duckdb", read_only=True) as store:
        found = label_rows(store, "layton-llm", "riddle")
    assert found is not None
    ours = {(row["model"], row["riddle_id"]): row for row in found.table.to_pylist()}
    theirs = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    assert len(ours) == len(theirs)
    assert (found.rows, found.labelled) == (1674, 614)
    assert all(ours[row["model"], row["riddle_id"]].get(name) == value for row in theirs for name, value in row.items())
