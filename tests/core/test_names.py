"""Names of columns: one text is one column, and our own names cannot be taken."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.names import RESERVED, check_reserved, is_reserved, unused
from slackwater.correlate import Correlate, correlate_tables
from slackwater.correlate.rows import check_columns, pair_columns
from slackwater.datasets.files import read_dataset
from slackwater.query import SelectQuery
from slackwater.query.correlate.parse import parse_correlate
from slackwater.query.correlate.plan import plan_correlate
from slackwater.query.errors import QueryError
from slackwater.query.event.query import event_query
from slackwater.reorder import Reorder
from slackwater.synchronise import FrontierSync

POINTS = Roles(time_min="time", time_max="time", unit="us")


def test_a_text_is_one_column(tmp_path):
    assert Roles(key="room").key == ("room",)
    assert Correlate(within="1s", by="room").by == ("room",)
    (tmp_path / "a.csv").write_text("time,room\n1700000000,x\n")
    assert read_dataset(tmp_path / "a.csv", key="room").roles.key == ("room",)
    rows = pa.schema([("time", pa.int64()), ("room", pa.string())])
    query = SelectQuery("SELECT room FROM s [RANGE 1 second] GROUP BY room", rows,
                        Roles(unit="us", key="room"), scope="room")
    assert query.chain.reorder.scope == ("room",)


def test_a_text_is_one_column_for_reorder():
    assert Reorder("kslack", Roles(key="room"), scope="room").scope == ("room",)


def test_a_text_is_one_column_of_a_correlation_of_tables():
    rows = pa.table({"time": [1], "room": ["x"]})
    pairs = correlate_tables(rows, rows, within="1s", by="room", roles=POINTS)
    assert pairs["room_left"].to_pylist() == ["x"]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("write", [str.lower, str.upper, str.title])
def test_no_stage_takes_a_column_with_a_name_of_ours(name, write):
    name = write(name)
    rows = pa.record_batch({"time": [1], "source": ["a"], name: [1]})
    roles = Roles(source="source", unit="us")
    kernels = [lambda: Reorder("kslack", roles).start().push(rows),
               lambda: FrontierSync(roles).start().push(rows),
               lambda: SelectQuery("SELECT time FROM s", rows.schema, roles),
               lambda: event_query("EVENT SEQ(A a, B b) WITHIN 1 second",
                                   Roles(type="source", unit="us")).start().push(rows)]
    if name not in ("_bucket", "_owner"):  # these the kernel gets from the operator
        kernels.append(lambda: Correlate(within="1s", roles=POINTS).start().push(rows, "left"))
        kernels.append(lambda: correlate_tables(rows, rows, within="1s", roles=POINTS))
    for run in kernels:
        with pytest.raises(ConfigError, match="a name that operators use themselves") as caught:
            run()
        assert repr(name) in caught.value.problem
        assert "rename it" in str(caught.value.hint)


def test_names_that_only_look_alike_are_free():
    for name in ("status", "_stat", "__op", "__deleted", "row", "_rows", "_agg0", "_arg0",
                 "_arrival", "_raw"):
        assert not is_reserved(name)
    check_reserved(["time", "_agg0"], step="reorder")


@pytest.mark.parametrize("alias", ["_status", "_STATUS", "_Row", "_reason", "_released"])
def test_no_result_is_called_as_a_column_of_ours(alias):
    rows = pa.schema([("time", pa.int64()), ("x", pa.int64()), ("type", pa.string())])
    with pytest.raises(QueryError, match="a name that operators use themselves") as caught:
        SelectQuery(f"SELECT x AS {alias} FROM s", rows, Roles(unit="us"))
    assert "AS" in str(caught.value.hint)
    with pytest.raises(QueryError, match="a name that operators use themselves"):
        plan_correlate(parse_correlate(
            f"SELECT a.x AS {alias} FROM A a, B b WHERE |@a - @b| <= 1 second CONFIDENCE 80%"),
            rows, rows)
    kernel = event_query(f"EVENT SEQ(A a, B b) WITHIN 1 second RETURN a.x AS {alias}",
                         Roles(type="type", unit="us"))
    with pytest.raises(QueryError, match="a name that operators use themselves"):
        kernel.pattern.bind(rows, kernel.roles)


def test_columns_called_like_a_plan_s_own_do_not_meet_them():
    rows = pa.record_batch({"time": [0, 1], "_agg0": [1, 2], "_arg0": [10, 20], "_AGG1": [5, 5],
                            "__agg0": [7, 8]})
    text = ("SELECT _agg0, SUM(_arg0 * 2) AS a, MAX(_agg0 + _arg0) AS b, _arg0, __agg0 "
            "FROM s [RANGE 1 hour]")
    logic = SelectQuery(text, rows.schema, Roles(unit="s"), slack="0s").start()
    found = [*logic.push(rows).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    assert found == [{"_agg0": 1, "a": 20, "b": 11, "_arg0": 10, "__agg0": 7},
                     {"_agg0": 2, "a": 60, "b": 22, "_arg0": 20, "__agg0": 8}]


def test_a_plan_s_own_columns_cannot_be_asked_for():
    rows = pa.schema([("time", pa.int64()), ("x", pa.int64())])
    for name in ("_agg0", "_arg0"):
        with pytest.raises(QueryError, match="there is no column"):
            SelectQuery(f"SELECT SUM(x + 1) AS s, {name} FROM s [RANGE 1 second]", rows,
                        Roles(unit="us"))


def test_unused_stems():
    assert unused("_agg", []) == "_agg"
    assert unused("_agg", ["agg", "x_agg"]) == "_agg"
    assert unused("_agg", ["_AGG7"]) == "__agg"


def test_two_columns_of_pairs_with_one_name_are_refused():
    with pytest.raises(ConfigError, match="two columns of the pairs would be called 'id_left'"):
        pair_columns(["id", "id_left"], ["id"])


INT, TEXT = pa.table({"time": [1], "id": [1]}), pa.table({"time": [1], "id": ["1"]})


def test_a_number_and_a_text_are_no_key_of_a_join():
    with pytest.raises(ConfigError, match="'id' of the left is int64 and 'id' of the right is "
                                          "string: they would never be equal") as caught:
        correlate_tables(INT, TEXT, within="1s", by="id", roles=POINTS)
    assert "cast one of them" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="string and 'id' of the right is int64"):
        correlate_tables(TEXT, INT, within="1s", by=[("id", "id")], roles=POINTS)


def test_nor_in_a_stream():
    logic = Correlate(within="1s", by="id", roles=POINTS).start()
    logic.push(INT.to_batches()[0], "left")
    with pytest.raises(ConfigError, match="they would never be equal"):
        logic.push(TEXT.to_batches()[0], "right")


@pytest.mark.parametrize(("one", "other"), [
    (pa.int32(), pa.int64()), (pa.uint8(), pa.int64()), (pa.float32(), pa.float64()),
    (pa.string(), pa.large_string()), (pa.string(), pa.dictionary(pa.int32(), pa.string()))])
def test_values_of_different_widths_join(one, other):
    left, right = (pa.table({"time": [1], "id": pa.array([1]).cast(
        pa.string() if pa.types.is_dictionary(t) else t).cast(t)}) for t in (one, other))
    assert correlate_tables(left, right, within="1s", by="id", roles=POINTS).num_rows == 1


def test_check_columns_still_names_what_is_missing():
    with pytest.raises(ConfigError, match="no column 'time_min'"):
        check_columns(["a"], Roles(time_min="time_min", time_max="a"), (), "left")
