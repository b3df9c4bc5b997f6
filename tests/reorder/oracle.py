"""The release rule of SPEC section 1, word for word and slow: a list, no cleverness."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from slackwater.reorder import as_policy


@dataclass
class Stream:
    """One key: what is held, the greatest time released, the buffer time in force."""

    state: np.ndarray
    held: list[tuple[int, int]] = field(default_factory=list)
    greatest: float = float("-inf")


@dataclass
class Oracle:
    """Feed it (time, arrival, key) one at a time; it tells each event's fate in order."""

    policy: object
    streams: dict = field(default_factory=dict)
    ready: list = field(default_factory=list)   # (row, released at)
    late: list = field(default_factory=list)    # (row, released at)
    buffers: list = field(default_factory=list)
    last_arrival: dict = field(default_factory=dict)
    rows: int = 0

    def __post_init__(self):
        self.policy = as_policy(self.policy)

    def stream(self, key):
        if key not in self.streams:
            self.streams[key] = Stream(np.asarray([self.policy.initial_state()], float))
        return self.streams[key]

    def release(self, stream, threshold, when):
        due = sorted(e for e in stream.held if e[0] <= threshold)
        for time, row in due:
            stream.held.remove((time, row))
            stream.greatest = max(stream.greatest, time)
            self.ready.append((row, when))

    def arrive(self, time, arrival, key=None):
        stream, row = self.stream(key), self.rows
        self.rows += 1
        self.last_arrival[key] = max(arrival, self.last_arrival.get(key, arrival))
        self.release(stream, arrival - np.ceil(stream.state[0, 0]), arrival)
        before, after = np.empty(1), np.empty(1)
        self.policy.buffers(np.array([float(arrival - time)]), np.zeros(1, np.int64), stream.state,
                            before, after)
        self.buffers.append(after[0])
        if time < stream.greatest:
            self.late.append((row, arrival))
        else:
            stream.held.append((time, row))

    def tick(self, now):
        due = []
        for stream in self.streams.values():
            threshold = now - np.ceil(stream.state[0, 0])
            due += [(t, r, stream) for t, r in stream.held if t <= threshold]
        self.let_go(due, lambda key: now)

    def finish(self):
        due = [(t, r, s) for s in self.streams.values() for t, r in s.held]
        self.let_go(due, lambda key: self.last_arrival[key])

    def let_go(self, due, when):
        keys = {id(s): k for k, s in self.streams.items()}
        for time, row, stream in sorted(due, key=lambda d: d[:2]):
            stream.held.remove((time, row))
            stream.greatest = max(stream.greatest, time)
            self.ready.append((row, when(keys[id(stream)])))
