"""Which column plays which role, where the user has not said: by name, and only if one fits."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.names import column_names
from slackwater.datasets.files import settled_unit

__all__ = ["NAMES", "RoleGuess", "roles_of"]

NAMES: dict[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "event_time", "eventtime", "event_timestamp", "ts", "datetime",
             "occurred_at", "created_at", "measured_at"),
    "arrival": ("arrival", "arrival_time", "arrived_at", "received", "received_at", "receive_time",
                "ingest_time", "ingested_at", "ingestion_time", "processing_time"),
    "source": ("source", "source_id", "device", "device_id", "sensor", "sensor_id", "producer",
               "station", "machine", "host"),
    "sequence": ("sequence", "sequence_number", "seq", "seqno"),
    "type": ("type", "event_type", "eventtype", "kind"),
    "time_min": ("time_min", "earliest"),
    "time_max": ("time_max", "latest"),
}
"""Names, in lower case, that a column of each role is expected to have."""


class RoleGuess(UserWarning):
    """A column was taken for a role by its name or type."""


def roles_of(table: pa.Table, given: Mapping[str, str | None], *, step: str,
             wanted: Sequence[str], by: str | Sequence[str] = (), unit: str | None = None) -> Roles:
    """The roles that were given, and those that the names of columns tell without doubt.

    A column that is called exactly as the role is taken as a matter of course; any other guess is
    announced by a `RoleGuess`.  Where several columns could be meant nothing is guessed, and for
    the time that is an error.

    Examples
    --------
    >>> table = pa.table({"time": [1], "arrival": [2], "temp": [3.5]})
    >>> roles = roles_of(table, {}, step="test", wanted=("time", "arrival", "source"), unit="s")
    >>> roles.time, roles.arrival, roles.source
    ('time', 'arrival', None)
    """
    found: dict[str, Any] = {role: name for role, name in given.items() if name is not None}
    taken = {*found.values(), *column_names(by)}
    guesses = {}
    for role in wanted:
        if role in found:
            continue
        name = _guess(table, role, taken, step)
        if name is not None:
            found[role] = name
            taken.add(name)
            if name != role:
                guesses[role] = name
    if guesses:
        told = ", ".join(f"{role}={name!r}" for role, name in guesses.items())
        warnings.warn(f"{step} guessed {told}; name the columns to be sure", RoleGuess,
                      stacklevel=_callers_level())
    roles = Roles(**found, key=column_names(by), unit=unit)
    points = "time" in wanted or not {"time_min", "time_max"} & set(found)
    if points and roles.time not in table.column_names and "time" not in found:
        raise ConfigError("there is no column for the role 'time'", step=step,
                          expected=f"one called {', '.join(NAMES['time'])}, or the only timestamp",
                          got=", ".join(table.column_names), hint='say time="…"')
    if "time" not in found:
        roles = replace(roles, time=found.get("time_max", roles.time))
    roles.check(table.column_names, step=step)
    return replace(roles, unit=settled_unit(table, roles))


def _callers_level() -> int:
    """How far up the stack the user's own line is: a function may be called by its package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
            "slackwater."):
        level, frame = level + 1, frame.f_back
    return level


def _guess(table: pa.Table, role: str, taken: set[str], step: str) -> str | None:
    columns = [name for name in table.column_names if name not in taken]
    if role in columns:
        return role
    fits = [name for name in columns if name.lower() in NAMES[role]]
    if not fits and role == "time":
        fits = [name for name in columns if pa.types.is_timestamp(table.schema.field(name).type)
                and name.lower() not in NAMES["arrival"]]
    if len(fits) > 1 and role == "time":
        raise ConfigError(f"several columns could be the time: {', '.join(fits)}", step=step,
                          hint=f'say time="{fits[0]}"')
    return fits[0] if len(fits) == 1 else None
