"""The compiled loop of `Tide`: thresholds, arrival by arrival, and by time alone."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slackwater.reorder.tide_heap import heapify, top_of, update
from slackwater.reorder.tide_source import (
    follow_silence,
    foretold,
    frontier,
    idle_after,
    is_from_before,
    is_old,
    learn_gap,
    move_on,
)
from slackwater.reorder.tide_state import (
    ABSENT,
    BEFORE,
    COUNT,
    DEBT,
    DECIDES,
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
    SPREAD,
    START,
    STATUS,
    STRANGER,
    TIMEOUT,
    TOP,
    USUAL,
    WARMING,
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
_MARGIN = 1.25   # the timeout comes down to this many times the greatest delay of late
_STEADY = 8      # a stranger that keeps coming late is waited for after so many events


@njit(cache=True)
def guarded(whole: Int64, gone: int, join_guard: int) -> bool:
    """Whether a newcomer, or one coming back, is to be expected: then wait the usual delay."""
    return bool(whole[ABSENT] + whole[MISSING] + gone > 0
                or whole[EVENTS] - whole[JOINED] < join_guard)


@njit(cache=True)
def _limit(real: Float64, gr: Float64) -> float:
    return float(idle_after(real, gr[TIMEOUT], gr[PATIENCE]))


@njit(cache=True)
def _aim(gr: Float64) -> float:
    """What the timeout comes down to: a little above the greatest delay of late."""
    return float(_MARGIN * max(gr[MOST], gr[BEFORE]))


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
    time: Int64, arrival: Int64, group: Int64, source: Int64, sequence: Int64, declared: Int64,
    whole: Int64, real: Float64, group_whole: Int64, group_real: Float64,
    heap: Int64, place: Int64, starts: Int64, sizes: Int64, keys: Int64, built: Int64,
    loss: float, block: int, warmup: int, first_timeout: int, longest: float, join_guard: int,
    theta: Int64, buffer: Float64, why: Int64, whom: Int64, value: Int64, late_why: Int64,
    late_value: Int64, late_timeout: Int64,
) -> None:
    """Set a threshold, and why, for every arrival."""
    for j in range(len(time)):
        g, s, t = group[j], source[j], time[j]
        gw, gr, sw, sr = group_whole[g], group_real[g], whole[s], real[s]
        if gw[EVENTS] == 0:
            gw[START] = arrival[j]
        passed = float(max(arrival[j] - gw[NOW], 0)) if gw[NOW] != NEVER else 0.0
        now = gw[NOW] = max(gw[NOW], arrival[j])
        if not built[g]:
            heapify(heap, place, starts[g], sizes[g], keys)
            built[g] = 1

        # 1. what time has brought about since the arrival before
        top = top_of(heap, starts[g], keys)
        while top >= 0 and now - whole[top, SEEN] > _limit(real[top], gr):
            whole[top, STATUS] = IDLE
            whole[top, RUN] = 0
            whole[top, FAILURES] += 1 - whole[top, FAILED]
            whole[top, FAILED] = 1
            gw[ABSENT] += 1
            update(heap, place, starts[g], sizes[g], keys, top, FAR)
            top = top_of(heap, starts[g], keys)
        by_timeout = now - np.int64(np.ceil(gr[TIMEOUT]))
        state = held_back(gw, gr, now, warmup, first_timeout)
        if gw[WARMING] and state != WARM_UP:
            gw[WARMING] = 0
        usual = np.int64(min(gr[USUAL], gr[TIMEOUT]))
        ceiling = now - (usual if guarded(gw, 0, join_guard) else 0)
        edge = keys[top] if top >= 0 else FAR
        by_sources = min(edge, ceiling) if state == CAUGHT_UP else NEVER
        binding = state == CAUGHT_UP and by_timeout > by_sources
        # a stall lets a timeout decide for a while, sources without rhythm do so all the time
        tempted = state == CAUGHT_UP and by_sources < now - _aim(gr)
        share = 1.0 if tempted else 0.0
        gr[DECIDES] += (share - gr[DECIDES]) * -np.expm1(-passed / (2 * gr[TIMEOUT] + 1))
        theta[j] = max(by_timeout, by_sources)
        whom[j] = top
        if state != CAUGHT_UP:
            why[j], value[j] = state, gw[MISSING]
        elif binding:
            _blame(top, whole, now, why, value, j)
        elif ceiling < edge:
            why[j], value[j] = GUARD, usual
        else:
            why[j] = CAUGHT_UP

        # 2. the event itself
        known = max(gw[PROMISE], theta[j])
        late = t < min(known, gw[TOP])
        gw[PROMISE] = known
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
        live = not hopeless and (was == LIVE or _admit(sw, gw, t, now, known))
        if was == IDLE and late and not hopeless and sw[RUN] <= 1:
            # not quiet, but cut off: such silences are to be sat out
            grown = min(1.5 * float(away), 2 * _limit(sr, gr))
            gr[PATIENCE] = max(gr[PATIENCE], min(grown, 2 * longest))
        late_why[j], late_value[j] = _excuse(sw, sr, was, t, delay, away, gr[TIMEOUT],
                                                hopeless)
        late_timeout[j] = np.int64(gr[TIMEOUT])
        if live:
            if was != LIVE:
                sw[STATUS] = LIVE
                if sw[COUNT] > 0:
                    gw[ABSENT] -= 1
            follow_silence(sw, sr, now, _limit(sr, gr))
            sw[COUNT] += 1
            if sw[FRONTIER] != NEVER and not is_old(sw, t, sequence[j]):
                learn_gap(sw, sr, float(t - sw[FRONTIER]), gr[DEBT] <= 0, gr[DEBT] > _STRICT)
            move_on(sw, t, sequence[j], by_timeout)
            update(heap, place, starts[g], sizes[g], keys, s, frontier(sw, sr))
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
            after = top_of(heap, starts[g], keys)
            edge = min(keys[after] if after >= 0 else FAR, ceiling)
            if min(edge, t) > theta[j]:
                theta[j] = min(edge, t)
                why[j], whom[j] = CAUGHT_UP, s
                gw[PROMISE] = max(gw[PROMISE], theta[j])

        # 4. the controller; strangers, and those that come back, are nobody's fault
        if (was == LIVE and not hopeless) or (live and not late):
            _control(gr, gw, float(delay), late, tempted, loss, block, longest)
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
def _admit(sw: Int64, gw: Int64, t: int, now: int, known: int) -> bool:
    """Whether a source that is not live becomes so.

    At once if its event is not behind the watermark.  Else once it has kept up for a while: a
    backlog runs through the past faster than time, a slow source does not.
    """
    if t >= min(known, gw[TOP]):
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
def _control(gr: Float64, gw: Int64, delay: float, late: bool, tempted: bool, loss: float,
             block: int, longest: float) -> None:
    """Keep the share of late events at the target.

    The debt is what adaptive conformal inference adds up: late events minus the target.  While it
    is not paid back nothing gets bolder; a late event makes the timeout longer at once.  Where the
    timeout does not decide it costs nothing, so it comes down only while it would decide half of
    the time.
    """
    calm = gr[DEBT] <= 0
    gr[DEBT] = max(gr[DEBT] + (1.0 if late else 0.0) - loss, -_CREDIT)
    gr[MOST] = max(gr[MOST], delay)
    if late and delay > gr[TIMEOUT]:
        grown = max(_GROW * gr[TIMEOUT], min(_GROW * delay, _LEAP * gr[TIMEOUT]))
        gr[TIMEOUT] = min(max(grown, 1000.0), longest)
    elif tempted and calm and gr[DECIDES] > 0.5:
        gr[TIMEOUT] -= max(gr[TIMEOUT] - _aim(gr), 0.0) * 4.0 / block
    gr[PATIENCE] *= 1 - 0.1 / block
    gw[FILLED] += 1
    if gw[FILLED] >= block:
        gw[FILLED] = 0
        gr[BEFORE], gr[MOST] = gr[MOST], 0.0
    # the usual delay: as TCP keeps its round-trip time, a stall counting for no more than twice it
    rate = max(1 / 64, 1 / (gw[EVENTS] + 1))
    size = max(delay, 0.0)
    if gw[EVENTS] > 16:
        size = min(size, 2 * gr[USUAL])
    gr[LEVEL] += (size - gr[LEVEL]) * rate
    gr[SPREAD] += (abs(size - gr[LEVEL]) - gr[SPREAD]) * rate
    gr[USUAL] = gr[LEVEL] + 2 * gr[SPREAD]


@njit(cache=True)
def threshold_at(
    now: Int64, whole: Int64, real: Float64, group_whole: Int64, group_real: Float64,
    members: Int64, starts: Int64, sizes: Int64, keys: Int64,
    warmup: int, first_timeout: int, join_guard: int,
    theta: Int64, why: Int64, whom: Int64, value: Int64,
) -> None:
    """What time alone has reached for each group; changes nothing."""
    for g in range(len(theta)):
        gw, gr = group_whole[g], group_real[g]
        if now[g] == NEVER:
            theta[g] = NEVER
            continue
        clock = max(now[g], gw[NOW])
        edge, top, first_idle = FAR, -1, FAR
        for p in range(starts[g], starts[g] + sizes[g]):
            s = members[p]
            if keys[s] == FAR:
                continue
            if clock - whole[s, SEEN] > _limit(real[s], gr):
                first_idle = min(first_idle, keys[s])
            elif keys[s] < edge or (keys[s] == edge and s < top):
                edge, top = keys[s], s
        theta[g] = by_timeout = clock - np.int64(np.ceil(gr[TIMEOUT]))
        whom[g], why[g], value[g] = top, SILENT, 0
        state = held_back(gw, gr, clock, warmup, first_timeout)
        if state != CAUGHT_UP:
            why[g], value[g] = state, gw[MISSING]
            continue
        usual = np.int64(min(gr[USUAL], gr[TIMEOUT]))
        ceiling = clock - (usual if guarded(gw, 1 if first_idle < edge else 0, join_guard) else 0)
        by_sources = min(edge, ceiling)
        if by_timeout > by_sources:
            if top >= 0:
                value[g] = clock - whole[top, SEEN]
                if whole[top, GAP_TIME] != NEVER:
                    why[g], value[g] = SEQUENCE_GAP, whole[top, EXPECTED]
            continue
        theta[g] = by_sources
        why[g], value[g] = (GUARD, usual) if ceiling < edge else (CAUGHT_UP, np.int64(0))
