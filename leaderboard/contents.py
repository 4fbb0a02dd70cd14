"""All there is to read in a file that is about to be published, packed ones unpacked, piece by piece."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 512 * 2**20


def contents(path: Path) -> Iterator[bytes]:
    """Yield what a file holds: whole, or of a table the different texts of each column, some rows at a time.

    Raises:
        OSError: If the file cannot be read, or is too large to be searched.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix == ".duckdb":
        from evaluators.pack import texts_in

        yield from texts_in(path)
    elif path.stat().st_size > MOST_BYTES:
        raise OSError(f"{path}: too large to be searched, so it may not leave")
    else:
        data = path.read_bytes()
        yield _inflated(path, data) if path.suffix == ".zst" else data


def _inflated(path: Path, packed: bytes) -> bytes:
    import zstandard

    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed) as reader:
        data: bytes = reader.read(MOST_BYTES)
        if reader.read(1):
            raise OSError(f"{path}: unpacks to too much to be searched, so it may not leave")
    return data


def _parquet(path: Path) -> Iterator[bytes]:
    """Every text and all metadata of a Parquet file: compressed, no word could be found in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # As dictionaries, so that a text that is repeated a million times is held once.
        schema = pq.read_schema(path)
        plain = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_binary(f.type)]
        with pq.ParquetFile(path, read_dictionary=plain) as file:
            yield f"{schema} {schema.metadata} {file.metadata.metadata}".encode()
            for n in range(file.num_row_groups):
                group = file.metadata.row_group(n)
                if any(group.column(c).total_uncompressed_size > MOST_BYTES for c in range(group.num_columns)):
                    raise OSError(f"{path}: unpacks to too much to be searched, so it may not leave")
                for name in schema.names:
                    (column,) = file.read_row_group(n, columns=[name]).columns
                    yield from (_joined(texts) for array in column.chunks for texts in _texts(array))
    except pa.ArrowException as error:
        raise OSError(f"{path}: not readable as Parquet, so it cannot be searched and may not leave") from error


def _texts(array: "pa.Array") -> "Iterator[pa.Array]":
    """The arrays of texts or bytes in an array, however deep."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        yield from _texts(array.dictionary)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        yield from _texts(array.flatten() if not pa.types.is_map(kind) else array.keys)
        if pa.types.is_map(kind):
            yield from _texts(array.items)
    elif pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _texts(part)
    elif not (pa.types.is_primitive(kind) or pa.types.is_null(kind)):
        yield array


def _joined(array: "pa.Array") -> bytes:
    found = array.unique().drop_null().to_pylist()
    return b"\n".join(x if isinstance(x, bytes) else str(x).encode() for x in found)
