"""Pack Parquet files into one DuckDB file: python -m evaluators.pack FOLDER TABLE ...

`FOLDER/TABLE.parquet` becomes a table of `FOLDER/results.duckdb`. A process of its own, because DuckDB writes bytes of
memory that it did not clear into its file: whoever has read nothing but what is public leaves nothing else there.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from evaluators.store import pack


def main(argv: Sequence[str] | None = None) -> int:
    """Pack; 0 done, 1 a file cannot be read or written."""
    folder, *tables = sys.argv[1:] if argv is None else argv
    try:
        pack(Path(folder), tables)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
