"""The table of operators and functions: what each takes and gives, and how either back end does it.

One entry a name and kinds of operands.  The Arrow back end (`expression`) and the compiled machine
of patterns (`event_code`, `slackwater.pattern.program`) are both driven by it, so an expression
means the same in WHERE over one row, between events, and in RETURN.

The rules:

- *nulls*: "gives NULL" (any NULL operand), "gives way" (least, greatest, coalesce: the other one),
  "decides" (FALSE AND NULL is FALSE, TRUE OR NULL is TRUE), "is tested" (IS NULL).
- *nan*: NaN is a value, not NULL.  "gives NULL": arithmetic whose result is not finite is NULL, so
  NaN and infinities in give NULL out.  "compares": as IEEE 754 has it, every comparison with NaN is
  false, except != (<>), which is true.  "gives way": as NULL does in least and greatest.  "passes":
  the operand itself comes out.
- *overflow*: "gives NULL": a whole number, time or duration that does not fit 64 bits is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.pattern.program import Op
from slackwater.query.expr import arithmetic as a
from slackwater.query.expr import functions as f
from slackwater.query.expr.kinds import TYPES

__all__ = ["FUNCTIONS", "KINDS", "MANY", "OPERATORS", "TO_REAL", "Operator", "arities",
           "raw_kind", "resolve"]

KINDS = ("integer", "real", "text", "boolean", "timestamp", "duration")
_WHOLE = ("integer", "timestamp", "duration")
_RAW = {"real": "real", "text": "text", "boolean": "boolean"}


@dataclass(frozen=True)
class Operator:
    """One line of the table.

    Parameters
    ----------
    name
        As in a tree: ``+``, ``=``, ``and``, ``abs``…; ``neg`` is the sign.
    operands, result
        Kinds.
    arrow
        The operation over Arrow arrays or scalars of the `reads` kinds.
    code
        Instructions of the compiled machine for operands on its stack; None: texts and calendars,
        which it does not know.
    reads
        What the operands are turned into first: times and durations are whole microseconds.
    nulls, nan, overflow
        The rules (see above); "–" where the case cannot arise.
    """

    name: str
    operands: tuple[str, ...]
    result: str
    arrow: Callable[..., Any]
    code: tuple[Op, ...] | None
    reads: tuple[str, ...]
    nulls: str = "gives NULL"
    nan: str = "–"
    overflow: str = "–"

    def run(self, *values: Any) -> Any:
        """Apply it to Arrow values of its operands' kinds."""
        given = [_as_raw(v, want) for v, want in zip(values, self.reads, strict=True)]
        return _as_result(self.arrow(*given), TYPES[self.result])


def raw_kind(kind: str) -> str:
    """How a kind is kept: times and durations as whole numbers."""
    return _RAW.get(kind, "integer")


def _as_raw(value: Any, want: str) -> Any:
    if value.type == TYPES[want]:
        return value
    if want == "real":
        value = value if pa.types.is_integer(value.type) else pc.cast(value, pa.int64())
        return a.real(value)
    return pc.cast(value, TYPES[want])


def _as_result(value: Any, want: pa.DataType) -> Any:
    return value if value.type == want else pc.cast(value, want)


def _entry(name: str, operands: Sequence[str], result: str, arrow: Callable[..., Any],
           *code: Op, reads: Sequence[str] | None = None, machine: bool = True,
           nulls: str = "gives NULL", nan: str = "–", overflow: str = "–") -> Operator:
    raw = tuple(reads or (raw_kind(k) for k in operands))
    return Operator(name, tuple(operands), result, arrow, code if machine else None, raw, nulls,
                    nan, overflow)


def _arithmetic() -> Iterator[Operator]:
    plus = [("integer", "integer", "integer"), ("duration", "duration", "duration"),
            ("timestamp", "duration", "timestamp"), ("duration", "timestamp", "timestamp")]
    minus = [*plus[:3], ("timestamp", "timestamp", "duration")]
    times = [("integer", "integer", "integer"), ("duration", "integer", "duration"),
             ("integer", "duration", "duration")]
    for name, kinds, arrow, op in (("+", plus, a.add_i, Op.ADD_I),
                                   ("-", minus, a.subtract_i, Op.SUB_I),
                                   ("*", times, a.multiply_i, Op.MUL_I)):
        for left, right, result in kinds:
            yield _entry(name, (left, right), result, arrow, op, overflow="gives NULL")
    both = ("real", "real")
    for name, plain, op in (("+", pc.add, Op.ADD_F), ("-", pc.subtract, Op.SUB_F),
                            ("*", pc.multiply, Op.MUL_F)):
        yield _real(name, both, "real", f.real_function(plain), op)
    for pair in (("duration", "real"), ("real", "duration")):
        yield _real("*", pair, "duration", _rounded(f.real_function(pc.multiply)), Op.MUL_F,
                    Op.ROUND)
    # a quotient is never whole, as in Spark: 7 / 2 is 3.5
    for pair in (("integer", "integer"), both, ("duration", "duration")):
        yield _real("/", pair, "real", a.divide_f, Op.DIV_F)
    yield _real("/", ("duration", "real"), "duration", _rounded(a.divide_f), Op.DIV_F, Op.ROUND)
    yield _entry("%", ("integer", "integer"), "integer", a.modulo_i, Op.MOD_I)
    yield _real("%", both, "real", a.modulo_f, Op.MOD_F)
    yield _entry("//", ("integer", "integer"), "integer", a.floor_divide_i, Op.DIV_I)
    for kind in ("integer", "duration"):
        yield _entry("neg", (kind,), kind, f.negate_i, Op.NEG_I, overflow="gives NULL")
        yield _entry("abs", (kind,), kind, f.absolute_i, Op.ABS_I, overflow="gives NULL")
    yield _entry("neg", ("real",), "real", f.real_function(pc.negate), Op.NEG_F, nan="gives NULL")
    yield _entry("abs", ("real",), "real", f.real_function(pc.abs), Op.ABS_F, nan="gives NULL")


def _real(name: str, operands: tuple[str, str], result: str, arrow: Callable[..., Any],
          *code: Op) -> Operator:
    """Arithmetic that is done in reals, whatever its operands are."""
    return _entry(name, operands, result, arrow, *code, reads=("real", "real"), nan="gives NULL",
                  overflow="gives NULL")


def _rounded(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: a.to_whole(run(x, y))


def _logic() -> Iterator[Operator]:
    tests = (("=", pc.equal, Op.EQ), ("!=", pc.not_equal, Op.NE), ("<", pc.less, Op.LT),
             ("<=", pc.less_equal, Op.LE), (">", pc.greater, Op.GT),
             (">=", pc.greater_equal, Op.GE))
    for (name, arrow, op), kind in product(tests, KINDS):
        raw = "integer" if kind == "boolean" else raw_kind(kind)
        ordered = kind == "text" and name not in ("=", "!=")
        yield _entry(name, (kind, kind), "boolean", arrow, *((Op.TEXT_ORDER,) * ordered), op,
                     reads=(raw, raw),
                     nan="compares" if kind == "real" else "–")
    both = ("boolean", "boolean")
    yield _entry("and", both, "boolean", pc.and_kleene, Op.AND, nulls="decides")
    yield _entry("or", both, "boolean", pc.or_kleene, Op.OR, nulls="decides")
    yield _entry("not", ("boolean",), "boolean", pc.invert, Op.NOT)
    for kind in KINDS:
        yield _entry("is null", (kind,), "boolean", pc.is_null, Op.IS_NULL, nulls="is tested",
                     nan="passes" if kind == "real" else "–")
    yield _entry("like", ("text", "text"), "boolean", _like, Op.LIKE)


def _like(text: Any, pattern: Any) -> Any:
    """The pattern may be another column: then each of its values is asked for its own rows."""
    if isinstance(pattern, pa.Scalar):
        if pattern.as_py() is None:
            return pc.cast(pc.if_else(pc.is_null(text), None, None), pa.bool_())
        return pc.match_like(text, pattern.as_py())
    texts = text if not isinstance(text, pa.Scalar) else pa.array(
        [text.as_py()] * len(pattern), pa.string())
    found = pa.nulls(len(pattern), pa.bool_())
    for value in pc.unique(pattern).to_pylist():
        if value is not None:
            found = pc.if_else(pc.fill_null(pc.equal(pattern, value), False),
                               pc.match_like(texts, value), found)
    return found


def _choices() -> Iterator[Operator]:
    for kind in KINDS:
        real = "gives way" if kind == "real" else "–"
        ordered = kind != "boolean"
        if ordered:
            yield _entry("least", (kind, kind), kind, f.least, Op.LEAST, nulls="gives way",
                         nan=real, machine=kind != "text")
            yield _entry("greatest", (kind, kind), kind, f.greatest, Op.GREATEST,
                         nulls="gives way", nan=real, machine=kind != "text")
        passes = "passes" if kind == "real" else "–"
        yield _entry("coalesce", (kind, kind), kind, pc.coalesce, Op.COALESCE, nulls="gives way",
                     nan=passes)
        yield _entry("when", ("boolean", kind), kind, f.when, Op.WHEN, nulls="decides",
                     nan=passes, machine=kind != "text")
        yield _entry("nullif", (kind, kind), kind, f.null_if, Op.NULLIF, nulls="gives way",
                     nan=passes)


def _functions() -> Iterator[Operator]:
    null = "gives NULL"
    for name, arrow, op in (("sign", pc.sign, Op.SIGN_F), ("floor", pc.floor, Op.FLOOR),
                            ("ceil", pc.ceil, Op.CEIL), ("sqrt", pc.sqrt, Op.SQRT)):
        yield _entry(name, ("real",), "real", f.real_function(arrow), op, nan=null)
    yield _entry("round", ("real",), "real", f.round_half_away, Op.ROUND_F, nan=null)
    yield _entry("sign", ("integer",), "integer", lambda x: pc.cast(pc.sign(x), pa.int64()),
                 Op.SIGN_I)
    for name in ("round", "floor", "ceil"):
        yield _entry(name, ("integer",), "integer", lambda x: x)
    yield _entry("round", ("integer", "integer"), "integer", a.round_digits_i, machine=False,
                 overflow="gives NULL")
    yield _entry("round", ("real", "integer"), "real", a.round_digits_f, machine=False, nan=null)
    for name, arrow in (("exp", pc.exp), ("ln", pc.ln), ("log10", pc.log10)):
        yield _entry(name, ("real",), "real", f.real_function(arrow), machine=False, nan=null)
    yield _entry("power", ("real", "real"), "real", f.real_function(pc.power), machine=False,
                 nan=null)
    for name, arrow in (("lower", pc.utf8_lower), ("upper", pc.utf8_upper),
                        ("trim", pc.utf8_trim_whitespace), ("ltrim", pc.utf8_ltrim_whitespace),
                        ("rtrim", pc.utf8_rtrim_whitespace)):
        yield _entry(name, ("text",), "text", arrow, machine=False)
    yield _entry("length", ("text",), "integer", lambda x: pc.cast(pc.utf8_length(x), pa.int64()),
                 machine=False)
    for numbers in (("integer",), ("integer", "integer")):
        yield _entry("substring", ("text", *numbers), "text", f.by_row(f.substring, "text"),
                     machine=False)
    yield _entry("right", ("text", "integer"), "text", f.by_row(
        lambda x, n: x[-n:] if n > 0 else "", "text"), machine=False)
    yield _entry("replace", ("text",) * 3, "text", f.by_row(f.replaced, "text"), machine=False)
    yield _entry("strpos", ("text", "text"), "integer", f.by_row(
        lambda x, part: x.find(part) + 1, "integer"), machine=False)
    yield _entry("concat", ("text", "text"), "text", f.concat, machine=False)
    for name, arrow in (("year", pc.year), ("month", pc.month), ("day", pc.day), ("hour", pc.hour),
                        ("minute", pc.minute), ("second", pc.second)):
        yield _entry(name, ("timestamp",), "integer", f.part(arrow), machine=False)
    yield _entry("epoch", ("timestamp",), "real", f.epoch, Op.TO_F, Op.SECONDS)
    yield _entry("to real", ("integer",), "real", a.real, Op.TO_F)
    yield from _casts()
    for kind in ("timestamp", "duration"):
        yield _entry(f"as {kind}", ("integer",), kind, lambda x: x)


def _casts() -> Iterator[Operator]:
    """CAST: NULL for what cannot be read as the kind that is asked for."""
    null = "gives NULL"
    yield _entry("to integer", ("real",), "integer", f.truncated, machine=False, nan=null,
                 overflow=null)
    yield _entry("to integer", ("boolean",), "integer", lambda x: pc.cast(x, pa.int64()),
                 machine=False)
    yield _entry("to integer", ("text",), "integer", f.read_text(f.whole_of, "integer"),
                 machine=False, overflow=null)
    yield _entry("to real", ("text",), "real", f.read_text(f.real_of, "real"), machine=False,
                 overflow=null)
    yield _entry("to boolean", ("integer",), "boolean", lambda x: pc.not_equal(x, 0),
                 machine=False)
    yield _entry("to boolean", ("text",), "boolean", f.read_text(f.truth_of, "boolean"),
                 machine=False)
    yield _entry("to text", ("integer",), "text", lambda x: pc.cast(x, pa.string()), machine=False)
    yield _entry("to text", ("real",), "text", f.read_text(repr, "text"), machine=False,
                 nan="passes")
    yield _entry("to text", ("boolean",), "text", lambda x: pc.cast(x, pa.string()), machine=False)
    yield _entry("to text", ("timestamp",), "text", f.time_text, machine=False, overflow=null)
    yield _entry("to timestamp", ("text",), "timestamp", f.text_time, machine=False)


OPERATORS: tuple[Operator, ...] = (*_arithmetic(), *_logic(), *_choices(), *_functions())
"""Every entry."""

TO_REAL = next(o for o in OPERATORS if o.name == "to real")
"""What makes a real of a whole number; beyond 2^53 it is rounded."""

MANY = frozenset({"least", "greatest", "coalesce", "concat"})
"""Functions that take one value or more: least(a, b, c) is least(least(a, b), c)."""

FUNCTIONS = tuple(dict.fromkeys(o.name for o in OPERATORS if o.name.isalnum()
                                and o.name not in ("and", "or", "not", "neg", "like", "when")))
"""The names of the functions."""

_BY_NAME: dict[str, list[Operator]] = {}
for _operator in OPERATORS:
    _BY_NAME.setdefault(_operator.name, []).append(_operator)


def arities(name: str) -> list[int]:
    """With how many operands a name is known."""
    return sorted({len(o.operands) for o in _BY_NAME.get(name, [])})


def resolve(name: str, kinds: Sequence[str]) -> Operator | None:
    """The entry for operands of these kinds; None if there is none.

    A whole number may stand for a real, and NULL for every kind; the entry that needs the least of
    that is taken, the first of several.

    Examples
    --------
    >>> resolve("+", ("integer", "real")).operands, resolve("-", ("timestamp",) * 2).result
    (('real', 'real'), 'duration')
    """
    best, cost = None, 100
    for entry in _BY_NAME.get(name, []):
        if len(entry.operands) != len(kinds):
            continue
        price = 0
        for have, want in zip(kinds, entry.operands, strict=True):
            if have == want:
                continue
            price += 1 if have == "null" or (have, want) == ("integer", "real") else 1000
        if price < cost:
            best, cost = entry, price
    return best
