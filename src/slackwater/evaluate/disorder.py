"""How disordered is a stream: which events come out of order, and how long one must wait for them.

All functions take events in arrival order, and `key`: events of different keys are streams of their
own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["min_buffer", "out_of_order", "sequence_breaks"]

Int64 = NDArray[np.int64]
_NONE = np.iinfo(np.int64).min


def out_of_order(time: Int64, key: Int64) -> NDArray[np.bool_]:
    """Which events are smaller than the greatest that came before them.

    Examples
    --------
    >>> out_of_order(np.array([1, 5, 3, 5, 4]), np.zeros(5, int)).tolist()
    [False, False, True, False, True]
    """
    return _out_of_order(time, key, _count(key))


def sequence_breaks(sequence: Int64, source: Int64) -> NDArray[np.bool_]:
    """Which events do not carry the number after that of their source's previous arrival.

    This is how the recordings of paper 3 mark disorder by sequence number: one event that comes
    late breaks the sequence up to three times, where it is missing, where it comes, and after it;
    a lost or repeated event breaks it too. A source's first event cannot be judged.

    Examples
    --------
    >>> sequence_breaks(np.array([1, 2, 4, 3, 5]), np.zeros(5, int)).tolist()
    [False, False, True, True, True]
    """
    broken = np.zeros(len(sequence), bool)
    order = np.argsort(source, kind="stable")
    number, of = sequence[order], source[order]
    broken[order[1:]] = (of[1:] == of[:-1]) & (number[1:] != number[:-1] + 1)
    return broken


def min_buffer(time: Int64, arrival: Int64, key: Int64) -> int | None:
    """The greatest wait that an out-of-order event asks for; None if there is no such event.

    For an out-of-order event j that is a_j − t_i, t_i the smallest time greater than t_j that
    arrived before j: any constant buffer time above the greatest of these compensates everything.

    Going back from the last arrival, the times that are still there are a linked list over the
    sorted times, so the neighbour t_i is one step away and each event leaves it in O(1); sorting
    is what it costs.

    Examples
    --------
    >>> min_buffer(np.array([10, 20, 15]), np.array([11, 21, 29]), np.zeros(3, int))
    9

    References
    ----------
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020, section 6 (equation 11).
    """
    if len(time) == 0:
        return None
    order = np.lexsort((time, key))
    wait = _longest_wait(time, arrival, key, order)
    return None if wait == _NONE else int(wait)


def _count(key: Int64) -> int:
    return int(key.max()) + 1 if len(key) else 0


@njit(cache=True)
def _out_of_order(values: Int64, key: Int64, keys: int) -> NDArray[np.bool_]:
    greatest = np.full(keys, _NONE)
    out = np.zeros(len(values), np.bool_)
    for j in range(len(values)):
        k = key[j]
        if values[j] < greatest[k]:
            out[j] = True
        else:
            greatest[k] = values[j]
    return out


@njit(cache=True)
def _longest_wait(time: Int64, arrival: Int64, key: Int64, order: Int64) -> int:
    n = len(order)
    # equal times of a key are one node, which leaves when the last of its events has left
    node, count = np.empty(n, np.int64), np.zeros(n, np.int64)
    of_node, of_key = np.empty(n, np.int64), np.empty(n, np.int64)
    nodes = 0
    for p in range(n):
        i = order[p]
        if p == 0 or time[i] != of_node[nodes - 1] or key[i] != of_key[nodes - 1]:
            of_node[nodes], of_key[nodes] = time[i], key[i]
            nodes += 1
        node[i] = nodes - 1
        count[nodes - 1] += 1
    after, before = np.arange(1, nodes + 1), np.arange(-1, nodes - 1)
    worst = _NONE
    for j in range(n - 1, -1, -1):
        r = node[j]
        a, b = after[r], before[r]
        if a < nodes and of_key[a] == key[j]:
            worst = max(worst, arrival[j] - of_node[a])
        count[r] -= 1
        if count[r] == 0:
            if a < nodes:
                before[a] = b
            if b >= 0:
                after[b] = a
    return worst
