"""One batch from its staging table into its own, in one transaction with the ledger of batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from slackwater.core.errors import DataError
from slackwater.spark.sinks import Refuse
from slackwater.spark.sinks.postgres_refusals import Span, insert_good
from slackwater.spark.sinks.postgres_stage import (
    ATTEMPT,
    ROW,
    Staged,
    StagingLost,
    make_staging,
    staging_of,
)
from slackwater.spark.sinks.postgres_types import fits
from slackwater.spark.sinks.written import already_written

__all__ = ["Target", "move_batch", "prepare_batch"]

_LEDGER = "slackwater_batches"
_LOCK = 7_315_244_801  # any number: makers of the ledger wait for one another
_OP = "op"
_PART = "_slackwater_part"
_NULLS_EQUAL = 150_000  # the version from which a unique constraint may take nulls as equal


@dataclass(frozen=True)
class Target:
    """A table with the columns that the rows have."""

    name: str
    table: str
    key: tuple[str, ...]
    types: Mapping[str, str]

    @property
    def sql(self) -> Any:
        """The table's name, quoted."""
        from psycopg import sql

        return sql.Identifier(*self.table.split(".", 1))


def prepare_batch(connection: Any, target: Target, batch_id: int) -> bool:
    """Make or check the table and make the one for staging; False: the batch was written before."""
    with connection.transaction(), connection.cursor() as cursor:
        if _written(cursor, target, batch_id):
            return False
        _prepare(cursor, target, connection.info.server_version)
        make_staging(cursor, target.name, list(target.types))
        return True


def move_batch(connection: Any, target: Target, batch_id: int, staged: list[Staged],
               refuse: Refuse | None = None) -> None:
    """Move the staged rows unless the ledger has their batch; without `refuse` all or none."""
    from psycopg import sql

    with connection.transaction(), connection.cursor() as cursor:
        if _written(cursor, target, batch_id):
            return
        _check_whole(cursor, target, staged)
        insert = partial(_insert, cursor, target, _types(cursor, target))
        spans = [Span(one.attempt, 0, one.rows) for one in staged]
        if refuse is None:
            insert(spans)
        else:
            refused = insert_good(connection, insert, spans, partial(_text, cursor, target),
                                  target.name, partial(_index, cursor, target))
            if refused:
                refuse(refused)
        cursor.execute(sql.SQL("UPDATE {} SET batch = %s, written = now() WHERE sink = %s")
                       .format(sql.Identifier(_LEDGER)), (batch_id, target.name))
        cursor.execute(sql.SQL("DROP TABLE {}").format(staging_of(target.name)))


def _written(cursor: Any, target: Target, batch_id: int) -> bool:
    """Whether the ledger has the batch; until the transaction ends nobody else writes the sink."""
    from psycopg import sql

    ledger = sql.Identifier(_LEDGER)
    if not (_exists(cursor, ledger) and _exists(cursor, target.sql)):
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
    return already_written(None if last < 0 else last, batch_id, target.name,
                           f"the table {target.table!r}")


def _check_whole(cursor: Any, target: Target, staged: list[Staged]) -> None:
    """The staging table does not outlive a crash of the server, and another driver may drop it."""
    from psycopg import sql

    staging = staging_of(target.name)
    if not _exists(cursor, staging):
        raise StagingLost("the staging table is gone")
    cursor.execute(sql.SQL("SELECT count(*) FROM {} WHERE {} = ANY(%s)").format(
        staging, sql.Identifier(ATTEMPT)), ([one.attempt for one in staged],))
    there, wanted = cursor.fetchone()[0], sum(one.rows for one in staged)
    if there != wanted:
        raise StagingLost(f"{there} of {wanted} staged rows are there")


def _exists(cursor: Any, table: Any) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (table.as_string(cursor),))
    return bool(cursor.fetchone()[0])


def _prepare(cursor: Any, target: Target, version: int) -> None:
    """Make the table if it is missing; check its columns if it is not."""
    from psycopg import sql

    if not _exists(cursor, target.sql):
        lines = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
                 for name, kind in target.types.items()]
        if target.key:
            words = "UNIQUE NULLS NOT DISTINCT" if version >= _NULLS_EQUAL else "PRIMARY KEY"
            lines.append(sql.SQL(words + " ({})").format(_names(target.key)))
        cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(target.sql,
                                                              sql.SQL(", ").join(lines)))
        return
    types = _types(cursor, target)
    there = {name: kind for name, (kind, _) in types.items()}
    missing = [name for name in target.types if name not in there]
    if missing:
        raise DataError(
            f"the table {target.table!r} lacks columns that the rows have", step=target.name,
            expected=", ".join(f"{n} {target.types[n]}" for n in missing),
            got=", ".join(f"{n} {k}" for n, k in there.items()),
            hint="add them with ALTER TABLE … ADD COLUMN, or write to another table")
    clash = [f"{name} {there[name]} for {kind}" for name, kind in target.types.items()
             if not fits(kind, types[name][1])]
    if clash:
        raise DataError(f"the table {target.table!r} has columns of other types than the rows",
                        step=target.name, got=", ".join(clash),
                        hint="change the columns with ALTER TABLE, or write to another table")


def _types(cursor: Any, target: Target) -> dict[str, tuple[str, str]]:
    """The type of each column of the table: as it is, and without its length or precision."""
    cursor.execute("SELECT attname, format_type(atttypid, atttypmod), format_type(atttypid, -1) "
                   "FROM pg_attribute "
                   "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                   (target.sql.as_string(cursor),))
    return {name: (whole, bare) for name, whole, bare in cursor.fetchall()}


def _insert(cursor: Any, target: Target, types: Mapping[str, tuple[str, str]],
            spans: list[Span]) -> None:
    """Staged rows, in their order, into the table; with a key the last row of each counts."""
    from psycopg import sql

    names = list(target.types)
    columns, key = _names(names), _names(target.key)
    # a cast to the whole type would cut a text to its length without a word; so it is refused
    read = sql.SQL(", ").join(sql.SQL("s.{0}::{1} AS {0}").format(
        sql.Identifier(name), sql.SQL(types[name][1])) for name in names)
    order = _names((_PART, ROW))
    some = sql.SQL(
        "(SELECT {read}, p.at AS {part}, s.{row} FROM {staging} AS s "
        "JOIN unnest({attempts}::text[], {firsts}::bigint[], {ends}::bigint[]) "
        "WITH ORDINALITY AS p (attempt, first, past, at) "
        "ON s.{attempt} = p.attempt AND s.{row} >= p.first AND s.{row} < p.past) AS f"
    ).format(read=read, part=sql.Identifier(_PART), row=sql.Identifier(ROW),
             staging=staging_of(target.name), attempt=sql.Identifier(ATTEMPT),
             # no parameters: a sign of per cent in a column's name would be taken for one
             attempts=sql.Literal([one.attempt for one in spans]),
             firsts=sql.Literal([one.first for one in spans]),
             ends=sql.Literal([one.end for one in spans]))
    if not target.key:
        cursor.execute(sql.SQL("INSERT INTO {} ({columns}) SELECT {columns} FROM {} ORDER BY {}")
                       .format(target.sql, some, order, columns=columns))
        return
    # as if they had come one by one
    last = sql.SQL("(SELECT DISTINCT ON ({}) * FROM {} ORDER BY {}, {} DESC, {} DESC) AS f").format(
        key, some, key, sql.Identifier(_PART), sql.Identifier(ROW))
    where: sql.Composable = sql.SQL("")
    if _OP in names:
        # a match that is taken back
        cursor.execute(sql.SQL("DELETE FROM {} AS t USING {} WHERE f.{} = '-' AND {}").format(
            target.sql, last, sql.Identifier(_OP), sql.SQL(" AND ").join(
                sql.SQL("t.{0} IS NOT DISTINCT FROM f.{0}").format(sql.Identifier(name))
                for name in target.key)))
        where = sql.SQL("WHERE {} IS DISTINCT FROM '-'").format(sql.Identifier(_OP))
    others = [name for name in names if name not in target.key]
    action = sql.SQL("DO NOTHING") if not others else sql.SQL("DO UPDATE SET {}").format(
        sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
                           for name in others))
    cursor.execute(sql.SQL(
        "INSERT INTO {} ({columns}) SELECT {columns} FROM {} {} ORDER BY {} ON CONFLICT ({}) {}"
    ).format(target.sql, last, where, order, key, action, columns=columns))


def _index(cursor: Any, target: Target) -> None:
    """For the halving, which looks for fewer and fewer rows."""
    from psycopg import sql

    staging = staging_of(target.name)
    cursor.execute(sql.SQL("CREATE INDEX ON {} ({})").format(staging, _names((ATTEMPT, ROW))))
    cursor.execute(sql.SQL("ANALYZE {}").format(staging))


def _text(cursor: Any, target: Target, one: Span) -> str:
    """A staged row as JSON."""
    from psycopg import sql

    read = sql.SQL(", ").join(sql.SQL("{0}::{1} AS {0}").format(
        sql.Identifier(name), sql.SQL(kind)) for name, kind in target.types.items())
    cursor.execute(sql.SQL("SELECT row_to_json(r)::text FROM (SELECT {} FROM {} WHERE {} = {} "
                           "AND {} = {}) AS r").format(
        read, staging_of(target.name), sql.Identifier(ATTEMPT), sql.Literal(one.attempt),
        sql.Identifier(ROW), sql.Literal(one.first)))
    return str(cursor.fetchone()[0])


def _names(names: Any) -> Any:
    from psycopg import sql

    return sql.SQL(", ").join(sql.Identifier(name) for name in names)
