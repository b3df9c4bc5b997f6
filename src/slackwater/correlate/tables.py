"""Correlate two whole tables at once: the fast path for batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, DataError, UnknownColumn
from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.core.names import column_names
from slackwater.core.state.keys import Keys
from slackwater.correlate.bounds import task
from slackwater.correlate.crowding import check_number, small_parts, too_many
from slackwater.correlate.distribution import UNIFORMLY, Distribution, as_pair
from slackwater.correlate.match import COUNTERS, arrange, check_algorithm, match
from slackwater.correlate.pairs import Pairs
from slackwater.correlate.predicate import Predicate
from slackwater.correlate.rows import (
    By,
    check_columns,
    check_key_types,
    pair_columns,
    read_intervals,
    split_by,
)

__all__ = ["INTERVAL", "Found", "check_confidence", "correlate_tables", "find_pairs",
           "unusable_rows"]

Int64 = NDArray[np.int64]
INTERVAL = Roles(time_min="time_min", time_max="time_max")
"""The columns that intervals are expected in, unless said otherwise."""


class Found(NamedTuple):
    """Row numbers of the pairs and their probability (NaN where the bounds decided it)."""

    left: NDArray[Any]
    right: NDArray[Any]
    probability: NDArray[np.float64]
    counters: dict[str, int]


def check_confidence(confidence: float) -> None:
    """Refuse what is not a confidence threshold."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not (
            1e-9 <= confidence <= 1):
        raise ConfigError("is not a confidence", step="confidence", got=confidence,
                          expected="more than 0, at most 1",
                          hint="80 % is written 0.8" if isinstance(confidence, (int, float))
                          and 1 < confidence <= 100 else None)


def find_pairs(
    left: tuple[Int64, Int64], right: tuple[Int64, Int64], predicate: Predicate, confidence: float,
    *, keys: tuple[Int64, Int64] | None = None, horizon: int | None = None,
    distribution: Distribution | tuple[Distribution, Distribution] = UNIFORMLY,
    probability: bool = False, algorithm: str = "lazy",
) -> Found:
    """Find the pairs of two sets of intervals, (earliest, latest) in microseconds.

    Parameters
    ----------
    left, right
        Earliest and latest times, in any order.
    predicate, confidence
        The timing condition.
    keys
        Codes 0, 1, 2… of the left's and the right's keys; only equal ones pair. None: all pair.
    horizon
        For an open predicate: latest times further apart do not pair. None: no limit.
    distribution
        Of both sides, or (left, right).
    probability
        Compute it for all pairs, also where the bounds decide.
    algorithm
        Any of the five; they find the same pairs.

    Examples
    --------
    >>> a, b = np.array([0, 50]), np.array([40, 130, 900])
    >>> found = find_pairs((a, a + 20), (b, b + 20), Predicate.of(within=60), 0.9)
    >>> list(zip(found.left.tolist(), found.right.tolist()))
    [(0, 0), (1, 0)]
    """
    (pairs,), orders, counters = _search(left, right, predicate, confidence, keys, horizon,
                                         as_pair(distribution), probability, algorithm, 1)
    return Found(orders[0][pairs.base], orders[1][pairs.target], pairs.probability,
                 dict(zip(COUNTERS, counters.tolist(), strict=True)))


def _search(
    left: tuple[Int64, Int64], right: tuple[Int64, Int64], predicate: Predicate, confidence: float,
    keys: tuple[Int64, Int64] | None, horizon: int | None,
    distribution: tuple[Distribution, Distribution], probability: bool, algorithm: str,
    threads: int, most: int | None = None, probabilities: bool = True,
) -> tuple[list[Pairs], tuple[Int64, Int64], Int64]:
    """The pairs, in parts by the left's latest time; the rows of both sides by theirs, which the
    pairs number; and the counters.
    """
    check_confidence(confidence)
    check_algorithm(algorithm)
    if max(len(left[0]), len(right[0])) >= 2**31:
        raise DataError("more than 2³¹ rows on a side", step="correlate",
                        hint="cut the tables by time, with some overlap")
    count = 1
    codes = [np.zeros(len(side[0]), np.int64) for side in (left, right)]
    if keys is not None:
        codes = list(keys)
        count = 1 + int(max(key.max(initial=0) for key in codes))
    one, two = distribution
    what = task(predicate, confidence, horizon, True, (one.shape(), two.shape()))
    with ThreadPoolExecutor(threads) as pool:
        (bases, base_order), (targets, target_order) = pool.map(
            lambda side, key: arrange(key, side[0], side[1], count), (left, right), codes)
        key = codes[0][base_order]

        def part(begin: int, end: int) -> tuple[Pairs, Int64]:
            counters = np.zeros(len(COUNTERS), np.int64)
            pairs = match(algorithm, key[begin:end], bases.first[begin:end],
                          bases.last[begin:end], targets, what, probability, counters,
                          probabilities=probabilities)
            pairs.base[:] += begin
            return pairs, counters

        cuts = np.linspace(0, len(key), threads + 1).astype(np.int64).tolist()
        if most is not None and len(key) * len(targets.first) > most:
            cuts = small_parts((bases.first, bases.last), right, predicate, most, threads)
        parts: list[tuple[Pairs, Int64]] = []
        for at in range(0, len(cuts) - 1, threads):
            some = cuts[at:at + threads + 1]
            parts += pool.map(part, some[:-1], some[1:])
            check_number(sum(len(pairs.base) for pairs, _ in parts), most)
    return ([pairs for pairs, _ in parts], (base_order, target_order),
            np.sum([c for _, c in parts], axis=0))


def correlate_tables(
    left: pa.Table | pa.RecordBatch, right: pa.Table | pa.RecordBatch, *,
    within: Duration | None = None, deadline: Duration | None = None, delay: Duration | None = None,
    confidence: float = 0.8, by: By | list[str] | str = (),
    roles: Roles | tuple[Roles, Roles] = INTERVAL,
    distribution: Distribution | str | tuple[Distribution | str, Distribution | str] = UNIFORMLY,
    horizon: Duration | None = None, probability: bool = False, algorithm: str = "lazy",
    columns: Sequence[str] | None = None, threads: int | None = None,
    max_pairs: int | None = None, notes: dict[str, int] | None = None,
) -> pa.Table:
    """Pair the rows of two tables whose times, each an interval, satisfy a timing condition.

    Parameters
    ----------
    left, right
        Tables with interval columns, in any order.
    within, deadline, delay
        The predicate, one of the three: |left − right| ≤ d, left + d ≥ right, left + d ≤ right.
    confidence
        The probability with which the predicate must hold.
    by
        Columns that must be equal: names, or (left name, right name). Nulls equal nothing.
    roles
        Which columns are `time_min` and `time_max` (or `time` for points), for both or each side.
    distribution
        How the time is distributed over the interval, for both or (left, right).
    horizon
        With deadline or delay: rows whose latest times are further apart do not pair.
    probability
        Compute it for all pairs; else it is null where the bounds decided without it.
    algorithm
        One of the paper's five; they find the same pairs.
    columns
        Which columns of the output to make, by their names there; None: all.
    threads
        How many to use; None: one per core, if the tables are large.
    max_pairs
        More pairs than this are refused before memory runs out; None: no limit but Arrow's own.
    notes
        A dictionary that is given the counts: ``left`` and ``right`` rows, those that are
        ``left_unusable`` and ``right_unusable`` (see `unusable_rows`), and ``pairs``.

    Returns
    -------
    pyarrow.Table
        The columns of both rows (a name that both have gets ``_left`` and ``_right``) and
        ``probability``, by the left row's latest time.

    Examples
    --------
    >>> left = pa.table({"id": ["a"], "time_min": [0], "time_max": [40]})
    >>> right = pa.table({"id": ["b", "c"], "time_min": [70, 200], "time_max": [90, 220]})
    >>> pairs = correlate_tables(left, right, within=80, roles=Roles(
    ...     time_min="time_min", time_max="time_max", unit="us"), probability=True)
    >>> pairs.select(["id_left", "id_right", "probability"]).to_pylist()
    [{'id_left': 'a', 'id_right': 'b', 'probability': 0.9375}]
    """
    predicate = Predicate.of(within=within, deadline=deadline, delay=delay)
    both = roles if isinstance(roles, tuple) else (roles, roles)
    keys = split_by(by)  # type: ignore[arg-type]
    for rows, role, key, name in zip((left, right), both, keys, ("left", "right"), strict=True):
        check_columns(rows.schema.names, role, key, name)
    if threads is None:
        threads = min(os.cpu_count() or 1, 8) if left.num_rows + right.num_rows > 100_000 else 1
    with ThreadPoolExecutor(threads) as pool:
        read = list(pool.map(read_intervals, (left, right), both, keys))
    sides = [(rows, ends, None if ends.good.all() else np.flatnonzero(ends.good), key)
             for rows, ends, key in zip((left, right), read, keys, strict=True)]
    check_key_types(left.schema, right.schema, by)  # type: ignore[arg-type]
    codes = _codes([(rows, good, key) for rows, _, good, key in sides]) if keys[0] else None
    ends1, ends2 = ((e.first, e.last) if good is None else (e.first[good], e.last[good])
                    for _, e, good, _ in sides)
    parts, orders, _ = _search(
        ends1, ends2, predicate, confidence, codes,
        None if horizon is None else micros(horizon, name="horizon"), as_pair(distribution),
        probability, algorithm, threads, max_pairs, columns is None or "probability" in columns)
    count = sum(len(pairs.base) for pairs in parts)
    if notes is not None:
        for name, (rows, _, good, _) in zip(("left", "right"), sides, strict=True):
            notes[name] = rows.num_rows
            notes[f"{name}_unusable"] = 0 if good is None else rows.num_rows - len(good)
        notes["pairs"] = count
    try:
        by_time = [order if good is None else good[order]
                   for order, (_, _, good, _) in zip(orders, sides, strict=True)]
        return _written(parts, (left, right), by_time, columns, threads)
    except pa.ArrowInvalid as error:
        if "overflow" not in str(error) and "capacity" not in str(error):
            raise
        raise too_many(f"{count:,}") from None


def unusable_rows(rows: pa.Table, roles: Roles = INTERVAL,
                  by: tuple[str, ...] | list[str] | str = ()) -> pa.Table:
    """The rows that no pair can have, with the ``_reason``: no time, swapped ends, a key of NULL.

    Examples
    --------
    >>> rows = pa.table({"time_min": [0, 9], "time_max": [5, 7]})
    >>> unusable_rows(rows, Roles(time_min="time_min", time_max="time_max", unit="us")).to_pylist()
    [{'time_min': 9, 'time_max': 7, '_reason': "'time_min' is after 'time_max'"}]
    """
    ends = read_intervals(rows, roles, column_names(by))
    bad = np.flatnonzero(~ends.good)
    reasons = pa.array(ends.reasons()[bad], pa.string())
    return rows.take(pa.array(bad)).append_column("_reason", reasons)


def _written(parts: list[Pairs], sides: tuple[pa.Table, pa.Table], by_time: list[Int64],
             wanted: Sequence[str] | None, threads: int) -> pa.Table:
    """The pairs with the columns of their rows, a chunk for each part.

    Pairs are neighbours in time.  Where there are more pairs than rows, the rows are brought into
    that order first, and then lie side by side for all that take them.
    """
    names = pair_columns(*(rows.schema.names for rows in sides))
    known = [*names[0], *names[1], "probability"]
    for name in wanted or ():
        if name not in known:
            raise UnknownColumn(name, known, role="output", step="correlate")
    count = sum(len(pairs.base) for pairs in parts)
    jobs = []
    for rows, order, out, end in zip(sides, by_time, names, ("base", "target"), strict=True):
        index, first = [getattr(pairs, end) for pairs in parts], None
        if count >= len(order):
            first = pa.array(order)
        else:
            index = [order[i] for i in index]
        jobs += [(label, rows.column(name), first, [pa.array(i) for i in index])
                 for name, label in zip(rows.schema.names, out, strict=True)
                 if wanted is None or label in wanted]

    def column(job: tuple[str, Any, pa.Array | None, list[pa.Array]]) -> pa.ChunkedArray:
        _, values, first, index = job
        values = _whole(values) if first is None else _whole(values).take(first)
        return pa.chunked_array([values.take(i) for i in index], values.type)

    with ThreadPoolExecutor(threads) as pool:
        columns = dict(zip((job[0] for job in jobs), pool.map(column, jobs), strict=True))
    if wanted is None or "probability" in wanted:
        columns["probability"] = pa.chunked_array(
            [pa.array(pairs.probability, from_pandas=True) for pairs in parts])
    return pa.table(columns)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _codes(sides: list[tuple[pa.Table, Int64 | None, tuple[str, ...]]]) -> tuple[Int64, Int64]:
    """Key codes common to both tables."""
    names = [f"k{i}" for i in range(len(sides[0][2]))]
    table = Keys("keys", names, MemoryStore())
    out = []
    for rows, good, key in sides:
        columns = [_whole(rows.column(name)) for name in key]
        if good is not None:
            columns = [column.take(pa.array(good)) for column in columns]
        try:
            out.append(table.slots(pa.RecordBatch.from_arrays(columns, names=names))[0])
        except DataError as why:
            raise DataError(f"{', '.join(key)} cannot be a key", step="correlate", got=why.got,
                            expected=why.expected) from why
    return out[0], out[1]
