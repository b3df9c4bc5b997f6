"""A Delta table, by deltalake: the batch's number is in the same commit as its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from slackwater.core.errors import ConfigError, DataError
from slackwater.pipeline.connectors import DeltaSink
from slackwater.spark.sinks.written import already_written

__all__ = ["open_sink"]


@dataclass(frozen=True)
class _Delta:
    name: str
    path: str

    def write(self, df: DataFrame, batch_id: int) -> None:
        import deltalake
        from deltalake.exceptions import DeltaError

        table = self._table()
        last = None if table is None else table.transaction_version(self.name)
        if already_written(last, batch_id, self.name, f"the table {self.path}"):
            return
        rows = df.toArrow()
        if table is not None:
            self._check(rows.schema, table)
        commit = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(self.name, batch_id)])
        try:
            deltalake.write_deltalake(self.path if table is None else table, rows, mode="append",
                                      commit_properties=commit)
        except (DeltaError, OSError) as error:
            raise DataError("the rows could not be written", step=self.name, expected=self.path,
                            got=error) from error

    def _table(self) -> Any:
        import deltalake
        from deltalake.exceptions import TableNotFoundError

        try:
            return deltalake.DeltaTable(self.path)
        except TableNotFoundError:
            return None

    def _check(self, rows: pa.Schema, table: Any) -> None:
        there = pa.schema(table.schema().to_arrow())
        # Delta widens nothing by itself and knows no nulls apart: names and kinds must agree
        have = {field.name: _kind(field.type) for field in there}
        want = {field.name: _kind(field.type) for field in rows}
        if have == want:
            return
        wrong = [f"{name}: {want.get(name, 'none')} for {have.get(name, 'none')}"
                 for name in [*want, *(n for n in have if n not in want)]
                 if want.get(name) != have.get(name)]
        raise DataError("the table has other columns than the rows", step=self.name,
                        expected=", ".join(f"{n} {k}" for n, k in have.items()),
                        got="; ".join(wrong), hint="write to another path")


def _kind(kind: pa.DataType) -> str:
    """A type's name, the same for its large and its view form."""
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{f.name}: {_kind(f.type)}" for f in kind) + ">"
    if pa.types.is_map(kind):
        return f"map<{_kind(kind.key_type)}, {_kind(kind.item_type)}>"
    if hasattr(kind, "value_type"):
        return f"list<{_kind(kind.value_type)}>"
    return str(kind).removeprefix("large_").removesuffix("_view")


def open_sink(config: DeltaSink, name: str) -> _Delta:
    """Add to the table, which the first rows make if it is missing."""
    try:
        import deltalake  # noqa: F401
    except ImportError:
        raise ConfigError("the Delta sink needs deltalake", step=name,
                          hint='pip install "slackwater[delta]"') from None
    return _Delta(name, config.path)
