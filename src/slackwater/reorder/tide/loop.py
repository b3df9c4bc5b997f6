"""The compiled loop of `Tide`: thresholds, arrival by arrival, and by time alone."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.core.release import Walk, advance_to, is_late, take
from slackwater.reorder.tide.heap import heapify, top_of, update
from slackwater.reorder.tide.source import (
    follow_silence,
    foretold,
    frontier,
    idle_after,
    is_from_before,
    is_old,
    kind_of,
    learn_gap,
    move_on,
)
from slackwater.reorder.tide.state import (
    ABSENT,
    BEFORE,
    COUNT,
    DEBT,
    DECIDES,
    DENSE,
    EVENTS,
    EXPECTED,
    FAILED,
    FAILURES,
    FAR,
    FILLED,
    FRONTIER,
    GAP_TIME,
    GREEN,
    IDLE,
    JOINED,
    KIND,
    LEVEL,
    LIVE,
    MISSING,
    MOST,
    NEVER,
    NOW,
    PATIENCE,
    PROMISE,
    RUN,
    RUN_ARRIVAL,
    RUN_TIME,
    SEEN,
    SPARSE,
    SPREAD,
    START,
    STATUS,
    STRANGER,
    TIMEOUT,
    TOP,
    USUAL,
    WARMING,
    WORST,
)

__all__ = ["run", "threshold_at"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

# why an event left when it did: what the words of tide_words.py are made of
CAUGHT_UP, SILENT, SEQUENCE_GAP, WARM_UP, UNHEARD, GUARD = range(6)
# why an event is late
BEHIND, NEW, BACK, SLOW, SWAPPED, EARLY, OLD = range(7)

_CREDIT = 3.0    # late events that a long calm may save up
_STRICT = 5.0    # late events beyond the target that call for stricter measures
_GROW = 1.1      # a late event makes the timeout at least so much longer …
_LEAP = 2.0      # … and at most so much
_MARGIN = 1.25   # the timeout comes down to this many times the greatest delay of late,
_FADE = 0.95     # which fades so much a block,
_DOWN = 4.0      # in steps of this many parts of a block …
_FIRST = 50      # … or, at first, of the events so far, if they are more than this
_STEADY = 8      # a stranger that keeps coming late is waited for after so many events


@njit(cache=True)
def guarded(whole: Int64, gone: int, join_guard: int) -> bool:
    """Whether a newcomer, or one coming back, is to be expected: then wait the usual delay."""
    return bool(whole[ABSENT] + whole[MISSING] + gone > 0
                or whole[EVENTS] - whole[JOINED] < join_guard)


@njit(cache=True)
def _limit(whole: Int64, real: Float64, gr: Float64) -> float:
    return float(idle_after(real, gr[TIMEOUT + whole[KIND]], gr[PATIENCE]))


@njit(cache=True)
def _calm(gr: Float64, kind: int) -> bool:
    """Whether as many late events as came at once of late could be afforded again."""
    return bool(gr[DEBT + kind] <= -gr[WORST + kind])


@njit(cache=True)
def _aim(gr: Float64, kind: int) -> float:
    """What a timeout comes down to: a little above the greatest delay of late.

    Until a block of delays has been seen that may be too little: not below twice the usual delay.
    """
    seen = _MARGIN * max(gr[MOST + kind], gr[BEFORE + kind])
    return float(seen if gr[BEFORE + kind] > 0 else max(seen, 2 * gr[USUAL]))


@njit(cache=True)
def _reach(edges: Int64, tops: Int64, now: int, gr: Float64) -> tuple[int, int, bool]:
    """What all live sources are past, as shown or because nobody waits longer.

    Also the source that is furthest back, and whether a timeout decided.
    """
    least, who, gave_up = int(FAR), -1, False
    for kind in (DENSE, SPARSE):
        if tops[kind] < 0:
            continue
        limit = now - np.int64(np.ceil(gr[TIMEOUT + kind]))
        if max(edges[kind], limit) < least:
            least, who = int(max(edges[kind], limit)), int(tops[kind])
            gave_up = limit > edges[kind]
    return least, who, gave_up


@njit(cache=True)
def _come_down(gr: Float64, edges: Int64, now: int, passed: float, block: int,
               events: int) -> None:
    """Let the timeouts come down while they decide.

    A stall lets a timeout decide for a while, sources without rhythm do so all the time.  Where it
    does not decide it costs nothing, so it comes down only while it would decide half of the time,
    and not while there is debt.  That sparse sources will let it decide is known from the start.
    """
    for kind in (DENSE, SPARSE):
        steps = block if kind == DENSE else min(block, max(events, _FIRST))
        aim = _aim(gr, kind)
        tempted = edges[kind] < now - aim
        at = DECIDES + kind
        gr[at] += ((1.0 if tempted else 0.0) - gr[at]) * -np.expm1(
            -passed / (2 * gr[TIMEOUT + kind] + 1))
        if tempted and _calm(gr, kind) and gr[at] > 0.5:
            gr[TIMEOUT + kind] -= max(gr[TIMEOUT + kind] - aim, 0.0) * _DOWN / steps


@njit(cache=True)
def held_back(whole: Int64, real: Float64, now: int, warmup: int, timeout: int) -> int:
    """WARM_UP or UNHEARD while sources are still to be met, else CAUGHT_UP."""
    age = now - whole[START]
    if whole[WARMING] and age < max(timeout, warmup) and (age < warmup or whole[GREEN] > 0):
        return WARM_UP
    if whole[MISSING] > 0 and age < 2 * timeout:
        return UNHEARD
    return CAUGHT_UP


@njit(cache=True)
def run(
    walk: Walk, time: Int64, arrival: Int64, group: Int64, source: Int64, sequence: Int64,
    declared: Int64, whole: Int64, real: Float64, group_whole: Int64, group_real: Float64,
    heap: Int64, place: Int64, starts: Int64, sizes: Int64, keys: Int64, built: Int64,
    loss: float, block: int, warmup: int, first_timeout: int, longest: float, join_guard: int,
    theta: Int64, buffer: Float64, why: Int64, whom: Int64, value: Int64, late_why: Int64,
    late_value: Int64, late_timeout: Int64,
) -> None:
    """Set a threshold, and why, for every arrival."""
    tops, edges = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for j in range(len(time)):
        g, s, t = group[j], source[j], time[j]
        gw, gr, sw, sr = group_whole[g], group_real[g], whole[s], real[s]
        if gw[EVENTS] == 0:
            gw[START] = arrival[j]
        passed = float(max(arrival[j] - gw[NOW], 0)) if gw[NOW] != NEVER else 0.0
        now = gw[NOW] = max(gw[NOW], arrival[j])
        if not built[g]:
            for kind in (DENSE, SPARSE):
                heapify(heap[kind], place[kind], starts[g], sizes[g], keys[kind])
            built[g] = 1

        # 1. what time has brought about since the arrival before
        for kind in (DENSE, SPARSE):
            top = top_of(heap[kind], starts[g], keys[kind])
            while top >= 0 and now - whole[top, SEEN] > _limit(whole[top], real[top], gr):
                whole[top, STATUS] = IDLE
                whole[top, RUN] = 0
                whole[top, FAILURES] += 1 - whole[top, FAILED]
                whole[top, FAILED] = 1
                gw[ABSENT] += 1
                update(heap[kind], place[kind], starts[g], sizes[g], keys[kind], top, FAR)
                top = top_of(heap[kind], starts[g], keys[kind])
            tops[kind], edges[kind] = top, keys[kind, top] if top >= 0 else FAR
        longest_wait = np.int64(np.ceil(max(gr[TIMEOUT + DENSE], gr[TIMEOUT + SPARSE])))
        state = held_back(gw, gr, now, warmup, first_timeout)
        if gw[WARMING] and state != WARM_UP:
            gw[WARMING] = 0
        usual = min(np.int64(gr[USUAL]), longest_wait)
        ceiling = now - (usual if guarded(gw, 0, join_guard) else 0)
        by_sources, top, gave_up = _reach(edges, tops, now, gr)
        whom[j] = top
        if state != CAUGHT_UP:
            theta[j] = now - longest_wait
            why[j], value[j] = state, gw[MISSING]
        else:
            _come_down(gr, edges, now, passed, block, gw[EVENTS])
            theta[j] = min(by_sources, ceiling)
            if ceiling < by_sources:
                why[j], value[j] = GUARD, usual
            elif gave_up:
                _blame(top, whole, now, why, value, j)
            else:
                why[j] = CAUGHT_UP

        # 2. the event itself
        advance_to(walk, walk.of[j], theta[j], j, j)
        late = is_late(walk, j)
        gw[PROMISE] = max(gw[PROMISE], theta[j])
        delay = now - t
        was = sw[STATUS]
        away = now - sw[SEEN] if sw[SEEN] != NEVER else np.int64(0)
        if sw[COUNT] == 0:
            gw[JOINED] = gw[EVENTS]
            gw[GREEN] += 1
            if declared[s]:
                gw[MISSING] = max(gw[MISSING] - 1, 0)
        elif sw[COUNT] == 2:
            gw[GREEN] -= 1
        # what no timeout could have waited for teaches nothing: a backlog, a clock far behind
        hopeless = late and (float(delay) > longest or is_from_before(sw, t, sequence[j]))
        live = not hopeless and (was == LIVE or _admit(sw, t, now, late))
        if was == IDLE and late and not hopeless and sw[RUN] <= 1:
            # not quiet, but cut off: such silences are to be sat out
            grown = min(1.5 * float(away), 2 * _limit(sw, sr, gr))
            gr[PATIENCE] = max(gr[PATIENCE], min(grown, 2 * longest))
        kind = sw[KIND]
        timeout = gr[TIMEOUT + kind]
        late_why[j], late_value[j] = _excuse(sw, sr, was, t, delay, away, timeout, hopeless)
        late_timeout[j] = np.int64(timeout)
        if live:
            if was != LIVE:
                sw[STATUS] = LIVE
                if sw[COUNT] > 0:
                    gw[ABSENT] -= 1
            follow_silence(sw, sr, now, _limit(sw, sr, gr))
            sw[COUNT] += 1
            # nobody waits for copies, unless too many of them are late
            strict = max(gr[DEBT + DENSE], gr[DEBT + SPARSE]) > _STRICT
            if sw[FRONTIER] != NEVER and (strict or not is_old(sw, t, sequence[j])):
                calm = _calm(gr, DENSE) and _calm(gr, SPARSE)
                learn_gap(sw, sr, float(t - sw[FRONTIER]), calm, strict)
            move_on(sw, t, sequence[j], now - np.int64(np.ceil(timeout)))
            sw[KIND] = kind_of(sw, sr, gr[USUAL])
            if sw[KIND] != kind:
                update(heap[kind], place[kind], starts[g], sizes[g], keys[kind], s, FAR)
            update(heap[sw[KIND]], place[sw[KIND]], starts[g], sizes[g], keys[sw[KIND]], s,
                   frontier(sw, sr))
        else:
            if sw[COUNT] == 0:
                gw[ABSENT] += 1
            if not hopeless:
                sw[SEEN] = max(sw[SEEN], now)
            sw[COUNT] += 1
        if not hopeless:
            sw[FAILED] = 0
        gw[TOP] = max(gw[TOP], t)
        gw[EVENTS] += 1

        # 3. what it has made known: others up to its own time may leave before it
        if state == CAUGHT_UP:
            for k in (DENSE, SPARSE):
                tops[k] = top_of(heap[k], starts[g], keys[k])
                edges[k] = keys[k, tops[k]] if tops[k] >= 0 else FAR
            edge = min(_reach(edges, tops, now, gr)[0], ceiling)
            if min(edge, t) > theta[j]:
                theta[j] = min(edge, t)
                why[j], whom[j] = CAUGHT_UP, s
                gw[PROMISE] = max(gw[PROMISE], theta[j])
                advance_to(walk, walk.of[j], theta[j], j, j)
        take(walk, j)

        # 4. the controller; strangers, and those that come back, are nobody's fault
        if (was == LIVE and not hopeless) or (live and not late):
            _control(gr, gw, kind, float(delay), late, loss, block, longest)
        buffer[j] = float(now - gw[PROMISE])


@njit(cache=True)
def _blame(top: int, whole: Int64, now: int, why: Int64, value: Int64, j: int) -> None:
    """The others stop waiting for `top`."""
    why[j], value[j] = SILENT, 0
    if top < 0:
        return
    value[j] = now - whole[top, SEEN]
    if whole[top, GAP_TIME] != NEVER:
        why[j], value[j] = SEQUENCE_GAP, whole[top, EXPECTED]
    whole[top, FAILURES] += 1 - whole[top, FAILED]
    whole[top, FAILED] = 1


@njit(cache=True)
def _admit(sw: Int64, t: int, now: int, late: bool) -> bool:
    """Whether a source that is not live becomes so.

    At once if its event is not behind the watermark.  Else once it has kept up for a while: a
    backlog runs through the past faster than time, a slow source does not.
    """
    if not late:
        return True
    if sw[RUN] == 0:
        sw[RUN_TIME], sw[RUN_ARRIVAL] = t, now
    sw[RUN] += 1
    if sw[RUN] < _STEADY:
        return False
    sw[RUN] = 0
    return bool(2 * (now - sw[RUN_ARRIVAL]) >= t - sw[RUN_TIME])


@njit(cache=True)
def _excuse(sw: Int64, sr: Float64, was: int, t: int, delay: int, away: int,
            timeout: float, hopeless: bool) -> tuple[int, int]:
    """Why this event is late, if it is."""
    if hopeless:
        return OLD, delay
    if was == STRANGER:
        return NEW, away
    if was == IDLE:
        return BACK, away
    if delay > timeout:
        return SLOW, delay
    if t < sw[FRONTIER]:
        return SWAPPED, sw[FRONTIER] - t
    if t < sw[FRONTIER] + foretold(sw, sr):
        return EARLY, frontier(sw, sr) - t
    return BEHIND, 0


@njit(cache=True)
def _control(gr: Float64, gw: Int64, kind: int, delay: float, late: bool, loss: float,
             block: int, longest: float) -> None:
    """Keep the share of late events at the target, among dense and among sparse sources.

    The debt is what adaptive conformal inference adds up: late events minus the target.  Nothing
    gets bolder before it is paid back and as much again is saved up for the next burst; a late
    event makes the timeout longer at once.
    """
    debt = gr[DEBT + kind] + (1.0 if late else 0.0) - loss
    gr[DEBT + kind] = max(debt, -max(_CREDIT, gr[WORST + kind]))
    gr[WORST + kind] = max(debt, gr[WORST + kind] * (1 - 0.02 / block))
    gr[MOST + kind] = max(gr[MOST + kind], delay)
    timeout = gr[TIMEOUT + kind]
    if late and delay > timeout:
        grown = max(_GROW * timeout, min(_GROW * delay, _LEAP * timeout))
        gr[TIMEOUT + kind] = min(max(grown, 1000.0), longest)
    gr[PATIENCE] *= 1 - 0.1 / block
    gw[FILLED + kind] += 1
    if gw[FILLED + kind] >= block:
        gw[FILLED + kind] = 0
        gr[BEFORE + kind] = max(gr[MOST + kind], _FADE * gr[BEFORE + kind])
        gr[MOST + kind] = 0.0
    if delay < 0:
        return  # a clock that is fast says nothing of the way
    # the usual delay: as TCP keeps its round-trip time, a stall counting for no more than twice it
    rate = max(1 / 64, 1 / (gw[EVENTS] + 1))
    if gw[EVENTS] > 16 and gr[USUAL] > 0:
        delay = min(delay, 2 * gr[USUAL])
    gr[LEVEL] += (delay - gr[LEVEL]) * rate
    gr[SPREAD] += (abs(delay - gr[LEVEL]) - gr[SPREAD]) * rate
    gr[USUAL] = gr[LEVEL] + 2 * gr[SPREAD]


@njit(cache=True)
def threshold_at(
    now: Int64, whole: Int64, real: Float64, group_whole: Int64, group_real: Float64,
    members: Int64, starts: Int64, sizes: Int64, keys: Int64,
    warmup: int, first_timeout: int, join_guard: int,
    theta: Int64, why: Int64, whom: Int64, value: Int64,
) -> None:
    """What time alone has reached for each group; changes nothing."""
    tops, edges, idle = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    for g in range(len(theta)):
        gw, gr = group_whole[g], group_real[g]
        if now[g] == NEVER:
            theta[g] = NEVER
            continue
        clock = max(now[g], gw[NOW])
        tops[:], edges[:], idle[:] = -1, FAR, FAR
        for p in range(starts[g], starts[g] + sizes[g]):
            s = members[p]
            kind = whole[s, KIND]
            key = keys[kind, s]
            if key == FAR:
                continue
            if clock - whole[s, SEEN] > _limit(whole[s], real[s], gr):
                idle[kind] = min(idle[kind], key)
            elif key < edges[kind] or (key == edges[kind] and s < tops[kind]):
                edges[kind], tops[kind] = key, s
        gone = 1 if idle[DENSE] < edges[DENSE] or idle[SPARSE] < edges[SPARSE] else 0
        longest_wait = np.int64(np.ceil(max(gr[TIMEOUT + DENSE], gr[TIMEOUT + SPARSE])))
        by_sources, top, gave_up = _reach(edges, tops, clock, gr)
        whom[g] = top
        state = held_back(gw, gr, clock, warmup, first_timeout)
        if state != CAUGHT_UP:
            theta[g] = clock - longest_wait
            why[g], value[g] = state, gw[MISSING]
            continue
        usual = min(np.int64(gr[USUAL]), longest_wait)
        ceiling = clock - (usual if guarded(gw, gone, join_guard) else 0)
        theta[g] = min(by_sources, ceiling)
        if ceiling < by_sources:
            why[g], value[g] = GUARD, usual
        elif gave_up:
            why[g], value[g] = SILENT, clock - whole[top, SEEN]
            if whole[top, GAP_TIME] != NEVER:
                why[g], value[g] = SEQUENCE_GAP, whole[top, EXPECTED]
        else:
            why[g], value[g] = CAUGHT_UP, np.int64(0)
