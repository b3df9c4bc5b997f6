"""Matches as rows: id, op, the events of each variable, and what RETURN asks for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.state.ipc import empty_rows
from slackwater.pattern.finality import Matches
from slackwater.pattern.identity import content_ids, hex_ids, match_ids, number_ids, occurrences
from slackwater.pattern.live import Live
from slackwater.pattern.pattern import Bound, Matched
from slackwater.pattern.schedule import Component

__all__ = ["identify", "ready_batch", "ready_schema"]

Int64 = NDArray[np.int64]
_OPS = np.array(["", "+", "timed_out", "-"], object)  # by `Matches.op`, −1 is the last


def ready_schema(components: tuple[Component, ...], schema: pa.Schema, bound: Bound) -> pa.Schema:
    """The columns of matches over events with `schema`.

    ``events`` has a field a variable: a struct with the input's columns, for a Kleene variable a
    list of such structs.
    """
    row = pa.struct(list(schema))
    events = pa.struct([pa.field(c.variable, pa.list_(row) if c.kleene else row)
                        for c in components])
    return pa.schema([pa.field("match_id", pa.string()), pa.field("op", pa.string()),
                      pa.field("events", events), *bound.fields])


def ready_batch(matches: Matches, step: Int64, live: Live, components: tuple[Component, ...],
                schema: pa.Schema, bound: Bound,
                arrival: str | None) -> tuple[pa.RecordBatch, Int64]:
    """The matches in the order in which they are told, and that order.

    That is by `step` (the arrival that let a match go), then retractions before matches, then by
    time and id: the same however the input was cut.
    """
    layout = ready_schema(components, schema, bound)
    if len(matches) == 0:
        return empty_rows(layout), np.zeros(0, np.int64)
    m = len(components)
    distinct = np.unique(matches.rows)
    payload = live.payload(distinct)
    ids = _event_ids(distinct, payload, live, arrival)
    words = match_ids(ids, np.searchsorted(distinct, matches.rows), matches.counts.ravel(), m)
    time = live["time"]
    order = np.lexsort((words[1], words[0], time[matches.tail], time[matches.head],
                        matches.op, step))
    matches, words = matches.take(order), words[:, order]
    matched = _matched(matches, distinct, payload, components)
    events = pa.StructArray.from_arrays(
        [_rows_of(matched, c, component) for c, component in enumerate(components)],
        fields=list(layout.field("events").type))
    op = pa.array(_OPS[matches.op], pa.string())
    return pa.RecordBatch.from_arrays(
        [hex_ids(words), op, events, *bound.results(matched)], schema=layout), order


def identify(matches: Matches, live: Live, m: int, arrival: str | None) -> NDArray[np.uint64]:
    """The ids of matches, two words each."""
    if len(matches) == 0:
        return np.zeros((2, 0), np.uint64)
    distinct = np.unique(matches.rows)
    ids = _event_ids(distinct, live.payload(distinct), live, arrival)
    return match_ids(ids, np.searchsorted(distinct, matches.rows), matches.counts.ravel(), m)


def _event_ids(rows: Int64, payload: pa.RecordBatch, live: Live,
               arrival: str | None) -> NDArray[np.uint64]:
    ids = content_ids(payload, arrival)
    doubtful = live.tied[rows]
    if doubtful.any():
        # an event may have an equal that is in no match: look at all that share its time
        near = np.flatnonzero(live.tied & np.isin(live["time"], live["time"][rows[doubtful]]))
        equal = occurrences(content_ids(live.payload(near), arrival), live["n"][near])
        count = np.zeros(len(rows), np.int64)
        count[doubtful] = equal[np.searchsorted(near, rows[doubtful])]
        number_ids(ids, count)
    return ids


def _matched(matches: Matches, distinct: Int64, payload: pa.RecordBatch,
             components: tuple[Component, ...]) -> Matched:
    m = len(components)
    place = np.searchsorted(distinct, matches.rows)
    owner = np.repeat(np.tile(np.arange(m), len(matches)), matches.counts.ravel())
    index = [place[owner == c] for c in range(m)]
    offsets = [np.concatenate([[0], np.cumsum(matches.counts[:, c])]) for c in range(m)]
    for c, component in enumerate(components):
        if component.optional and not component.kleene:  # one event a match, −1: it is left out
            one = np.full(len(matches), -1)
            one[matches.counts[:, c] > 0] = index[c]
            index[c], offsets[c] = one, np.arange(len(matches) + 1)
    return Matched(payload, tuple(index), tuple(offsets))


def _rows_of(matched: Matched, c: int, component: Component) -> pa.Array:
    which = matched.index[c]
    rows = matched.rows.take(pa.array(which, mask=which < 0))
    structs = pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema),
                                         mask=pa.array(which < 0))
    if not component.kleene:
        return structs
    return pa.ListArray.from_arrays(pa.array(matched.offsets[c], pa.int32()), structs)
