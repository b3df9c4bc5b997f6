"""Every entry of the table of operators: both back ends, and the rules in plain Python."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.compiled import njit
from slackwater.pattern.program import Condition, Op, Programs, assemble, run
from slackwater.pattern.stacks import Events
from slackwater.pattern.texts import texts_of
from slackwater.query.event.code import bits
from slackwater.query.expr.kinds import TYPES
from slackwater.query.expr.operators import OPERATORS, Operator, raw_kind
from tests.query import rules

INT = [0, 1, -1, 2, 3, -7, 10, 1000, 2**31, 2**53 + 1, 2**62, -(2**62), 3037000500, -3037000500,
       2**63 - 1, -(2**63), -(2**63) + 1, None]
REAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-300, -1e300, 1e308, 2.0**53, 2.0**63,
        0.49999999999999994, math.nan, math.inf, -math.inf, None]
VALUES: dict[str, list[Any]] = {
    "integer": INT, "real": REAL, "text": ["", "a", "B", "ab", " ä%", "a_b", None],
    "boolean": [True, False, None],
    "timestamp": [*INT[:9], -(2**50), 1_700_000_000_000_000, 2**63 - 1, -(2**63), None],
    "duration": INT}
TEXTS = [*VALUES["text"], "12", " -7 ", "+3", "1.5", "1e3", ".5", "1e999", "9" * 19, "9" * 40,
         "-9223372036854775808", "nan", "inf", "0x10", "1_0", "TRUE", "f", "0", "1", "--1", "٣",
         "2024-02-29", "2023-02-29", "2024-01-01 10:00:00.5", "2024-01-01T10:00+01:00",
         "1969-12-31T23:59:59.999999Z", "0001-01-01", "9999-12-31 23:59:59", "10:00", "2024-13-01"]
CALENDAR = ("year", "month", "day", "hour", "minute", "second")
INEXACT = ("exp", "ln", "log10", "power")  # two mathematical libraries may differ in the last bit
ENTRIES = [pytest.param(o, id=f"{o.name} {' '.join(o.operands)}") for o in OPERATORS]


def operands(operator: Operator) -> list[tuple[Any, ...]]:
    """Every pair of the special values, and some by chance."""
    chance = random.Random(operator.name)
    kinds = operator.operands
    values = [VALUES[k] for k in kinds]
    if operator.name in CALENDAR:
        values = [[0, -1, 1_700_000_000_000_000, -10**15, 10**16, None]]
    if operator.name.startswith("to ") and kinds == ("text",):
        return [(x,) for x in TEXTS]
    if operator.name == "like":
        patterns = ("a%", "%", "", "a_b", "_", "%a%b%", "\\%", "\\_b", "__%", None)
        some = [*VALUES["text"], "aab", "ä", "%", "_b", "xaxbx", "äb"]
        return [(x, p) for x in some for p in patterns] + [
            tuple(by_chance(chance, k, operator) for k in kinds) for _ in range(300)]
    if operator.name == "round" and len(kinds) == 2:
        values[1] = [0, 1, -1, 2, -2, 18, -18, -19, -20, -40, 320, None]
    found = list(product(*values))
    for _ in range(300):
        found.append(tuple(by_chance(chance, k, operator) for k in kinds))
    return found


def by_chance(chance: random.Random, kind: str, operator: Operator) -> Any:
    if kind == "real":
        return chance.choice([chance.uniform(-9, 9), chance.gauss(0, 1e18), chance.gauss(0, 1e200)])
    if kind == "text":
        return "".join(chance.choice("ab%_ ä") for _ in range(chance.randrange(4)))
    if kind == "boolean":
        return chance.random() < 0.5
    if operator.name in CALENDAR:
        return chance.randrange(-10**15, 10**16)
    if operator.name == "round" and len(operator.operands) == 2 and chance.random() < 0.5:
        return chance.randrange(-25, 25)
    return chance.choice([chance.randrange(-9, 9), chance.randrange(-(2**63), 2**63),
                          chance.randrange(-(2**33), 2**33)])


def columns(operator: Operator, rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    return [pa.array([row[i] for row in rows], TYPES[raw_kind(kind)]).cast(TYPES[kind])
            for i, kind in enumerate(operator.operands)]


def plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


def same(found: Any, wanted: Any, exact: bool) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        if math.isnan(wanted):
            return math.isnan(found)
        return found == wanted or (not exact and math.isclose(found, wanted, rel_tol=1e-14))
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("operator", ENTRIES)
def test_arrow_follows_the_rules(operator: Operator) -> None:
    rows = operands(operator)
    given = columns(operator, rows)
    result = operator.run(*given)
    assert result.type == TYPES[operator.result]
    found = plain(result)
    wanted = [rules.value(operator.name, operator.operands, operator.result, row) for row in rows]
    wrong = [(row, f, w) for row, f, w in zip(rows, found, wanted, strict=True)
             if not same(f, w, operator.name not in INEXACT)]
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("operator", ENTRIES)
def test_scalars_are_rows(operator: Operator) -> None:
    """A constant beside a column, and constants alone, give what columns give."""
    rows = operands(operator)[::7]
    given = columns(operator, rows)
    wanted = plain(operator.run(*given))
    for i, w in enumerate(wanted):
        alone = operator.run(*[column[i] for column in given])
        assert isinstance(alone, pa.Scalar)
        assert same(plain(pa.repeat(alone, 1))[0], w, True), rows[i]
        if len(given) == 2:
            beside = operator.run(given[0], given[1][i])
            assert same(plain(beside)[i], w, True), rows[i]


@njit(cache=False)
def machine(prog: Programs, ev: Events, now: Any, state: Any, integers: Any, reals: Any) -> None:
    for row in range(len(state)):
        for c in range(len(now)):
            now[c] = row
        run(0, prog, ev, now, now, now, now, now)
        state[row], integers[row], reals[row] = prog.stack_k[0], prog.stack_i[0], prog.stack_f[0]


def computed(operator: Operator, rows: list[tuple[Any, ...]]) -> list[Any]:
    """What the compiled machine says, one candidate at a time."""
    assert operator.code is not None
    given = columns(operator, rows)
    code: list[tuple[int, int, int, int]] = []
    for i, (kind, want) in enumerate(zip(operator.operands, operator.reads, strict=True)):
        code.append((int(Op.LOAD_F if kind == "real" else Op.LOAD_I), i, i, 0))
        if want == "real" and kind != "real":
            code.append((int(Op.TO_F), 0, 0, 0))
    code += [(int(op), 0, 0, 0) for op in operator.code]
    words = [bits(c.dictionary_encode().indices) if kind == "text" else bits(c)
             for c, kind in zip(_together(given), operator.operands, strict=True)]
    value = np.array(words)
    known = np.array([c.is_valid().to_numpy(zero_copy_only=False) for c in given])
    none = np.zeros(len(rows), np.int64)
    events = Events(none, none, none, value, value.view(np.float64), known, none.astype(bool))
    state, integers, reals = none.copy(), none.copy(), np.zeros(len(rows))
    codes = _together(given)[0]
    program = assemble([Condition(tuple(code))])
    if pa.types.is_dictionary(codes.type):
        program = program._replace(texts=texts_of(codes.dictionary))
    machine(program, events, np.zeros(len(given), np.int64), state,
            integers, reals)
    texts = _together(given)[0].dictionary_encode().dictionary if (
        operator.result == "text") else None
    return [None if k == 0 else float(f) if k == 2 else
            bool(i) if operator.result == "boolean" else
            texts[int(i)].as_py() if texts is not None else int(i)
            for k, i, f in zip(state, integers, reals, strict=True)]


def _together(given: list[pa.Array]) -> list[pa.Array]:
    """Texts of both operands, numbered in one dictionary."""
    if not pa.types.is_string(given[0].type):
        return given
    whole = pa.concat_arrays(given).dictionary_encode()
    size = len(given[0])
    return [pa.DictionaryArray.from_arrays(whole.indices[i * size:(i + 1) * size],
                                           whole.dictionary) for i in range(len(given))]


@pytest.mark.parametrize("operator", [p for p in ENTRIES if p.values[0].code is not None])
def test_the_machine_follows_the_rules(operator: Operator) -> None:
    rows = operands(operator)
    wanted = [rules.value(operator.name, operator.operands, operator.result, row) for row in rows]
    wrong = [(row, f, w) for row, f, w in zip(rows, computed(operator, rows), wanted, strict=True)
             if not same(f, w, operator.name not in INEXACT)]
    assert not wrong, wrong[:5]


def test_every_rule_is_named() -> None:
    """The words in the table are those that its docstring explains."""
    assert {o.nulls for o in OPERATORS} == {"gives NULL", "gives way", "decides", "is tested"}
    assert {o.nan for o in OPERATORS} == {"–", "gives NULL", "compares", "gives way", "passes"}
    assert {o.overflow for o in OPERATORS} == {"–", "gives NULL"}
    for o in OPERATORS:
        assert ("real" in (*o.operands, *o.reads)) >= (o.nan != "–"), o
