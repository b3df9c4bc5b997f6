"""One block of base tuples against sorted targets, by any of the paper's algorithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.state.order import order_of
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


def arrange(key: Int64, first: Int64, last: Int64, keys: int) -> tuple[Targets, Int64]:
    """Sort targets by key and latest time; also where each one came from.

    Ties stay as they came, so for rows in order of arrival the result does not depend on cuts.
    """
    order, starts = order_of(last), np.array([0, len(last)])
    if keys > 1:
        order = order[np.argsort(key[order], kind="stable")]
        starts = np.zeros(keys + 1, np.int64)
        np.cumsum(np.bincount(key, minlength=keys), out=starts[1:])
    return Targets(first[order], last[order], starts), order


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
    limits = base_bounds(first, last, rho, pi, task)
    found = regions(key, limits, targets)
    lookup = algorithm == "lazy-lookup"
    uniform = task.base.kind == UNIFORM and task.target.kind == UNIFORM
    pairs = room(int((found.d - found.a).sum()), probabilities or lookup or not uniform)
    narrow = (task.lo != -OPEN and task.hi != OPEN
              and task.hi - task.lo < int((last - first).max()) + pi)
    # nor does a base answer for others where the horizon leaves nothing certain of an open end
    if lookup and not narrow and (limits.L_L <= limits.R_L).all():
        order = np.argsort(last, kind="stable")
        pairs, count = by_lookup(first, last, order, targets, found, task, all_p, pairs, 0,
                                 counters)
        return in_base_order(pairs, count, n)
    pairs, count = by_regions(first, last, targets, found, task, all_p, pairs, 0, counters)
    return Pairs(*(column[:count] for column in pairs))
