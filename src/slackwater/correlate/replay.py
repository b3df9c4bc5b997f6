"""The five algorithms as the paper ran them: tuple by tuple, two buffers, one clock.

The kernel hands over whole batches, which hides what a tuple costs.  Here arrivals of both streams
are taken one after the other, compiled, so that insertion, search, probing and invalidation are all
in the measured time.  Uniform intervals and no keys, as in the paper.

Obsolete tuples leave as the paper has it.  Eager and the lazy ones cut off the head of the sorted
buffer by L_H.  Simple and simple-sort know no bounds: a tuple is obsolete once no tuple that can
still come lies within d of it at all; and only such tuples leave as stand together at the head, in
simple by order of arrival, so that one long-lived tuple holds back those behind it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import Bounds, Task, _uniform, reach, task
from slackwater.correlate.distribution import UNIFORMLY
from slackwater.correlate.lazy import by_regions
from slackwater.correlate.lookup import by_lookup
from slackwater.correlate.lookup_readings import by_printed_lookup
from slackwater.correlate.match import ALGORITHMS, COUNTERS
from slackwater.correlate.pairs import Pairs, room
from slackwater.correlate.predicate import Predicate
from slackwater.correlate.regions import Regions, Targets, regions_into
from slackwater.correlate.simple import simple

__all__ = ["REPLAYED", "Arrivals", "Measured", "replay"]

Int64 = NDArray[np.int64]
REPLAYED = (*ALGORITHMS, "lookup-as-printed", "lookup-as-told")
"""What can be replayed: the kernel's algorithms, and two more readings of the paper's look-up."""

_SIMPLE, _SORT, _EAGER, _LAZY, _LOOKUP, _PRINTED, _TOLD = range(7)


class Arrivals(NamedTuple):
    """Tuples of both streams in order of arrival, in microseconds; side 0 is the left."""

    side: Int64
    first: Int64
    last: Int64
    arrival: Int64


class _State(NamedTuple):
    """Buffers of both sides: [head, done) is in use and processed, [done, size) waits."""

    first: Int64
    last: Int64
    head: Int64
    done: Int64
    size: Int64


class _Scratch(NamedTuple):
    """Memory for one evaluation, used again by the next: a tuple must not pay for an allocation."""

    key: Int64
    starts: Int64
    bounds: Int64
    where: Regions


def _scratch(n: int) -> _Scratch:
    where = np.zeros((4, n), np.int64)
    return _Scratch(np.zeros(n, np.int64), np.zeros(2, np.int64), np.zeros((4, n), np.int64),
                    Regions(where[0], where[1], where[2], where[3]))


class _Setting(NamedTuple):
    rho: int
    pi: int
    delay: int
    block: int
    reach: tuple[int, int]
    plain: int
    scratch: _Scratch


@dataclass(frozen=True)
class Measured:
    """What a replay measured.

    Parameters
    ----------
    seconds
        Execution time of the algorithm.
    response_ms
        Mean over the pairs of completion − latest end of the two, with a queue in front of the
        algorithm: a tuple is taken when it has arrived and the ones before it are done with.
    buffer
        Mean length of both buffers together, over arrivals.
    pairs, probes, lookup_hits
        Counts.
    span
        Seconds from the first arrival to the last.
    """

    seconds: float
    response_ms: float
    buffer: float
    pairs: int
    probes: int
    lookup_hits: int
    span: float

    @property
    def hit_ratio(self) -> float:
        """Share of the tuples in probe regions whose probability need not be computed."""
        return self.lookup_hits / max(self.lookup_hits + self.probes, 1)


def replay(arrivals: Arrivals, algorithm: str, *, within: int, confidence: float, shortest: int,
           longest: int, max_delay: int, block: int = 1000) -> Measured:
    """Run an algorithm over arrivals; all durations in microseconds.

    Examples
    --------
    >>> a = Arrivals(*(np.array(x) for x in ([0, 1], [0, 300], [50, 340], [60, 350])))
    >>> replay(a, "eager", within=500, confidence=0.8, shortest=0, longest=100,
    ...        max_delay=100).pairs
    1
    """
    shape = UNIFORMLY.shape()
    predicate = Predicate.of(within=within)
    left, right = (task(predicate, confidence, None, side, (shape, shape))
                   for side in (True, False))
    setting = _Setting(shortest, longest, max_delay, block,
                       (reach(shortest, longest, right), reach(shortest, longest, left)),
                       -longest - within, _scratch(block))
    code = REPLAYED.index(algorithm)
    timed = _once(arrivals, code, left, right, setting, tell=False)
    # when pairs ended is summed up in a second run, so as not to be in the time of the first
    told = _once(arrivals, code, left, right, setting, tell=True)
    done = _completions(arrivals.arrival, timed.service * 1e6)
    total = int(timed.found.sum())
    response = float((timed.found * done - told.ended).sum()) / max(total, 1) / 1000
    span = float(arrivals.arrival[-1] - arrivals.arrival[0]) / 1e6
    return Measured(float(timed.service.sum()), response, timed.buffer, total, timed.probes,
                    timed.hits, max(span, 1e-6))


class _Run(NamedTuple):
    """One run, per arrival: time spent, pairs found, and the sum of when they had happened."""

    service: NDArray[np.float64]
    found: Int64
    ended: NDArray[np.float64]
    buffer: float
    probes: int
    hits: int


def _once(arrivals: Arrivals, code: int, left: Task, right: Task, setting: _Setting, *,
          tell: bool) -> _Run:
    room_for = max(int((arrivals.side == s).sum()) for s in range(2)) + 1
    none = np.zeros(2, np.int64)
    state = _State(np.empty((2, room_for), np.int64), np.empty((2, room_for), np.int64),
                   none.copy(), none.copy(), none.copy())
    n = len(arrivals.side)
    counters, buffered = np.zeros(len(COUNTERS), np.int64), np.zeros(1, np.int64)
    count, ended = np.zeros(n, np.int64), np.zeros(n)
    service = np.zeros(n)
    pairs, at = room(1 << 16), 0
    while at <= n:
        # the thread's own time: what else the machine does in between is not the algorithm's
        begin = time.thread_time()
        stop = n if code >= _LAZY else min(at + 64, n)
        end, pairs = _drive(code, arrivals, at, stop, state, left, right, setting, pairs, count,
                            ended, counters, buffered, tell)
        spent = time.thread_time() - begin
        if code >= _LAZY:
            service[min(end, n) - 1] += spent
        else:
            service[at:end] = spent / max(end - at, 1)
        if at == n:
            break
        at = end
    return _Run(service, count, ended, float(buffered[0]) / n, int(counters[0]), int(counters[1]))


@njit(cache=True)
def _completions(arrival: Int64, service: NDArray[np.float64]) -> NDArray[np.float64]:
    done = np.empty(len(arrival))
    free = -np.inf
    for i in range(len(arrival)):
        free = max(free, float(arrival[i])) + service[i]
        done[i] = free
    return done


@njit(cache=True)
def _drive(code: int, a: Arrivals, begin: int, end: int, state: _State, left: Task, right: Task,
           setting: _Setting, pairs: Pairs, count: Int64, ended: NDArray[np.float64],
           counters: Int64, buffered: Int64, tell: bool) -> tuple[int, Pairs]:
    """Take arrivals begin … end; the lazy ones stop after an evaluation.  Where it got to.

    Called with nothing left to take, the lazy ones evaluate their unfinished blocks.
    """
    if begin == end and code >= _LAZY:
        for s in range(2):
            pairs = _block(code, end - 1, s, state, left if s == 0 else right, setting, pairs,
                           count, ended, counters, tell)
    for i in range(begin, end):
        s = a.side[i]
        o = 1 - s
        task_ = left if s == 0 else right
        # what still can come on this side ends at or after `oldest`
        oldest = a.arrival[i] - setting.delay
        if code < _LAZY:
            pairs = _evaluate(code, i, s, a.first[i:i + 1], a.last[i:i + 1], state, task_, setting,
                              pairs, count, ended, counters, tell)
            _invalidate(code, o, oldest + (setting.reach[o] if code == _EAGER else setting.plain),
                        state)
            _insert(code, s, a.first[i], a.last[i], state)
        else:
            at = state.size[s]
            state.first[s, at], state.last[s, at] = a.first[i], a.last[i]
            state.size[s] += 1
        buffered[0] += state.size[0] - state.head[0] + state.size[1] - state.head[1]
        if code >= _LAZY and state.size[s] - state.done[s] >= setting.block:
            pairs = _block(code, i, s, state, task_, setting, pairs, count, ended, counters,
                           tell)
            _invalidate(code, o, oldest + setting.reach[o], state)
            return i + 1, pairs
    return end, pairs


@njit(cache=True)
def _evaluate(code: int, i: int, s: int, first: Int64, last: Int64, state: _State, task_: Task,
              setting: _Setting, pairs: Pairs, count: Int64, ended: NDArray[np.float64],
              counters: Int64, tell: bool) -> Pairs:
    """Pairs of base tuples with the other side's processed tuples."""
    o = 1 - s
    head, done, n = state.head[o], state.done[o], len(first)
    if head == done or n == 0:
        return pairs
    key, starts, out, places = setting.scratch
    starts[1] = done - head
    targets = Targets(state.first[o, head:done], state.last[o, head:done], starts)
    if code <= _SORT:
        pairs, found = simple(key[:n], first, last, targets, task_, pairs, 0, counters)
    else:
        _uniform(first, last, float(setting.rho), float(setting.pi), task_.confidence,
                 task_.confidence - 2e-12, task_.lo, task_.hi, task_.horizon, out)
        where = Regions(places.a[:n], places.b[:n], places.c[:n], places.d[:n])
        regions_into(key[:n], Bounds(out[0], out[1], out[2], out[3]), targets, where)
        if code == _LOOKUP:
            pairs, found = by_lookup(first, last, np.arange(n), targets, where, task_, False, pairs,
                                     0, counters)
        elif code >= _PRINTED:
            pairs, found = by_printed_lookup(first, last, targets, where, task_, code == _TOLD,
                                             pairs, counters)
        else:
            pairs, found = by_regions(first, last, targets, where, task_, False, pairs, 0, counters)
    count[i] += found
    for j in range(found if tell else 0):
        ended[i] += max(last[pairs.base[j]], targets.last[pairs.target[j]])
    return pairs


@njit(cache=True)
def _block(code: int, i: int, s: int, state: _State, task_: Task, setting: _Setting, pairs: Pairs,
           count: Int64, ended: NDArray[np.float64], counters: Int64, tell: bool) -> Pairs:
    """Sort the waiting tuples of a side, evaluate them, and merge them into its buffer."""
    done, size = state.done[s], state.size[s]
    order = np.argsort(state.last[s, done:size])
    first, last = state.first[s, done:size][order], state.last[s, done:size][order]
    pairs = _evaluate(code, i, s, first, last, state, task_, setting, pairs, count, ended, counters,
                      tell)
    p, q, to = done - 1, len(last) - 1, size - 1
    while q >= 0:
        if p >= state.head[s] and state.last[s, p] > last[q]:
            state.first[s, to], state.last[s, to] = state.first[s, p], state.last[s, p]
            p -= 1
        else:
            state.first[s, to], state.last[s, to] = first[q], last[q]
            q -= 1
        to -= 1
    state.done[s] = size
    return pairs


@njit(cache=True)
def _insert(code: int, s: int, first: int, last: int, state: _State) -> None:
    at = state.size[s]
    if code != _SIMPLE:
        while at > state.head[s] and state.last[s, at - 1] > last:
            state.first[s, at], state.last[s, at] = state.first[s, at - 1], state.last[s, at - 1]
            at -= 1
    state.first[s, at], state.last[s, at] = first, last
    state.size[s] += 1
    state.done[s] = state.size[s]


@njit(cache=True)
def _invalidate(code: int, s: int, before: int, state: _State) -> None:
    """Remove tuples at the head that end before `before`: none that can still come matches them."""
    while state.head[s] < state.done[s] and state.last[s, state.head[s]] < before:
        state.head[s] += 1
