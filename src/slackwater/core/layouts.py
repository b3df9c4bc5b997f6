"""Layouts of columns that rows cannot be taken from, and those that hold the same values.

Arrow's kernels take no rows from views of text or bytes (what polars and DuckDB hand out), nor from
runs.  So text and bytes get offsets, and runs are written out, before a stage sees them.

Enters: record batches and types.  Leaves: the same, laid out.  May import: errors.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.errors import DataError

__all__ = ["laid_out", "laid_out_schema"]

_LISTS = ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list),
          (pa.types.is_list_view, pa.list_view), (pa.types.is_large_list_view, pa.large_list_view))


def laid_out(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in columns that rows can be taken from.

    Examples
    --------
    >>> rows = pa.record_batch({"room": pa.array(["a"], pa.string_view()), "floor": [1]})
    >>> laid_out(rows).schema.types
    [DataType(large_string), DataType(int64)]
    """
    schema = laid_out_schema(batch.schema)
    if schema is batch.schema:
        return batch
    return pa.RecordBatch.from_arrays(
        [_as(column, field) for column, field in zip(batch.columns, schema, strict=True)],
        schema=schema)


def laid_out_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of `laid_out` rows."""
    fields = [_field(field) for field in schema]
    return schema if fields == list(schema) else pa.schema(fields, schema.metadata)


def _as(column: pa.Array, field: pa.Field) -> pa.Array:
    if column.type == field.type:
        return column
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    try:
        return column.cast(field.type)
    except pa.ArrowNotImplementedError:
        raise DataError(f"column {field.name!r} is in a layout that rows cannot be taken from",
                        step="columns", got=column.type,
                        hint=f"cast it to {field.type} beforehand") from None


def _field(field: pa.Field) -> pa.Field:
    kind = _laid_out(field.type)
    return field if kind == field.type else field.with_type(kind)


def _laid_out(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_run_end_encoded(kind):
        return _laid_out(kind.value_type)
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _laid_out(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pa.struct([_field(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field), kind.list_size)
    for is_list, made in _LISTS:
        if is_list(kind):
            return made(_field(kind.value_field))
    return kind
