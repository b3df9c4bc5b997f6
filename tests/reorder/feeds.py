"""Small streams of many sources for the tests of `Tide`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slackwater import Reorder, Roles

START = 1_700_000_000_000_000
ROLES = Roles("time", "arrival", source="source", sequence="sequence", unit="us")
SECOND = 1_000_000


def regular(rng, source, *, begin=0.0, end=60.0, period=0.5, jitter=0.02, delay=0.1, spread=0.04,
            clock=0.0):
    """One source: (time, arrival, source, sequence), in seconds, in order, delays from a lognormal.
    """
    moments = np.arange(begin + rng.uniform(0, period), end, period)
    moments += rng.uniform(-jitter, jitter, len(moments)) * period
    arrival = moments + delay * np.exp(rng.normal(0, spread / delay, len(moments)))
    return [(t + clock, a, source, n)
            for n, (t, a) in enumerate(zip(moments, np.maximum.accumulate(arrival), strict=True))]


def batch_of(rows):
    """Rows in arrival order, as a batch."""
    rows = sorted(rows, key=lambda r: r[1])
    return pa.record_batch({
        "row": pa.array(range(len(rows)), pa.int64()),
        "time": pa.array([START + round(r[0] * SECOND) for r in rows], pa.int64()),
        "arrival": pa.array([START + round(r[1] * SECOND) for r in rows], pa.int64()),
        "source": pa.array([r[2] for r in rows], pa.string()),
        "sequence": pa.array([r[3] for r in rows], pa.int64()),
    })


class Told:
    """What became of a stream: seconds from its start, by row."""

    def __init__(self, policy, batch, *, roles=ROLES, finish=True, **settings):
        self.logic = Reorder(policy, roles, **settings).start()
        outs = [self.logic.push(batch)]
        if finish:
            outs.append(self.logic.finish())
        self.ready = pa.Table.from_batches([o.ready for o in outs]).to_pandas()
        self.late = pa.Table.from_batches([o.late for o in outs]).to_pandas()
        self.quarantined = pa.Table.from_batches([o.quarantined for o in outs]).to_pandas()
        self.notes = outs[-1].notes
        rows = sorted([*self.ready["row"], *self.late["row"], *self.quarantined["row"]])
        if finish:
            assert rows == list(range(batch.num_rows)), "a row is lost"

    def latency(self, begin=0.0, end=np.inf, sources=None):
        """Mean seconds from time to release over the ready rows stamped in [begin, end)."""
        rows = self.ready
        time = (rows["time"] - START) / SECOND
        chosen = (time >= begin) & (time < end)
        if sources is not None:
            chosen &= rows["source"].isin(sources)
        released = rows["_released"].astype("int64") / SECOND
        assert chosen.any()
        return float((released - rows["time"] / SECOND)[chosen].mean())
