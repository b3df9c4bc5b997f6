"""Laid-out rows in, results out: conditions of all rows at once, the search, the measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.state.ipc import empty_rows
from slackwater.pattern.texts import NO_TEXTS, texts_of
from slackwater.query.expr.tree import Name
from slackwater.query.recognise.coder import REAL, TEXT
from slackwater.query.recognise.machine import Aggs, Lanes, Stack, Track
from slackwater.query.recognise.measures import Measures
from slackwater.query.recognise.plan import Plan
from slackwater.query.recognise.resolve import Navigation, Resolved
from slackwater.query.recognise.search import (
    GAVE_UP,
    NEXT,
    PAST,
    TO_FIRST,
    TO_LAST,
    Found,
    Graph,
    Parts,
    Rules,
    Scratch,
    search,
)
from slackwater.query.recognise.values import Columns, ints_of, ranked, reals_of, taken
from slackwater.query.recognise.walks import Matches

__all__ = ["Engine", "Results"]

Int64 = NDArray[np.int64]
_RESULTS = 1 << 16  # so many results are looked for at a time
_STATES = 1 << 20  # and so many rows of matches
_SKIPS = {"past": PAST, "next": NEXT, "first": TO_FIRST, "last": TO_LAST}
_KINDS = {"count": 0, "sum": 1, "avg": 1, "min": 2, "max": 3}


@dataclass(frozen=True)
class Results:
    """What was found: rows, in the order in which they became certain, and given-up rows.

    `gave_up_by` is the arrival that each of these needed.
    """

    ready: pa.RecordBatch
    gave_up: Int64
    gave_up_by: Int64


class Engine:
    """Runs a plan over rows.

    Parameters
    ----------
    plan
        The query.
    most_steps
        How many steps a search from one row may take where conditions depend on the match so far.
    """

    def __init__(self, plan: Plan, most_steps: int) -> None:
        self._plan, self._measures = plan, Measures(plan)
        skip = plan.tree.skip
        mask = 0 if skip.variable is None else plan.scope.mask(skip.variable, skip.at)
        within = -1 if plan.tree.within is None else plan.tree.within
        coder = plan.coder
        self._rules = Rules(within, plan.ahead, _SKIPS[skip.how], mask,
                            plan.tree.rows == "unmatched", coder.dynamic, most_steps)
        graph = plan.graph
        self._graph = Graph(graph.variable, graph.first, graph.target, graph.flags)
        self._code, self._refs = coder.code(), coder.refs()
        deep = len(self._code.op) + 2
        self._stack = Stack(np.zeros(deep, np.int64), np.zeros(deep), np.zeros(deep, np.int64),
                            NO_TEXTS)

    def run(self, rows: pa.RecordBatch, time: Int64, known_by: Int64, parts: Parts) -> Results:
        """Search; `parts` are moved on."""
        n = len(time)
        columns = Columns(rows)
        bits = self._bits(columns, parts, n)
        lanes, stack = self._lanes(columns, n)
        tracked, aggs = self._tracked(n), self._aggs(n)
        words = 1 if self._rules.dynamic else -(-max(self._plan.graph.states, 1) // 64)
        scratch = Scratch(np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64),
                          np.zeros((1 if self._rules.dynamic else n + 1, words), np.uint64),
                          np.zeros(n + 1 if self._rules.within >= 0 else 1, np.int64),
                          np.zeros(1, np.int64))
        begun = known_by[np.minimum(parts.start, max(n - 1, 0))] if n else known_by[:0]
        batches: list[pa.RecordBatch] = []
        keys: list[tuple[Int64, Int64]] = []
        gave_up: list[Int64] = [known_by[:0]]
        gave_up_by = [known_by[:0]]
        p, room = 0, _STATES
        time, known_by = _plain(time), _plain(known_by)
        while p < len(parts.lo):
            size = min(_RESULTS, n + 1)
            found = _room(size, min(room, n + 1) if room == _STATES else room)
            p, count, used = search(p, time, known_by, bits, parts, self._graph, self._rules,
                                    self._code, self._refs, lanes, tracked, aggs, stack,
                                    scratch, found)
            if count < 0:
                room = used
                continue
            what = found.what[:count]
            gave_up.append(found.first[:count][what == GAVE_UP])
            gave_up_by.append(found.trigger[:count][what == GAVE_UP])
            some = np.flatnonzero(what != GAVE_UP)
            if not len(some):
                continue
            part = found.part[some]
            matches = Matches(found.first[some], found.end[some], found.path[some],
                              parts.lo[part], parts.hi[part], found.states)
            batch, match = self._measures.results(columns, what[some], found.number[some], matches)
            batches.append(batch)
            keys.append((found.trigger[some][match], begun[part][match]))
        ready = self._sorted(batches, keys)
        return Results(ready, np.concatenate(gave_up), np.concatenate(gave_up_by))

    def nothing(self) -> pa.RecordBatch:
        """No results, with their columns."""
        return self._sorted([], [])

    # -- rows -----------------------------------------------------------------------------------

    def _bits(self, columns: Columns, parts: Parts, n: int) -> Int64:
        """For each row a bit for each variable whose condition, as far as it is fixed, is true."""
        bits = np.zeros(n, np.int64)
        for v, conditions in enumerate(self._plan.local):
            true = np.ones(n, bool)
            for condition in conditions:
                true &= self._true(condition, columns, parts, n)
            bits |= true.astype(np.int64) << v
        return bits

    def _true(self, condition: Resolved, columns: Columns, parts: Parts,
              n: int) -> NDArray[np.bool_]:
        def value(place: Name) -> pa.Array:
            leaf = condition.leaves[int(place.name)]
            assert isinstance(leaf, Navigation)
            values = columns.of(leaf.inner, leaf.compiled)
            return values if not leaf.row.shift else taken(
                values, _shifted(parts, leaf.row.shift, n))

        found = condition.compile().evaluate(value, n)
        if pa.types.is_null(found.type):
            return np.zeros(n, bool)
        return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False))

    def _lanes(self, columns: Columns, n: int) -> tuple[Lanes, Stack]:
        coder = self._plan.coder
        values = [columns.of(lane.tree, lane.compiled) for lane in coder.lanes]
        some = [v for v, lane in zip(values, coder.lanes, strict=True) if lane.kind == TEXT]
        if coder.names:
            some.append(pa.array(self._plan.graph.variables, pa.string()))
        ranks, known = ranked(some)
        names = ranks.pop()[0] if coder.names else np.zeros(0, np.int64)
        texts = iter(ranks)
        ints, reals = [], []
        for value, lane in zip(values, coder.lanes, strict=True):
            if lane.kind == REAL:
                reals.append(reals_of(value))
            else:
                ints.append(next(texts) if lane.kind == TEXT else ints_of(value))
        return Lanes(*_stacked(ints, n, np.int64), *_stacked(reals, n, np.float64), names), (
            self._stack._replace(texts=texts_of(known)) if coder.like else self._stack)

    def _tracked(self, n: int) -> Track:
        masks = self._plan.coder.masks
        return Track(np.array(masks, np.int64), np.zeros((len(masks), n + 1), np.int64),
                     np.zeros((len(masks), n + 1), np.int64))

    def _aggs(self, n: int) -> Aggs:
        coder = self._plan.coder
        some = coder.aggregates
        k = len(some)
        real = [lane >= 0 and coder.lanes[lane].kind == REAL for _, lane in some]
        return Aggs(np.array([_KINDS[a.function] for a, _ in some], np.int64),
                    np.array([a.mask for a, _ in some], np.int64),
                    np.array([coder.place(lane) if lane >= 0 else -1 for _, lane in some],
                             np.int64),
                    np.array(real, bool), np.zeros((k, n + 1), np.int64),
                    np.zeros((k, n + 1), np.int64), np.zeros((k, n + 1)),
                    np.zeros((k, n + 1), bool))

    # -- results --------------------------------------------------------------------------------

    def _sorted(self, batches: list[pa.RecordBatch],
                keys: list[tuple[Int64, Int64]]) -> pa.RecordBatch:
        """Results in the order in which they became certain, as SELECT wants them."""
        plan = self._plan
        if not batches:
            whole = empty_rows(plan.matched)
        else:
            whole = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
            trigger = np.concatenate([t for t, _ in keys])
            begun = np.concatenate([b for _, b in keys])
            if (np.diff(trigger) < 0).any() or (np.diff(begun) < 0).any():
                order = np.lexsort((np.arange(len(trigger)), begun, trigger))
                whole = whole.take(pa.array(order))

        def column(name: Name) -> pa.Array:
            return whole.column(name.name)

        if plan.where is not None:
            whole = whole.filter(plan.where.evaluate(column, whole.num_rows))
        return pa.RecordBatch.from_arrays(
            [c.evaluate(column, whole.num_rows) for c in plan.outputs.values()],
            schema=pa.schema([pa.field(name, c.type) for name, c in plan.outputs.items()]))


def _shifted(parts: Parts, shift: int, n: int) -> Int64:
    """For each row the one that is `shift` further on in its partition, −1 if there is none."""
    rows = np.arange(n) + shift
    lengths = parts.hi - parts.lo
    if lengths.sum() != n:  # rows that are not closed yet stand between
        owner = np.searchsorted(parts.lo, np.arange(n), "right") - 1
        low, high = parts.lo[owner], parts.hi[owner]
    else:
        low, high = np.repeat(parts.lo, lengths), np.repeat(parts.hi, lengths)
    return np.where((rows >= low) & (rows < high), rows, -1)


def _room(results: int, states: int) -> Found:
    what, part, first, end, number, trigger, path = np.empty((7, results), np.int64)
    return Found(what, part, first, end, number, trigger, path, np.empty(states, np.int64))


def _stacked(columns: list[tuple[NDArray[Any], NDArray[np.bool_]]], n: int,
             dtype: type) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values: NDArray[Any] = np.zeros((len(columns), n), dtype)
    ok = np.zeros((len(columns), n), bool)
    for i, (some, known) in enumerate(columns):
        values[i], ok[i] = some, known
    return values, ok


def _plain(array: Int64) -> Int64:
    """As the loops were compiled for: not strided, and not read-only as Arrow's are."""
    array = np.ascontiguousarray(array, np.int64)
    return array if array.flags.writeable else array.copy()
