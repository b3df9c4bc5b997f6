"""A Delta table, by deltalake: executors write files, the driver commits them with their batch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slackwater.core.errors import ConfigError, DataError
from slackwater.pipeline.connectors import DeltaSink
from slackwater.spark.runner.arrow_types import has_variant, to_spark
from slackwater.spark.sinks.delta_files import FILES, write_files
from slackwater.spark.sinks.rows import Rows
from slackwater.spark.sinks.written import already_written

__all__ = ["open_sink"]

_KNOWN = {"appendOnly", "invariants", "timestampNtz", "changeDataFeed", "deletionVectors",
          "v2Checkpoint", "vacuumProtocolCheck", "inCommitTimestamp", "domainMetadata"}
"""Features of a table that ask nothing of those who only add files."""


@dataclass(frozen=True)
class _Delta:
    name: str
    path: str

    def write(self, rows: Rows, batch_id: int) -> None:
        import deltalake
        from deltalake.exceptions import DeltaError

        table = self._table()
        last = None if table is None else table.transaction_version(self.name)
        if already_written(last, batch_id, self.name, f"the table {self.path}"):
            return
        foreign = [f"{field.name} {to_spark(pa.schema([field]))[0].dataType.simpleString()}"
                   for field in rows.schema if _foreign(field.type)]
        if foreign:
            raise DataError("a Delta table has no columns of this type", step=self.name,
                            got=", ".join(foreign), hint="make texts of them in a sql step: "
                                                         "to_json(v), CAST(v AS string)")
        commit = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(self.name, batch_id)])
        try:
            if table is None:
                # what comes later may have nulls where this batch has none
                table = deltalake.DeltaTable.create(
                    self.path, pa.schema([field.with_nullable(True) for field in rows.schema]),
                    mode="ignore")
            self._check(rows.schema, table)
            found = rows.give_to(write_files(
                table.table_uri, list(table.metadata().partition_columns)), FILES)
            table.create_write_transaction(
                [deltalake.transaction.AddAction(
                    f.path, f.size, json.loads(f.partition), f.modified, True, f.stats)
                 for f in found], "append", table.schema(),
                list(table.metadata().partition_columns), commit_properties=commit)
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
        asked = {*(table.protocol().writer_features or ())} - _KNOWN
        asked |= {name for name in table.metadata().configuration
                  if name.startswith("delta.constraints.") or name == "delta.columnMapping.mode"}
        if asked:
            raise DataError("the table asks more of its writers than to add files", step=self.name,
                            got=", ".join(sorted(asked)), hint="write to another table")
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


def _foreign(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind) and not has_variant(kind):
        return any(_foreign(kind.field(i).type) for i in range(kind.num_fields))
    return has_variant(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind)


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
