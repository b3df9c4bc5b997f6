"""A PostgreSQL table: rows and the number of their batch in one transaction, so exactly once.

Executors copy the rows into a staging table; the driver moves them from there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from slackwater.core.errors import ConfigError, DataError, SlackwaterError, UnknownColumn
from slackwater.pipeline.connectors import PostgresSink
from slackwater.pipeline.secrets import Secrets
from slackwater.spark.sinks import Refuse
from slackwater.spark.sinks.postgres_stage import PATIENCE, StagingLost, passing, stage
from slackwater.spark.sinks.postgres_types import for_copy, postgres_type
from slackwater.spark.sinks.postgres_write import Target, move_batch, prepare_batch
from slackwater.spark.sinks.rows import Rows

__all__ = ["open_sink"]


@dataclass(frozen=True)
class _Table:
    name: str
    table: str
    key: tuple[str, ...]
    url: str = field(repr=False)

    def write(self, rows: Rows, batch_id: int) -> None:
        self.write_good(rows, batch_id, None)

    def write_good(self, rows: Rows, batch_id: int, refuse: Refuse | None) -> None:
        import psycopg

        df = rows.frame
        for column in self.key:
            if column not in df.columns:
                raise UnknownColumn(column, df.columns, role="key", step=self.name)
        target = Target(self.name, self.table, self.key,
                        {f.name: postgres_type(f.dataType) for f in df.schema.fields})
        texts = df.select([for_copy(f) for f in df.schema.fields])
        until = time.monotonic() + PATIENCE
        while True:
            try:
                # no transaction is open while the executors work
                with psycopg.connect(self.url, connect_timeout=10, autocommit=True) as connection:
                    if prepare_batch(connection, target, batch_id):
                        staged = stage(texts, self.url, self.name, list(target.types))
                        move_batch(connection, target, batch_id, staged, refuse)
                return
            except SlackwaterError:
                raise
            except StagingLost as lost:
                if time.monotonic() > until:
                    raise DataError(f"the table {self.table!r} could not be written",
                                    step=self.name, got=lost,
                                    hint="can the executors reach the server?") from None
            except psycopg.OperationalError as error:
                # whether or not the transaction was committed, trying again is safe: the ledger
                # knows
                if time.monotonic() > until or not passing(error):
                    raise self._told(error) from None
            except psycopg.Error as error:
                raise self._told(error) from None
            time.sleep(0.5)

    def _told(self, error: Any) -> DataError:
        """What the server said; the address, with its password, is not to be in it."""
        primary = error.diag.message_primary if error.diag.sqlstate else None
        said = Secrets([self.url]).redact(" ".join(str(primary or error).split()))
        hint = None
        if error.diag.sqlstate == "42P10":
            columns = ", ".join(self.key)
            said = f"the table has no unique constraint on its key ({columns})"
            hint = f"ALTER TABLE {self.table} ADD UNIQUE ({columns})"
        return DataError(f"the table {self.table!r} could not be written", step=self.name,
                         got=said, hint=hint)


def open_sink(config: PostgresSink, name: str) -> _Table:
    """Add to the table, or replace by its key; the first rows make it if it is missing."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigError("the PostgreSQL sink needs psycopg", step=name,
                          hint='pip install "slackwater[postgres]"') from None
    return _Table(name, config.table, tuple(config.key), config.url)
