"""MATCH_RECOGNIZE the slow way: all rows there, sorted, every path tried in order of preference.

Only the parser is shared with what it is compared to.
"""

from __future__ import annotations

import fnmatch
import itertools
from dataclasses import dataclass
from typing import Any

from slackwater.query.expr.tree import (
    Between,
    Binary,
    Call,
    Case,
    InList,
    IsNull,
    Like,
    Literal,
    Name,
    Star,
    Unary,
)
from slackwater.query.recognise.parse import parse_recognise
from slackwater.query.recognise.tree import (
    Anchor,
    Either,
    Exclude,
    Permute,
    Repeat,
    Sequence,
    Variable,
)

AGGREGATES = ("count", "sum", "avg", "min", "max")


@dataclass
class Context:
    """Where an expression is evaluated.

    `path` maps rows s, s+1… to variables; `at` is the current row (None: an empty match), `last`
    the number of rows of the match that can be seen from there.
    """

    rows: list[dict]
    s: int
    path: tuple
    at: int | None
    number: int
    members: dict[str, set[str]]
    one_row: bool = False
    final: bool = False

    def seen(self):
        """The rows of the match, with their variables, as far as they can be seen."""
        upto = len(self.path)
        if not self.final and self.at is not None:
            upto = min(upto, self.at - self.s + 1)
        return [(self.s + i, v) for i, (v, _) in enumerate(self.path[:upto])]


def recognise(text: str, rows: list[dict]) -> list[dict]:
    """The results over complete, unsorted rows: partition after partition."""
    tree = parse_recognise(text)
    keys = [c.name for c in tree.partition]
    parts: dict[tuple, list[dict]] = {}
    for row in rows:
        parts.setdefault(tuple(row[k] for k in keys), []).append(row)
    out = []
    for key, mine in parts.items():
        for order in reversed(tree.order):
            name, down = order.column.name, order.descending
            first = order.nulls_first if order.nulls_first is not None else down
            known = [r for r in mine if r[name] is not None]
            nulls = [r for r in mine if r[name] is None]
            known.sort(key=lambda r, name=name: r[name])
            if down:  # stable, also the other way round
                groups = itertools.groupby(reversed(known), lambda r, name=name: r[name])
                known = [r for _, g in groups for r in reversed(list(g))]
            mine = nulls + known if first else known + nulls
        out += [{**dict(zip(keys, key, strict=True)), **r} for r in _partition(tree, mine)]
    return out


def _partition(tree, rows):
    members = {s.name: {m.name for m in s.members} for s in tree.subsets}
    conditions = {d.name: d.condition for d in tree.defines}
    time = tree.order[0].column.name
    out, s, number, matched = [], 0, 0, -1
    while s < len(rows):
        def fits(variable, path, s=s, number=number):
            at = s + len(path)
            if at >= len(rows):
                return False
            if tree.within is not None and rows[at][time] - rows[s][time] > tree.within:
                return False
            condition = conditions.get(variable)
            new = (*path, (variable, False))
            return condition is None or evaluate(condition, Context(
                rows, s, new, at, number + 1, members)) is True

        path = next(_paths(tree.pattern, (), s, len(rows), fits), None)
        if path is None:
            if tree.rows == "unmatched" and s > matched:
                out.append({**rows[s], **{m.name: None for m in tree.measures}})
            s += 1
            continue
        number += 1
        out += _results(tree, rows, s, path, number, members)
        matched = max(matched, s + len(path) - 1)
        s = _next_start(tree, s, path, members)
    return out


def _next_start(tree, s, path, members):
    if not path or tree.skip.how == "next":
        return s + 1
    if tree.skip.how == "past":
        return s + len(path)
    wanted = members.get(tree.skip.variable, {tree.skip.variable})
    at = [s + i for i, (v, _) in enumerate(path) if v in wanted]
    to = (at[0] if tree.skip.how == "first" else at[-1]) if at else s
    return max(to, s + 1)


def _results(tree, rows, s, path, number, members):
    if tree.rows == "one":
        at = s + len(path) - 1 if path else None
        context = Context(rows, s, path, at, number, members, one_row=True, final=True)
        return [{m.name: evaluate(m.expr, context) for m in tree.measures}]
    if not path:
        context = Context(rows, s, path, None, number, members)
        return [] if tree.rows == "omit" else [
            {**rows[s], **{m.name: evaluate(m.expr, context) for m in tree.measures}}]
    return [{**rows[s + i], **{m.name: evaluate(m.expr, Context(rows, s, path, s + i, number,
                                                                 members))
                               for m in tree.measures}}
            for i, (_, excluded) in enumerate(path) if not excluded]


def _paths(node, path, s, n, fits):
    """Every way through a pattern, the preferred first."""
    if isinstance(node, Variable):
        if fits(node.name, path):
            yield (*path, (node.name, False))
    elif isinstance(node, Sequence):
        if not node.parts:
            yield path
        else:
            rest = Sequence(node.parts[1:])
            for one in _paths(node.parts[0], path, s, n, fits):
                yield from _paths(rest, one, s, n, fits)
    elif isinstance(node, Either):
        for part in node.parts:
            yield from _paths(part, path, s, n, fits)
    elif isinstance(node, Permute):
        for parts in itertools.permutations(node.parts):
            yield from _paths(Sequence(parts), path, s, n, fits)
    elif isinstance(node, Exclude):
        for one in _paths(node.part, path, s, n, fits):
            yield (*one[:len(path)], *((v, True) for v, _ in one[len(path):]))
    elif isinstance(node, Anchor):
        if s + len(path) == (0 if node.start else n):
            yield path
    else:
        assert isinstance(node, Repeat)
        yield from _repeated(node, 0, path, s, n, fits)


def _repeated(node, k, path, s, n, fits):
    if node.lazy and k >= node.least:
        yield path
    if node.most is None or k < node.most:
        for one in _paths(node.part, path, s, n, fits):
            if len(one) > len(path) or k < node.least:
                yield from _repeated(node, k + 1, one, s, n, fits)
            else:  # a repetition of nothing is the last one
                yield one
    if not node.lazy and k >= node.least:
        yield path


# -- expressions -------------------------------------------------------------------------------


def evaluate(node, c: Context) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        return _value(node, _last(node, c, 0), c)
    if isinstance(node, Unary):
        value = evaluate(node.operand, c)
        return None if value is None else (not value if node.op == "not" else -value)
    if isinstance(node, IsNull):
        return (evaluate(node.operand, c) is None) != node.negated
    if isinstance(node, Like):
        value, shape = evaluate(node.operand, c), evaluate(node.pattern, c)
        if value is None or shape is None:
            return None
        shape = shape.replace("%", "*").replace("_", "?")
        return fnmatch.fnmatchcase(value, shape) != node.negated
    if isinstance(node, Case):
        for condition, chosen in zip(node.conditions, node.values, strict=True):
            if evaluate(condition, c) is True:
                return evaluate(chosen, c)
        return evaluate(node.otherwise, c)
    if isinstance(node, Between):
        found = _and(_compare(">=", evaluate(node.operand, c), evaluate(node.low, c)),
                     _compare("<=", evaluate(node.operand, c), evaluate(node.high, c)))
        return None if found is None else found != node.negated
    if isinstance(node, InList):
        found = False
        for item in node.items:
            found = _or(found, _compare("=", evaluate(node.operand, c), evaluate(item, c)))
        return None if found is None else found != node.negated
    if isinstance(node, Binary):
        left, right = evaluate(node.left, c), evaluate(node.right, c)
        if node.op in ("and", "or"):
            return _and(left, right) if node.op == "and" else _or(left, right)
        if node.op in ("=", "!=", "<", "<=", ">", ">="):
            return _compare(node.op, left, right)
        if left is None or right is None or (node.op in "/%" and right == 0):
            return None
        return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
                "/": lambda: left / right}[node.op]()
    assert isinstance(node, Call), node
    return _call(node, c)


def _call(node: Call, c: Context) -> Any:
    name, args = node.function, node.args
    if name in ("final", "running"):
        other = Context(**{**vars(c), "final": name == "final" or c.one_row})
        return evaluate(args[0], other)
    if name == "match_number":
        return c.number
    if name == "classifier":
        wanted = Name(args[0].name if args else None, "")
        at = _last(wanted, c, 0)
        return dict(c.seen()).get(at)
    if name in ("first", "last", "prev", "next"):
        row = _row(node, c)
        while isinstance(args[0], Call) and args[0].function in ("first", "last", "prev", "next"):
            args = args[0].args
        if row is not None and isinstance(args[0], Call) and args[0].function == "classifier":
            return dict(c.seen()).get(row)
        return None if row is None else _inner(args[0], row, c)
    if name in AGGREGATES:
        return _aggregate(name, args[0], c)
    if name == "abs":
        value = evaluate(args[0], c)
        return None if value is None else abs(value)
    if name == "nullif":
        value, other = (evaluate(a, c) for a in args)
        return None if value == other else value
    if name in ("least", "greatest"):
        known = [v for v in (evaluate(a, c) for a in args) if v is not None]
        return {"least": min, "greatest": max}[name](known, default=None)
    if name == "coalesce":
        return next((v for v in (evaluate(a, c) for a in args) if v is not None), None)
    raise AssertionError(name)


def _offset(args, default):
    return args[1].value if len(args) > 1 else default


def _row(node, c):
    """The row that a navigation leads to."""
    name, args = node.function, node.args
    if name in ("prev", "next"):
        inner = args[0]
        if isinstance(inner, Call) and inner.function in ("first", "last"):
            at = _row(inner, c)
        else:
            at = _last(_qualifier(inner), c, 0)
        if at is None:
            return None
        at += _offset(args, 1) * (-1 if name == "prev" else 1)
        return at if 0 <= at < len(c.rows) else None
    mine = [r for r, v in c.seen() if _belongs(_qualifier(args[0]), v, c)]
    k = _offset(args, 0)
    if k >= len(mine):
        return None
    return mine[k] if name == "first" else mine[-1 - k]


def _qualifier(node) -> Name:
    if isinstance(node, Name):
        return node
    if isinstance(node, Call) and node.function == "classifier":
        return Name(node.args[0].name if node.args else None, "")
    for value in vars(node).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, (Name, Binary, Unary, Call)):
                return _qualifier(one)
    raise AssertionError(node)


def _belongs(name, variable, c):
    return name.qualifier is None or variable in c.members.get(name.qualifier, {name.qualifier})


def _last(name, c, k):
    mine = [r for r, v in c.seen() if _belongs(name, v, c)]
    return mine[-1 - k] if k < len(mine) else None


def _value(name, row, c):
    return None if row is None else c.rows[row][name.name]


def _inner(node, row, c):
    """An expression in which every column is of this row."""
    alone = Context(c.rows, row, ((None, False),), row, c.number, {})

    def bare(node):
        if isinstance(node, Name):
            return Name(None, node.name)
        changed = {k: bare(v) if isinstance(v, (Name, Binary, Unary, Call, IsNull)) else
                   tuple(map(bare, v)) if isinstance(v, tuple) else v
                   for k, v in vars(node).items()}
        return type(node)(**changed)

    return evaluate(bare(node), alone)


def _aggregate(name, arg, c):
    if isinstance(arg, Star) or (isinstance(arg, Name) and arg.name == "*"):
        who = Name(None, "") if isinstance(arg, Star) else arg
        return sum(_belongs(who, v, c) for _, v in c.seen())
    who = _qualifier(arg)
    values = [_inner(arg, r, c) for r, v in c.seen() if _belongs(who, v, c)]
    values = [v for v in values if v is not None and v == v]
    if name == "count":
        return len(values)
    if not values:
        return None
    return {"sum": sum, "min": min, "max": max,
            "avg": lambda v: sum(v) / len(v)}[name](values)


def _compare(op, left, right):
    if left is None or right is None:
        return None
    return {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
            ">": left > right, ">=": left >= right}[op]


def _and(a, b):
    if a is False or b is False:
        return False
    return None if a is None or b is None else a and b


def _or(a, b):
    if a is True or b is True:
        return True
    return None if a is None or b is None else a or b
