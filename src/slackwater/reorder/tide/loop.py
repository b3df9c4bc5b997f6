"""The compiled loop of `Tide`: thresholds, arrival by arrival, and by time alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.release import Walk, advance_to, take
from slackwater.reorder.tide.account import (
    SETTLED,
    STRETCH,
    WARM_UP,
    count_row,
    learn_group,
    learn_longest,
    settle,
)
from slackwater.reorder.tide.control import (
    allow,
    answer,
    answer_for_stranger,
    binder_code,
    patience_of,
    pay,
    stranger_reach,
    wait_for,
)
from slackwater.reorder.tide.heap import top_of, update
from slackwater.reorder.tide.plain import (
    behind,
    choose,
    learn_buffer,
    note_top,
    plain_threshold,
)
from slackwater.reorder.tide.source import (
    MISSED,
    edge_of,
    is_old,
    learn_delay,
    learn_gap,
    learn_silence,
    move_on,
    overdue,
    queued,
    reach_of,
)
from slackwater.reorder.tide.state import (
    ABSENT,
    AHEAD,
    FAR,
    NEVER,
    NOBODY,
    OVERDUE,
    STRANGERS,
    Records,
)

__all__ = ["run", "threshold_at"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

# why an event left when it did, and why another is late: what the words of explain.py are made of
CAUGHT_UP, SILENT, SEQUENCE_GAP, MEETING, UNHEARD, UNKNOWN, CUT, PLAIN = range(8)
BEHIND, NEW, BACK, SLOW, SWAPPED, EARLY, ODD = range(7)

_MEET = 30        # at most so many rows are held back at the start (per declared source) …
_LULL = 100       # … or all is silent for so many times the greatest delay or gap that is known
_TIMES = 3        # … until so many times as many rows as sources have come
_GUARD = 0.1      # a stranger is expected for so many / loss rows after the last one
_SILENCES = 3.0   # a source is absent after so many times its longest silence,
_REACHES = 4.0    # and so many times its reach
_WRONG = 1000.0   # a clock is wrong if it is off by so many times the usual spread,
_BACK = 10.0      # (of a source that was right before: a tenth of that, behind its own frontier)
_GAPS = 30.0      # and so many times the mean time between arrivals,
_STEADY = 30.0    # and a delay like that comes again, within this part of it,
_ALONE = 0.5      # and not behind the one before: what is sent at once has the same delay anyhow
_MINORITY = 3     # unless it is more than one source in so many
_RATE = 1 / 256   # of the mean time between arrivals


@njit(cache=True)
def _note(changed: Int64, source: int) -> None:
    """Note that a source has changed: `changed` is how many, who, and then a flag for each."""
    flags = len(changed) // 2
    if changed[flags + source] == 0:
        changed[flags + source] = 1
        changed[0] += 1
        changed[changed[0]] = source


@njit(cache=True)
def _is_absent(s: Records, g: Records, now: int, reach: int) -> bool:
    return bool(now - s.seen > max(_SILENCES * s.longest, _REACHES * (reach - g.least)))


@njit(cache=True)
def _overdue_reach(s: Records, g: Records, loss: float) -> int:
    """The reach of an overdue source: it follows its patience down, never up.

    So its bound never goes back as time passes, and time that passes in one step or in many
    releases the same.  It stays where the silence itself tells that events are held up: those
    would be late if the wait for them were cut short by its own cost.
    """
    if g.rows >= WARM_UP / loss and s.reach - s.least > MISSED * s.gap:
        return int(s.reach)
    return int(min(s.reach, reach_of(s, wait_for(g, s))))


@njit(cache=True)
def _is_lull(g: Records, silence: int) -> bool:
    """Whether such a silence ends the meeting: nobody else seems to be about."""
    return silence > _LULL * (abs(g.least) + g.spread + g.gap)


@njit(cache=True)
def _limits(g: Records, now: int, lull: bool, loss: float, alone: bool,
            start: float) -> tuple[int, int]:
    """The bound that strangers set, and why."""
    if g.turns < min(_MEET, _TIMES * g.met) and not lull:
        return NEVER, MEETING
    if g.missing > 0 and g.turns < _MEET * (g.met + g.missing):
        return now - stranger_reach(g, start, loss), UNHEARD
    if not alone and g.turns - g.joined <= _GUARD / loss:
        return now - stranger_reach(g, g.stranger, loss), UNKNOWN
    return int(FAR), CAUGHT_UP


@njit(cache=True)
def _least_bound(g: Records, sources: Records, now: int, heap: Int64, place: Int64, start: int,
                 size: int, keys: Int64, changed: Int64, loss: float) -> tuple[int, int, bool]:
    """The least bound of all sources that are waited for, whose it is, and whether by the clock.

    Sources ahead stand in a heap by edge, overdue ones in a heap by reach.
    """
    first = top_of(heap[0], start, keys[0])
    while first >= 0 and overdue(sources[first], now):
        sources[first].status = OVERDUE
        _note(changed, first)
        update(heap[0], place[0], start, size, keys[0], first, FAR)
        update(heap[1], place[1], start, size, keys[1], first, -sources[first].reach)
        first = top_of(heap[0], start, keys[0])
    last = top_of(heap[1], start, keys[1])
    while last >= 0:
        s = sources[last]
        reach = _overdue_reach(s, g, loss)
        if _is_absent(s, g, now, reach):
            s.status = ABSENT
            _note(changed, last)
            update(heap[1], place[1], start, size, keys[1], last, FAR)
        elif reach < s.reach:
            s.reach = reach
            _note(changed, last)
            update(heap[1], place[1], start, size, keys[1], last, -reach)
        else:
            break
        last = top_of(heap[1], start, keys[1])
    by_edge = keys[0, first] if first >= 0 else FAR
    if last >= 0 and now - sources[last].reach < by_edge:
        return int(now - sources[last].reach), last, True
    return int(by_edge), first, False


@njit(cache=True)
def _threshold(g: Records, sources: Records, now: int, lull: bool, least: int, who: int,
               by_clock: bool, loss: float, alone: bool, start_patience: float, longest: float
               ) -> tuple[int, int, int, int]:
    """The threshold, who binds, why, and the source that is to be named."""
    by_strangers, why = _limits(g, now, lull, loss, alone, start_patience)
    theta, binder, whom = least, NOBODY, who
    if least >= FAR:  # nobody is waited for: an unknown source may come as late as any
        theta = now - stranger_reach(g, g.stranger, loss)
        why = UNKNOWN if why == CAUGHT_UP else why
    if by_strangers < theta or least >= FAR:
        theta, whom = min(theta, by_strangers), -1
        if why == UNKNOWN:
            binder = STRANGERS
    else:
        # what swaps places waits by its patience, as what is overdue does
        binder = binder_code(who, by_clock or sources[who].swap > 0)
        why = SILENT if by_clock else CAUGHT_UP
        if sources[who].gap_time != NEVER:
            why = SEQUENCE_GAP
    if longest >= 0 and why != MEETING and theta < now - g.least - longest:
        theta = now - g.least - longest
        why, binder = CUT, NOBODY
    if theta >= g.top:
        binder = NOBODY  # nothing waits
    return int(theta), binder, why, whom


@njit(cache=True, _nrt=False)  # to count references to all these arrays takes longer than the rest
def run(
    walk: Walk, time: Int64, arrival: Int64, group: Int64, source: Int64, sequence: Int64,
    declared: Bool, sources: Records, groups: Records, kept: Int64, heap: Int64, place: Int64,
    starts: Int64, sizes: Int64, keys: Int64, changed: Int64, loss: float, start_patience: float,
    longest: float, alone: bool, buffer: Float64, thresholds: Int64, why: Int64, whom: Int64,
    value: Int64, late_why: Int64, late_value: Int64,
) -> None:
    """Set a threshold for every arrival, release by it, judge the arrival, and learn from it."""
    for j in range(len(time)):
        gi, si, t = group[j], source[j], time[j]
        g, s, tops = groups[gi], sources[si], kept[gi]
        begin, size = starts[gi], sizes[gi]

        # 1. what is known before this instant
        theta, whom[j] = g.theta, -1
        thresholds[j] = theta
        turn = arrival[j] > g.now or si != g.last
        if arrival[j] > g.now:
            old, g.now = g.now, arrival[j]
            g.before, g.instant = g.top, t
            if g.rows > 0:
                note_top(tops, g.top, g.buffer)
                passed = float(g.now - old)
                lull = _is_lull(g, g.now - old)
                if g.rows > _MEET and g.gap == 0:
                    g.gap = passed  # the first one: all rows so far came at once
                usual = passed if g.rows <= _MEET else min(passed, 4 * g.gap)
                g.gap += (usual - g.gap) * max(_RATE, 1.0 / (g.rows + 1))
                least, who, by_clock = _least_bound(g, sources, g.now, heap, place, begin, size,
                                                    keys, changed, loss)
                theta, g.binder, why[j], whom[j] = _threshold(
                    g, sources, g.now, lull, least, who, by_clock, loss, alone,
                    start_patience, longest)
                plain = plain_threshold(g, g.now)
                if g.plain == 0:
                    g.mark_buffer = max(g.mark_buffer, behind(tops, plain))
                else:
                    g.mark_sources = max(g.mark_sources, behind(tops, theta))
                    theta, why[j] = _plain(g, plain, longest)
                    whom[j] = -1
                thresholds[j] = theta
                theta = min(theta, g.top)  # beyond it there is nothing to release
                g.theta = theta
                value[j] = _worth(g, sources, why[j], whom[j], g.now)
        else:
            # what came in one instant came together: none of it leaves before all is there
            theta = min(theta, g.instant - 1)
            g.instant = min(g.instant, t)
        now = g.now
        advance_to(walk, walk.of[j], theta, j, j)

        # 2. the event itself
        late_by = take(walk, j)
        g.rows += 1
        g.turns += 1 if turn else 0
        g.last = si
        delay = now - t
        excess = float(delay) - g.least
        limit = max(_WRONG * g.spread, _GAPS * g.gap)
        if g.rows == SETTLED:
            settle(g, sources, limit, start_patience)
        odd = _is_odd(g, s, t, excess, limit)
        weight = 1.0 - queued(s, t, now)
        again = odd and s.delay != NEVER and (
            s.odd == 1 or (now > s.seen and weight > _ALONE
                           and abs(delay - s.delay) <= excess / _STEADY))
        if again != (s.odd == 1):
            g.odd += 1 if again else -1
            s.odd = 1 if again else 0
        stranger = s.status == ABSENT
        if late_by > 0:
            late_why[j], late_value[j] = _excuse(s, stranger, odd, t, delay, now)
        if s.delay == NEVER:
            g.met += 1
            if declared[j]:
                g.missing = max(g.missing - 1, 0)
        g.top = max(g.top, t)
        if again:
            g.odd_rows += 1
            s.delay, s.seen = delay, now
            if s.status != ABSENT and s.least - g.least > limit:
                _place(s, ABSENT, si, heap, place, begin, size, keys)
            buffer[j] = float(now - g.theta) if g.theta != NEVER else 0.0
            continue

        # 3. the controller
        if stranger:
            g.joined = g.turns
        late = late_by > 0
        late_sources = t < g.mark_sources if g.plain == 1 else late
        late_buffer = late if g.plain == 1 else t < g.mark_buffer
        count_row(g, late, late_sources, late_buffer, t < g.before, loss)
        learn_longest(g, excess, odd, loss)
        learn_buffer(g, tops, t, late_buffer, odd, loss)
        paid = pay(g, sources, loss)
        if paid >= 0:
            _note(changed, paid)
        if late_sources:
            if longest >= 0 and excess > longest:
                g.cut += 1
            elif stranger:
                answer_for_stranger(g, float(delay))
            else:
                answer(g, s, t, float(delay))

        # 4. what it teaches
        if odd:
            s.delay, s.seen = delay, now
        else:
            learn_group(g, float(delay))
            learn_delay(s, float(delay), g.spread, weight)
            # nobody waits for copies, unless too many of them are late
            if s.frontier != NEVER and (g.debt_sources > STRETCH or not is_old(s, t, sequence[j])):
                learn_gap(s, float(t - s.frontier), weight)
            learn_silence(s, now)
            move_on(s, t, sequence[j], g.theta)
            s.delay = delay
            s.count += 1
            allow(g, s, loss)
            s.edge = edge_of(s, patience_of(g, s.patience))
            s.reach = reach_of(s, wait_for(g, s))
            _place(s, AHEAD, si, heap, place, begin, size, keys)
        known = _known_now(g, sources, now, heap, begin, keys, loss, alone, start_patience, longest)
        choose(g, excess, max(float(t - known), 0.0) if known != NEVER else 0.0, loss)
        if g.plain == 1:
            known = _plain(g, plain_threshold(g, now), longest)[0]
        buffer[j] = float(now - known) if known != NEVER else 0.0


@njit(cache=True)
def _plain(g: Records, plain: int, longest: float) -> tuple[int, int]:
    """The threshold that the plain buffer sets, and why."""
    if longest >= 0 and g.buffer > longest:
        return int(plain + np.int64(g.buffer - longest)), CUT
    return plain, PLAIN


@njit(cache=True)
def _is_odd(g: Records, s: Records, t: int, excess: float, limit: float) -> bool:
    """Whether an event is so far off that a clock must be wrong, or a backlog be sent."""
    if g.rows <= _MEET or _MINORITY * (g.odd + 1 - s.odd) > g.met:
        return False
    if s.frontier == NEVER:
        return bool(excess > limit)
    if s.odd == 1 and t < s.frontier:
        return True  # a backlog that has not caught up
    # one whose clock is wrong is so now, too: what began with a backlog has caught up
    return bool(t < s.frontier - limit / _BACK or min(s.least - g.least, excess) > limit)


@njit(cache=True)
def _place(s: Records, status: int, at: int, heap: Int64, place: Int64, start: int, size: int,
           keys: Int64) -> None:
    """Put a source where it belongs."""
    if s.status == OVERDUE:
        update(heap[1], place[1], start, size, keys[1], at, FAR)
    if status == AHEAD:
        update(heap[0], place[0], start, size, keys[0], at, s.edge)
    elif s.status == AHEAD:
        update(heap[0], place[0], start, size, keys[0], at, FAR)
    s.status = status


@njit(cache=True)
def _known_now(g: Records, sources: Records, now: int, heap: Int64, start: int, keys: Int64,
               loss: float, alone: bool, start_patience: float, longest: float) -> int:
    """The threshold at once after this arrival, as far as the tops of the heaps tell."""
    first, last = top_of(heap[0], start, keys[0]), top_of(heap[1], start, keys[1])
    least, who, by_clock = int(FAR), -1, False
    if first >= 0:
        s = sources[first]
        least, who = int(max(s.edge, now - s.reach) if overdue(s, now) else s.edge), first
    if last >= 0 and now - sources[last].reach < least:
        least, who, by_clock = int(now - sources[last].reach), last, True
    return _threshold(g, sources, now, False, least, who, by_clock, loss, alone, start_patience,
                      longest)[0]


@njit(cache=True)
def _worth(g: Records, sources: Records, why: int, whom: int, now: int) -> int:
    """The number that goes with a reason."""
    if why == SILENT:
        return int(now - sources[whom].seen)
    if why == SEQUENCE_GAP:
        return int(sources[whom].expected)
    if why == UNHEARD:
        return int(g.missing)
    return int(now - g.theta) if g.theta != NEVER else 0


@njit(cache=True)
def _excuse(s: Records, stranger: bool, odd: bool, t: int, delay: int, now: int) -> tuple[int, int]:
    """Why this event is late."""
    if odd:
        return ODD, delay
    if s.seen == NEVER:
        return NEW, delay
    if stranger:
        return BACK, now - s.seen
    if delay > s.reach:
        return SLOW, delay
    if t < s.frontier:
        return SWAPPED, s.frontier - t
    if t < s.edge:
        return EARLY, s.edge - t
    return BEHIND, 0


@njit(cache=True, _nrt=False)
def threshold_at(
    now: Int64, of: Int64, sources: Records, groups: Records, loss: float, start_patience: float,
    longest: float, alone: bool, theta: Int64, why: Int64, whom: Int64, value: Int64,
) -> None:
    """What time alone has reached for each of the groups `of`; changes nothing."""
    for gi in range(len(of)):
        g = groups[of[gi]]
        theta[gi], whom[gi] = NEVER, -1
        if g.rows == 0:
            continue
        if now[gi] <= g.now:  # more may come in this instant
            theta[gi] = min(g.theta, g.instant - 1)
            continue
        clock = now[gi]
        least, who, by_clock = int(FAR), -1, False
        at = g.first
        while at >= 0:
            s, this = sources[at], at
            at = s.after
            if s.status == ABSENT:
                continue
            bound, late = s.edge, s.status == OVERDUE or overdue(s, clock)
            if late:
                reach = _overdue_reach(s, g, loss)
                if _is_absent(s, g, clock, reach):
                    continue
                bound = clock - reach
            # of equals the first row: what order the list has tells nothing
            if bound < least or (bound == least and this < who):
                least, who, by_clock = bound, this, late
        theta[gi], _, why[gi], whom[gi] = _threshold(
            g, sources, clock, _is_lull(g, clock - g.now), least, who, by_clock, loss, alone,
            start_patience, longest)
        if g.plain == 1:
            theta[gi], why[gi] = _plain(g, plain_threshold(g, clock), longest)
            whom[gi] = -1
        value[gi] = _worth(g, sources, why[gi], whom[gi], clock)
