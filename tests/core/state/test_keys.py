"""Keys against a dictionary: any cut, any save and load, forgetting and reuse."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys_parts import one, resumed
from watched import Watched

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Keys


def test_slots_are_given_in_order_of_first_appearance():
    keys = Keys("k", ["k"], MemoryStore())
    slots, fresh = keys.slots(one(pa.array(["b", "a", "b", None, "c", None])))
    assert slots.tolist() == [0, 1, 0, 2, 3, 2]
    assert fresh.tolist() == [0, 1, 2, 3]
    slots, fresh = keys.slots(one(pa.array(["c", "d", "a"])))
    assert slots.tolist() == [3, 4, 1]
    assert fresh.tolist() == [4]
    assert (len(keys), keys.room, keys.live().tolist()) == (5, 5, [0, 1, 2, 3, 4])


def test_find_adds_nothing():
    keys = Keys("k", ["k"], MemoryStore())
    keys.slots(one(pa.array(["a", "b"])))
    assert keys.find(one(pa.array(["b", "x", None, "a"]))).tolist() == [1, -1, -1, 0]
    assert len(keys) == 2


def test_no_columns_is_one_key_for_ever():
    store = MemoryStore()
    keys = Keys("k", [], store)
    batch = one(pa.array([1, 2, 3]))
    assert (len(keys), keys.room, keys.live().tolist()) == (1, 1, [0])
    slots, fresh = keys.slots(batch)
    assert (slots.tolist(), fresh.tolist()) == ([0, 0, 0], [0])
    keys.forget(np.array([0]))
    assert keys.slots(batch)[1].tolist() == []
    assert keys.find(batch).tolist() == [0, 0, 0]
    assert keys.labels(np.array([0])).to_pylist() == [""]
    assert keys.values(np.array([0])) == []
    again = resumed(keys, store)
    assert again.slots(batch)[1].tolist() == []
    assert resumed(Keys("k", [], store), store).slots(batch)[1].tolist() == [0]


def test_forgotten_slots_are_used_again_the_lowest_first():
    keys = Keys("k", ["k"], MemoryStore())
    keys.slots(one(pa.array(list("abcdef"))))
    keys.forget(np.array([4, 1]))
    assert keys.live().tolist() == [0, 2, 3, 5]
    slots, fresh = keys.slots(one(pa.array(["b", "x", "y", "a"])))
    assert (slots.tolist(), fresh.tolist()) == ([1, 4, 6, 0], [1, 4, 6])
    assert keys.labels(slots).to_pylist() == ["b", "x", "y", "a"]


def test_a_slot_that_no_key_has_is_refused():
    keys = Keys("k", ["k"], MemoryStore())
    keys.slots(one(pa.array(["a", "b"])))
    keys.forget(np.array([0]))
    for slot in (0, 2, -1):
        with pytest.raises(ValueError, match="no key"):
            keys.forget(np.array([slot]))
        with pytest.raises(ValueError, match="no key"):
            keys.values(np.array([slot]))


def test_other_key_columns_are_refused_at_load():
    store = MemoryStore()
    keys = Keys("k", ["a"], store)
    other = Keys("k", ["b"], store)
    with pytest.raises(SnapshotError, match="key columns"):
        other.load(keys.save())


WORDS = st.one_of(st.none(), st.text("ab\x00\x1f", max_size=10), st.text(max_size=12))
ACTION = st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(WORDS, st.one_of(st.none(), st.integers(-3, 3))),
                                       max_size=30)),
    st.tuples(st.just("forget"), st.lists(st.integers(0, 100), max_size=10)),
    st.tuples(st.just("find"), st.lists(st.tuples(WORDS, st.integers(-3, 3)), max_size=5)),
    st.tuples(st.just("resume"), st.none()),
    st.tuples(st.just("save"), st.none()),
)


@given(st.lists(ACTION, max_size=40), st.sampled_from([1, 40, 200, 64 * 1024]))
def test_against_a_dictionary(actions, page_bytes):
    store = MemoryStore()
    keys = Keys("k", ["a", "b"], store, page_bytes=page_bytes)
    known: dict = {}
    for what, rows in actions:
        if what == "resume":
            keys = resumed(keys, store, page_bytes=page_bytes)
        elif what == "save":
            keys.save()
        elif what == "forget":
            live = sorted(known.values())
            slots = sorted({live[r % len(live)] for r in rows}) if live else []
            keys.forget(np.array(slots, np.int64))
            known = {key: slot for key, slot in known.items() if slot not in slots}
        else:
            batch = pa.record_batch({"a": pa.array([a for a, _ in rows], pa.string()),
                                     "b": pa.array([b for _, b in rows], pa.int32())})
            if what == "find":
                assert keys.find(batch).tolist() == [known.get(row, -1) for row in rows]
                continue
            slots, fresh = keys.slots(batch)
            expected_fresh = []
            for row in rows:
                if row not in known:
                    known[row] = next(s for s in range(10_000) if s not in known.values())
                    expected_fresh.append(known[row])
            assert slots.tolist() == [known[row] for row in rows]
            assert fresh.tolist() == expected_fresh
        assert len(keys) == len(known)
        assert keys.live().tolist() == sorted(known.values())
    order = list(known.items())
    columns = keys.values(np.array([slot for _, slot in order], np.int64))
    if order:
        assert list(zip(*(c.to_pylist() for c in columns), strict=True)) == [k for k, _ in order]


def numbered(first, last, width=0):
    return one(pa.array([f"key {i:0{width}}" for i in range(first, last)]))


@pytest.mark.parametrize(("page_bytes", "new"), [(64 * 1024, 3_000), (4_000, 300), (500, 20)])
def test_many_keys_through_saves_and_loads(page_bytes, new):
    store, rng = Watched(), np.random.default_rng(4)
    keys, known = Keys("k", ["k"], store, page_bytes=page_bytes), {}
    keys.slots(numbered(0, 2_000))
    known = {f"key {i}": i for i in range(2_000)}
    for step in range(40):
        names = [f"key {i}" for i in rng.integers(0, 60_000, new)]
        slots, _ = keys.slots(one(pa.array(names)))
        for name, slot in zip(names, slots.tolist(), strict=True):
            assert known.setdefault(name, slot) == slot
        if step % 3 == 2:
            gone = rng.choice(list(known), min(len(known) // 2, new), replace=False).tolist()
            keys.forget(np.array([known.pop(name) for name in gone]))
        assert len(set(known.values())) == len(known) == len(keys)
        keys = resumed(keys, store, page_bytes=page_bytes)
    names = list(known)
    slots = np.array([known[name] for name in names])
    assert keys.labels(slots).to_pylist() == names
    pages = [len(blob) for name, blob in store.items() if name.startswith("k/") and "." in name]
    assert max(pages) < 2 * page_bytes + 500


def test_only_changed_pages_are_written_and_only_needed_ones_read():
    store = Watched()
    keys = Keys("k", ["k"], store)
    keys.slots(numbered(0, 200_000))
    meta = json.loads(json.dumps(keys.save()))
    pages = len(store.written)
    assert pages > 50
    store.read.clear()
    store.written.clear()
    keys = Keys("k", ["k"], store)
    keys.load(meta)
    assert keys.find(one(pa.array(["key 7", "nobody"]))).tolist() == [7, -1]
    assert len([n for n in store.read if "live" not in n]) <= 2
    keys.slots(one(pa.array(["one more"])))
    keys.save()
    assert len(store.written) <= 3  # the log, and a page each of live bits and of homes
    store.written.clear()
    keys.save()
    assert store.written == []


def test_forgetting_reads_only_the_pages_of_those_who_go():
    store = Watched()
    keys = Keys("k", ["k"], store)
    keys.slots(numbered(0, 200_000))
    keys = resumed(keys, store)
    store.read.clear()
    keys.forget(np.array([5]))
    assert len(store.read) <= 2
    assert keys.labels(np.array([6])).to_pylist() == ["key 6"]
    assert len(store.read) <= 4


def test_bytes_in_the_store_follow_the_live_keys():
    store = MemoryStore()
    keys = Keys("k", ["k"], store)
    older, sizes = [], []
    for chunk in range(12):
        _, fresh = keys.slots(numbered(chunk * 20_000, (chunk + 1) * 20_000, width=9))
        older.append(fresh)
        if len(older) > 2:
            keys.forget(older.pop(0))
        keys = resumed(keys, store)
        sizes.append(sum(len(blob) for blob in store.values()))
    assert keys.room <= 60_000
    assert max(sizes[2:]) < 1.5 * min(sizes[2:])
    keys.forget(keys.live())
    keys.save()
    assert sum(len(blob) for blob in store.values()) == 0
    assert len(keys) == 0


def test_slots_do_not_depend_on_cuts_or_restarts():
    rng = np.random.default_rng(2)
    names = pa.array([f"k{i}" for i in rng.integers(0, 500, 4_000)])
    whole = Keys("k", ["k"], MemoryStore()).slots(one(names))[0]
    store = MemoryStore()
    keys, parts = Keys("k", ["k"], store), []
    for first in range(0, 4_000, 170):
        parts.append(keys.slots(one(names.slice(first, 170)))[0])
        keys = resumed(keys, store)
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_long_keys_and_pages_of_one_key():
    store = MemoryStore()
    keys = Keys("k", ["k"], store)
    names = ["x" * n for n in (0, 1, 3, 4, 7, 8, 9, 100_000, 99_999)]
    slots, _ = keys.slots(one(pa.array(names)))
    keys = resumed(keys, store)
    assert keys.find(one(pa.array(names))).tolist() == slots.tolist()
    assert keys.labels(slots).to_pylist() == names


def longest_probe(keys):
    """How far from its home any key stands in the index, at most."""
    index, entries = keys._index, keys._entries
    size = len(index)
    at = np.flatnonzero(index)
    slots = (index[at] & np.uint64(0xFFFFFFFF)).astype(np.int64) - 1
    home = (entries["hash"][slots] >> np.uint64(65 - size.bit_length())).astype(np.int64)
    return int(((at - home) % size).max())


def test_keys_do_not_crowd_in_the_index_when_few_pages_are_read():
    store = MemoryStore()
    keys = Keys("k", ["k"], store)
    keys.slots(numbered(0, 300_000))
    assert longest_probe(keys) < 200
    keys = resumed(keys, store)
    keys.find(numbered(0, 1))
    assert longest_probe(keys) < 200
    keys.slots(numbered(300_000, 500_000))
    assert longest_probe(keys) < 200


@pytest.mark.parametrize("make", [
    lambda i: i, lambda i: i * 2**32, lambda i: i * 2**46, lambda i: f"{i}", lambda i: f"{i:030}",
    lambda i: f"{i}{'x' * 40}", lambda i: i * 0.001, lambda i: f"{i:08x}"[::-1]])
def test_keys_that_look_alike_do_not_crowd(make):
    keys = Keys("k", ["k"], MemoryStore())
    keys.slots(one(pa.array([make(i) for i in range(60_000)])))
    assert len(keys) == 60_000
    assert longest_probe(keys) < 200


def test_what_a_save_writes_follows_what_changed():
    """New keys fall into pages at random; a few of them must not have all pages written."""
    store = Watched()
    keys = Keys("k", ["k"], store)
    keys.slots(numbered(0, 200_000))
    keys.save()
    whole = sum(len(blob) for blob in store.values())
    store.written.clear()
    written = []
    put = store.put
    store.put = lambda name, blob: (written.append(len(blob)), put(name, blob))
    for step in range(50):
        first = 200_000 + 100 * step
        keys.slots(numbered(first, first + 100))
        keys.forget(np.arange(100 * step, 100 * step + 50))
        keys = resumed(keys, store)
    assert sum(written) < 5 * whole  # with all pages each time it would be 40 times
    assert keys.find(numbered(200_000, 205_000)).min() >= 0
    assert (keys.find(numbered(0, 50)) == -1).all()
    assert keys.find(numbered(50, 100)).tolist() == list(range(50, 100))


def test_keys_that_are_not_in_memory_are_forgotten_without_reading_them():
    store = Watched()
    keys = Keys("k", ["k"], store)
    keys.slots(numbered(0, 200_000))
    keys = resumed(keys, store)
    store.read.clear()
    keys.forget(np.arange(0, 200_000, 1_000))
    assert not [name for name in store.read if "homes" not in name]
    keys = resumed(keys, store)
    found = keys.find(numbered(0, 200_000))
    assert (found[::1_000] == -1).all()
    assert (np.delete(found, np.arange(0, 200_000, 1_000)) >= 0).all()


def test_a_key_forgotten_after_its_page_was_written_twice_stays_forgotten():
    store = MemoryStore()
    keys = Keys("k", ["k"], store, page_bytes=1)  # no log: each save writes pages
    keys.slots(numbered(0, 50))
    keys.save()
    keys.forget(np.array([7]))
    keys.save()
    keys = resumed(keys, store, page_bytes=1)
    assert keys.find(numbered(7, 9)).tolist() == [-1, 8]
