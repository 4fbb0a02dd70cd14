"""The results store: one DuckDB file that evaluators write and the leaderboard reads.

It holds nothing that the bundles do not: delete it, and `python -m leaderboard build` makes it again.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from builders.values import SplitManifest
from evaluators.responders import ResponderCheck
from evaluators.scores import seats_of
from evaluators.store_errors import explain
from evaluators.stored import Attempts, Measured, Sealed, Stored, Votes
from evaluators.tables import Item, Row, published_rows, published_score_rows, split_rows, submission_rows
from evaluators.values import (
    Estimate,
    Published,
    PublishedScore,
    Submission,
    Tier,
    Transcript,
    Verdict,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Values = Sequence[str | Sequence[str] | None] | Mapping[str, str | Sequence[str] | None]
SCHEMA_VERSION = 5
# A store that is gone when it is closed, and never spills to disk.
IN_MEMORY = ":memory:"
TABLES = (
    *("splits", "items", "puzzles", "submissions", "transcripts", "verdicts", "scores", "labels", "games"),
    *("stages", "readings", "sealed"),
    *("responder_checks", "published", "published_scores"),
)


class StoreError(OSError):
    """The store cannot be opened, read or written; the message is one line that says what to do."""


def store_path() -> Path:
    """The file that every command uses: `$DEERSTALKER_STORE`, or `results.duckdb` in the working folder."""
    return Path(os.environ.get("DEERSTALKER_STORE") or "results.duckdb")


@contextmanager
def open_store(path: Path | str, *, read_only: bool = False) -> "Iterator[Store]":
    """Open the store, making it first where it does not exist (unless `read_only`), and close it on leaving.

    Raises:
        StoreError: If the file is missing (`read_only`), not a store, of another schema, in use by another process,
            or cannot be read or written.
    """
    import duckdb

    path = Path(path)
    if read_only and not path.exists():
        raise StoreError(f"there is no store at {str(path)!r}; `python -m leaderboard build` makes it from the bundles")
    try:
        connection = duckdb.connect(
            str(path), read_only=read_only, config={"temp_directory": ""} if str(path) == IN_MEMORY else {}
        )
    except duckdb.Error as error:
        raise StoreError(explain(error, path)) from error
    try:
        _check_schema(connection, path, read_only=read_only)
        yield Store(connection, path, read_only=read_only)
    except duckdb.Error as error:
        raise StoreError(explain(error, path)) from error
    finally:
        connection.close()


class Store:
    """An open store. Writes replace what they name, so doing one twice changes nothing."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", path: Path, *, read_only: bool = False) -> None:
        self._connection = connection
        self.path = path
        self.read_only = read_only
        self._inside = False

    def write_split(self, manifest: SplitManifest, items: Sequence[Item]) -> None:
        """Put a split and the order of its items in place of what the store holds of that split and version.

        Of a sealed split only a store in memory takes the items.
        """
        items = () if manifest.sealed and str(self.path) != IN_MEMORY else items
        self._replace(split_rows(manifest, items), {"split": manifest.split, "version": manifest.version})

    def write_submission(
        self, submission: Submission, transcripts: Sequence[Transcript], verdicts: Sequence[Verdict], *, tier: Tier
    ) -> None:
        """Put a submission with its evidence in place of what the store holds under its `submission_id`.

        Scores and labels are worked out here from the verdicts. A `released` row is taken with the jury it has; every
        other needs all three votes.

        Raises:
            ValueError: If a verdict is about no transcript of the submission.
            StoreError: If the store cannot be written; then it holds what it held before. If the split is sealed, and
                the store on disk.
        """
        manifests = self._manifests(submission)
        if str(self.path) != IN_MEMORY and any(m.sealed for m in manifests):
            raise StoreError(f"{submission.ref} is sealed: a store on disk takes of it what `write_sealed` writes")
        seats = None if tier == "released" else seats_of(submission)
        public = any(m.visibility == "public" for m in manifests)
        rows = submission_rows(submission, transcripts, verdicts, tier=tier, seats=seats, public=public)
        self._replace(rows, {"submission_id": submission.submission_id})

    def write_sealed(self, submission: Submission, estimates: Sequence[Estimate], *, tier: Tier) -> None:
        """Put a run on a sealed split, as a whole, in place of what the store holds under its `submission_id`."""
        s, shown = submission, [e.model_copy(update={"tier": tier}).model_dump(mode="json") for e in estimates]
        row: Row = (s.submission_id, s.split, s.version, tier, s.model_dump_json(), json.dumps(shown))
        self._replace({"sealed": [row]}, {"submission_id": s.submission_id})

    def sealed(self) -> tuple[Sealed, ...]:
        """Runs on sealed splits, by `submission_id`."""
        rows = self._run("SELECT submission, tier, estimates FROM sealed ORDER BY submission_id").fetchall()
        return tuple(
            Sealed(
                Submission.model_validate_json(s), tier, tuple(Estimate.model_validate(e) for e in json.loads(found))
            )
            for s, tier, found in rows
        )

    def _manifests(self, submission: Submission) -> list[SplitManifest]:
        """Of the submission's split, as far as it is known here."""
        query = "SELECT manifest FROM splits WHERE split = ? AND version = ?"
        held = self._run(query, [submission.split, submission.version]).fetchall()
        return [SplitManifest.model_validate_json(text) for (text,) in held]

    def remove_submission(self, submission_id: str) -> None:
        """Take a submission and its evidence out; nothing happens where there is none of that name."""
        tables = ("submissions", "transcripts", "verdicts", "scores", "labels", "games", "stages", "readings", "sealed")
        self._replace({table: [] for table in tables}, {"submission_id": submission_id})

    def write_published(self, rows: Sequence[Published]) -> None:
        """Put these figures of papers in place of all that the store holds."""
        self._replace(published_rows(rows), {})

    def splits(self) -> tuple[SplitManifest, ...]:
        """Manifests of the splits there are, by name and version."""
        rows = self._run("SELECT manifest FROM splits ORDER BY split, version").fetchall()
        return tuple(SplitManifest.model_validate_json(text) for (text,) in rows)

    def submissions(self, split: str | None = None, version: str | None = None) -> tuple[Stored, ...]:
        """Submissions of one split (and version), or all of them, by `submission_id`."""
        query = """SELECT submission, tier FROM submissions
            WHERE (split = $split OR $split IS NULL) AND (version = $version OR $version IS NULL)
            ORDER BY submission_id"""
        rows = self._run(query, {"split": split, "version": version}).fetchall()
        return tuple(Stored(_submission(text), tier) for text, tier in rows)

    def attempts(self, split: str, version: str, jury: str) -> dict[str, Attempts]:
        """Jury scores and labels of every attempt at a split under one jury, by `submission_id`."""
        query = """SELECT s.submission_id AS name, t.item_id AS item,
                coalesce(c.value, 'nan') AS jury, coalesce(h.value, 'nan') AS human, coalesce(a.value, 'nan') AS author,
                t.failure IS NOT NULL AS failed,
                coalesce(c.by_rule, false) OR (t.no_answer AND c.value IS NULL) AS by_rule
            FROM submissions s JOIN transcripts t USING (submission_id)
            LEFT JOIN (FROM scores WHERE metric = 'both_correct') c USING (submission_id, transcript_id)
            LEFT JOIN (FROM labels WHERE kind = 'human') h USING (submission_id, transcript_id)
            LEFT JOIN (FROM labels WHERE kind = 'author') a USING (submission_id, transcript_id)
            WHERE s.split = ? AND s.version = ? AND s.jury = ?
            ORDER BY s.submission_id, t.item_id, t.epoch, t.position"""
        column = self._run(query, [split, version, jury]).fetchnumpy()
        names, starts = np.unique(column["name"].astype(str), return_index=True)
        failed = column["failed"] & ~column["by_rule"]
        item = column["item"].astype(str)
        whole = (item, *(column[name] for name in ("jury", "human", "author", "by_rule")), failed)
        parts = zip(*(np.split(values, starts[1:]) for values in whole), strict=True)
        return {str(name): Attempts(*part) for name, part in zip(names, parts, strict=False)}

    def measured(
        self, split: str, version: str, jury: str, *, only: Sequence[str] | None = None
    ) -> dict[str, Measured]:
        """Every metric of every attempt at a split under one jury, by `submission_id`; None: of all submissions."""
        query = """SELECT s.submission_id, t.transcript_id, coalesce(i.cluster, t.item_id), coalesce(i.category, ''),
                c.metric, c.value
            FROM submissions s JOIN transcripts t USING (submission_id)
            LEFT JOIN items i ON i.split = s.split AND i.version = s.version AND i.item_id = t.item_id
            LEFT JOIN scores c ON c.submission_id = s.submission_id AND c.transcript_id = t.transcript_id
            WHERE s.split = $1 AND s.version = $2 AND s.jury = $3
                AND ($4::VARCHAR[] IS NULL OR list_contains($4::VARCHAR[], s.submission_id))
            ORDER BY s.submission_id, t.item_id, t.epoch, t.position, c.metric"""
        found: dict[str, dict[str, tuple[str, str, dict[str, float]]]] = {}
        for name, attempt, cluster, category, metric, value in self._run(
            query, [split, version, jury, only]
        ).fetchall():
            _, _, scores = found.setdefault(name, {}).setdefault(attempt, (cluster, category, {}))
            if metric is not None:
                scores[metric] = value
        return {name: _columns(list(attempts.values())) for name, attempts in found.items()}

    def write_responder_check(self, check: ResponderCheck) -> None:
        """Put a check in place of what the store holds of that model and language."""
        key = {"language": check.language, "model": check.model.name}
        self._replace({"responder_checks": [(*key.values(), check.model_dump_json())]}, key)

    def responder_checks(self, language: str) -> tuple[ResponderCheck, ...]:
        """Checks of models as Responders in one language, by name."""
        query = "SELECT row FROM responder_checks WHERE language = ? ORDER BY model"
        return tuple(ResponderCheck.model_validate_json(r) for (r,) in self._run(query, [language]).fetchall())

    def write_published_scores(self, rows: Sequence[PublishedScore]) -> None:
        """Put these scores of papers in place of all that the store holds."""
        self._replace(published_score_rows(rows), {})

    def labelled(self, names: Sequence[str]) -> dict[str, int]:
        """How many attempts of these submissions people labelled, by `submission_id`."""
        query = """SELECT submission_id, count(*) FROM labels
            WHERE kind = 'human' AND list_contains(?, submission_id) GROUP BY submission_id"""
        return dict(self._run(query, [list(names)]).fetchall())

    def published_scores(self) -> tuple[PublishedScore, ...]:
        """Scores of papers by category or configuration, in the order of their tables."""
        rows = self._run("SELECT row FROM published_scores ORDER BY split, position").fetchall()
        return tuple(PublishedScore.model_validate_json(r) for (r,) in rows)

    def votes(self, split: str, version: str, jury: str) -> Votes:
        """Every judge's vote on an attempt that a human labelled, in a fixed order."""
        query = """SELECT s.provider, v.judge, v.score AS vote, h.value AS human
            FROM submissions s JOIN verdicts v USING (submission_id)
            JOIN (FROM labels WHERE kind = 'human') h USING (submission_id, transcript_id)
            WHERE s.split = ? AND s.version = ? AND s.jury = ? AND v.kind = 'model' AND v.score IS NOT NULL
            ORDER BY s.submission_id, v.position"""
        column = self._run(query, [split, version, jury]).fetchnumpy()
        names = (column[name].astype(str) for name in ("provider", "judge"))
        return Votes(*names, *(np.asarray(column[name], dtype=float) for name in ("vote", "human")))

    def clusters(self, split: str, version: str) -> dict[str, str]:
        """Story, novel or case of each item of a split, by item; empty where the split was never stored."""
        query = "SELECT item_id, cluster FROM items WHERE split = ? AND version = ? ORDER BY position"
        return dict(self._run(query, [split, version]).fetchall())

    def categories(self, split: str, version: str) -> dict[str, str]:
        """Category of each item of a split; empty where the split was never stored."""
        query = "SELECT item_id, category FROM items WHERE split = ? AND version = ? ORDER BY position"
        return dict(self._run(query, [split, version]).fetchall())

    def published(self, split: str | None = None) -> tuple[Published, ...]:
        """Figures of papers on one split, or all of them, in the order of their tables."""
        query = "SELECT row FROM published WHERE split = $split OR $split IS NULL ORDER BY split, position"
        return tuple(Published.model_validate_json(r) for (r,) in self._run(query, {"split": split}).fetchall())

    def digest(self) -> str:
        """sha256 over every row of every table in sorted order: equal stores have equal digests."""
        total = sha256()
        for table in TABLES:
            for row in self._run(f"SELECT * FROM {table} ORDER BY ALL").fetchall():  # noqa: S608
                total.update(f"{table}\t{row!r}\n".encode())
        return total.hexdigest()

    def query(self, query: str, values: Values = ()) -> "duckdb.DuckDBPyConnection":
        """Run one statement; a name in it always comes from the code, a value always through `values`."""
        return self._run(query, values)

    def table(self, query: str, values: Values = ()) -> "pa.Table":
        """What one statement finds, as columns; for rows by the hundred thousand."""
        return self._connection.sql(query, params=values).to_arrow_table()

    def _run(self, query: str, values: Values = ()) -> "duckdb.DuckDBPyConnection":
        return self._connection.execute(query, values)

    def keep(self, rows: dict[str, list[Row]], key: dict[str, str]) -> None:
        """Put rows that were derived from the store in place of those it holds under `key`."""
        self._replace(rows, key)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keep all writes made inside this block, or none of them if it is left by an error or Ctrl-C."""
        import duckdb

        if self._inside:
            yield
            return
        self._inside, done = True, False
        try:
            self._connection.begin()
            yield
            self._connection.commit()
            done = True
        except duckdb.Error as error:
            raise StoreError(explain(error, self.path)) from error
        finally:
            self._inside = False
            if not done:
                # After a commit that failed there is nothing left to roll back, and DuckDB says so by raising.
                with suppress(duckdb.Error):
                    self._connection.rollback()

    def _replace(self, rows: dict[str, list[Row]], key: dict[str, str]) -> None:
        where = " AND ".join(f"{column} = ?" for column in key) or "true"
        with self.together():
            for table, values in rows.items():
                self._run(f"DELETE FROM {table} WHERE {where}", list(key.values()))  # noqa: S608
                self._insert(table, values)

    def _insert(self, table: str, rows: list[Row]) -> None:
        """Append rows through Arrow: one statement, however many rows."""
        import pyarrow as pa

        if not rows:
            return
        schema = self._connection.sql(f"SELECT * FROM {table} LIMIT 0").to_arrow_table().schema  # noqa: S608
        columns = [pa.array(c, type=f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
        self._connection.register("incoming", pa.table(columns, schema=schema))
        try:
            self._run(f"INSERT INTO {table} SELECT * FROM incoming")  # noqa: S608
        finally:
            self._connection.unregister("incoming")


@lru_cache(maxsize=10_000)  # a build asks for all of them a score of times, and they are frozen
def _submission(text: str) -> Submission:
    return Submission.model_validate_json(text)


def _columns(attempts: Sequence[tuple[str, str, dict[str, float]]]) -> Measured:
    metrics = sorted({metric for _, _, scores in attempts for metric in scores})
    return Measured(
        tuple(cluster for cluster, _, _ in attempts),
        tuple(category for _, category, _ in attempts),
        {m: np.array([scores.get(m, np.nan) for _, _, scores in attempts]) for m in metrics},
    )


def _check_schema(connection: "duckdb.DuckDBPyConnection", path: Path, *, read_only: bool) -> None:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables and not read_only:
        connection.begin()
        connection.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
        connection.execute("INSERT INTO meta VALUES (?)", [SCHEMA_VERSION])
        connection.commit()
        return
    if "meta" not in tables:
        raise StoreError(f"{str(path)!r} is a DuckDB file but no results store; move it away or set DEERSTALKER_STORE")
    # Always to the last row: DuckDB refuses new work on a connection with an unread result.
    versions = [version for (version,) in connection.execute("SELECT schema_version FROM meta").fetchall()]
    found = versions[0] if len(versions) == 1 else None
    if found != SCHEMA_VERSION:
        remedy = "update this checkout" if isinstance(found, int) and found > SCHEMA_VERSION else "move the file away"
        raise StoreError(
            f"the store {str(path)!r} has schema version {found!r} and this code writes {SCHEMA_VERSION}; {remedy}, or "
            "set DEERSTALKER_STORE to a new file and run `python -m leaderboard build`, which fills it from the bundles"
        )
