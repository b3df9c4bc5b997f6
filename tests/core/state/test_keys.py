"""Keys against a dictionary: any cut, any save and load, forgetting and reuse."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import DataError, SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Keys


class Watched(MemoryStore):
    """A store that notes what is read and written."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = [], []

    def get(self, name):
        self.read.append(name)
        return super().get(name)

    def put(self, name, blob):
        self.written.append(name)
        super().put(name, blob)


def one(column, name="k"):
    return pa.record_batch({name: column})


def slots_of(*columns):
    """The slots of the rows of batches with one key column each, in one table of keys."""
    keys = Keys("k", ["k"], MemoryStore())
    return [keys.slots(one(column))[0].tolist() for column in columns]


def resumed(keys, store, **options):
    meta = json.loads(json.dumps(keys.save()))
    again = Keys(keys.name, keys.columns, store, **options)
    again.load(meta)
    return again


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


@pytest.mark.parametrize(("left", "right"), [
    (("x\x1fy", "z"), ("x", "y\x1fz")),
    (("x, y", "z"), ("x", "y, z")),
    (("", "a"), ("a", "")),
    ((None, "a"), ("a", None)),
    ((None, "a"), ("\x00", "a")),
    (("null", "a"), (None, "a")),
])
def test_composite_keys_do_not_collide(left, right):
    keys = Keys("k", ["a", "b"], MemoryStore())
    batch = pa.record_batch({"a": [left[0], right[0]], "b": [left[1], right[1]]})
    slots, _ = keys.slots(batch)
    assert slots.tolist() == [0, 1]
    assert [v.to_pylist() for v in keys.values(slots)] == [[left[0], right[0]], [left[1], right[1]]]


SAME = {
    "integers of any width": [pa.array([1, 300]), pa.array([1, 300], pa.int16()),
                              pa.array([1, 300], pa.uint32()), pa.array([1, 300], pa.uint64())],
    "whole floats": [pa.array([0, 1, -5]), pa.array([-0.0, 1.0, -5.0]),
                     pa.array([0.0, 1.0, -5.0], pa.float32()), pa.array([0, 1, -5], pa.float16())],
    "decimals": [pa.array([1, 15, -3]),
                 pa.array([Decimal("1.00"), Decimal("15.0"), Decimal(-3)], pa.decimal128(10, 2)),
                 pa.array([Decimal("1.00"), Decimal("15.0"), Decimal(-3)], pa.decimal256(60, 7))],
    "fractions": [pa.array([Decimal("1.50"), Decimal("-0.3")], pa.decimal128(10, 2)),
                  pa.array([Decimal("1.5"), Decimal("-0.3")], pa.decimal256(40, 9))],
    "large integers": [pa.array([2**63, 2**64 - 2048], pa.uint64()),
                       pa.array([2.0**63, 2.0**64 - 2048]),
                       pa.array([Decimal(2**63), Decimal(2**64 - 2048)], pa.decimal128(25, 1))],
    "the ends of 64 bits": [pa.array([-(2**63), 2**63 - 1]),
                            pa.array([Decimal(-(2**63)), Decimal(2**63 - 1)],
                                     pa.decimal128(25, 2))],
    "text": [pa.array(["a", "", "ü"]), pa.array(["a", "", "ü"], pa.large_string()),
             pa.array(["a", "", "ü"], pa.string_view()),
             pa.array(["a", "", "ü"]).dictionary_encode(),
             pc.run_end_encode(pa.array(["a", "", "ü"]))],
    "extension types": [pa.array([bytes(16), b"x" * 16], pa.binary(16)),
                        pa.ExtensionArray.from_storage(
                            pa.uuid(), pa.array([bytes(16), b"x" * 16], pa.binary(16)))],
    "binary": [pa.array([b"a", b"b"], pa.binary(1)), pa.array([b"a", b"b"]),
               pa.array([b"a", b"b"], pa.large_binary())],
    "moments": [pa.array([0, 5, -7], pa.timestamp("s")),
                pa.array([0, 5_000_000, -7_000_000], pa.timestamp("us")),
                pa.array([0, 5_000_000_000, -7_000_000_000], pa.timestamp("ns"))],
    "moments with a zone": [pa.array([0, 5], pa.timestamp("s", "UTC")),
                            pa.array([0, 5000], pa.timestamp("ms", "Europe/Vienna"))],
    "dates": [pa.array([3, -4], pa.date32()),
              pa.array([3 * 86_400_000, -4 * 86_400_000], pa.date64())],
    "times of day": [pa.array([3, 4], pa.time32("s")), pa.array([3000, 4000], pa.time32("ms")),
                     pa.array([3 * 10**9, 4 * 10**9], pa.time64("ns"))],
    "spans": [pa.array([3, 4], pa.duration("s")), pa.array([3000, 4000], pa.duration("ms"))],
    "NaN": [pa.array([math.nan, 0.5]), pa.array([-math.nan, 0.5]),
            pa.array([math.nan, 0.5], pa.float32())],
    "nulls": [pa.array([None]), pa.array([None], pa.string()), pa.array([None], pa.int32()),
              pa.array([None], pa.decimal128(5, 2)), pa.array([None], pa.timestamp("ms"))],
}


@pytest.mark.parametrize("columns", SAME.values(), ids=SAME.keys())
def test_equal_values_are_one_key_whatever_their_type(columns):
    first, *others = slots_of(*columns)
    assert first == list(range(len(columns[0])))
    for other in others:
        assert other == first


DIFFERENT = {
    "int and text": (pa.array([1]), pa.array(["1"])),
    "true and 1": (pa.array([True]), pa.array([1])),
    "text and binary": (pa.array(["a"]), pa.array([b"a"])),
    "null and the empty text": (pa.array([None], pa.string()), pa.array([""])),
    "null and zero": (pa.array([None], pa.int64()), pa.array([0])),
    "null and NUL": (pa.array([None], pa.string()), pa.array(["\x00"])),
    "a day and its midnight": (pa.array([0], pa.date32()), pa.array([0], pa.timestamp("s"))),
    "a moment with and without a zone": (pa.array([0], pa.timestamp("s")),
                                         pa.array([0], pa.timestamp("s", "UTC"))),
    "1 s and 1 ms": (pa.array([1], pa.duration("s")), pa.array([1], pa.duration("ms"))),
    "2⁶³ and −2⁶³": (pa.array([2**63], pa.uint64()), pa.array([-(2**63)])),
    "infinities": (pa.array([math.inf]), pa.array([-math.inf])),
    "a fraction and ten of it": (pa.array([Decimal("0.5")], pa.decimal128(4, 2)),
                                 pa.array([Decimal("0.05")], pa.decimal128(4, 2))),
    "signs": (pa.array([Decimal("0.5")], pa.decimal128(4, 2)),
              pa.array([Decimal("-0.5")], pa.decimal128(4, 2))),
    "wide decimals": (pa.array([Decimal(2**64)], pa.decimal128(25, 0)),
                      pa.array([Decimal(0)], pa.decimal128(25, 0))),
    "neighbouring floats": (pa.array([0.1]), pa.array([math.nextafter(0.1, 1)])),
}


@pytest.mark.parametrize("columns", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_values_are_different_keys(columns):
    assert slots_of(*columns) == [[0], [1]]


@pytest.mark.parametrize("column", [
    pa.array([[1]]), pa.array([{"a": 1}]), pa.array([[1]], pa.list_(pa.int64(), 1)),
    pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))])
def test_a_nested_column_cannot_be_a_key(column):
    keys = Keys("k", ["k"], MemoryStore())
    with pytest.raises(DataError, match="'k' cannot be a key"):
        keys.slots(one(column))
    assert len(keys) == 0


VALUES = [
    pa.array([1, None, -3], pa.int8()), pa.array([2**64 - 1, None, 3], pa.uint64()),
    pa.array([1.0, None, -2.5]), pa.array([1.5, None, 2.0], pa.float32()),
    pa.array([1.5, None, 2.0], pa.float16()),
    pa.array([True, None, False]), pa.array(["a", None, ""]),
    pa.array(["a", None, "b"], pa.large_string()), pa.array(["a", None, "b"], pa.string_view()),
    pa.array([b"\xff", None, b""]), pa.array([b"ab", None, b"cd"], pa.binary(2)),
    pa.array([Decimal("1.50"), None, Decimal(-2)], pa.decimal128(9, 2)),
    pa.array([Decimal(2**100), None, Decimal(2**63)], pa.decimal256(50, 3)),
    pa.array([dt.date(2024, 2, 29), None, dt.date(1900, 1, 1)]),
    pa.array([dt.date(2024, 2, 29), None, dt.date(1900, 1, 1)], pa.date64()),
    pa.array([1, None, -1], pa.timestamp("ns")), pa.array([1, None, 10**12], pa.timestamp("ms")),
    pa.array([1, None, -1], pa.timestamp("us", "Europe/Vienna")),
    pa.array([1, None, 2], pa.time32("ms")), pa.array([1, None, 2], pa.time64("us")),
    pa.array([1, None, 2], pa.time32("s")), pa.array([1, None, 2], pa.time64("ns")),
    pa.array([1, None, 10**6], pa.duration("us")), pa.array([None, None], pa.null()),
]


@pytest.mark.parametrize("column", VALUES, ids=lambda c: str(c.type))
def test_values_come_back_in_their_type(column):
    store = MemoryStore()
    keys = Keys("k", ["k"], store)
    slots, _ = keys.slots(one(column))
    assert keys.values(slots)[0].equals(column)
    assert resumed(keys, store).values(slots)[0].equals(column)
    assert keys.labels(slots).null_count == 0


def test_values_of_a_dictionary_column_come_back_decoded():
    keys = Keys("k", ["k"], MemoryStore())
    slots, _ = keys.slots(one(pa.array(["b", "a", "b", None]).dictionary_encode()))
    assert keys.values(slots)[0].equals(pa.array(["b", "a", "b", None]))


def test_a_column_that_changes_its_type_comes_back_in_one_that_holds_both():
    keys = Keys("k", ["k"], MemoryStore())
    a, _ = keys.slots(one(pa.array([7], pa.int32())))
    b, _ = keys.slots(one(pa.array([2**40])))
    assert keys.values(np.concatenate([a, b]))[0].equals(pa.array([7, 2**40]))
    c, _ = keys.slots(one(pa.array(["7"])))
    assert keys.values(np.concatenate([a, b, c]))[0].to_pylist() == ["7", str(2**40), "7"]
    d, _ = keys.slots(one(pa.array([b"\xff\x00", None])))
    assert keys.labels(np.concatenate([c, d])).to_pylist() == ["7", "ff00", "null"]


def test_labels_join_the_columns():
    keys = Keys("k", ["a", "b"], MemoryStore())
    slots, _ = keys.slots(pa.record_batch({"a": ["x", None], "b": [1, 2]}))
    assert keys.labels(slots).to_pylist() == ["x, 1", "null, 2"]


def test_slices_of_columns_are_read_from_their_offset():
    text = pa.array(["a", None, "b", "c", None, "d"])
    for column in (text, pa.array([1, None, 2, 3, None, 4], pa.int16()),
                   pa.array([True, None, False, True, None, False]),
                   pa.array([Decimal(1), None, Decimal("2.5"), Decimal(3), None, Decimal(4)],
                            pa.decimal128(5, 1)), pa.array([1.5, None, 2, 3, None, 4])):
        keys = Keys("k", ["k"], MemoryStore())
        part = column.slice(2, 3)
        slots, fresh = keys.slots(one(part))
        assert slots.tolist() == [0, 1, 2]
        assert keys.values(fresh)[0].equals(part)


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
