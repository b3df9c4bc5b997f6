"""Conditions between events, as small programs for a stack machine that numba runs.

A condition that names one event only is evaluated at the scan, over whole columns.  What names
several must be checked while matches are built, one candidate at a time: here.  Values are int64 or
float64 with a NULL flag (times and durations are int64 microseconds, texts codes of a dictionary,
conditions 0 or 1), and SQL's three-valued logic holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.stacks import Events, inner

__all__ = ["Aggregate", "Condition", "Op", "Programs", "assemble", "holds"]

Int64 = NDArray[np.int64]


class Op(IntEnum):
    """What the machine can do.  I works on int64, F on float64, the others on both."""

    NULL = 0
    CONST_I = 1  # a: index of the constant
    CONST_F = 2
    LOAD_I = 3  # a: component, b: column
    LOAD_F = 4
    PREV_I = 5  # the element before, of a Kleene component
    PREV_F = 6
    AGG_I = 7  # a: component, b: column, c: Aggregate
    AGG_F = 8
    TO_F = 9
    ROUND = 10
    ADD_I = 11
    SUB_I = 12
    MUL_I = 13
    MOD_I = 14
    ADD_F = 15
    SUB_F = 16
    MUL_F = 17
    DIV_F = 18
    MOD_F = 19
    EQ = 20
    NE = 21
    LT = 22
    LE = 23
    GT = 24
    GE = 25
    AND = 26
    OR = 27
    NOT = 28
    IS_NULL = 29
    ABS = 30
    LEAST = 31
    GREATEST = 32
    COALESCE = 33
    SQRT = 34
    FLOOR = 35
    CEIL = 36


class Aggregate(IntEnum):
    """Over the elements of a Kleene component."""

    COUNT = 0  # b < 0: all elements, else those where the column is not NULL
    SUM = 1
    AVG = 2
    MIN = 3
    MAX = 4
    FIRST = 5
    LAST = 6


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
    pairs
        It also speaks of the element before (`b[i-1]`): the first element is exempt.
    aggregated
        Kleene components that must be complete before it can be checked.
    negation
        The negation it belongs to, or None.
    text
        As the user wrote it.
    """

    code: tuple[tuple[int, int, int, int], ...]
    singles: frozenset[int] = frozenset()
    element: int | None = None
    pairs: bool = False
    aggregated: frozenset[int] = frozenset()
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
    pairs: NDArray[np.bool_]
    stack_i: Int64  # scratch
    stack_f: NDArray[np.float64]
    stack_k: Int64  # 0 NULL, 1 int64, 2 float64


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
        np.array([c.pairs for c in conditions], bool),
        np.zeros(depth, np.int64), np.zeros(depth, np.float64), np.zeros(depth, np.int64))


@inner
def _aggregate(kind: int, column: int, real: bool, first: int, last: int, chain: Int64, ev: Events,
               at: int, prog: Programs) -> None:
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if kind == 0:
        count = 0
        for i in range(first, last + 1):
            if column < 0 or ev.known[column, chain[i]]:
                count += 1
        si[at], sk[at] = count, 1
        return
    if kind >= 5:
        row = chain[first] if kind == 5 else chain[last]
        si[at], sf[at] = ev.value[column, row], ev.real[column, row]
        sk[at] = (2 if real else 1) if ev.known[column, row] else 0
        return
    count, total_i, total_f = 0, 0, 0.0
    least_i, least_f, most_i, most_f = 0, 0.0, 0, 0.0
    for i in range(first, last + 1):
        row = chain[i]
        if not ev.known[column, row]:
            continue
        vi = 0 if real else ev.value[column, row]
        vf = ev.real[column, row] if real else float(ev.value[column, row])
        total_i += vi
        total_f += vf
        if count == 0 or vf < least_f or vi < least_i:
            least_i, least_f = vi, vf
        if count == 0 or vf > most_f or vi > most_i:
            most_i, most_f = vi, vf
        count += 1
    if count == 0:
        sk[at] = 0
    elif kind == 2:
        sf[at] = total_f / count
        sk[at] = 2 if np.isfinite(sf[at]) else 0
    else:
        si[at] = total_i if kind == 1 else least_i if kind == 3 else most_i
        sf[at] = total_f if kind == 1 else least_f if kind == 3 else most_f
        sk[at] = 2 if real else 1
        if kind == 1 and (abs(total_f) >= 9.2e18 if not real else not np.isfinite(total_f)):
            sk[at] = 0


@inner
def _arithmetic(op: int, at: int, prog: Programs) -> None:
    """Two operands at `at` and at + 1, the result at `at`; NULL where there is none."""
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if sk[at] == 0 or sk[at + 1] == 0:
        sk[at] = 0
        return
    if op <= 14:
        a, b = si[at], si[at + 1]
        if op == 14:
            if b == 0:
                sk[at] = 0
            elif b == -1:
                si[at] = 0
            else:
                size = abs(a) % abs(b)
                si[at] = -size if a < 0 else size
            return
        rough = float(a) + float(b) if op == 11 else (
            float(a) - float(b) if op == 12 else float(a) * float(b))
        if abs(rough) >= 9.223372036854775e18:
            sk[at] = 0
            return
        si[at] = a + b if op == 11 else (a - b if op == 12 else a * b)
        return
    x, y = sf[at], sf[at + 1]
    if op == 15:
        x += y
    elif op == 16:
        x -= y
    elif op == 17:
        x *= y
    elif y == 0.0:
        sk[at] = 0
        return
    elif op == 18:
        x /= y
    else:
        x -= y * np.trunc(x / y)
    sf[at] = x
    if not np.isfinite(x):
        sk[at] = 0


@inner
def _compare(op: int, at: int, prog: Programs) -> None:
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if sk[at] == 0 or sk[at + 1] == 0:
        sk[at] = 0
        return
    if sk[at] == 1:
        less, same = si[at] < si[at + 1], si[at] == si[at + 1]
        more = si[at] > si[at + 1]
    else:
        less, same = sf[at] < sf[at + 1], sf[at] == sf[at + 1]
        more = sf[at] > sf[at + 1]
    if op == 20:
        found = same
    elif op == 21:
        found = not same
    elif op == 22:
        found = less
    elif op == 23:
        found = less or same
    elif op == 24:
        found = more
    else:
        found = more or same
    si[at], sk[at] = (1 if found else 0), 1


@inner
def _choose(op: int, at: int, prog: Programs) -> None:
    """LEAST, GREATEST and COALESCE of two; a NULL gives way to the other."""
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    take = sk[at] == 0
    if not take and sk[at + 1] != 0 and op != 33:
        if sk[at] == 1:
            take = si[at + 1] < si[at] if op == 31 else si[at + 1] > si[at]
        else:
            take = sf[at + 1] < sf[at] if op == 31 else sf[at + 1] > sf[at]
    if take:
        si[at], sf[at], sk[at] = si[at + 1], sf[at + 1], sk[at + 1]


@inner
def _unary(op: int, at: int, prog: Programs) -> None:
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    if op == 29:
        si[at], sk[at] = (1 if sk[at] == 0 else 0), 1
        return
    if sk[at] == 0:
        return
    if op == 9:
        sf[at], sk[at] = float(si[at]), 2
    elif op == 10:
        if abs(sf[at]) < 9.2e18:
            si[at], sk[at] = int(np.rint(sf[at])), 1
        else:
            sk[at] = 0
    elif op == 28:
        si[at] = 1 - si[at]
    elif op == 30:
        si[at], sf[at] = abs(si[at]), abs(sf[at])
    elif op == 34:
        if sf[at] < 0:
            sk[at] = 0
        else:
            sf[at] = np.sqrt(sf[at])
    elif op == 35:
        sf[at] = np.floor(sf[at])
    elif op == 36:
        sf[at] = np.ceil(sf[at])


@inner
def _logic(op: int, at: int, prog: Programs) -> None:
    """AND, OR: NULL unless one side decides."""
    si, sk = prog.stack_i, prog.stack_k
    decides = 0 if op == 26 else 1
    a_decides = sk[at] != 0 and si[at] == decides
    b_decides = sk[at + 1] != 0 and si[at + 1] == decides
    if a_decides or b_decides:
        si[at], sk[at] = decides, 1
    elif sk[at] == 0 or sk[at + 1] == 0:
        sk[at] = 0
    else:
        si[at], sk[at] = 1 - decides, 1


@inner
def holds(g: int, prog: Programs, ev: Events, now: Int64, prev: Int64, chain: Int64, first: Int64,
          last: Int64) -> bool:
    """Whether condition g is true (not false, not NULL).

    `now` has the row of each component and negation, `prev` the element before it; a Kleene
    component's elements are chain[first[c]] … chain[last[c]].
    """
    si, sf, sk = prog.stack_i, prog.stack_f, prog.stack_k
    top = np.int64(0)
    for p in range(prog.start[g], prog.start[g + 1]):
        op, a, b = prog.code[p, 0], prog.code[p, 1], prog.code[p, 2]
        if op <= 8:
            if op == 0:
                sk[top] = 0
            elif op == 1:
                si[top], sk[top] = prog.integers[a], 1
            elif op == 2:
                sf[top], sk[top] = prog.reals[a], 2
            elif op >= 7:
                _aggregate(prog.code[p, 3], b, op == 8, first[a], last[a], chain, ev, top, prog)
            else:
                row = now[a] if op <= 4 else prev[a]
                real = op == 4 or op == 6
                if real:
                    sf[top] = ev.real[b, row]
                else:
                    si[top] = ev.value[b, row]
                sk[top] = (2 if real else 1) if ev.known[b, row] else 0
            top += 1
        elif op == 9 or op == 10 or (28 <= op <= 30) or op >= 34:
            _unary(op, top - 1, prog)
        else:
            top -= 1
            if op <= 19:
                _arithmetic(op, top - 1, prog)
            elif op <= 25:
                _compare(op, top - 1, prog)
            elif op <= 27:
                _logic(op, top - 1, prog)
            else:
                _choose(op, top - 1, prog)
    return bool(sk[0] == 1 and si[0] == 1)
