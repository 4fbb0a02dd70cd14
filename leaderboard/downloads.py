"""The store and its tables as files to download, without anything of a sealed split but its aggregates."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from evaluators.store import Store
from leaderboard.evidence import open_splits
from leaderboard.outputs import Outputs, digest

DUCKDB = "data/results.duckdb"
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
    }
)
ITEMS: Mapping[str, str] = MappingProxyType({"items": "split, version, position", "puzzles": "split, version, item"})
# Queries that a reader can run on the file as they stand; tests/test_downloads.py runs them.
QUERIES = (
    (
        "The ranks of a board, with their intervals",
        "SELECT best_rank, worst_rank, model, round(100 * value, 1) AS score,\n"
        "    round(100 * low, 1) AS low, round(100 * high, 1) AS high\n"
        "FROM estimates\nWHERE best_rank IS NOT NULL AND method IN ('lsre', 'betabin', 'cluster-t')\n"
        "    AND estimand = 'items like these' AND metric NOT LIKE '%/%' -- one with a slash is of a category\n"
        "QUALIFY row_number() OVER (PARTITION BY submission_id ORDER BY method = 'lsre' DESC) = 1\n"
        "ORDER BY split, best_rank, model;",
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


def write_downloads(store: Store, outputs: Outputs, *, code: str) -> None:
    """Write the store as one DuckDB file and each of its tables as Parquet; equal stores make equal Parquet files.

    DuckDB puts a random name and bytes of unused memory into its own file, so equal stores make equal tables in it, and
    not equal bytes; while the store is the same, the file of the last build is taken over.
    """
    source = digest(code, _mark(store))
    names = [DUCKDB, *(f"data/{table}.parquet" for table in (*AGGREGATES, *EVIDENCE, *ITEMS))]
    taken = [outputs.take_over(name, source) for name in names]
    if all(taken):
        return
    for name in names:
        (outputs.new / name).unlink(missing_ok=True)
        outputs.put(name, source, b"")
        (outputs.new / name).unlink()
    _export(store, outputs.new)


def _mark(store: Store) -> str:
    """What the files are made from."""
    sums = [
        store.query(f"SELECT count(*), sum(hash(t)) FROM {table} t").fetchone()  # noqa: S608
        for table in (*AGGREGATES, *EVIDENCE, *ITEMS)
    ]
    return digest(sums, open_splits(store))


def _export(store: Store, folder: Path) -> None:
    path = folder / DUCKDB
    store.query(f"ATTACH '{str(path).replace(chr(39), chr(39) * 2)}' AS public (READ_WRITE)")
    try:
        names, versions = [[getattr(s, part) for s in open_splits(store)] for part in ("split", "version")]
        store.query(
            "CREATE OR REPLACE TEMP TABLE open_split AS SELECT unnest(?::VARCHAR[]) AS split, "
            "unnest(?::VARCHAR[]) AS version",
            [names, versions],
        )
        store.query(
            "CREATE OR REPLACE TEMP TABLE open_submission AS SELECT submission_id FROM submissions "
            "JOIN open_split USING (split, version)"
        )
        for tables, shown in (
            (AGGREGATES, ""),
            (EVIDENCE, "SEMI JOIN open_submission USING (submission_id)"),
            (ITEMS, "SEMI JOIN open_split USING (split, version)"),
        ):
            for table, order in tables.items():
                store.query(f"CREATE TABLE public.{table} AS FROM {table} {shown} ORDER BY {order}")
                to = str(folder / f"data/{table}.parquet").replace("'", "''")
                store.query(f"COPY public.{table} TO '{to}' (FORMAT parquet, COMPRESSION zstd)")
    finally:
        store.query("DETACH public")
