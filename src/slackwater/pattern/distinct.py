"""A match that was found in several ways is one match.

Where a node has two edges to the same component, two walks can take the same events for the same
variables.
"""

from __future__ import annotations

import numpy as np

from slackwater.pattern.construct import MATCHES, ROWS, Found
from slackwater.pattern.stacks import making

__all__ = ["keep_distinct"]


@making
def keep_distinct(found: Found, first: int, at: int, m: int) -> None:
    """Of the matches from `first` on, whose rows begin at `at`, keep each once."""
    count = found.fill[MATCHES] - first
    if count < 2:
        return
    begin = np.empty(count + 1, np.int64)
    mark = np.empty(count, np.int64)
    here = at
    for i in range(count):
        begin[i] = here
        h = np.int64(0)
        for c in range(m):
            n = found.counts[(first + i) * m + c]
            h = h * 1000003 ^ n
            for _ in range(n):
                h = h * 1000003 ^ found.rows[here]
                here += 1
        mark[i] = h
    begin[count] = here
    keep = np.ones(count, np.bool_)
    order = np.argsort(mark)
    for x in range(1, count):
        i = order[x]
        y = x - 1
        while y >= 0 and mark[order[y]] == mark[i]:
            j = order[y]
            if keep[j] and (
                    begin[i + 1] - begin[i] == begin[j + 1] - begin[j]) and (
                    found.counts[(first + i) * m:(first + i + 1) * m]
                    == found.counts[(first + j) * m:(first + j + 1) * m]).all() and (
                    found.rows[begin[i]:begin[i + 1]] == found.rows[begin[j]:begin[j + 1]]).all():
                keep[i] = False
                # a match is no partial one
                found.op[first + j] = min(found.op[first + i], found.op[first + j])
                break
            y -= 1
    to, to_row = first, at
    for i in range(count):
        if keep[i]:
            length = begin[i + 1] - begin[i]
            for j in range(length):
                found.rows[to_row + j] = found.rows[begin[i] + j]
            for c in range(m):
                found.counts[to * m + c] = found.counts[(first + i) * m + c]
            found.op[to], found.trigger[to] = found.op[first + i], found.trigger[first + i]
            to += 1
            to_row += length
    found.fill[MATCHES], found.fill[ROWS] = to, to_row
