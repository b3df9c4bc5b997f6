"""Every kind of frame in, the same kind out, the rest beside it, and no row lost."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater.core.errors import ConfigError, SlackwaterError
from slackwater.frames import Answer, RoleGuess

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
polars = pytest.importorskip("polars", reason="polars is not installed")
duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")

S = 1_700_000_000_000_000
STAMP = pa.timestamp("us", "UTC")
TIMES = [0, 10, 4, 20, 3, 30, None]
TABLE = pa.table({
    "time": pa.array([None if t is None else S + 1_000_000 * t for t in TIMES], STAMP),
    "arrival": pa.array([S + 1_000_000 * t for t in (0, 10, 11, 20, 21, 30, 31)], STAMP),
    "type": ["A", "B", "A", "B", "A", "B", "A"], "v": [1, 2, 3, 4, 5, 6, 7],
    "name": ["[x]", "<b>", "c", "d", "e", "f", "g"]})
ORDERED, LATE, BAD = [1, 3, 2, 4, 6], [5], [7]


class Speaks:
    """Knows nothing but Arrow's stream protocol."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


KINDS: dict[str, tuple[Any, type]] = {
    "pandas": (lambda: TABLE.to_pandas(), pandas.DataFrame),
    "polars": (lambda: polars.from_arrow(TABLE), polars.DataFrame),
    "polars lazy": (lambda: polars.from_arrow(TABLE).lazy(), polars.LazyFrame),
    "duckdb": (lambda: duckdb.from_arrow(TABLE), duckdb.DuckDBPyRelation),
    "table": (lambda: TABLE, pa.Table),
    "batch": (lambda: TABLE.to_batches()[0], pa.RecordBatch),
    "reader": (lambda: TABLE.to_reader(), pa.RecordBatchReader),
    "stream": (lambda: Speaks(TABLE), pa.Table),
}


def as_table(frame: Any) -> pa.Table:
    if isinstance(frame, Answer):
        frame = frame.ready
    if isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    return pa.table(frame) if not isinstance(frame, pa.RecordBatchReader) else frame.read_all()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[Any, type]:
    make, type_ = KINDS[request.param]
    return make(), type_


def check(out: Any, type_: type) -> tuple[pa.Table, list[int], list[int]]:
    ready = out.ready if isinstance(out, Answer) else out
    for frame in (ready, out.late, out.quarantined):
        assert isinstance(frame, type_)
    late, bad = as_table(out.late), as_table(out.quarantined)
    assert all([*late["_reason"].to_pylist(), *bad["_reason"].to_pylist()])
    return as_table(out), late["v"].to_pylist(), bad["v"].to_pylist()


def test_reorder(kind: tuple[Any, type]) -> None:
    frame, type_ = kind
    out = slackwater.reorder(frame, "Static(buffer=8s)")
    ready, late, bad = check(out, type_)
    assert ready["v"].to_pylist() == ORDERED
    assert ready.column_names == TABLE.column_names
    assert (late, bad) == (LATE, BAD)
    assert (out.account.rows, out.account.ready, out.account.late) == (7, 5, 1)


def test_query_and_match(kind: tuple[Any, type]) -> None:
    frame, type_ = kind
    if type_ is pa.RecordBatchReader:
        frame = TABLE  # a reader can be read once
        type_ = pa.Table
    text = "SELECT name, COUNT(*) AS n FROM s [RANGE 5 seconds]"
    ready, late, bad = check(slackwater.query(frame, text, slack="8s"), type_)
    assert ready.to_pylist()[0] == {"name": "[x]", "n": 1}
    assert (late, bad) == (LATE, BAD)
    found = slackwater.match(frame, "EVENT SEQ(A a, B b) WITHIN 8 s RETURN a.v AS a, b.v AS b",
                             slack="8s")
    ready, late, bad = check(found, type_)
    assert ready.select(["a", "b"]).to_pylist() == [{"a": 3, "b": 2}]
    assert (late, bad) == ([5], BAD)
    same = slackwater.query(frame, "EVENT SEQ(A a, B b) WITHIN 8 s RETURN a.v AS a, b.v AS b",
                            slack="8s")
    assert as_table(same).equals(as_table(found))


def test_synchronise_and_correlate(kind: tuple[Any, type]) -> None:
    frame, type_ = kind
    if type_ is pa.RecordBatchReader:
        frame, type_ = TABLE, pa.Table
    out = slackwater.synchronise(frame, source="type")
    ready, late, bad = check(out, type_)
    assert sorted([*ready["v"].to_pylist(), *late, *bad]) == TABLE["v"].to_pylist()
    other = polars.DataFrame({"time": [TABLE["time"][1].as_py()], "lamp": ["hall"]})
    pairs = slackwater.correlate(frame, other, within="7s", time="time")
    ready, late, bad = check(pairs, type_)
    assert ready.select(["v", "lamp"]).to_pylist() == [
        {"v": 5, "lamp": "hall"}, {"v": 3, "lamp": "hall"}, {"v": 2, "lamp": "hall"}]
    assert (late, bad, pairs.account.unusable) == ([], BAD, 1)


def test_a_query_over_two_frames_counts_what_took_no_part() -> None:
    lamps = pandas.DataFrame({"time": [TABLE["time"][1].as_py(), None], "lamp": ["hall", "attic"]})
    out = slackwater.query({"Lamps": lamps, "Doors": TABLE},
                           "SELECT l.lamp, d.v FROM Lamps l, Doors d WHERE |@l - @d| <= 1 s")
    assert isinstance(out, pandas.DataFrame)
    assert out.to_dict("records") == [{"lamp": "hall", "v": 2}]
    assert (len(out.quarantined), out.account.unusable, out.account.ready) == (2, 2, 7)
    with pytest.raises(ConfigError, match="reads two streams"):
        slackwater.query(TABLE, "SELECT l.lamp FROM Lamps l, Doors d WHERE |@l - @d| <= 1 s")


def test_a_pandas_index_comes_back() -> None:
    frame = TABLE.slice(0, 4).to_pandas().set_index("time")
    out = slackwater.reorder(frame, "Static(buffer=8s)")
    assert out.index.name == "time"
    assert out.index.is_monotonic_increasing
    assert out["v"].tolist() == [1, 3, 2, 4]


def test_a_column_called_late_is_not_hidden() -> None:
    frame = TABLE.to_pandas().rename(columns={"v": "late"})
    out = slackwater.reorder(frame, "Static(buffer=8s)")
    assert out["late"].tolist() == ORDERED
    assert out.late["late"].tolist() == LATE


def test_texts_keep_their_layout() -> None:
    wide = TABLE.set_column(4, "name", TABLE["name"].cast(pa.large_string()))
    assert slackwater.reorder(wide).ready.schema.field("name").type == pa.large_string()


def test_guesses_are_said_and_explicit_roles_win() -> None:
    frame = TABLE.rename_columns(["ts", "received_at", "kind", "device_id", "name"]).to_pandas()
    with pytest.warns(RoleGuess, match=r"reorder guessed time='ts', arrival='received_at', "
                                       r"source='device_id'") as said:
        slackwater.reorder(frame, "Static(buffer=8s)")
    assert said[0].filename == __file__
    with pytest.warns(RoleGuess) as said:
        slackwater.match(frame, "EVENT A a WITHIN 1 s", slack="8s")
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slackwater.reorder(frame, "Static(buffer=8s)", time="ts", arrival="received_at",
                           source="kind")
        slackwater.reorder(TABLE, "Static(buffer=8s)")  # names that are the roles are no guess


@pytest.mark.parametrize(("frame", "says"), [
    ([1, 2], "speaks Arrow"),
    (pa.table({"ts": [1], "timestamp": [2]}), "several columns could be the time"),
    (pa.table({"x": [1]}), "no column for the role 'time'"),
    (pa.table({"time": ["noon"]}).to_pandas().assign(x=[object()]), "Arrow cannot hold"),
    (pa.table([pa.array([1]), pa.array([1])], names=["time", "time"]), "two columns"),
])
def test_mistakes(frame: Any, says: str) -> None:
    with pytest.raises(SlackwaterError, match=says):
        slackwater.reorder(frame)


def test_empty_frames() -> None:
    out = slackwater.reorder(TABLE.slice(0, 0).to_pandas())
    assert (len(out), len(out.late), out.account.rows) == (0, 0, 0)
    assert list(out.columns) == TABLE.column_names


def test_packages_stay_packages_and_the_import_stays_light() -> None:
    code = ("import sys, slackwater\n"
            "assert not {'numba', 'pyarrow', 'pandas'} & set(sys.modules)\n"
            "from slackwater.reorder import Tide, Static\n"
            "import slackwater.correlate, slackwater.query\n"
            "from slackwater.query import make_query\n"
            "import inspect\n"
            "assert callable(slackwater.reorder) and callable(slackwater.query)\n"
            "assert 'policy' in inspect.signature(slackwater.reorder).parameters\n"
            "assert slackwater.reorder.Tide is Tide\n"
            "print(slackwater.match.__module__)\n")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("slackwater.frames.queries\n", "")


def test_the_page_does_what_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "frames.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["near"]) == 4
