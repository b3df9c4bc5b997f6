"""Expressions against Python's own arithmetic and SQL's three-valued logic, row by row."""

from __future__ import annotations

import datetime as dt
import operator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.query.expr.arrow import compile, schema_lookup
from slackwater.query.expr.parse import parse_expression
from slackwater.query.expr.tree import Between, Binary, InList, IsNull, Literal, Name, Unary

TABLE = pa.table({
    "a": [1, 2, None, 2**63 - 1], "b": [0, 2, 3, 4], "x": [1.5, None, 3.0, -2.0],
    "s": ["x", None, "yy", "room"], "ok": [True, False, None, True],
    "t": pa.array([0, 1_000_000, 2_000_000, None], pa.timestamp("us")),
    "d": pa.array(["p", "q", "p", None]).dictionary_encode(),
})


def value(text):
    made = compile(parse_expression(text), schema_lookup(TABLE.schema, text), text)
    return made.evaluate(lambda name: TABLE[name.name].combine_chunks(), 4).to_pylist()


@pytest.mark.parametrize(("text", "wanted"), [
    ("a + b", [1, 4, None, None]),                       # the last overflows
    ("a / b", [None, 1.0, None, float(2**63) / 4]),      # by zero: NULL; never whole
    ("7 / 2", [3.5] * 4),
    ("a % b", [None, 0, None, 3]),
    ("-7 % 3", [-1] * 4),
    ("-x", [-1.5, None, -3.0, 2.0]),
    ("2 + 3 * 4 - 1", [13] * 4),
    ("(2 + 3) * 4", [20] * 4),
    ("x < 2", [True, None, False, True]),
    ("x < 2 AND ok", [True, False, False, True]),
    ("x < 2 OR ok", [True, None, None, True]),
    ("NOT ok", [False, True, None, False]),
    ("s IN ('x', NULL)", [True, None, None, None]),
    ("s NOT IN ('x', 'q')", [False, None, True, True]),
    ("a BETWEEN 1 AND 2", [True, True, None, False]),
    ("a NOT BETWEEN 1 AND 2", [False, False, None, True]),
    ("a IS NULL", [False, False, True, False]),
    ("a = NULL", [None] * 4),
    ("NULL = NULL", [None] * 4),
    ("s LIKE '%o_'", [False, None, False, True]),
    ("d = 'p'", [True, False, True, None]),
    ("t > '1970-01-01T00:00:00.5'", [False, True, True, None]),
    ("t >= TIMESTAMP '1970-01-01 02:00:01+02:00'", [False, True, True, None]),
    ("t - TIMESTAMP '1970-01-01' < 1500 ms", [True, True, False, None]),
    ("30 seconds / 10 s", [3.0] * 4),
    ("2 * 1m 30s = 3 minutes", [True] * 4),
    ("coalesce(a, b)", [1, 2, 3, 2**63 - 1]),
    ("concat(upper(s), '!')", ["X!", None, "YY!", "ROOM!"]),
    ("sqrt(x)", [1.5**0.5, None, 3.0**0.5, None]),
    ("length(s) + 1", [2, None, 3, 5]),
    ("'it''s'", ["it's"] * 4),
    ('"a" = 1', [True, False, None, False]),
])
def test_values(text, wanted):
    assert value(text) == wanted


def test_time_arithmetic_keeps_its_types():
    assert value("t + 1 hour")[0] == dt.datetime(1970, 1, 1, 1, tzinfo=dt.UTC)
    assert value("t - t")[0] == dt.timedelta(0)


def test_positions_and_names():
    tree = parse_expression("b[i-1].price > b[ i ].price AND avg(b[].price) < s.x")
    names = [tree.left.left, tree.left.right, tree.right.left.args[0], tree.right.right]
    assert [(n.qualifier, n.name, n.index) for n in names] == [
        ("b", "price", "i-1"), ("b", "price", "i"), ("b", "price", "*"), ("s", "x", None)]
    assert (names[3].at.line, names[3].at.column) == (1, 50)


ops = {"+": operator.add, "-": operator.sub, "*": operator.mul}
tests = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
         ">": operator.gt, ">=": operator.ge}
numbers = st.one_of(st.builds(lambda v: Literal(v, "number"), st.integers(-3, 3)),
                    st.just(Literal(None, "null")),
                    st.builds(Name, st.none(), st.sampled_from("uv")))
sums = st.recursive(numbers, lambda inner: st.builds(Binary, st.sampled_from(sorted(ops)), inner,
                                                     inner), max_leaves=5)
conditions = st.recursive(
    st.one_of(st.builds(Binary, st.sampled_from(sorted(tests)), sums, sums),
              st.builds(IsNull, sums, st.booleans()),
              st.builds(Between, sums, sums, sums, st.booleans()),
              st.builds(InList, sums, st.lists(sums, min_size=1, max_size=3).map(tuple),
                        st.booleans())),
    lambda inner: st.one_of(st.builds(Binary, st.sampled_from(["and", "or"]), inner, inner),
                            st.builds(Unary, st.just("not"), inner)), max_leaves=6)


def sql(node, row):
    """What SQL says, one row at a time."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        return row[node.name]
    if isinstance(node, Unary):
        inner = sql(node.operand, row)
        return None if inner is None else not inner
    if isinstance(node, IsNull):
        return (sql(node.operand, row) is None) != node.negated
    if isinstance(node, Between):
        found = kleene_and(compared("<=", sql(node.low, row), sql(node.operand, row)),
                           compared("<=", sql(node.operand, row), sql(node.high, row)))
        return found if found is None else found != node.negated
    if isinstance(node, InList):
        each = [compared("=", sql(node.operand, row), sql(i, row)) for i in node.items]
        found = True if True in each else None if None in each else False
        return found if found is None else found != node.negated
    left, right = sql(node.left, row), sql(node.right, row)
    if node.op == "and":
        return kleene_and(left, right)
    if node.op == "or":
        return True if True in (left, right) else None if None in (left, right) else False
    if node.op in tests:
        return compared(node.op, left, right)
    return None if None in (left, right) else ops[node.op](left, right)


def compared(op, left, right):
    return None if left is None or right is None else tests[op](left, right)


def kleene_and(left, right):
    return False if False in (left, right) else None if None in (left, right) else True


@given(conditions, st.lists(st.fixed_dictionaries({"u": st.none() | st.integers(-3, 3),
                                                   "v": st.none() | st.integers(-3, 3)}),
                            min_size=1, max_size=5))
def test_conditions_follow_sql(node, rows):
    table = pa.Table.from_pylist(rows, pa.schema([("u", pa.int64()), ("v", pa.int64())]))
    made = compile(node, schema_lookup(table.schema, ""))
    found = made.evaluate(lambda name: table[name.name].combine_chunks(), len(rows)).to_pylist()
    assert found == [sql(node, row) for row in rows]
