"""Who belongs to whom: the rows of one table in lists, one for each row of another.

Sources belong to a key (or a scope of keys).  The lists are fields of the rows themselves, so that
a step over some keys finds their sources, and loads their pages, without a look at all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.state.pages import Pages

__all__ = ["Members"]

Int64 = NDArray[np.int64]
_ROUNDS = 64  # members of one group that are looked up page by page; of a larger one all are loaded


class Members:
    """The lists of `members`, one for each of `groups`.

    Both tables have one column of records, ``of``.  A group's field ``first`` is its first member,
    a member's ``after`` the next one and ``home`` its group; −1: none.

    Examples
    --------
    >>> from slackwater.core.kernel import MemoryStore
    >>> def blank(*fields):
    ...     return np.array(tuple(-1 for _ in fields), [(name, np.int64) for name in fields])
    >>> groups = Pages("g", {"of": blank("first")}, MemoryStore()); groups.grow(2)
    >>> sources = Pages("s", {"of": blank("home", "after")}, MemoryStore()); sources.grow(3)
    >>> members = Members(groups, sources)
    >>> members.join(np.array([0, 1, 2]), np.array([1, 0, 1]))
    >>> found, sizes = members.of(np.array([1, 0]))
    >>> found.tolist(), sizes.tolist()
    ([2, 0, 1], [2, 1])
    """

    def __init__(self, groups: Pages, members: Pages) -> None:
        self._groups, self._members = groups, members

    def join(self, members: Int64, groups: Int64) -> None:
        """Each member joins its group; those that are in one stay there."""
        self._members.touch(members)
        fresh = self._members["of"]["home"][members] < 0
        members, groups = members[fresh], groups[fresh]
        self._groups.touch(groups)
        rows = self._members["of"]
        _join(members, groups, rows["home"], rows["after"], self._groups["of"]["first"])

    def leave(self, members: Int64) -> None:
        """Members leave their groups, if they are in one."""
        self._members.need(members)
        rows = self._members["of"]
        home = rows["home"][members]
        members, home = members[home >= 0], home[home >= 0]
        if not len(members):
            return
        groups = np.unique(home)
        everyone, sizes = self.of(groups)
        self._groups.touch(groups)
        self._members.touch(everyone)
        rows["home"][members] = -1
        _keep(groups, everyone, sizes, rows["home"], rows["after"], self._groups["of"]["first"])

    def of(self, groups: Int64) -> tuple[Int64, Int64]:
        """The members of these groups, one group after the other, and how many each has."""
        self._groups.need(groups)
        first = self._groups["of"]["first"]
        if not self._members.complete:
            self._load(first[groups])
        return _walk(groups, first, self._members["of"]["after"])

    def _load(self, at: Int64) -> None:
        """Have all members in memory that follow these."""
        for _ in range(_ROUNDS):
            at = at[at >= 0]
            if not len(at):
                return
            self._members.need(at)
            at = self._members["of"]["after"][at]
        self._members.need_all()


@njit(cache=True)
def _join(members: Int64, groups: Int64, home: Int64, after: Int64, first: Int64) -> None:
    for m, g in zip(members, groups):  # noqa: B905 (not in compiled code)
        if home[m] < 0:  # it may be named twice
            home[m], after[m], first[g] = g, first[g], m


@njit(cache=True)
def _keep(groups: Int64, members: Int64, sizes: Int64, home: Int64, after: Int64,
          first: Int64) -> None:
    """Make the lists again, of those that have a home."""
    at = 0
    for i in range(len(groups)):
        last = -1
        first[groups[i]] = -1
        for m in members[at:at + sizes[i]]:
            if home[m] < 0:
                after[m] = -1
            elif last < 0:
                first[groups[i]] = last = m
            else:
                after[last] = m
                last = m
        if last >= 0:
            after[last] = -1
        at += sizes[i]


@njit(cache=True)
def _walk(groups: Int64, first: Int64, after: Int64) -> tuple[Int64, Int64]:
    sizes = np.zeros(len(groups), np.int64)
    found = np.empty(max(len(groups), 16), np.int64)
    count = 0
    for i in range(len(groups)):
        m = first[groups[i]]
        while m >= 0:
            if count == len(found):
                found = np.concatenate((found, np.empty(count, np.int64)))
            found[count] = m
            count += 1
            sizes[i] += 1
            m = after[m]
    return found[:count], sizes
