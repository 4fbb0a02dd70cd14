import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from evaluators.store import SCHEMA_VERSION, Store, StoreError, open_store, store_path
from evaluators.values import Published, Verdict
from tests.made import made_split
from tests.made_runs import Run, made_run

RUNS = (
    made_run("one", ["3+", "0-", "1", "none", "fail", "2?"]),
    made_run("two", ["3", "2+", "0", "3", "3", "3-"], provider="other"),
    made_run("gold", ["3+", "0-"], kind="gold", provider="authors", labels="author"),
)
FIGURE = Published(
    benchmark="layton",
    split="layton-llm",
    condition="hints=0",
    model="m",
    provider="p",
    score=50,
    half_width=1.5,
    rank=1,
    best_rank=1,
    worst_rank=2,
    table="Table 1",
    citation="A paper",
)


def fill(path: Path, runs: tuple[Run, ...] = RUNS) -> str:
    with open_store(path) as store:
        for run in runs:
            store.write_submission(*run, tier="scored-here")
        split = made_split()
        store.write_split(split.manifest, split.items)
        store.write_published([FIGURE])
        return store.digest()


def test_values_come_back_as_they_were_written(tmp_path: Path) -> None:
    fill(tmp_path / "s.duckdb")
    with open_store(tmp_path / "s.duckdb", read_only=True) as store:
        assert [s.submission for s in store.submissions()] == sorted(
            (run.submission for run in RUNS), key=lambda s: s.submission_id
        )
        assert {s.tier for s in store.submissions("layton-llm", "1.0.0")} == {"scored-here"}
        assert store.submissions("layton-vlm") == ()
        assert store.splits() == (made_split().manifest,)
        assert store.published("layton-llm") == (FIGURE,)
        assert store.published("layton-vlm") == ()


def test_attempts_tell_no_answer_failed_and_unjudged_apart(tmp_path: Path) -> None:
    fill(tmp_path / "s.duckdb")
    with open_store(tmp_path / "s.duckdb") as store:
        one = store.attempts("layton-llm", "1.0.0", "three")["one"]
    np.testing.assert_allclose(one.jury, [1, 0, 1 / 3, 0, np.nan, np.nan])
    np.testing.assert_allclose(one.human, [1, 0, np.nan, np.nan, np.nan, np.nan])
    assert one.by_rule.tolist() == [False, False, False, True, False, False]
    assert one.failed.tolist() == [False, False, False, False, True, False]


def test_an_unreadable_reply_of_the_model_is_wrong_by_rule_even_before_a_verdict_says_so(tmp_path: Path) -> None:
    run = made_run("mute", ["3", "fail"])
    refused = run.transcripts[1].model_copy(update={"failure": "refused"})
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_submission(run.submission, (run.transcripts[0], refused), run.verdicts, tier="scored-here")
        attempts = store.attempts("layton-llm", "1.0.0", "three")["mute"]
    assert attempts.by_rule.tolist() == [False, True]
    assert not attempts.failed.any()


def test_human_and_author_labels_stay_apart(tmp_path: Path) -> None:
    fill(tmp_path / "s.duckdb")
    with open_store(tmp_path / "s.duckdb") as store:
        gold = store.attempts("layton-llm", "1.0.0", "three")["gold"]
    assert np.isnan(gold.human).all()
    assert gold.author.tolist() == [1, 0]


def test_writing_twice_or_in_another_order_makes_the_same_store(tmp_path: Path) -> None:
    once = fill(tmp_path / "a.duckdb")
    assert fill(tmp_path / "a.duckdb") == once
    assert fill(tmp_path / "b.duckdb", RUNS[::-1]) == once


def test_a_deleted_store_is_rebuilt_with_equal_content(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    before = fill(path)
    path.unlink()
    assert fill(path) == before


def test_a_submission_written_again_replaces_all_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path)
    with open_store(path) as store:
        store.write_submission(*made_run("one", ["0", "3"]), tier="rejudged")
        assert store.attempts("layton-llm", "1.0.0", "three")["one"].jury.tolist() == [0, 1]
        assert {s.tier for s in store.submissions() if s.submission.submission_id == "one"} == {"rejudged"}


def test_a_release_with_two_judges_has_scores_where_a_run_of_ours_has_none(tmp_path: Path) -> None:
    run = made_run("one", ["2?"])
    for tier, expected in (("released", 1.0), ("scored-here", np.nan)):
        with open_store(tmp_path / "s.duckdb") as store:
            store.write_submission(*run, tier=tier)
            np.testing.assert_equal(store.attempts("layton-llm", "1.0.0", "three")["one"].jury, [expected])


def test_a_verdict_on_no_transcript_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    run = made_run("one", ["3"])
    stray = Verdict(transcript_id="f" * 16, judge="a", kind="model", score=1)
    with open_store(tmp_path / "s.duckdb") as store:
        before = store.digest()
        with pytest.raises(ValueError, match="not among its transcripts"):
            store.write_submission(run.submission, run.transcripts, (*run.verdicts, stray), tier="scored-here")
        assert store.digest() == before


def write_and_stop(store: Store) -> None:
    with store.together():
        store.write_submission(*made_run("three", ["3"]), tier="scored-here")
        raise KeyboardInterrupt


def test_what_is_written_together_is_kept_together_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    before = fill(path)
    with open_store(path) as store:
        with pytest.raises(KeyboardInterrupt):
            write_and_stop(store)
        assert store.digest() == before


def test_the_store_is_named_by_one_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert store_path() == tmp_path / "results.duckdb"
    monkeypatch.delenv("DEERSTALKER_STORE")
    assert store_path() == Path("results.duckdb")


def newer(path: Path) -> None:
    fill(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET schema_version = 99")


def foreign(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE cats (name VARCHAR)")


def text(path: Path) -> None:
    path.write_text("no database at all\n" * 500)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (newer, f"schema version 99 and this code writes {SCHEMA_VERSION}; update this checkout"),
        (foreign, "no results store"),
        (text, "is no DuckDB file"),
        (Path.mkdir, "is a folder"),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_refused_in_one_line(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "s.duckdb")
    with pytest.raises(StoreError, match=said) as caught, open_store(tmp_path / "s.duckdb"):
        pass
    assert "s.duckdb" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_store_that_is_not_there_is_not_made_for_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="leaderboard build"), open_store(tmp_path / "s.duckdb", read_only=True):
        pass
    with pytest.raises(StoreError, match="make its folder"), open_store(tmp_path / "no" / "s.duckdb"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_use_names_the_process_that_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    hold = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(StoreError, match=f"in use by process {holder.pid}; try again"), open_store(path):
            pass
        holder.stdin.close()


def test_a_full_disk_is_one_clear_line_and_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    before = fill(path)
    limit = path.stat().st_size // 2
    # A limit on file size stands in for a full disk: the write fails at the same place in the same way.
    write = f"""
import resource, signal, sys
from evaluators.store import StoreError, open_store
from tests.made_runs import made_run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {resource.RLIM_INFINITY}))
try:
    with open_store({str(path)!r}) as store:
        store.write_submission(*made_run("big", ["3"] * 4000), tier="scored-here")
except StoreError as error:
    sys.exit(f"error: {{error}}")
"""
    done = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the store")
    assert "nothing of this write was kept" in done.stderr
    assert done.stderr.count("\n") == 1
    with open_store(path) as store:
        assert store.digest() == before
