"""The buffer against a list: any cut, any save and load, slots that are used again."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Buffer, Rows

NEVER, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Watched(MemoryStore):
    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = [], {}

    def get(self, name):
        self.read.append(name)
        return super().get(name)

    def put(self, name, blob):
        self.written[name] = len(blob)
        super().put(name, blob)


class Marks:
    """What has left per slot, as a stage knows it: the last row's time and number; the birth."""

    def __init__(self, slots=64):
        self.time = np.full(slots, NEVER)
        self.n = np.full(slots, -1)
        self.birth = np.zeros(slots, np.int64)

    def gone(self, slot, time, n):
        last, number = self.time[slot], self.n[slot]
        return (n < self.birth[slot]) | (time < last) | ((time == last) & (n <= number))

    def pass_(self, held, left):
        for i in np.flatnonzero(left):
            self.time[held.slot[i]], self.n[held.slot[i]] = held.time[i], held.n[i]


def rows(slot, time, n, payload=None):
    slot, time, n = (np.array(a, np.int64) for a in (slot, time, n))
    if payload is None:
        payload = pa.record_batch({"id": pa.array(n), "text": [f"row {i}" for i in n]})
    return Rows(slot, time, n, payload)


def resumed(buffer, store, marks):
    meta = json.loads(json.dumps(buffer.save()))
    again = Buffer(buffer.name, store, marks.gone)
    again.load(meta)
    return again


def listed(held):
    """What a Held holds, with the payload read in reverse."""
    back = np.arange(len(held))[::-1]
    ids = held.payload(back)["id"].to_pylist()[::-1] if len(held) else []
    assert ids == held.n.tolist()
    return list(zip(held.slot.tolist(), held.time.tolist(), held.n.tolist(), strict=True))


def test_rows_come_in_order_of_slot_time_and_number():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    buffer.add(rows([2, 1, 2, 1], [5, 7, 5, 3], [3, 2, 1, 0]))
    buffer.add(rows([1, 3], [5, 1], [4, 5]))
    assert len(buffer) == 6
    held = buffer.upto(np.array([2, 1]), np.array([5, 6]))
    assert listed(held) == [(1, 3, 0), (1, 5, 4), (2, 5, 1), (2, 5, 3)]
    assert held.payload(np.array([3, 0]))["text"].to_pylist() == ["row 3", "row 0"]
    assert listed(buffer.between(5, 6)) == [(1, 5, 4), (2, 5, 1), (2, 5, 3)]
    assert listed(buffer.due(np.array([FOREVER, NEVER, NEVER, 1]))) == [(3, 1, 5)]
    assert listed(buffer.due(np.array([FOREVER, FOREVER]))) == [(1, 3, 0), (1, 5, 4), (1, 7, 2)]


def test_equal_times_of_several_runs_come_by_their_number():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    buffer.add(rows([1, 1], [5, 5], [7, 9]))
    buffer.add(rows([1, 1], [5, 5], [8, 2]))
    assert listed(buffer.between(0, 9)) == [(1, 5, 2), (1, 5, 7), (1, 5, 8), (1, 5, 9)]


def test_what_has_left_is_not_handed_out_again():
    marks = Marks()
    buffer = Buffer("b", MemoryStore(), marks.gone)
    buffer.add(rows([1] * 5, [1, 2, 2, 3, 4], [0, 1, 2, 3, 4]))
    held = buffer.upto(np.array([1]), np.array([2]))
    left = np.array([True, True, False])
    marks.pass_(held, left)
    buffer.leave(held, left)
    assert len(buffer) == 3
    assert listed(buffer.between(NEVER, FOREVER)) == [(1, 2, 2), (1, 3, 3), (1, 4, 4)]


def test_an_empty_answer_has_the_columns():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    none = np.zeros(0, np.int64)
    assert buffer.between(0, 1).payload(none).num_rows == 0
    buffer.add(rows([1], [5], [0]))
    held = buffer.upto(np.array([1, 2]), np.array([4, 9]))
    assert len(held) == 0
    assert held.payload(none).schema.names == ["id", "text"]
    buffer.leave(held, np.zeros(0, bool))


def test_leaving_out_of_order_or_too_late_is_an_error():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    buffer.add(rows([1, 1], [1, 2], [0, 1]))
    held = buffer.due(np.array([0, 5]))
    with pytest.raises(ValueError, match="before an earlier one"):
        buffer.leave(held, np.array([False, True]))
    buffer.leave(held, np.array([True, False]))
    with pytest.raises(ValueError, match="changed since"):
        buffer.leave(held, np.array([True, True]))


def test_other_columns_are_refused_while_rows_are_held():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    buffer.add(rows([1], [1], [0], pa.record_batch({"a": [1]})))
    other = rows([1], [2], [1], pa.record_batch({"b": [1.5]}))
    with pytest.raises(SnapshotError, match="columns have changed"):
        buffer.add(other)
    buffer.leave(buffer.due(np.array([9, 9])), np.array([True]))
    assert len(buffer) == 0
    buffer.add(other)
    assert buffer.between(0, 9).payload(np.array([0])).to_pylist() == [{"b": 1.5}]


def test_columns_that_differ_in_metadata_alone_are_the_same():
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    plain = pa.record_batch({"a": [1]})
    buffer.add(rows([1], [1], [0], plain))
    buffer.add(rows([1], [2], [1], plain.replace_schema_metadata({"k": "v"})))
    assert buffer.between(0, 9).payload(np.array([1, 0])).num_rows == 2


@pytest.mark.parametrize("column", [
    pa.array(["a", None, "b"]), pa.array([[1], None, []]), pa.array([{"x": 1}, None, {"x": None}]),
    pa.array(["a", "b", "a"]).dictionary_encode(), pa.array([b"x", None, b"y"]),
    pa.array([None, None, None])], ids=lambda c: str(c.type))
def test_any_columns_survive(column):
    store, marks = MemoryStore(), Marks()
    buffer = Buffer("b", store, marks.gone)
    batch = pa.record_batch({"c": column, "__key": [7, 8, 9]})
    buffer.add(rows([1, 0, 1], [3, 2, 1], [0, 1, 2], batch))
    buffer.add(rows([0, 0, 1], [3, 2, 1], [3, 4, 5], batch))
    for _ in range(2):
        held = buffer.between(NEVER, FOREVER)
        assert held.n.tolist() == [1, 4, 3, 2, 5, 0]
        expected = pa.concat_batches([batch, batch]).take(pa.array([1, 4, 3, 2, 5, 0]))
        assert held.payload(np.arange(6)).to_pylist() == expected.to_pylist()
        assert held.payload(np.array([2])).to_pylist() == expected.slice(2, 1).to_pylist()
        buffer = resumed(buffer, store, marks)


STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)),
                                       min_size=1, max_size=12)),
    st.tuples(st.just("upto"), st.dictionaries(st.integers(0, 7), st.integers(0, 30), max_size=4)),
    st.tuples(st.just("due"), st.lists(st.integers(-1, 30), max_size=8)),
    st.tuples(st.just("between"), st.tuples(st.integers(0, 30), st.integers(0, 30))),
    st.tuples(st.just("resume"), st.none()),
    st.tuples(st.just("save"), st.none()),
    st.tuples(st.just("reuse"), st.integers(0, 5)),
)


@given(st.lists(STEP, max_size=30), st.randoms(use_true_random=False))
def test_against_a_list(steps, random):
    store, marks = MemoryStore(), Marks()
    buffer, held_rows, number = Buffer("b", store, marks.gone), [], 0
    for what, given_ in steps:
        if what == "resume":
            buffer = resumed(buffer, store, marks)
        elif what == "save":
            buffer.save()
        elif what == "add":
            new = [(s, t, number + i) for i, (s, t) in enumerate(given_)
                   if (t, number + i) > (marks.time[s], marks.n[s])]
            number += len(given_)
            random.shuffle(new)
            if new:
                buffer.add(rows(*zip(*new, strict=True)))
            held_rows += new
        elif what == "reuse":  # the key has nothing held, and another gets its slot
            if all(s != given_ for s, _, _ in held_rows):
                marks.time[given_], marks.n[given_], marks.birth[given_] = NEVER, -1, number
        elif what == "between":
            first, last = given_
            assert listed(buffer.between(first, last)) == sorted(
                r for r in held_rows if first <= r[1] <= last)
        else:
            limits = dict(enumerate(given_)) if what == "due" else given_
            if what == "due":
                held = buffer.due(np.array(given_, np.int64))
            else:
                held = buffer.upto(np.array(list(given_), np.int64),
                                   np.array(list(given_.values()), np.int64))
            expected = sorted(r for r in held_rows if r[1] <= limits.get(r[0], NEVER))
            assert listed(held) == expected
            stop = {s: random.choice([0, 1, 3, 100]) for s in range(8)}
            left = np.array([sum(q[0] == r[0] for q in expected[:i]) < stop[r[0]]
                             for i, r in enumerate(expected)], bool)
            marks.pass_(held, left)
            buffer.leave(held, left)
            leaving = {r for r, gone in zip(expected, left.tolist(), strict=True) if gone}
            held_rows = [r for r in held_rows if r not in leaving]
        assert len(buffer) == len(held_rows)
    assert listed(buffer.between(NEVER, FOREVER)) == sorted(held_rows)
    buffer = resumed(buffer, store, marks)
    assert len(buffer) == len(held_rows)
    assert listed(buffer.due(np.full(8, FOREVER))) == sorted(held_rows)
    buffer.clear()
    buffer.save()
    assert (len(buffer), len(store)) == (0, 0)


def runs_after(batches, restored):
    store, marks = Watched(), Marks()
    buffer, most = Buffer("b", store, marks.gone), 0
    for i in range(batches):
        buffer.add(rows([i % 7, 3], [1_000 - i, i], [2 * i, 2 * i + 1]))
        if restored:
            buffer = resumed(buffer, store, marks)
        most = max(most, len(store))
    buffer.save()
    assert len(buffer) == 2 * batches
    assert len(buffer.between(NEVER, FOREVER)) == 2 * batches
    return len(store), most, sum(store.written.values())


def test_runs_merge_after_restores_too():
    in_process, _, _ = runs_after(600, restored=False)
    each_time, most, written = runs_after(600, restored=True)
    assert each_time == in_process <= 8
    assert most <= 8
    assert written < 600 * 64 * 1024


def test_what_a_save_writes_follows_what_changed():
    store, marks = Watched(), Marks(200_000)
    buffer = Buffer("b", store, marks.gone)
    many = np.arange(200_000)
    buffer.add(rows(many, many + 1000, many))
    buffer.save()
    assert sum(store.written.values()) > 4_000_000
    store.written.clear()
    buffer.add(rows([5], [1], [200_000]))
    buffer = resumed(buffer, store, marks)
    assert sum(store.written.values()) < 10_000
    store.written.clear()
    store.read.clear()
    held = buffer.upto(np.array([5]), np.array([500]))
    assert listed(held) == [(5, 1, 200_000)]
    assert len(store.read) == 1  # the great run is not due
    marks.pass_(held, np.array([True]))
    buffer.leave(held, np.array([True]))
    buffer.save()
    assert store.written == {}
    assert len(buffer) == 200_000


def test_a_run_of_which_half_has_left_is_written_anew():
    store, marks = Watched(), Marks()
    buffer = Buffer("b", store, marks.gone)
    buffer.add(rows([0, 1] * 20_000, np.arange(40_000), np.arange(40_000)))
    buffer.save()
    whole = sum(len(b) for b in store.values())
    held = buffer.due(np.array([18_000, 22_001]))
    left = np.ones(len(held), bool)
    marks.pass_(held, left)
    buffer.leave(held, left)
    buffer = resumed(buffer, store, marks)
    assert sum(len(b) for b in store.values()) < 0.6 * whole
    assert len(buffer) == 40_000 - len(held)
    held = buffer.due(np.array([FOREVER, FOREVER]))
    assert held.time.min() == 18_002
    assert len(held) == len(buffer)
    buffer.leave(held, np.ones(len(held), bool))
    buffer.save()
    assert len(store) == 0


def test_large_rows_are_cut_into_blobs_that_are_read_one_by_one():
    store, marks = Watched(), Marks()
    buffer = Buffer("b", store, marks.gone)
    big = pa.record_batch({"id": np.arange(400), "blob": ["x" * 100_000] * 400})
    buffer.add(rows([1] * 400, np.arange(400), np.arange(400), big))
    buffer = resumed(buffer, store, marks)
    assert sum(store.written.values()) > 40_000_000
    assert max(store.written.values()) < 9_000_000
    held = buffer.upto(np.array([1]), np.array([3]))
    assert listed(held) == [(1, t, t) for t in range(4)]
    assert sum(len(store[name]) for name in store.read) < 9_000_000
    left = np.ones(4, bool)
    marks.pass_(held, left)
    buffer.leave(held, left)
    assert len(buffer) == 396
    store.written.clear()
    buffer.save()
    assert store.written == {}


def test_a_large_payload_is_read_when_it_is_wanted():
    store, marks = Watched(), Marks()
    buffer = Buffer("b", store, marks.gone)
    buffer.add(rows([1] * 20_000, np.arange(20_000), np.arange(20_000)))
    buffer = resumed(buffer, store, marks)
    held = buffer.upto(np.array([1]), np.array([3]))
    assert len(held) == 4
    assert len(store.read) == 1
    assert held.payload(np.array([2]))["text"].to_pylist() == ["row 2"]
    assert len(store.read) == 2


def test_one_row_larger_than_a_blob():
    store, marks = MemoryStore(), Marks()
    buffer = Buffer("b", store, marks.gone)
    batch = pa.record_batch({"id": [0, 1], "x": ["y" * 10**7] * 2})
    buffer.add(rows([1, 1], [1, 2], [0, 1], batch))
    buffer = resumed(buffer, store, marks)
    assert listed(buffer.due(np.full(2, FOREVER))) == [(1, 1, 0), (1, 2, 1)]


def test_a_large_dictionary_is_not_cut_into_many_blobs():
    store = Watched()
    buffer = Buffer("b", store, Marks().gone)
    words = pa.array([f"{i:0200}" for i in range(60_000)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(1000, dtype=np.int32)), words)
    buffer.add(rows([1] * 1000, np.arange(1000), np.arange(1000), pa.record_batch({"c": column})))
    buffer.save()
    assert len(store) <= 2


def test_runs_stay_few_when_large_and_small_batches_alternate():
    store, marks = MemoryStore(), Marks()
    buffer, n = Buffer("b", store, marks.gone), 0
    for i in range(60):
        count = 20_000 if i % 2 else 3
        buffer.add(rows(np.arange(count) % 64, np.arange(count), n + np.arange(count)))
        n += count
    buffer.save()
    assert len(store) <= 2 * 15
    assert len(buffer) == n


@pytest.mark.parametrize("slots", [1, 5, 3_000, 10**6])
@pytest.mark.parametrize("shuffled", [False, True])
def test_many_rows_at_once_are_sorted(slots, shuffled):
    rng = np.random.default_rng(slots)
    slot, time, n = rng.integers(0, slots, 2_000), rng.integers(0, 500, 2_000), np.arange(2_000)
    if shuffled:
        n = rng.permutation(n)
    buffer = Buffer("b", MemoryStore(), Marks().gone)
    buffer.add(rows(slot, time, n))
    expected = sorted(zip(slot.tolist(), time.tolist(), n.tolist(), strict=True))
    assert listed(buffer.between(NEVER, FOREVER)) == expected
    assert listed(buffer.between(100, 200)) == [r for r in expected if 100 <= r[1] <= 200]
