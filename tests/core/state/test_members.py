"""Lists of members against dictionaries: any joining and leaving, with restarts in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.kernel import MemoryStore
from slackwater.core.state.members import Members
from slackwater.core.state.pages import Pages

GROUPS, MEMBERS = 5, 90
number = st.integers(0, MEMBERS - 1)
moves = st.lists(st.one_of(
    st.tuples(st.just("join"), st.lists(st.tuples(number, st.integers(0, GROUPS - 1)))),
    st.tuples(st.just("leave"), st.lists(number)),
    st.tuples(st.just("restart"), st.none())), max_size=12)


def blank(*fields: str) -> np.ndarray:
    return np.array(tuple(-1 for _ in fields), [(name, np.int64) for name in fields])


class Lists:
    def __init__(self):
        self.store = MemoryStore()
        self.groups, self.sources = self.tables()
        self.groups.grow(GROUPS)
        self.sources.grow(MEMBERS)
        self.members = Members(self.groups, self.sources)

    def tables(self):
        # pages of a few rows, so that not all are loaded
        return (Pages("groups", {"of": blank("first")}, self.store, page_bytes=16),
                Pages("sources", {"of": blank("home", "after")}, self.store, page_bytes=32))

    def restart(self):
        saved = self.groups.save(), self.sources.save()
        self.groups, self.sources = self.tables()
        self.groups.load(saved[0])
        self.sources.load(saved[1])
        self.members = Members(self.groups, self.sources)


@given(moves)
def test_lists_are_what_dictionaries_are(script):
    lists, home = Lists(), {}
    for what, given_ in script:
        if what == "join":
            for member, group in given_:
                home.setdefault(member, group)
            lists.members.join(np.array([m for m, _ in given_], np.int64),
                               np.array([home[m] for m, _ in given_], np.int64))
        elif what == "leave":
            for member in given_:
                home.pop(member, None)
            lists.members.leave(np.array(given_, np.int64))
        else:
            lists.restart()
        asked = np.array([3, 0, 4, 1, 2])
        found, sizes = lists.members.of(asked)
        at = 0
        for group, size in zip(asked, sizes, strict=True):
            assert sorted(found[at:at + size]) == sorted(m for m, g in home.items() if g == group)
            at += size
        assert at == len(found)


def test_only_the_pages_of_the_group_are_loaded():
    lists = Lists()
    lists.members.join(np.arange(MEMBERS), np.arange(MEMBERS) * GROUPS // MEMBERS)
    lists.restart()
    found, _ = lists.members.of(np.array([1]))
    assert sorted(found) == list(range(18, 36))
    assert not lists.sources.complete
