"""Conditions between events, as small programs for a stack machine that numba runs.

A condition that names one event only is evaluated at the scan, over whole columns.  What names
several must be checked while matches are built, one candidate at a time: here.  Values are int64 or
float64 with a NULL flag (times and durations are int64 microseconds, texts codes of a dictionary,
conditions 0 or 1), and SQL's three-valued logic holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.pattern.aggregate import INTEGER, NULL, REAL, Aggregate, fold
from slackwater.pattern.op import Op
from slackwater.pattern.stacks import Events, inner
from slackwater.pattern.texts import NO_TEXTS, Texts, compare, is_like

__all__ = ["Aggregate", "Condition", "Op", "Programs", "assemble", "holds", "operate", "run"]

Int64 = NDArray[np.int64]


# compiled code knows numbers only
_NULL, _CONST_I, _CONST_F, _LOAD_F, _PREV_F, _AGG_I, _AGG_F = (int(o) for o in (
    Op.NULL, Op.CONST_I, Op.CONST_F, Op.LOAD_F, Op.PREV_F, Op.AGG_I, Op.AGG_F))
_TO_F, _ROUND, _NOT, _IS_NULL, _NEG_I, _NEG_F, _ABS_I, _ABS_F = (int(o) for o in (
    Op.TO_F, Op.ROUND, Op.NOT, Op.IS_NULL, Op.NEG_I, Op.NEG_F, Op.ABS_I, Op.ABS_F))
_SIGN_I, _SIGN_F, _SQRT, _FLOOR, _CEIL, _ROUND_F, _SECONDS = (int(o) for o in (
    Op.SIGN_I, Op.SIGN_F, Op.SQRT, Op.FLOOR, Op.CEIL, Op.ROUND_F, Op.SECONDS))
_ADD_I, _SUB_I, _MUL_I, _MOD_I, _DIV_I, _ADD_F, _SUB_F, _MUL_F, _DIV_F, _MOD_F = (
    int(o) for o in (Op.ADD_I, Op.SUB_I, Op.MUL_I, Op.MOD_I, Op.DIV_I, Op.ADD_F, Op.SUB_F, Op.MUL_F,
                     Op.DIV_F, Op.MOD_F))
_EQ, _NE, _LT, _LE, _GT, _GE, _AND, _OR = (int(o) for o in (
    Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.AND, Op.OR))
_LEAST, _GREATEST, _COALESCE, _NULLIF, _WHEN = (int(o) for o in (
    Op.LEAST, Op.GREATEST, Op.COALESCE, Op.NULLIF, Op.WHEN))
_LOAD_LAST, _FIRST = int(Op.LOAD_F), int(Aggregate.FIRST)
_TEXT_ORDER, _LIKE, _BACK_F, _RUN_I, _RUN_F, _TIME = (int(o) for o in (
    Op.TEXT_ORDER, Op.LIKE, Op.BACK_F, Op.RUN_I, Op.RUN_F, Op.TIME))
_SMALLEST, _GREATEST_INT = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Condition:
    """One conjunct of WHERE that names several events, or several elements of one component.

    Parameters
    ----------
    code
        Instructions (op, a, b, c).  Components are numbered 0…m−1, negations m, m+1….
    singles
        Components that are not Kleene, or whose elements are not looked at one by one.
    element
        The Kleene component whose elements the condition speaks of (`b[i]`), or None: it must
        then hold for every element.
    back
        It also speaks of so many elements before (`b[i-1]`: one): those that have not so many
        before them are exempt.
    running
        It needs the place of the element, not only the one before: `b[i-2]`, `sum(b[..i].v)`.
    aggregated
        Kleene components that must be complete before it can be checked.
    scope, scoped
        A loop in each round of which it must hold, and the components whose event of the round it
        looks at; −1: none.
    unwanted
        The negated components that it looks at one event of, numbered as in `code`.
    negation
        The negation it belongs to, or None.
    text
        As the user wrote it.
    """

    code: tuple[tuple[int, int, int, int], ...]
    singles: frozenset[int] = frozenset()
    element: int | None = None
    back: int = 0
    running: bool = False
    aggregated: frozenset[int] = frozenset()
    scope: int = -1
    scoped: frozenset[int] = frozenset()
    unwanted: frozenset[int] = frozenset()
    negation: int | None = None
    text: str = ""
    integers: tuple[int, ...] = field(default=())
    reals: tuple[float, ...] = field(default=())


class Programs(NamedTuple):
    """All conditions of a pattern, one after the other."""

    start: Int64  # condition g: instructions start[g] … start[g + 1]
    code: NDArray[np.int64]  # (instructions, 4)
    integers: Int64
    reals: NDArray[np.float64]
    element: Int64  # −1: none
    back: Int64
    running: NDArray[np.bool_]
    texts: Texts
    stack_i: Int64  # scratch
    stack_f: NDArray[np.float64]
    stack_k: Int64  # NULL, INTEGER or REAL


def assemble(conditions: list[Condition]) -> Programs:
    """Put the conditions' instructions and constants together."""
    start, code = [0], []
    integers: list[int] = []
    reals: list[float] = []
    for condition in conditions:
        shift_i, shift_f = len(integers), len(reals)
        integers += condition.integers
        reals += condition.reals
        for op, a, b, c in condition.code:
            a += shift_i if op == Op.CONST_I else shift_f if op == Op.CONST_F else 0
            code.append((op, a, b, c))
        start.append(len(code))
    depth = max([len(c.code) for c in conditions], default=0) + 2
    return Programs(
        np.array(start, np.int64), np.array(code, np.int64).reshape(-1, 4),
        np.array(integers, np.int64), np.array(reals, np.float64),
        np.array([-1 if c.element is None else c.element for c in conditions], np.int64),
        np.array([c.back for c in conditions], np.int64),
        np.array([c.running for c in conditions], bool), NO_TEXTS,
        np.zeros(depth, np.int64), np.zeros(depth, np.float64), np.zeros(depth, np.int64))


@inner
def _product(a: int, b: int) -> tuple[Any, Any]:
    """The product, and whether it fits; only near the limit it takes a division to know."""
    rough = abs(float(a) * float(b))
    if rough < 9.2e18:
        return a * b, True
    if rough > 9.3e18:
        return np.int64(0), False
    # in the limit's neighbourhood neither is 0; sizes are exact as unsigned numbers
    most = np.uint64(2**63 - 1) if (a < 0) == (b < 0) else np.uint64(2**63)
    size_a = np.uint64(2**63) if a == _SMALLEST else np.uint64(abs(a))
    size_b = np.uint64(2**63) if b == _SMALLEST else np.uint64(abs(b))
    return a * b, size_a <= most // size_b


@inner
def _whole(op: int, a: int, b: int) -> tuple[Any, Any]:
    """Arithmetic on int64, and whether there is a result."""
    # asked before: what a compiler makes of a sum that has gone round is its own affair
    if op == _ADD_I:
        return a + b, a <= _GREATEST_INT - b if b >= 0 else a >= _SMALLEST - b
    if op == _SUB_I:
        return a - b, a >= _SMALLEST + b if b >= 0 else a <= _GREATEST_INT + b
    if op == _MUL_I:
        return _product(a, b)
    if op == _DIV_I:
        if b <= 0:
            return np.int64(0), False
        return a // b, True
    if b == 0:
        return np.int64(0), False
    if b == -1:
        return np.int64(0), True
    rest = a % b  # with the sign of b; ours has that of a
    if rest != 0 and (rest < 0) != (a < 0):
        rest -= b
    return rest, True


@inner
def _arithmetic(op: int, at: int, prog: Programs) -> None:
    """Two operands at `at` and at + 1, the result at `at`; NULL where there is none."""
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if sk[at] == NULL or sk[at + 1] == NULL:
        sk[at] = NULL
        return
    if op <= _DIV_I:
        found, fits = _whole(op, si[at], si[at + 1])
        si[at] = found
        if not fits:
            sk[at] = NULL
        return
    x, y = sf[at], sf[at + 1]
    if op == _ADD_F:
        x += y
    elif op == _SUB_F:
        x -= y
    elif op == _MUL_F:
        x *= y
    elif y == 0.0:
        sk[at] = NULL
        return
    elif op == _DIV_F:
        x /= y
    else:
        x -= y * np.trunc(x / y)
    sf[at] = x
    if not np.isfinite(x):
        sk[at] = NULL


@inner
def _compare(op: int, at: int, prog: Programs) -> None:
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if sk[at] == NULL or sk[at + 1] == NULL:
        sk[at] = NULL
        return
    if sk[at] == INTEGER:
        less, same = si[at] < si[at + 1], si[at] == si[at + 1]
        more = si[at] > si[at + 1]
    else:
        less, same = sf[at] < sf[at + 1], sf[at] == sf[at + 1]
        more = sf[at] > sf[at + 1]
    if op == _EQ:
        found = same
    elif op == _NE:
        found = not same
    elif op == _LT:
        found = less
    elif op == _LE:
        found = less or same
    elif op == _GT:
        found = more
    else:
        found = more or same
    si[at], sk[at] = (1 if found else 0), INTEGER


@inner
def _choose(op: int, at: int, prog: Programs) -> None:
    """LEAST, GREATEST, COALESCE: a NULL (a NaN too, but for COALESCE) gives way; and NULLIF."""
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if op == _NULLIF:
        if sk[at] != NULL and sk[at + 1] != NULL and (
                si[at] == si[at + 1] if sk[at] == INTEGER else sf[at] == sf[at + 1]):
            sk[at] = NULL
        return
    if op == _WHEN and not (sk[at] == INTEGER and si[at] == 1):
        sk[at] = NULL
        return
    take = sk[at] == NULL or op == _WHEN
    if not take and sk[at + 1] != NULL and op != _COALESCE:
        if sk[at] == INTEGER:
            take = si[at + 1] < si[at] if op == _LEAST else si[at + 1] > si[at]
        elif np.isnan(sf[at]):
            take = True
        else:
            take = sf[at + 1] < sf[at] if op == _LEAST else sf[at + 1] > sf[at]
    if take:
        si[at], sf[at], sk[at] = si[at + 1], sf[at + 1], sk[at + 1]


@inner
def _unary(op: int, at: int, prog: Programs) -> None:
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if op == _IS_NULL:
        si[at], sk[at] = (1 if sk[at] == NULL else 0), INTEGER
        return
    if sk[at] == NULL:
        return
    if op == _NOT:
        si[at] = 1 - si[at]
    elif op == _TO_F:
        sf[at], sk[at] = float(si[at]), REAL
    elif op == _ROUND:
        if -9.223372036854775808e18 <= sf[at] < 9.223372036854775808e18:
            si[at], sk[at] = np.int64(np.rint(sf[at])), INTEGER
        else:
            sk[at] = NULL
    elif op in (_NEG_I, _ABS_I):
        if si[at] == _SMALLEST:
            sk[at] = NULL
        else:
            si[at] = -si[at] if op == _NEG_I else abs(si[at])
    elif op == _SIGN_I:
        si[at] = 1 if si[at] > 0 else -1 if si[at] < 0 else 0
    else:
        x = sf[at]
        if op == _NEG_F:
            x = -x
        elif op == _ABS_F:
            x = abs(x)
        elif op == _SIGN_F:
            x = x if np.isnan(x) or x == 0.0 else (1.0 if x > 0 else -1.0)
        elif op == _SQRT:
            x = np.sqrt(x) if x >= 0.0 else np.nan
        elif op == _FLOOR:
            x = np.floor(x)
        elif op == _CEIL:
            x = np.ceil(x)
        elif op == _ROUND_F:
            whole = np.trunc(x)
            if abs(x - whole) >= 0.5:
                whole += 1.0 if x > 0 else -1.0
            x = whole
        else:
            x /= 1e6
        sf[at] = x
        if not np.isfinite(x):
            sk[at] = NULL


@inner
def _logic(op: int, at: int, prog: Programs) -> None:
    """AND, OR: NULL unless one side decides."""
    si, sk = prog.stack_i, prog.stack_k
    decides = 0 if op == _AND else 1
    a_decides = sk[at] != NULL and si[at] == decides
    b_decides = sk[at + 1] != NULL and si[at + 1] == decides
    if a_decides or b_decides:
        si[at], sk[at] = decides, INTEGER
    elif sk[at] == NULL or sk[at + 1] == NULL:
        sk[at] = NULL
    else:
        si[at], sk[at] = 1 - decides, INTEGER


@inner
def _of_texts(op: int, at: int, prog: Programs) -> None:
    """LIKE of the texts at `at` and at + 1, or their order and 0 in their place."""
    si, sk = prog.stack_i, prog.stack_k
    if sk[at] == NULL or sk[at + 1] == NULL:
        sk[at] = NULL
    elif op == _LIKE:
        si[at] = 1 if is_like(prog.texts, si[at], si[at + 1]) else 0
    else:
        si[at], si[at + 1] = compare(prog.texts, si[at], si[at + 1]), 0


# inlined: it runs for every instruction, and as a call of its own made patterns 4 % slower
@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, forceinline=True)
def operate(op: int, top: int, prog: Programs) -> int:
    """An instruction over what is on the stack, `top` values; how many there are then.

    Of `prog` it needs the stack and the texts alone, so other machines can have theirs.
    """
    if op <= _SECONDS:
        _unary(op, top - 1, prog)
        return top
    if op >= _TEXT_ORDER:
        _of_texts(op, top - 2, prog)
        return top - 1 if op == _LIKE else top
    top -= 1
    if op <= _MOD_F:
        _arithmetic(op, top - 1, prog)
    elif op <= _GE:
        _compare(op, top - 1, prog)
    elif op <= _OR:
        _logic(op, top - 1, prog)
    else:
        _choose(op, top - 1, prog)
    return top


@inner
def _folded(what: int, column: int, real: bool, chain: Int64, first: int, last: int,
            ev: Events) -> tuple[Any, Any, int]:
    """An aggregate of chain[first … last]; FIRST and LAST may stand some elements further in."""
    kind, offset = what & 7, (what >> 3) & 1023
    if kind == _FIRST:
        first += offset
    else:
        last -= offset
    return fold(kind, column, real, chain, first, last, ev.value, ev.real, ev.known)


@inner
def _special(p: int, top: int, prog: Programs, ev: Events, now: Int64, prev: Int64, chain: Int64,
             first: Int64) -> int:
    """Instructions of few programs; where the stack ends then.

    `prev` has the place of the element looked at in the chain (see `Condition.running`).
    """
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    op, a, b, c = prog.code[p, 0], prog.code[p, 1], prog.code[p, 2], prog.code[p, 3]
    if op == _TIME:
        si[top], sk[top] = ev.time[now[a]], INTEGER
    elif op <= _BACK_F:
        row, real = chain[prev[a] - c], op == _BACK_F
        if real:
            sf[top] = ev.real[b, row]
        else:
            si[top] = ev.value[b, row]
        sk[top] = (REAL if real else INTEGER) if ev.known[b, row] else NULL
    else:
        si[top], sf[top], sk[top] = _folded(c & 8191, b, op == _RUN_F, chain, first[a],
                                            prev[a] - (c >> 13), ev)
    return top + 1


@inner
def run(g: int, prog: Programs, ev: Events, now: Int64, prev: Int64, chain: Int64, first: Int64,
        last: Int64) -> None:
    """Leave the value of program g at the bottom of the stack.

    `now` has the row of each component and negation, `prev` the element before it; a Kleene
    component's elements are chain[first[c]] … chain[last[c]].
    """
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    top = np.int64(0)
    for p in range(prog.start[g], prog.start[g + 1]):
        op, a, b = prog.code[p, 0], prog.code[p, 1], prog.code[p, 2]
        if op <= _AGG_F:
            if op == _NULL:
                sk[top] = NULL
            elif op == _CONST_I:
                si[top], sk[top] = prog.integers[a], INTEGER
            elif op == _CONST_F:
                sf[top], sk[top] = prog.reals[a], REAL
            elif op >= _AGG_I:
                si[top], sf[top], sk[top] = _folded(prog.code[p, 3], b, op == _AGG_F, chain,
                                                    first[a], last[a], ev)
            else:
                row = now[a] if op <= _LOAD_LAST else prev[a]
                real = op in (_LOAD_F, _PREV_F)
                if real:
                    sf[top] = ev.real[b, row]
                else:
                    si[top] = ev.value[b, row]
                sk[top] = (REAL if real else INTEGER) if ev.known[b, row] else NULL
            top += 1
        elif op <= _LIKE:
            top = operate(op, top, prog)
        else:
            top = _special(p, top, prog, ev, now, prev, chain, first)


@inner
def holds(g: int, prog: Programs, ev: Events, now: Int64, prev: Int64, chain: Int64, first: Int64,
          last: Int64) -> bool:
    """Whether condition g is true (not false, not NULL)."""
    run(g, prog, ev, now, prev, chain, first, last)
    return bool(prog.stack_k[0] == INTEGER and prog.stack_i[0] == 1)
