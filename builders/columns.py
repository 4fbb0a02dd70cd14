"""Parquet columns of a value: the type of each field, and what `datasets` calls it."""

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from builders.values import Value

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """The type of a column in Parquet, and the same as a feature of `datasets`."""

    kind: "pa.DataType"
    feature: dict[str, Any]


def column(annotation: Any) -> Column:
    """The column for a field: text, whole number, truth value, a list of one kind, or the fields of another value.

    Any of them may be null, as in Parquet every column may.

    Raises:
        TypeError: If the annotation is of none of these kinds.
    """
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return column(parts[0])
    if origin in {Union, UnionType}:
        (annotation,) = (part for part in parts if part is not NoneType)
        return column(annotation)
    if origin is Literal:
        annotation = type(parts[0])
    if origin is tuple:
        inner = column(parts[0])
        return Column(pa.list_(inner.kind), {"feature": inner.feature, "_type": "List"})
    if isinstance(annotation, type) and issubclass(annotation, Value):
        fields = {name: column(field.annotation) for name, field in annotation.model_fields.items()}
        return Column(
            pa.struct([(name, c.kind) for name, c in fields.items()]), {n: c.feature for n, c in fields.items()}
        )
    if annotation not in kinds:
        raise TypeError(f"no column for {annotation!r}")
    return Column(kinds[annotation], {"dtype": str(kinds[annotation]), "_type": "Value"})
