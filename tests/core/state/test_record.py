"""Records: what goes in comes out, and damage is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Record, bundle, unbundle

INNER = np.dtype([("a", "i2"), ("b", "f8", (2, 2))])
DTYPES = ["i8", "u1", "f4", "?", "M8[us]", INNER, np.dtype([("x", INNER), ("y", "u4")], align=True)]


@given(st.dictionaries(st.text(max_size=5), st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0,
                                                     max_side=4))), max_size=4))
def test_arrays_come_back_as_they_were(arrays):
    again = Record.decode(Record("r", 3, {"n": 1}, arrays).encode(), kind="r", version=3)
    assert again.meta == {"n": 1}
    assert list(again.arrays) == list(arrays)
    for name, array in arrays.items():
        assert again.arrays[name].dtype == array.dtype
        assert again.arrays[name].shape == array.shape
        assert repr(again.arrays[name].tolist()) == repr(array.tolist())


@pytest.mark.parametrize(("change", "message"), [
    (lambda b: b[:5], "not a snapshot"),
    (lambda b: b"XXXX" + b[4:], "not a snapshot"),
    (lambda b: b[:4] + b"\xff\x00" + b[6:], "format is of another release"),
    (lambda b: b[:-1] + bytes([b[-1] ^ 1]), "damaged"),
    (lambda b: b[:-1], "damaged"),
])
def test_damage_is_noticed(change, message):
    blob = Record("r", 1, {}, {"x": np.arange(3)}).encode()
    with pytest.raises(SnapshotError, match=message):
        Record.decode(change(blob), kind="r", version=1)


def test_another_kind_or_version_is_refused():
    blob = Record("r", 1).encode()
    with pytest.raises(SnapshotError, match="another kernel"):
        Record.decode(blob, kind="s", version=1)
    with pytest.raises(SnapshotError, match="another version"):
        Record.decode(blob, kind="r", version=2)


def test_a_bundle_holds_the_index_and_the_blobs():
    store = MemoryStore({"a/1": b"one", "b": b""})
    index, again = unbundle(bundle(b"index", store))
    assert (index, dict(again)) == (b"index", dict(store))
