"""AFTER MATCH SKIP: after a match, where the next one may begin.

The matches of a partition are gone through in the order of their first events; of those that begin
together, that which ends first comes first (then: the earlier events, more events in the earlier
variables, the smaller id).  A match stands if its first event is not before the *point* that the
last standing match has set.  Nothing that comes later can change that once the watermark has passed
the window after its first event, for then every match that begins so early is known.

With final output a match is judged then.  With eager output the candidates are judged after every
change, and the differences are emitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.finality import Matches, with_ends
from slackwater.pattern.live import Live

__all__ = ["SKIP_TO", "Candidate", "Skip", "Skipper"]

Int64 = NDArray[np.int64]
Place = tuple[int, int]  # time, sequence
SKIP_TO = ("past_last", "next", "first", "last")


@dataclass(frozen=True)
class Skip:
    """Where the next match may begin, after one that stands.

    `to` is ``"past_last"`` (behind its last event), ``"next"`` (behind its first event),
    ``"first"`` or ``"last"`` (at the first or last event of `component`; where that is the match's
    own first event, or there is none, nothing is skipped).
    """

    to: str
    component: int = 0


@dataclass(frozen=True)
class Candidate:
    """A match by the arrival numbers of its events, with what orders it among others."""

    events: tuple[int, ...]
    counts: tuple[int, ...]
    order: tuple[Any, ...] = field(compare=False)
    head: Place = field(compare=False)
    point: int = field(compare=False)  # arrival number of the event it skips to
    over: bool = field(compare=False)  # behind that event, not at it


@dataclass
class _Group:
    """The candidates of a partition that are not decided, and those that stand so far."""

    candidates: dict[Candidate, None] = field(default_factory=dict)
    told: dict[Candidate, None] = field(default_factory=dict)


class Skipper:
    """Judges candidates; `points` (arrival number, behind it?) is all that must be remembered."""

    def __init__(self, skip: Skip, m: int, window: int) -> None:
        self._skip, self._m, self._window = skip, m, window
        self.points: list[tuple[int, bool]] = []
        self._groups: dict[int, _Group] = {}  # by partition
        self._decided: list[Candidate] = []  # in the last step: matches that stand for good
        self._earlier: dict[int, tuple[Place, bool]] = {}  # the points before them
        self._cleared = 0

    # -- final ----------------------------------------------------------------------------------

    def standing(self, matches: Matches, words: NDArray[np.uint64], live: Live) -> Int64:
        """Of matches that are decided by now: which stand.  Their points are remembered."""
        made = self._made(matches, words, live)
        self._earlier = self._points(live)
        self._decided = kept = self._judged(made, live)
        self._remember(kept, live)
        chosen = set(kept)
        return np.array([i for i, c in enumerate(made) if c in chosen], np.int64)

    # -- eager ----------------------------------------------------------------------------------

    def changes(self, matches: Matches, words: NDArray[np.uint64], live: Live,
                mark: Int64) -> tuple[Matches, Int64]:
        """What changes in the standing matches, with the arrival number that changes it."""
        self._regroup(live)
        made = self._made(matches, words, live)
        out: list[tuple[Candidate, int, int]] = []
        part = live["part"][matches.head]
        order = np.lexsort((matches.trigger, part))
        for i, j in pairwise(np.flatnonzero(np.concatenate(
                [[True], (np.diff(matches.trigger[order]) != 0) | (np.diff(part[order]) != 0),
                 [True]])) if len(order) else []):
            trigger = int(matches.trigger[order[i]])
            group = self._groups.setdefault(int(part[order[i]]), _Group())
            for at in order[i:j]:
                if matches.op[at] > 0:
                    group.candidates[made[at]] = None
                else:
                    del group.candidates[made[at]]
            now = dict.fromkeys(self._judged(list(group.candidates), live))
            out += [(c, -1, trigger) for c in group.told if c not in now]
            out += [(c, 1, trigger) for c in now if c not in group.told]
            group.told = now
        self._decide(live, mark)
        return self._as_matches(out, live)

    def _regroup(self, live: Live) -> None:
        """Partitions may have been numbered anew."""
        if self._cleared == live.cleared:
            return
        old, self._groups, self._cleared = self._groups, {}, live.cleared
        for group in old.values():
            head = next(iter(group.candidates))
            self._groups[int(live["part"][self._row(live, head.events[0])])] = group

    def resume(self, matches: Matches, words: NDArray[np.uint64], live: Live) -> None:
        """After a restart: the candidates that are not decided yet."""
        self._groups, self._cleared = {}, live.cleared
        for c in self._made(matches, words, live):
            part = int(live["part"][self._row(live, c.events[0])])
            self._groups.setdefault(part, _Group()).candidates[c] = None
        for group in self._groups.values():
            group.told = dict.fromkeys(self._judged(list(group.candidates), live))

    def _decide(self, live: Live, mark: Int64) -> None:
        """Forget the candidates whose window has closed, and remember their points."""
        def closed(c: Candidate) -> bool:
            reached = int(mark[live["stream"][self._row(live, c.events[0])]])
            return c.head[0] + self._window < reached

        kept: list[Candidate] = []
        for part, group in list(self._groups.items()):
            for c in [c for c in group.candidates if closed(c)]:
                del group.candidates[c]
                if c in group.told:
                    del group.told[c]
                    kept.append(c)
            if not group.candidates:
                del self._groups[part]
        self._earlier, self._decided = self._points(live), sorted(kept, key=lambda c: c.order)
        self._remember(self._decided, live)

    # -- partial matches ------------------------------------------------------------------------

    def not_skipped(self, heads: Int64, live: Live) -> Int64:
        """Of partial matches that begin with these rows: those whose start no match has skipped.

        Only matches that begin no later can; all of these have been decided when it times out.
        """
        part, points = live["part"], dict(self._earlier)
        kept: list[int] = []
        waiting = [(c.head, int(part[self._row(live, c.events[0])]), c) for c in self._decided]
        for i in sorted(range(len(heads)), key=lambda i: self._place(live, int(heads[i]))):
            head = self._place(live, int(heads[i]))
            while waiting and waiting[0][0] <= head:
                _, where, c = waiting.pop(0)
                points[where] = (self._place(live, self._row(live, c.point)), c.over)
            point = points.get(int(part[heads[i]]))
            if point is None or not (head < point[0] or (point[1] and head == point[0])):
                kept.append(i)
        return np.array(kept, np.int64)

    # -- the rule -------------------------------------------------------------------------------

    def _judged(self, made: list[Candidate], live: Live) -> list[Candidate]:
        """Those that stand, in order."""
        if not made:
            return []
        part, points = live["part"], self._points(live)
        kept = []
        for c in sorted(made, key=lambda c: c.order):
            where = int(part[self._row(live, c.events[0])])
            point = points.get(where)
            if point is not None and (c.head < point[0] or (point[1] and c.head == point[0])):
                continue
            kept.append(c)
            points[where] = (self._place(live, self._row(live, c.point)), c.over)
        return kept

    def _points(self, live: Live) -> dict[int, tuple[Place, bool]]:
        """The greatest point of each partition, out of those that still matter."""
        known: dict[int, tuple[Place, bool]] = {}
        alive = []
        for n, over in self.points:
            row = self._row(live, n)
            if row >= live.rows or live["n"][row] != n:
                continue  # it is outdated, and so is every match that it could keep away
            alive.append((n, over))
            part, point = int(live["part"][row]), (self._place(live, row), over)
            known[part] = max(known.get(part, point), point)
        self.points = alive
        return known

    def _remember(self, kept: list[Candidate], live: Live) -> None:
        last: dict[int, Candidate] = {}
        for c in kept:
            last[int(live["part"][self._row(live, c.events[0])])] = c
        self.points += [(c.point, c.over) for c in last.values()]

    # -- candidates -----------------------------------------------------------------------------

    def _made(self, matches: Matches, words: NDArray[np.uint64], live: Live) -> list[Candidate]:
        begin, n = matches.begin, live["n"]
        return [self._candidate(matches.rows[begin[i]:begin[i + 1]], matches.counts[i],
                                (int(words[0, i]), int(words[1, i])), n, live)
                for i in range(len(matches))]

    def _candidate(self, rows: Int64, counts: Int64, words: tuple[int, int], n: Int64,
                   live: Live) -> Candidate:
        placed = [self._place(live, int(r)) for r in rows]
        places = tuple(sorted(placed))  # a group's events do not stand in their order
        first = placed.index(places[0])
        at = first
        if self._skip.to == "past_last":
            at = placed.index(places[-1])
        elif self._skip.to != "next" and counts[self._skip.component]:
            before = int(counts[: self._skip.component].sum())
            at = before if self._skip.to == "first" else before + int(
                counts[self._skip.component]) - 1
        order = (places[0], places[-1], places, tuple(-int(c) for c in counts), words)
        return Candidate(tuple(int(n[r]) for r in rows), tuple(int(c) for c in counts), order,
                         places[0], int(n[rows[at]]), self._skip.to in ("past_last", "next"))

    @staticmethod
    def _place(live: Live, row: int) -> Place:
        return int(live["time"][row]), int(live["seq"][row])

    @staticmethod
    def _row(live: Live, n: int) -> int:
        return int(np.searchsorted(live["n"], n))

    def _as_matches(self, out: list[tuple[Candidate, int, int]],
                    live: Live) -> tuple[Matches, Int64]:
        rows = np.searchsorted(live["n"], np.array([n for c, _, _ in out for n in c.events],
                                                   np.int64))
        counts = np.array([c.counts for c, _, _ in out], np.int64).reshape(-1, self._m)
        step = np.array([trigger for _, _, trigger in out], np.int64)
        made = Matches(rows, counts, np.array([op for _, op, _ in out], np.int8), step)
        return (with_ends(made, live["time"], live["seq"]) if out else made), step
