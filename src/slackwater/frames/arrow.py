"""Frames into Arrow tables, and back to what they were."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from slackwater.core.errors import ConfigError, DataError
from slackwater.core.state.ipc import empty_rows

__all__ = ["ArrowIn", "arrow_in"]


class ArrowIn(NamedTuple):
    """A frame's rows, and how tables become frames of its kind."""

    table: pa.Table
    give_back: Callable[[pa.Table], Any]


def arrow_in(frame: Any, *, step: str) -> ArrowIn:
    """The rows of any frame that speaks Arrow.

    Texts have one of Arrow's three layouts inside, and get back their own.

    Examples
    --------
    >>> rows, back = arrow_in(pa.record_batch({"x": [1]}), step="test")
    >>> type(rows).__name__, type(back(rows)).__name__
    ('Table', 'RecordBatch')
    """
    try:
        table, back = _converted(frame, step)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError("a column has values that Arrow cannot hold together", step=step,
                        got=str(error), hint="give the column one type") from None
    own = {field.name: field.type for field in table.schema}
    if len(own) < table.num_columns:
        doubled = sorted({n for n in table.column_names if table.column_names.count(n) > 1})
        raise DataError(f"two columns are called {doubled[0]!r}", step=step, hint="rename one")
    return ArrowIn(_plain_texts(table), lambda out: back(_as_before(out, own)))


def _converted(frame: Any, step: str) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    kind = _kind(frame)
    if isinstance(frame, pa.Table):
        return frame, lambda table: table
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), _one_batch
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all(), lambda table: table.to_reader()
    if kind == "pandas.DataFrame":
        table = pa.Table.from_pandas(frame)
        meta = table.schema.metadata
        return (table.replace_schema_metadata(None),
                lambda out: out.replace_schema_metadata(meta).to_pandas())
    if kind in ("polars.DataFrame", "polars.LazyFrame"):
        polars = sys.modules["polars"]
        eager = frame.collect() if kind == "polars.LazyFrame" else frame
        return eager.to_arrow(), lambda out: (
            polars.from_arrow(out).lazy() if kind == "polars.LazyFrame"
            else polars.from_arrow(out))
    if kind.startswith(("duckdb.", "_duckdb.")):
        duckdb = sys.modules["duckdb"]
        return pa.table(frame), duckdb.from_arrow
    if kind.startswith("pyspark."):
        raise ConfigError("a Spark DataFrame is not in this process", step=step,
                          hint=f"slackwater.spark.{step}(df, …)")
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return pa.table(frame), lambda table: table
    raise ConfigError("is not a frame that speaks Arrow", step=step, got=type(frame).__name__,
                      expected="pandas, polars, DuckDB, pyarrow, or an object with "
                               "__arrow_c_stream__", hint="pyarrow.table(…) makes one")


def _kind(frame: Any) -> str:
    """The library and the class, also of a subclass of theirs; no library is imported for it."""
    for base in type(frame).__mro__:
        library = base.__module__.split(".")[0]
        if library in ("pandas", "polars", "duckdb", "_duckdb", "pyspark"):
            return f"{library}.{base.__name__}"
    return type(frame).__name__


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else empty_rows(table.schema)


def _plain_texts(table: pa.Table) -> pa.Table:
    fields = [pa.field(f.name, pa.string()) if _is_text(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields)) if pa.schema(fields) != table.schema else table


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _as_before(out: pa.Table, own: dict[str, pa.DataType]) -> pa.Table:
    fields = [pa.field(f.name, own[f.name]) if _is_text(own.get(f.name, f.type)) else f
              for f in out.schema]
    return out.cast(pa.schema(fields)) if pa.schema(fields) != out.schema else out
