"""Method 2 on a red-black tree, which the paper names as future work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.synchronise.book import NEVER
from slackwater.synchronise.classic import RED_BLACK, Classic
from slackwater.synchronise.pool import COMPARISONS, ROOT, VISITED, Pool, emit, inherit, is_ready
from slackwater.synchronise.walk import attach, turn_right

__all__ = ["RedBlackSync", "red_black_insert", "red_black_process"]


@dataclass(frozen=True)
class RedBlackSync(Classic):
    """Method 2 on a balanced tree: a source far behind no longer makes a long path.

    A node's readiness is its own table together with those of its ancestors that stand after it.
    A rotation to the right takes such an ancestor away from the node it lifts, so that node first
    takes over the ancestor's table; a rotation to the left only adds one.  The walk that inserts
    also finds the greatest node that is ready; then the smallest nodes are deleted up to it.

    References
    ----------
    Time synchronisation of data stream events with binary trees, section IV.E (future work).
    Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, chapter 13.
    """

    method: ClassVar[int] = RED_BLACK


@njit(cache=True)
def _put_instead(pool: Pool, old: int, new: int) -> None:
    parent = pool.node[old].parent
    attach(pool, new, parent, parent != 0 and pool.node[parent].left == old)


@njit(cache=True)
def _rotate_left(pool: Pool, p: int) -> None:
    r = pool.node[p].right
    _put_instead(pool, p, r)
    attach(pool, pool.node[r].left, p, False)
    attach(pool, p, r, True)


@njit(cache=True)
def _rotate_right(pool: Pool, p: int) -> None:
    lifted = pool.node[p].left
    inherit(pool.bits[lifted], pool.bits[p])
    _put_instead(pool, p, lifted)
    attach(pool, pool.node[lifted].right, p, True)
    attach(pool, p, lifted, False)


@njit(cache=True)
def _find_ready(pool: Pool, e: int, upto: int) -> int:
    """The greatest node below e that is ready or not after `upto`; the mask is e's."""
    best = 0
    while e:
        pool.tally[VISITED] += 1
        if pool.node[e].time <= upto or is_ready(pool, e):
            best = e
            e = pool.node[e].right
        else:
            inherit(pool.mask, pool.bits[e])
            e = pool.node[e].left
    return int(best)


@njit(cache=True)
def red_black_insert(pool: Pool, x: int) -> None:
    """Insert x, balance, and let go what is ready."""
    pool.mask[:] = 0
    c, parent, left, best, together = pool.head[ROOT], 0, False, 0, True
    while c:
        pool.tally[VISITED] += 1
        pool.tally[COMPARISONS] += 1
        parent, left = c, pool.node[x].time < pool.node[c].time
        if left:
            if together:
                inherit(pool.mask, pool.bits[c])
            c = pool.node[c].left
            continue
        turn_right(pool, c, x)
        if together:
            if is_ready(pool, c):
                best = c
            else:
                together = False
                inherit(pool.mask, pool.bits[c])
                found = _find_ready(pool, pool.node[c].left, NEVER)
                best = found if found else best
        c = pool.node[c].right
    attach(pool, x, parent, left)
    if together and is_ready(pool, x):
        best = x
    _balance_insert(pool, x)
    _delete_upto(pool, best)


@njit(cache=True)
def red_black_process(pool: Pool, upto: int) -> None:
    """Extraction alone."""
    pool.mask[:] = 0
    _delete_upto(pool, _find_ready(pool, pool.head[ROOT], upto))


@njit(cache=True)
def _balance_insert(pool: Pool, x: int) -> None:
    pool.node[x].red = 1
    while pool.node[pool.node[x].parent].red:
        p = pool.node[x].parent
        g = pool.node[p].parent
        p_left = pool.node[g].left == p
        uncle = pool.node[g].right if p_left else pool.node[g].left
        if pool.node[uncle].red:
            pool.node[p].red = pool.node[uncle].red = 0
            pool.node[g].red = 1
            x = g
            continue
        if p_left:
            if pool.node[p].right == x:
                _rotate_left(pool, p)
                x, p = p, x
            pool.node[p].red, pool.node[g].red = 0, 1
            _rotate_right(pool, g)
        else:
            if pool.node[p].left == x:
                _rotate_right(pool, p)
                x, p = p, x
            pool.node[p].red, pool.node[g].red = 0, 1
            _rotate_left(pool, g)
        break
    pool.node[pool.head[ROOT]].red = 0


@njit(cache=True)
def _delete_upto(pool: Pool, best: int) -> None:
    """The smallest nodes leave, one by one, until `best` has left."""
    while best:
        least = pool.head[ROOT]
        pool.tally[VISITED] += 1
        while pool.node[least].left:
            least = pool.node[least].left
            pool.tally[VISITED] += 1
        parent, child = pool.node[least].parent, pool.node[least].right
        attach(pool, child, parent, True)
        if pool.node[child].red:
            pool.node[child].red = 0
        elif not pool.node[least].red:
            _balance_delete(pool, child, parent)
        done = least == best
        emit(pool, least)
        if done:
            return


@njit(cache=True)
def _balance_delete(pool: Pool, x: int, p: int) -> None:
    """A black node is missing above x, the left child of p: the smallest node was deleted.

    As x climbs it stays on the left spine, so only the left cases of the textbook occur.
    """
    while p and not pool.node[x].red:
        w = pool.node[p].right
        if pool.node[w].red:
            pool.node[w].red, pool.node[p].red = 0, 1
            _rotate_left(pool, p)
            w = pool.node[p].right
        if not pool.node[pool.node[w].left].red and not pool.node[pool.node[w].right].red:
            pool.node[w].red = 1
            x, p = p, pool.node[p].parent
            continue
        if not pool.node[pool.node[w].right].red:
            pool.node[pool.node[w].left].red, pool.node[w].red = 0, 1
            _rotate_right(pool, w)
            w = pool.node[p].right
        pool.node[w].red, pool.node[p].red = pool.node[p].red, 0
        pool.node[pool.node[w].right].red = 0
        _rotate_left(pool, p)
        x, p = pool.head[ROOT], 0
    if x:
        pool.node[x].red = 0
