"""One block of base tuples against sorted targets, by any of the paper's algorithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.correlate.bounds import Task, base_bounds
from slackwater.correlate.distribution import UNIFORM
from slackwater.correlate.lazy import by_regions
from slackwater.correlate.lookup import by_lookup, in_base_order
from slackwater.correlate.pairs import Pairs, room
from slackwater.correlate.predicate import OPEN
from slackwater.correlate.regions import Targets, regions
from slackwater.correlate.simple import simple

__all__ = ["ALGORITHMS", "COUNTERS", "arrange", "check_algorithm", "match"]

Int64 = NDArray[np.int64]
ALGORITHMS = ("simple", "simple-sort", "eager", "lazy", "lazy-lookup")
COUNTERS = ("probes", "lookup_hits", "taken_unseen")


def arrange(key: Int64, first: Int64, last: Int64, keys: int, *,
            stable: bool = True) -> tuple[Targets, Int64]:
    """Sort targets by key and latest time; also where each one came from.

    A stable sort leaves ties as they came, which for rows in order of arrival makes the result
    independent of cuts, and costs next to nothing for nearly sorted input.  For a shuffled table
    the other sort is faster.
    """
    if keys == 1:
        order = np.argsort(last, kind="stable") if stable else _order(last)
        starts = np.array([0, len(last)])
    else:
        order = np.lexsort((last, key))
        starts = np.zeros(keys + 1, np.int64)
        np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    return Targets(first[order], last[order], starts), order


def _order(last: Int64) -> Int64:
    """Positions by time: times and positions are sorted as one number where they fit into one."""
    bits = max(len(last) - 1, 1).bit_length()
    if not len(last) or int(last.max()) - int(last.min()) >= 1 << (63 - bits):
        return np.argsort(last)
    both = ((last - last.min()) << bits) | np.arange(len(last))
    both.sort()
    return both & ((1 << bits) - 1)


def check_algorithm(name: str) -> None:
    """Refuse a name that is none of the five."""
    if name not in ALGORITHMS:
        raise ConfigError(f"there is no algorithm {name!r}", step="correlate",
                          expected=", ".join(ALGORITHMS), hint=did_you_mean(name, ALGORITHMS))


def match(algorithm: str, key: Int64, first: Int64, last: Int64, targets: Targets, task: Task,
          all_p: bool, counters: Int64, *, probabilities: bool = True) -> Pairs:
    """The pairs of base tuples and targets that satisfy the condition, grouped by base.

    `probabilities`: whether anybody reads them; to write them costs as much as the rest.
    """
    n = len(first)
    if n == 0 or len(targets.last) == 0:
        return room(0)
    if algorithm in ("simple", "simple-sort"):
        pairs, count = simple(key, first, last, targets, task, room(1024), 0, counters)
        return Pairs(*(column[:count] for column in pairs))
    lengths = targets.last - targets.first
    rho, pi = int(lengths.min()), int(lengths.max())
    found = regions(key, base_bounds(first, last, rho, pi, task), targets)
    lookup = algorithm == "lazy-lookup"
    uniform = task.base.kind == UNIFORM and task.target.kind == UNIFORM
    pairs = room(int((found.d - found.a).sum()), probabilities or lookup or not uniform)
    narrow = (task.lo != -OPEN and task.hi != OPEN
              and task.hi - task.lo < int((last - first).max()) + pi)
    if lookup and not narrow:
        order = np.argsort(last, kind="stable")
        pairs, count = by_lookup(first, last, order, targets, found, task, all_p, pairs, 0,
                                 counters)
        return in_base_order(pairs, count, n)
    pairs, count = by_regions(first, last, targets, found, task, all_p, pairs, 0, counters)
    return Pairs(*(column[:count] for column in pairs))
