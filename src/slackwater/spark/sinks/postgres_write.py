"""One batch into one PostgreSQL table, in one transaction with the ledger of batches."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.csv

from slackwater.core.errors import DataError
from slackwater.spark.sinks import Refuse
from slackwater.spark.sinks.postgres_refusals import insert_good
from slackwater.spark.sinks.postgres_types import fits
from slackwater.spark.sinks.written import already_written

__all__ = ["Target", "write_batch"]

_LEDGER = "slackwater_batches"
_LOCK = 7_315_244_801  # any number: makers of the ledger wait for one another
_OP = "op"
_ORDER = "_slackwater_row"
_SLICE = 1 << 16
_NULLS_EQUAL = 150_000  # the version from which a unique constraint may take nulls as equal


@dataclass(frozen=True)
class Target:
    """A table with the columns that the rows have."""

    name: str
    table: str
    key: tuple[str, ...]
    types: Mapping[str, str]


def write_batch(connection: Any, target: Target, batch_id: int, rows: pa.Table,
                refuse: Refuse | None = None) -> None:
    """Write the rows unless the ledger has their batch; without `refuse` all of them or none."""
    from psycopg import sql

    ledger = sql.Identifier(_LEDGER)
    table = sql.Identifier(*target.table.split(".", 1))
    with connection.transaction(), connection.cursor() as cursor:
        if not (_exists(cursor, ledger) and _exists(cursor, table)):
            # several sinks may find the same table missing at once
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        cursor.execute(sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} (sink text PRIMARY KEY, batch bigint NOT NULL, "
            "written timestamptz NOT NULL DEFAULT now())"
        ).format(ledger))
        # the row first: a driver that is thought dead but is not waits here for the other
        cursor.execute(sql.SQL("INSERT INTO {} (sink, batch) VALUES (%s, -1) "
                               "ON CONFLICT (sink) DO NOTHING").format(ledger), (target.name,))
        cursor.execute(sql.SQL("SELECT batch FROM {} WHERE sink = %s FOR UPDATE").format(ledger),
                       (target.name,))
        last = cursor.fetchone()[0]
        if already_written(None if last < 0 else last, batch_id, target.name,
                           f"the table {target.table!r}"):
            return
        _prepare(cursor, target, table, connection.info.server_version)
        if refuse is None:
            _insert(cursor, target, table, rows)
        else:
            refused = insert_good(connection, partial(_insert, cursor, target, table), rows,
                                  target.name)
            if refused:
                refuse(refused)
        cursor.execute(sql.SQL("UPDATE {} SET batch = %s, written = now() WHERE sink = %s")
                       .format(ledger), (batch_id, target.name))


def _exists(cursor: Any, table: Any) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (table.as_string(cursor),))
    return bool(cursor.fetchone()[0])


def _prepare(cursor: Any, target: Target, table: Any, version: int) -> None:
    """Make the table if it is missing; check its columns if it is not."""
    from psycopg import sql

    if not _exists(cursor, table):
        lines = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
                 for name, kind in target.types.items()]
        if target.key:
            words = "UNIQUE NULLS NOT DISTINCT" if version >= _NULLS_EQUAL else "PRIMARY KEY"
            lines.append(sql.SQL(words + " ({})").format(_names(target.key)))
        cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(lines)))
        return
    cursor.execute("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                   "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                   (table.as_string(cursor),))
    there = dict(cursor.fetchall())
    missing = [name for name in target.types if name not in there]
    if missing:
        raise DataError(
            f"the table {target.table!r} lacks columns that the rows have", step=target.name,
            expected=", ".join(f"{n} {target.types[n]}" for n in missing),
            got=", ".join(f"{n} {k}" for n, k in there.items()),
            hint="add them with ALTER TABLE … ADD COLUMN, or write to another table")
    clash = [f"{name} {there[name]} for {kind}" for name, kind in target.types.items()
             if not fits(kind, there[name])]
    if clash:
        raise DataError(f"the table {target.table!r} has columns of other types than the rows",
                        step=target.name, got=", ".join(clash),
                        hint="change the columns with ALTER TABLE, or write to another table")


def _insert(cursor: Any, target: Target, table: Any, rows: pa.Table) -> None:
    """COPY into a table of this transaction, then from there into the target."""
    from psycopg import sql

    names = list(target.types)
    columns = _names(names)
    if not target.key:
        _copy(cursor, table, columns, rows)
        return
    fresh = sql.Identifier("slackwater_fresh")
    order = sql.Identifier(_ORDER)
    cursor.execute(sql.SQL(
        "CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {}, 0::bigint AS {} FROM {} LIMIT 0"
    ).format(fresh, columns, order, table))
    numbered = rows.append_column(_ORDER, pa.array(range(rows.num_rows), pa.int64()))
    _copy(cursor, fresh, sql.SQL("{}, {}").format(columns, order), numbered)
    key = _names(target.key)
    # of several rows with one key the last counts, as if they had come one by one
    last = sql.SQL("(SELECT DISTINCT ON ({}) * FROM {} ORDER BY {}, {} DESC) AS f").format(
        key, fresh, key, order)
    where: sql.Composable = sql.SQL("")
    if _OP in names:
        # a match that is taken back
        cursor.execute(sql.SQL("DELETE FROM {} AS t USING {} WHERE f.{} = '-' AND {}").format(
            table, last, sql.Identifier(_OP), sql.SQL(" AND ").join(
                sql.SQL("t.{0} IS NOT DISTINCT FROM f.{0}").format(sql.Identifier(name))
                for name in target.key)))
        where = sql.SQL("WHERE {} IS DISTINCT FROM '-'").format(sql.Identifier(_OP))
    others = [name for name in names if name not in target.key]
    action = sql.SQL("DO NOTHING") if not others else sql.SQL("DO UPDATE SET {}").format(
        sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
                           for name in others))
    cursor.execute(sql.SQL(
        "INSERT INTO {} ({columns}) SELECT {columns} FROM {} {} ORDER BY {} ON CONFLICT ({}) {}"
    ).format(table, last, where, order, key, action, columns=columns))
    cursor.execute(sql.SQL("DROP TABLE {}").format(fresh))  # the next part of a batch makes it anew


def _copy(cursor: Any, table: Any, columns: Any, rows: pa.Table) -> None:
    """Rows as CSV: Arrow quotes every text, so that an empty one is not taken for a null."""
    from psycopg import sql

    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(table, columns)) \
            as copy:
        for start in range(0, rows.num_rows, _SLICE):
            text = io.BytesIO()
            pyarrow.csv.write_csv(rows.slice(start, _SLICE), text, options)
            copy.write(text.getbuffer())


def _names(names: Any) -> Any:
    from psycopg import sql

    return sql.SQL(", ").join(sql.Identifier(name) for name in names)
