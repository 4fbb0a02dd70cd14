"""The DuckDB file for download: python -m evaluators.pack FOLDER TABLE ...

`FOLDER/TABLE.parquet` becomes a table of `FOLDER/results.duckdb`. In a process of its own, because DuckDB writes bytes
of memory that it did not clear into its file: whoever has read nothing but what is public leaves nothing else there.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluators.store_errors import explain

NAME = "results.duckdb"
_COLUMNS = """SELECT table_name, column_name FROM duckdb_columns()
WHERE database_name = current_database() AND data_type NOT IN ('DOUBLE', 'INTEGER', 'BIGINT', 'BOOLEAN')
ORDER BY table_name, column_index"""


def main(argv: Sequence[str] | None = None) -> int:
    """Pack; 0 done, 1 a file cannot be read or written."""
    p = argparse.ArgumentParser(prog="python -m evaluators.pack", description=__doc__)
    p.add_argument(
        "folder", type=Path, metavar="FOLDER", help="where the Parquet files are, and the DuckDB file will be"
    )
    p.add_argument("tables", nargs="+", metavar="TABLE", help="names of the files, without .parquet")
    options = p.parse_args(argv)
    try:
        pack(options.folder, options.tables)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def pack(folder: Path, tables: Sequence[str]) -> None:
    """Make the DuckDB file of the Parquet files of these tables, in the folder where they are.

    Raises:
        OSError: If a file cannot be read or written.
    """
    import duckdb

    path = folder / NAME
    try:
        # Little memory and one thread: a build does other work meanwhile.
        with duckdb.connect(str(path), config={"memory_limit": "400MB", "threads": 1}) as connection:
            for table in tables:
                parquet = str(folder / f"{table}.parquet").replace("'", "''")
                connection.execute(f"CREATE TABLE {table} AS FROM '{parquet}'")
    except duckdb.Error as error:
        raise OSError(explain(error, path)) from error


def texts_in(path: Path, *, rows: int = 65_536) -> Iterator[bytes]:
    """The different texts of each column of each table of a DuckDB file, joined by line ends, some rows at a time.

    Raises:
        OSError: If the file cannot be read.
    """
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            for table, column in connection.execute(_COLUMNS).fetchall():
                yield f"{table} {column}".encode()
                where, what = (name.replace('"', '""') for name in (table, column))
                texts = connection.execute(f'SELECT DISTINCT "{what}"::VARCHAR FROM "{where}"')  # noqa: S608
                while found := texts.fetchmany(rows):
                    yield "\n".join(text for (text,) in found if text is not None).encode()
    except duckdb.Error as error:
        raise OSError(explain(error, path)) from error


if __name__ == "__main__":
    sys.exit(main())
