"""The instructions of the machine that conditions between events run on (see `program`)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Op"]


class Op(IntEnum):
    """What the machine can do.  I works on int64, F on float64, the others on both.

    First what puts a value on the stack, then what changes the topmost, then what joins two.
    """

    NULL = 0
    CONST_I = 1  # a: index of the constant
    CONST_F = 2
    LOAD_I = 3  # a: component, b: column
    LOAD_F = 4
    PREV_I = 5  # the element before, of a Kleene component
    PREV_F = 6
    AGG_I = 7  # a: component, b: column, c: Aggregate + 8 · offset (of FIRST and LAST)
    AGG_F = 8
    TO_F = 9
    ROUND = 10  # to int64
    NOT = 11
    IS_NULL = 12
    NEG_I = 13
    NEG_F = 14
    ABS_I = 15
    ABS_F = 16
    SIGN_I = 17
    SIGN_F = 18
    SQRT = 19
    FLOOR = 20
    CEIL = 21
    ROUND_F = 22
    SECONDS = 23  # microseconds to seconds
    ADD_I = 24
    SUB_I = 25
    MUL_I = 26
    MOD_I = 27
    DIV_I = 28  # downwards
    ADD_F = 29
    SUB_F = 30
    MUL_F = 31
    DIV_F = 32
    MOD_F = 33
    EQ = 34
    NE = 35
    LT = 36
    LE = 37
    GT = 38
    GE = 39
    AND = 40
    OR = 41
    LEAST = 42
    GREATEST = 43
    COALESCE = 44
    NULLIF = 45
    WHEN = 46  # the second, if the first is true
    TEXT_ORDER = 47  # two texts become −1, 0 or 1 and 0, which have the same order
    LIKE = 48
    BACK_I = 49  # a: component, b: column, c: how many elements before the one looked at
    BACK_F = 50
    RUN_I = 51  # as AGG, of the elements up to the one looked at; c: + 8192 · how many before it
    RUN_F = 52
    TIME = 53  # a: component
