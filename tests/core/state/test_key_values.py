"""Which values are one key, whatever their type, and how they come back."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from keys_parts import one, resumed, slots_of

from slackwater.core.errors import DataError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Keys


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
