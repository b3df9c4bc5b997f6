"""Small runs that between them use every compiled loop with the types that real runs have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.checks.samples import sample_events
from slackwater.core.events import Roles
from slackwater.core.kernel import Kernel, MemoryStore
from slackwater.datasets import Dataset
from slackwater.reorder import POLICIES, Reorder

__all__ = ["Workload", "workloads"]

_ROLES = Roles("time", "arrival", "source", "sequence", key=("key",))
_KINDS = {
    "text": pa.string(), "whole number": pa.int64(), "real": pa.float64(), "yes or no": pa.bool_(),
    "decimal": pa.decimal128(22, 2), "day": pa.date32(), "bytes": pa.binary(),
}
"""Types of key columns, each of which has a way of its own into the table of keys."""

_EVENTS = {
    "sequence": "EVENT SEQ(A a, B b, C c) WHERE c.value > a.value WITHIN 300 ms RETURN a.key",
    "plain sequence": "EVENT SEQ(A a, B b) WITHIN 300 ms",
    "equal keys": "EVENT SEQ(A a, B b) WHERE a.key = b.key AND a.value < b.value WITHIN 300 ms",
    "negation": "EVENT SEQ(!(B x), A a, !(B b), C c, !(A y)) WITHIN 300 ms RETURN a.key",
    "kleene": "EVENT SEQ(A a, B+ b[]) WHERE b[i].value > b[i-1].value WITHIN 300 ms "
              "RETURN a.key, sum(b.value) AS total, count(b) AS n",
    "counted": "EVENT SEQ(A? a, B{1,2} b[], !(A x), C* c[]) WITHIN 300 ms "
               "RETURN last(b.key) AS key",
    "skip": "EVENT SEQ(A a, !(B b), C c) WITHIN 300 ms AFTER MATCH SKIP PAST LAST EVENT "
            "RETURN a.key",
}
_ALL = ("COUNT(*) AS c, SUM(value) AS s, AVG(value) AS a, MIN(value) AS mi, MAX(value) AS ma, "
        "MEDIAN(value) AS me, QUANTILE(value, 0.9) AS q, STDDEV(value) AS sd, FIRST(row) AS f, "
        "LAST(row) AS l, SUM(row) AS si, MIN(row) AS mr, MAX(row) AS xr")
_SELECTS = {
    "rows": f"SELECT {_ALL} FROM s [RANGE 1 second]",
    "rows of keys": f"SELECT key, {_ALL} FROM s [RANGE 1 second] GROUP BY key",
    "sliding": f"SELECT window_end, {_ALL} FROM s [RANGE 1 s, SLIDE 500 ms] WHERE value > 8",
    "sliding, of keys": f"SELECT key, window_end, {_ALL} FROM s [RANGE 1 s, SLIDE 500 ms] "
                        "GROUP BY key",
    "sessions": f"SELECT window_end, {_ALL}, COUNT(DISTINCT type) AS d FROM s [SESSION 50 ms]",
    "sessions of keys": f"SELECT key, window_end, {_ALL} FROM s [SESSION 50 ms] GROUP BY key",
    "drop ratio": "SELECT row, MAX(value) AS m FROM s [RANGE 1 s, DRATIO 5%]",
}
_RECOGNISE = {
    "rise": "PARTITION BY key ORDER BY time MEASURES FIRST(A.row) AS begun, COUNT(*) AS rows, "
            "LAST(B.value) AS top PATTERN (A B+) WITHIN 400 ms DEFINE B AS B.value > LAST(A.value)",
    "types": "PARTITION BY key ORDER BY time, row MEASURES FIRST(row) AS one, SUM(value) AS total "
             "AFTER MATCH SKIP TO NEXT ROW PATTERN (A (B | C){1,3}? A) WITHIN 1 s "
             "DEFINE A AS type = 'A', B AS type = 'B', C AS type = 'C'",
    "all rows": "ORDER BY time MEASURES CLASSIFIER() AS c, RUNNING COUNT(*) AS n ALL ROWS PER "
                "MATCH WITH UNMATCHED ROWS PATTERN (A B*) WITHIN 300 ms "
                "DEFINE A AS type = 'A', B AS value > PREV(value)",
}


class Workload(NamedTuple):
    """Something to run, named for people."""

    name: str
    run: Callable[[], object]


def workloads() -> Iterator[Workload]:
    """All of them; the first compiles what the others share."""
    rows = sample_events()
    yield Workload("Static", partial(_exercise, Reorder("Static(buffer=100ms)", _ROLES), rows))
    for name in POLICIES:
        if name != "Static":
            yield Workload(name, partial(_exercise, Reorder(name, _ROLES), rows))
    yield Workload("streams without a key", partial(_without_key, rows))
    yield Workload("many rows at once", _many_rows)
    yield Workload("queries of many rows", _many_rows_asked)
    yield Workload("keys of all types", partial(_key_types, rows))
    for name, text in _SELECTS.items():
        yield Workload(f"SELECT: {name}", partial(_query, text, rows))
    for name, text in _EVENTS.items():
        yield Workload(f"EVENT: {name}", partial(_event, text, rows))
    for name, text in _RECOGNISE.items():
        yield Workload(f"MATCH_RECOGNIZE: {name}", partial(
            _query, f"SELECT * FROM s MATCH_RECOGNIZE ({text})", rows))
    yield Workload("correlate", partial(_correlate, rows))
    yield Workload("dedupe", partial(_dedupe, rows))
    yield Workload("synchronise", partial(_synchronise, rows))
    yield Workload("text times", partial(_text_times, rows))
    yield Workload("evaluate", partial(_evaluate, rows))


def _kernel(text: str, rows: pa.RecordBatch, roles: Roles, **options: Any) -> Kernel:
    from slackwater.query import compile

    return cast(Kernel, compile(text, rows.schema, roles, **options))


def _exercise(kernel: Kernel, rows: pa.RecordBatch) -> None:
    """Arrivals, a restart from bytes, time that passes, and the end."""
    store = MemoryStore()
    logic: Any = kernel.start(store)
    far = 0
    for at in range(0, rows.num_rows, 40):
        logic.push(rows.slice(at, 40))
        logic = kernel.restore(logic.snapshot(), store)
        far = max(far, max(rows["arrival"].slice(at, 40).cast(pa.int64()).to_pylist()))
    logic.tick(far + 1_000_000)
    logic = kernel.restore(logic.snapshot(), store)
    logic.tick(far + 10_000_000_000)
    logic.finish()


def _without_key(rows: pa.RecordBatch) -> None:
    for roles in (Roles("time", "arrival"), Roles("time"), Roles("time", "arrival", "source")):
        for policy in ("Static(buffer=100ms)", "MeanPlusRange"):
            _exercise(Reorder(policy, roles), rows)


def _many_rows() -> None:
    """Long columns are sorted in other ways than short ones."""
    static = "Static(buffer=100ms)"
    _at_once(Reorder(static, _ROLES), Reorder(static, Roles("time", "arrival")))


def _many_rows_asked() -> None:
    rise = f"SELECT * FROM s MATCH_RECOGNIZE ({_RECOGNISE['rise']})"
    _at_once(*(_kernel(text, sample_events(1), Roles("time", "arrival"), slack="100ms")
               for text in (_SELECTS["rows of keys"], rise)))


def _at_once(*kernels: Kernel) -> None:
    rows = sample_events(5000)
    for kernel in kernels:
        logic: Any = kernel.start()
        logic.push(rows)
        logic.finish()


def _key_types(rows: pa.RecordBatch) -> None:
    number = np.arange(rows.num_rows) % 5
    for kind in _KINDS.values():
        texts = pa.array([str(n) for n in number])
        key = texts if kind == pa.string() else texts.cast(pa.binary()) if kind == pa.binary() \
            else pa.array(number.astype(np.int32)).cast(kind) if kind == pa.date32() \
            else pa.array(number).cast(kind)
        holed = pa.array([None if n == 3 else v for n, v in zip(number, key.to_pylist(),
                                                               strict=True)], kind)
        for column in (key, holed):
            keyed = rows.set_column(rows.schema.get_field_index("key"), "key", column)
            _exercise(Reorder("Static(buffer=100ms)", _ROLES), keyed)
    two = Roles("time", "arrival", key=("key", "sequence"))
    _exercise(Reorder("Static(buffer=100ms)", two), rows)


def _query(text: str, rows: pa.RecordBatch) -> None:
    # with 5 s all rows leave together
    for options in ({"slack": "100ms"}, {"slack": "5s"}, {"policy": "MeanPlusRange"}, {}):
        if "DRATIO" in text and options:
            continue
        _exercise(_kernel(text, rows, Roles("time", "arrival"), **options), rows)


def _event(text: str, rows: pa.RecordBatch) -> None:
    from slackwater.pattern import EMIT, SELECT
    for roles in (Roles("time", "arrival", type="type", key=("key",)), Roles("time", "arrival",
                                                                           type="type")):
        for emit in EMIT:
            for select in SELECT:
                _exercise(_kernel(text, rows, roles, slack="100ms", emit=emit,
                                     select=select), rows)
    _exercise(_kernel(text, rows, roles), rows)


def _correlate(rows: pa.RecordBatch) -> None:
    from slackwater.correlate import ALGORITHMS, Correlate
    from slackwater.correlate.tables import correlate_tables

    later = rows["time"].cast(pa.int64())
    table = pa.table(rows).append_column("until", pc.add(later, 50_000).cast(
        rows["time"].type))
    spans = Roles(time_min="time", time_max="until", arrival="arrival")
    for roles in (spans, Roles("time", arrival="arrival")):
        for by in ((), ("key",)):
            for distribution in ("uniform", "normal", "triangular"):
                correlate_tables(table, table, within="100ms", roles=roles, by=by,
                                 distribution=distribution)
    correlate_tables(table, table, deadline="100ms", horizon="1s", roles=spans)
    correlate_tables(table, table, delay="100ms", horizon="1s", roles=spans)
    batch = table.combine_chunks().to_batches()[0]
    for algorithm in ALGORITHMS:
        for by in ((), ("key",)):
            kernel = Correlate(within="100ms", roles=spans, max_delay="1s", longest="1s",
                               algorithm=algorithm, by=by)
            logic = kernel.start()
            for side in ("left", "right"):
                logic.push(batch, side)
                logic = kernel.restore(logic.snapshot())
            logic.finish()


def _dedupe(rows: pa.RecordBatch) -> None:
    from slackwater.dedupe import Dedupe

    _exercise(Dedupe(Roles("time", "arrival", key=("key", "type")), within="1 s"), rows)


def _synchronise(rows: pa.RecordBatch) -> None:
    from slackwater.synchronise import FrontierSync

    for roles in (Roles("time", "arrival", "source", key=("key",)),
                  Roles("time", "arrival", "source")):
        _exercise(FrontierSync(roles, max_delay="200ms"), rows)


def _text_times(rows: pa.RecordBatch) -> None:
    from slackwater.core.times import event_times

    for text in ("2026-01-01T00:00:00Z", "2026-01-01 00:00:00.123456", "2026-01-01",
                 "2026-01-01T00:00:00+01:00"):
        event_times(pa.array([text, None]), unit=None, name="time")


def _evaluate(rows: pa.RecordBatch) -> None:
    from slackwater.evaluate import evaluate, profile
    from slackwater.evaluate.advise import advise

    for roles in (Roles("time", "arrival", "source", "sequence"), Roles("time", "arrival"), _ROLES):
        dataset = Dataset("warm", pa.table(rows), roles)
        profile(dataset)
        evaluate(dataset, ["Static", "Tide"], loss=0.01)
        advise(dataset)
