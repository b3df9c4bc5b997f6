"""The state of a shard is what was put and not dropped, wherever its blobs are kept."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from slackwater.spark.runner.shard_state import NEAR, Head, SparkStore
from slackwater.spark.runner.squeezed import plain, squeezed

NAMES = st.sampled_from([f"{step}/{n}" for step in ("a", "b") for n in range(6)])
SIZES = st.sampled_from([0, 1, 100, 3000, 16_384, 16_386, 20_000, 40_000])
CALLS = st.one_of(st.tuples(st.just("put"), NAMES, SIZES), st.tuples(st.just("drop"), NAMES),
                  st.tuples(st.just("drop_all"), st.sampled_from(["a/", "b/"])),
                  st.tuples(st.just("flush")))


class Map:
    """A map state of one shard, with the calls that Spark's has; it counts them."""

    def __init__(self):
        self.there, self.calls = {}, 0

    def getMapState(self, *_):  # noqa: N802
        return self

    def getValue(self, key):  # noqa: N802
        self.calls += 1
        return self.there.get(key)

    def updateValue(self, key, value):  # noqa: N802
        self.calls += 1
        self.there[key] = value

    def removeKey(self, key):  # noqa: N802
        self.calls += 1
        self.there.pop(key, None)

    def keys(self):
        self.calls += 1
        return iter(list(self.there))


@given(calls=st.lists(CALLS, max_size=60))
def test_what_was_put_is_there_over_micro_batches(calls):
    spark, want = Map(), {}
    store = SparkStore(spark)
    head = store.open(2)
    for n, (call, *args) in enumerate(calls):
        if call == "put":
            name, size = args
            want[name] = n.to_bytes(2, "big") * (size // 2)
            store.put(name, want[name])
        elif call == "drop" and args[0] in want:
            store.drop(args[0])
            del want[args[0]]
        elif call == "drop_all":
            store.flush(head)
            store.drop_all(args[0])
            want = {name: blob for name, blob in want.items() if not name.startswith(args[0])}
        elif call == "flush":
            head.ticked["a"] = n
            store.flush(head)
            assert len(spark.there[(NEAR,)][0]) < 33_500
            store = SparkStore(spark)
            assert store.open(3) == head
        assert {name: store.get(name) for name in want} == want
    store.flush(head)
    store = SparkStore(spark)
    assert store.open(3) == head
    for name in [f"{step}/{n}" for step in ("a", "b") for n in range(6)]:
        if name in want:
            assert store.get(name) == want[name]
        else:
            with pytest.raises(KeyError):
                store.get(name)


def test_a_small_shard_has_one_entry_read_and_written_once_per_micro_batch():
    spark = Map()
    for n in range(3):
        store = SparkStore(spark)
        head = store.open(1)
        store.put("step/index", bytes(500))
        store.put("step/keys/0", bytes(2000 + n))
        store.get("step/index")
        store.drop("step/keys/9")
        store.flush(head)
    assert set(spark.there) == {(NEAR,)}
    assert spark.calls == 6


def test_what_lies_there_uncompressed_is_read():
    spark, blob = Map(), bytes(100_000)
    store = SparkStore(spark)
    head = store.open(1)
    store.put("step/0", blob)
    store.flush(head)
    assert len(spark.there["step/0",][0]) < 1000
    spark.there["step/0",] = (blob, 2)
    assert SparkStore(spark).get("step/0") == blob


def test_what_does_not_get_shorter_is_left_as_it_is():
    noise, zeros = np.random.default_rng(1).bytes(1 << 20), bytes(1 << 20)
    for blob, most in ((noise, 1 << 20), (zeros, 1 << 16), (noise[:1000], 1000)):
        kept, said = squeezed(blob)
        assert len(kept) <= most
        assert plain(kept, said) == blob


def test_what_has_not_changed_is_not_written():
    spark, store = Map(), None
    for _ in range(3):
        store = SparkStore(spark)
        store.flush(store.open(1))
    assert spark.calls == 3 + 1
    assert store.open(7) == Head(1)
