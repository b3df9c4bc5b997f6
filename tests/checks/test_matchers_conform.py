"""The pattern matcher and the correlation keep the promises of the kernel protocol."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Roles
from slackwater.checks import sample_events, yield_checks
from slackwater.core.kernel import MemoryStore
from slackwater.correlate import Correlate
from slackwater.pattern import Match
from slackwater.query.correlate.query import PairQuery
from slackwater.query.event.query import event_pattern
from tests.checks import as_param

PATTERN = "EVENT SEQ(A a, !(B b), C c) WHERE [key] AND c.value > a.value WITHIN 300 milliseconds"
EVENTS = Roles("time", "arrival", sequence="row", type="type", key=("key",))
MATCH = {
    f"Match {emit} {select}": Match(event_pattern(PATTERN), EVENTS, slack="400ms", emit=emit,
                                    select=select)
    for emit in ("final", "eager") for select in ("skip_till_any", "skip_till_next", "strict")
}


@dataclass(frozen=True)
class OneStream:
    """Both sides of a correlation in one stream: the source says which side a row is of."""

    config: Correlate | PairQuery

    def start(self, store=None):
        return OneStreamLogic(self.config.start(store))

    def restore(self, snapshot, store=None):
        return OneStreamLogic(self.config.restore(snapshot, store))


class OneStreamLogic:
    def __init__(self, inner):
        self.inner, self.finish, self.snapshot = inner, inner.finish, inner.snapshot
        self.tick = inner.tick

    def push(self, batch):
        for side in ("left", "right"):  # the columns of a pair are those of both
            self.inner.push(batch.slice(0, 0), side)
        left = np.array([s in ("s0", "s1") for s in batch["source"].to_pylist()], bool)
        edges = [0, *(np.flatnonzero(np.diff(left)) + 1).tolist(), batch.num_rows]
        outs = [self.inner.push(batch.slice(a, b - a), "left" if left[a] else "right")
                for a, b in pairwise(edges)]
        return type(outs[0])(*(pa.concat_batches([getattr(o, kind) for o in outs])
                               for kind in ("ready", "late", "quarantined")), outs[-1].notes)


def intervals() -> pa.RecordBatch:
    batch = sample_events(60)
    # nothing bounds how far ahead of its arrival an interval may lie: such a row is held for long
    batch = batch.filter(pa.compute.fill_null(pa.compute.less(
        pa.compute.year(batch["time"]), 2090), True))
    end = pa.compute.add(batch["time"], pa.scalar(40_000, pa.duration("us")))
    return batch.append_column("time_min", batch["time"]).append_column("time_max", end)


CORRELATE = OneStream(Correlate(
    within="100ms", confidence=0.6, by="key", max_delay="500ms", longest="50ms",
    roles=Roles("time", "arrival", time_min="time_min", time_max="time_max")))
TEXT = ("SELECT a.row AS row_left, b.row AS row_right FROM A a, B b WHERE |@a - @b| <= 100 ms "
        "CONFIDENCE 60% AND a.key = b.key")
PAIRS = OneStream(PairQuery(TEXT, intervals().schema, intervals().schema, CORRELATE.config))
CASES = [as_param.param(name, promise, check)
         for name, kernel in MATCH.items()
         for promise, check in yield_checks(kernel, sample_events(), key=None, row=None)]
CASES += [as_param.param(name, promise, check)
          for name, kernel in (("Correlate", CORRELATE), ("PairQuery", PAIRS))
          for promise, check in yield_checks(kernel, intervals(), key=None, row=None)
          # a batch is evaluated as a block, so the order of pairs follows the cuts: see below
          if promise not in ("cuts do not matter", "restarts do not matter",
                             "a store apart does not matter")]


@pytest.mark.parametrize("check", CASES)
def test_kernel(check):
    check()


@pytest.mark.parametrize("kernel", [CORRELATE, PAIRS], ids=["Correlate", "PairQuery"])
def test_cuts_and_restarts_do_not_matter_for_the_set_of_pairs(kernel):
    events = intervals()

    def pairs(size, restart, store):
        logic, outs = kernel.start(store), []
        for at in range(0, events.num_rows, size):
            outs.append(logic.push(events.slice(at, size)))
            if restart:
                logic = kernel.restore(logic.snapshot(), store)
        outs.append(logic.finish())
        return sorted((r["row_left"], r["row_right"]) for o in outs for r in o.ready.to_pylist())

    whole = pairs(events.num_rows, False, None)
    assert len(whole) > 10
    for size in (1, 7):
        assert pairs(size, False, None) == whole
        assert pairs(size, True, None) == whole
        assert pairs(size, True, MemoryStore()) == whole
