"""The store and its tables as files to download, without anything of a sealed split but its aggregates."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from evaluators.store import Store
from leaderboard.evidence import open_splits
from leaderboard.outputs import Outputs, digest

DUCKDB = "data/results.duckdb"
_ROOT = Path(__file__).resolve().parent.parent
# Tables of the download, and how their rows are ordered; `evidence` tables leave out sealed splits.
AGGREGATES: Mapping[str, str] = MappingProxyType(
    {
        "splits": "split, version",
        "submissions": "submission_id",
        "estimates": "split, version, jury, position",
        "published": "split, position",
        "published_scores": "split, position",
        "responder_checks": "language, model",
    }
)
EVIDENCE: Mapping[str, str] = MappingProxyType(
    {
        "transcripts": "submission_id, position",
        "verdicts": "submission_id, position",
        "scores": "submission_id, transcript_id, metric",
        "labels": "submission_id, transcript_id, kind",
        "games": "submission_id, position",
        "stages": "submission_id, transcript_id",
    }
)
# What is left of tables with words where those of the items may not be passed on (`OpenSplit.told`): the letter of a
# chosen option, and no rows of what is words alone.
_UNTOLD: Mapping[str, str] = MappingProxyType(
    {
        "transcripts": "SELECT * EXCLUDE told REPLACE (CASE WHEN told OR length(answer) = 1 THEN answer END AS answer, "
        "CASE WHEN told THEN justification END AS justification)",
        "verdicts": "SELECT * EXCLUDE told REPLACE (CASE WHEN told THEN reply END AS reply)",
    }
)
_ALL_WORDS = frozenset({"games", "stages"})
ITEMS: Mapping[str, str] = MappingProxyType({"items": "split, version, position", "puzzles": "split, version, item"})
# Queries that a reader can run on the file as they stand; tests/test_generated.py runs them.
QUERIES = (
    (
        "The ranks of all boards, with their intervals",
        "SELECT split, best_rank, worst_rank, model, round(value, 3) AS score,\n"
        "    round(low, 3) AS low, round(high, 3) AS high\n"
        "FROM estimates\nWHERE best_rank IS NOT NULL AND method IN ('lsre', 'betabin', 'cluster-t')\n"
        "    AND estimand = 'items like these' AND metric NOT LIKE '%/%' -- one with a slash is of a category\n"
        "QUALIFY row_number() OVER (PARTITION BY submission_id, condition, metric ORDER BY method = 'lsre' DESC) = 1\n"
        "ORDER BY split, condition, metric, best_rank, model;",
    ),
    (
        "The items on which the judges disagree most",
        "SELECT t.item_id, count(*) AS answers, round(avg(s.value * (1 - s.value)), 3) AS disagreement\n"
        "FROM scores s JOIN transcripts t USING (submission_id, transcript_id)\n"
        "WHERE s.metric IN ('both_correct', 'overall')\nGROUP BY ALL ORDER BY disagreement DESC, item_id LIMIT 20;",
    ),
    (
        "How often each judge agrees with people",
        "SELECT v.judge, count(*) AS votes, round(100 * avg((v.score = l.value)::INT), 1) AS agree\n"
        "FROM verdicts v JOIN labels l USING (submission_id, transcript_id)\n"
        "WHERE v.kind = 'model' AND l.kind = 'human' AND v.score IS NOT NULL\nGROUP BY ALL ORDER BY agree DESC;",
    ),
)


@contextmanager
def downloads(store: Store, outputs: Outputs, *, code: str) -> Iterator[None]:
    """Write each table as Parquet; while the block runs, a process of its own packs them into one DuckDB file.

    Equal stores make equal Parquet files. DuckDB puts a random name into its own file, and bytes of memory that it
    did not clear (duckdb/duckdb#23382): equal stores make equal tables in it, and not equal bytes, and a process that
    has read more than public tables could leave some of that in it. While the store is the same, the file of the last
    build is taken over.

    Raises:
        OSError: If a file cannot be written, or packing failed.
    """
    source = digest(code, _mark(store))
    tables = (*AGGREGATES, *EVIDENCE, *ITEMS)
    names = [DUCKDB, *(f"data/{table}.parquet" for table in tables)]
    taken = [outputs.take_over(name, source) for name in names]
    if all(taken):
        yield
        return
    for name in names:
        outputs.put(name, source, b"")
        (outputs.new / name).unlink()
    _export(store, outputs.new / "data")
    command = [sys.executable, "-m", "evaluators.pack", str((outputs.new / "data").resolve()), *tables]
    # No variable of ours: what that process does not have cannot end in the file that it writes.
    with subprocess.Popen(command, cwd=_ROOT, env={}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as packing:  # noqa: S603
        try:
            yield
        except BaseException:
            packing.kill()
            raise
        said, _ = packing.communicate()
    if packing.returncode:
        raise OSError(f"the tables could not be packed into {DUCKDB}: {said.decode(errors='replace').strip()[-400:]}")


def _mark(store: Store) -> str:
    """What the files are made from."""
    sums = [
        store.query(f"SELECT count(*), sum(hash(t)) FROM {table} t").fetchone()  # noqa: S608
        for table in (*AGGREGATES, *EVIDENCE, *ITEMS)
    ]
    return digest(sums, open_splits(store))


def _export(store: Store, folder: Path) -> None:
    columns = [[getattr(s, part) for s in open_splits(store)] for part in ("split", "version", "told")]
    store.query(
        "CREATE OR REPLACE TEMP TABLE open_split AS SELECT unnest(?::VARCHAR[]) AS split, "
        "unnest(?::VARCHAR[]) AS version, unnest(?::BOOLEAN[]) AS told",
        columns,
    )
    store.query(
        "CREATE OR REPLACE TEMP TABLE open_submission AS SELECT submission_id, told FROM submissions "
        "JOIN open_split USING (split, version)"
    )
    sources = {table: f"FROM {table}" for table in AGGREGATES}
    sources |= {table: f"FROM {table} SEMI JOIN open_split USING (split, version)" for table in ITEMS}
    for table in EVIDENCE:
        chosen = _UNTOLD.get(table, "SELECT * EXCLUDE told")
        shown = f"{chosen} FROM {table} JOIN open_submission USING (submission_id)"
        sources[table] = f"{shown} WHERE told" if table in _ALL_WORDS else shown
    for table, order in {**AGGREGATES, **EVIDENCE, **ITEMS}.items():
        to = str(folder / f"{table}.parquet").replace("'", "''")
        store.query(f"COPY ({sources[table]} ORDER BY {order}) TO '{to}' (FORMAT parquet, COMPRESSION zstd)")
