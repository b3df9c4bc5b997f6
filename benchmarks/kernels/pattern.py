"""Sequence patterns in-process: events a second, what disorder costs, and how cost grows."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from slackwater.core.events import Roles
from slackwater.core.kernel import Out
from slackwater.pattern import Match
from slackwater.query.event.query import event_query

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
ROLES = Roles("time", type="type", unit="us")
BATCH = 100_000


def stream(events: int, *, disorder: float = 0.3, keys: int = 1000, types: int = 20,
           rate: float = 10_000.0, slack: float = 2.0, hot: float = 0.0,
           seed: int = 1) -> pa.RecordBatch:
    """Events in arrival order: `rate` a second, a share `disorder` delayed by up to `slack` s.

    `hot` is the share of all events that belong to key 0.
    """
    chance = np.random.default_rng(seed)
    times = START + np.sort(chance.integers(0, int(events / rate * SECOND), events))
    delayed = chance.random(events) < disorder
    arrival = times + np.where(delayed, chance.integers(0, int(slack * SECOND), events), 0)
    order = np.argsort(arrival, kind="stable")
    key = chance.integers(0, keys, events)
    key[chance.random(events) < hot] = 0
    names = pa.array([f"T{i:02}" for i in range(types)])
    kind = chance.integers(0, types, events)
    return pa.record_batch({
        "time": times[order], "type": names.take(pa.array(kind)), "id": key,
        "value": chance.random(events)})


def pattern(length: int, within: str = "1 second") -> str:
    parts = ", ".join(f"T{i:02} e{i}" for i in range(length))
    return f"EVENT SEQ({parts}) WHERE [id] WITHIN {within} RETURN e0.id"


def drive(kernel: Match, rows: pa.RecordBatch, batch: int = BATCH) -> tuple[int, Out]:
    """Push everything; the number of matches, and the last output."""
    logic = kernel.start()
    matches = 0
    for at in range(0, rows.num_rows, batch):
        matches += logic.push(rows.slice(at, batch)).ready.num_rows
    out = logic.finish()
    return matches + out.ready.num_rows, out


def _speed() -> list[Result]:
    """One second for a million events is the promise."""
    found = []
    for length, within in ((3, "1 second"), (6, "4 seconds")):
        kernel = event_query(pattern(length, within), ROLES, slack="2s")
        drive(kernel, stream(BATCH))
        for events in (200_000, 2_000_000):
            rows = stream(events)
            count = drive(kernel, rows)[0]
            seconds = best_of(3, lambda kernel=kernel, rows=rows: drive(kernel, rows))
            found.append(Result(f"SEQ of {length}, {events:,} events, 30 % out of order", seconds,
                                "1 M events/s", events / 1e6, 1.0,
                                f"{events / seconds / 1e6:.2f} M events/s, {count:,} matches"))
    return found


def _disorder() -> list[Result]:
    """Ordered input: the matcher with slack against the one that may rely on order.

    Processor time, in turns, the best of some: the difference is smaller than what other processes
    do to the time on the clock.
    """
    rows = stream(1_000_000, disorder=0.0)
    found = []
    for length, within in ((3, "1 second"), (6, "4 seconds")):
        text = pattern(length, within)
        ready = event_query(text, ROLES, slack="2s")
        trusting = event_query(text, ROLES, slack="0s")
        drive(ready, rows.slice(0, BATCH))
        times: dict[str, float] = {"ready": float("inf"), "trusting": float("inf")}
        for _ in range(8):
            for name, kernel in (("ready", ready), ("trusting", trusting)):
                begin = time.process_time()
                drive(kernel, rows)
                times[name] = min(times[name], time.process_time() - begin)
        found.append(Result(f"SEQ of {length}, ordered input, slack 2 s", times["ready"],
                            "slack 0", times["trusting"], 1.10))
    return found


KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "conditions": ("SEQ(T00 a, T01 b, T02 c) WHERE [id] AND a.value < b.value AND "
                   "b.value + 0.1 < c.value", {}),
    "negation": ("SEQ(T00 a, !(T01 b), T02 c) WHERE [id]", {}),
    "negation with a condition": ("SEQ(T00 a, !(T01 b), T02 c) WHERE [id] AND b.value > a.value",
                                  {}),
    "negation at the end": ("SEQ(T00 a, T02 c, !(T01 b)) WHERE [id]", {}),
    "Kleene": ("SEQ(T00 a, T01+ b[], T02 c) WHERE [id]", {}),
    "rising Kleene": ("SEQ(T00 a, T01+ b[], T02 c) WHERE [id] AND b[i].value > b[i-1].value", {}),
    "skip_till_next": ("SEQ(T00 a, T01 b, T02 c) WHERE [id] AND a.value < b.value",
                       {"select": "skip_till_next"}),
    "strict": ("SEQ(T00 a, T01 b) WHERE [id] AND a.value < b.value", {"select": "strict"}),
    "eager negation": ("SEQ(T00 a, !(T01 b), T02 c) WHERE [id]", {"emit": "eager"}),
    "eager skip_till_next": ("SEQ(T00 a, !(T01 b), T02 c) WHERE [id]",
                             {"emit": "eager", "select": "skip_till_next"}),
}


def _kinds() -> list[Result]:
    """What patterns are made of, each on the same rows."""
    rows = stream(300_000)
    found = []
    for name, (text, options) in KINDS.items():
        kernel = event_query(f"EVENT {text} WITHIN 4 seconds RETURN a.id", ROLES, slack="2s",
                             **options)  # type: ignore[arg-type]
        count = drive(kernel, rows)[0]
        found.append(Result(f"pattern: {name}", best_of(5, lambda k=kernel: drive(k, rows)),
                            "1 M events/s", 0.3, None, f"{count:,} matches"))
    return found


def _day() -> list[Result]:
    """A window of a day over a minute of data: linear in events and matches together.

    Twice the events in the same minute are eight times the matches.  What an event costs and what
    a match costs follows from two sizes; a third must cost as much as these say.
    """
    kernel = event_query(pattern(3, "1 day"), ROLES, slack="2s")
    sizes = [500_000, 1_000_000, 2_000_000]
    counts, seconds = [], []
    for events in sizes:
        rows = stream(events, rate=events / 60, keys=20_000)
        counts.append(drive(kernel, rows)[0])
        seconds.append(best_of(3, lambda rows=rows: drive(kernel, rows)))
    work = np.array([sizes, counts], float).T
    event, match = np.linalg.solve(work[:2], seconds[:2])
    return [Result("growth: window of a day over a minute of data", seconds[2],
                   "linear in events + matches", float(work[2] @ (event, match)), 1.15,
                   f"{seconds[0]:.3f}, {seconds[1]:.3f} s before; {counts[2]:,} matches; an event "
                   f"{event * 1e9:.0f} ns, a match {match * 1e6:.1f} µs")]


def _growth() -> list[Result]:
    """Twice the events should take twice the time, whatever the shape of the stream."""
    shapes = {
        "hot key (half of all events)": {"keys": 1000, "hot": 0.5, "within": "10 ms"},
        "100 000 keys": {"keys": 100_000},
        "hot key with a negation": {"keys": 1000, "hot": 0.5, "negated": True},
    }
    found = []
    for name, shape in shapes.items():
        within = str(shape.pop("within", "1 second"))
        text = pattern(3, within)
        if shape.pop("negated", False):
            text = f"EVENT SEQ(T00 a, !(T01 b), T02 c) WHERE [id] WITHIN {within} RETURN a.id"
        kernel = event_query(text, ROLES, slack="2s")
        seconds, counts = [], []
        for events in (500_000, 1_000_000):
            # a minute of data in any case: twice the events are twice as dense
            rate = events / 60
            if "hot" in shape:  # a denser hot key has more matches, so it gets longer instead
                rate = 10_000.0
            rows = stream(events, rate=rate, **shape)  # type: ignore[arg-type]
            counts.append(drive(kernel, rows)[0])
            seconds.append(best_of(2, lambda kernel=kernel, rows=rows: drive(kernel, rows)))
        found.append(Result(f"growth: {name}", seconds[1], "2 × the time for half the events",
                            2 * seconds[0], 1.1 if "hot" in shape else None,
                            f"{counts[0]:,} → {counts[1]:,} matches, "
                            f"{1e6 / seconds[1] / 1e6:.2f} M events/s"))
    return found


def run() -> list[Result]:
    """All figures."""
    return [*_speed(), *_kinds(), *_disorder(), *_growth(), *_day()]


if __name__ == "__main__":
    for result in run():
        print(f"{result.name:<60} {result.ours_s:8.3f} s  {result.ratio:6.2f} × {result.reference}"
              f"  {result.detail}")
