"""Conditions over several rows, made into instructions for `machine`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.pattern.op import Op
from slackwater.query.errors import QueryError
from slackwater.query.expr.arrow import Compiled, evaluate_typed
from slackwater.query.expr.kinds import TYPES
from slackwater.query.expr.operators import FUNCTIONS, OPERATORS, raw_kind
from slackwater.query.expr.tree import Name
from slackwater.query.expr.types import Apply, Constant, Leaf, Typed, leaves
from slackwater.query.recognise.machine import CURRENT, FIRST, LAST, LOADS, Code, Refs
from slackwater.query.recognise.resolve import (
    Aggregate,
    Classifier,
    MatchNumber,
    Navigation,
    Resolved,
    RowOf,
    Scope,
)

__all__ = ["Coder", "Lane"]

INT, REAL, TEXT = "int", "real", "text"
_OF_SEVERAL = [name.upper() for name in FUNCTIONS
               if any(o.name == name and o.code is not None for o in OPERATORS)]


@dataclass(frozen=True)
class Lane:
    """A value that is computed for every row."""

    tree: Typed
    compiled: Compiled = field(compare=False)

    @property
    def kind(self) -> str:
        """How it is kept: int, real or text."""
        return {"real": REAL, "text": TEXT}.get(self.tree.kind, INT)


class Coder:
    """Collects the instructions of all conditions, and the lanes, rows and aggregates they use."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.lanes: list[Lane] = []
        self.rows: list[RowOf] = []
        self.masks: list[int] = []
        self.aggregates: list[tuple[Aggregate, int]] = []
        """With the number of the lane that each is over (−1: none)."""
        self.names = False
        """Whether the names of variables stand among the texts."""
        self.like = False
        """Whether a condition looks at more of texts than their order."""
        self._code: list[tuple[int, int, int, float]] = []
        self._first = [0]

    def condition(self, conjuncts: list[Resolved]) -> None:
        """The next variable's condition: what these are when joined by AND; none: always true."""
        for i, resolved in enumerate(conjuncts):
            _Emitter(self, resolved).emit(resolved.condition)
            if i:
                self.operator(Op.AND)
        self._first.append(len(self._code))

    def load(self, what: str, a: int = 0, b: int = 0, real: float = 0.0) -> None:
        """An instruction that puts a value on the stack."""
        self._code.append((LOADS[what], a, b, real))

    def operator(self, op: Op) -> None:
        """An instruction over what is on the stack."""
        if op != Op.TEXT_ORDER:  # ranks have the order of their texts
            self._code.append((int(op), 0, 0, 0.0))
            self.like = self.like or op == Op.LIKE

    def lane(self, tree: Typed) -> int:
        """The number of a lane: a value over the bare columns of a row."""
        names = tuple(dict.fromkeys(leaf.node for leaf in leaves(tree)
                                    if isinstance(leaf.node, Name)))
        lane = Lane(tree, Compiled(TYPES[tree.kind], names,
                                   lambda columns: evaluate_typed(tree, columns)))
        if lane not in self.lanes:
            self.lanes.append(lane)
        return self.lanes.index(lane)

    def place(self, number: int) -> int:
        """Where a lane stands among those of its kind: texts are ranks, so whole numbers."""
        real = self.lanes[number].kind == REAL
        return sum((lane.kind == REAL) == real for lane in self.lanes[:number])

    def row(self, row: RowOf) -> int:
        """The number of a row that is looked at."""
        if row not in self.rows:
            self.rows.append(row)
            if row.base != "current" and row.mask not in self.masks:
                self.masks.append(row.mask)
        return self.rows.index(row)

    def aggregate(self, what: Aggregate) -> int:
        """The number of an aggregate; AVG is kept as a SUM is."""
        lane = -1
        if what.inner is not None:
            lane = self.lane(self._scope.check(what.inner))
        if (what, lane) not in self.aggregates:
            self.aggregates.append((what, lane))
        return self.aggregates.index((what, lane))

    @property
    def dynamic(self) -> bool:
        """Whether there is anything to evaluate during the search."""
        return bool(self._code)

    def code(self) -> Code:
        """All instructions."""
        loads = (LOADS["load_int"], LOADS["load_real"])
        a = [self.place(a) if op in loads else a for op, a, _, _ in self._code]
        return Code(np.array(self._first, np.int64),
                    np.array([op for op, *_ in self._code], np.int64),
                    np.array(a, np.int64), np.array([b for _, _, b, _ in self._code], np.int64),
                    np.array([x for *_, x in self._code], np.float64))

    def refs(self) -> Refs:
        """All rows that are looked at."""
        base = {"current": CURRENT, "first": FIRST, "last": LAST}
        columns: list[list[int]] = [
            [base[r.base] for r in self.rows],
            [self.masks.index(r.mask) if r.base != "current" else 0 for r in self.rows],
            [r.offset for r in self.rows], [r.shift for r in self.rows]]
        return Refs(*(np.array(c, np.int64) for c in columns))


class _Emitter:
    """Makes the instructions of one condition."""

    def __init__(self, coder: Coder, resolved: Resolved) -> None:
        self._coder, self._resolved, self._scope = coder, resolved, resolved.scope

    def emit(self, tree: Typed) -> None:
        """Instructions that leave the value of a tree on the stack."""
        found = [self._leaf(leaf) for leaf in leaves(tree)]
        if not found:
            self._constant(tree)
            return
        rows = {leaf.row for leaf in found if isinstance(leaf, Navigation)}
        if len(rows) == 1 and all(isinstance(leaf, Navigation) for leaf in found):
            row = rows.pop()
            if row == RowOf() or _null_of_nulls(tree):
                self._load(self._bare(tree), row)
                return
        if isinstance(tree, Leaf):
            self._of_match(self._leaf(tree))
            return
        assert isinstance(tree, Apply)
        operator = tree.operator
        if operator.code is None:
            raise self._unknown(tree)
        for arg, want in zip(tree.args, operator.reads, strict=True):
            self.emit(arg)
            if want == "real" and raw_kind(arg.kind) != "real":
                self._coder.operator(Op.TO_F)
        for op in operator.code:
            self._coder.operator(op)

    # -- leaves ---------------------------------------------------------------------------------

    def _leaf(self, leaf: Leaf) -> Any:
        return self._resolved.leaf(leaf.node)  # type: ignore[arg-type]

    def _bare(self, tree: Typed) -> Typed:
        """What is of one row only is computed for all rows at once, and looked up."""
        if isinstance(tree, Leaf):
            return self._scope.check(self._leaf(tree).inner)
        return tree if isinstance(tree, Constant) else replace(
            tree, args=tuple(map(self._bare, tree.args)))

    def _load(self, tree: Typed, row: RowOf) -> None:
        self._coder.load("load_real" if tree.kind == "real" else "load_int",
                         self._coder.lane(tree), self._coder.row(row))

    def _constant(self, tree: Typed) -> None:
        value = evaluate_typed(tree, _no_column)
        if tree.kind in ("timestamp", "duration", "boolean"):
            value = pc.cast(value, pa.int64())
        known = value.as_py()
        if known is None:
            self._coder.load("null")
        elif tree.kind == "text":  # its rank is known once the rows' texts are
            self._load(tree, RowOf())
        elif tree.kind == "real":
            self._coder.load("const_real", real=known)
        else:
            self._coder.load("const_int", int(known))

    def _of_match(self, leaf: Any) -> None:
        """What is of the match, and not of a row."""
        coder = self._coder
        if isinstance(leaf, MatchNumber):
            coder.load("match_number")
            return
        if isinstance(leaf, Classifier):
            coder.names = True
            coder.load("classifier", 0, coder.row(leaf.row))
            return
        assert isinstance(leaf, Aggregate)
        number = coder.aggregate(leaf)
        if leaf.function == "count":
            coder.load("count", number)
            return
        real = coder.lanes[coder.aggregates[number][1]].kind == REAL
        what = "least" if leaf.function in ("min", "max") else leaf.function
        coder.load(f"{what}_{'real' if real else 'int'}", number)

    def _unknown(self, tree: Apply) -> QueryError:
        name = tree.operator.name
        what = f"CAST {name}" if name.startswith("to ") else name.upper()
        return QueryError(f"DEFINE cannot compute {what} from several rows", self._resolved.text,
                          tree.at, mistake="define",
                          expected=f"operators, CASE, {', '.join(_OF_SEVERAL)}",
                          hint="of the columns of one row it can: lower(A.name) = lower(B.name)")


def _no_column(name: Name) -> pa.Array:
    raise AssertionError(f"{name} in a constant")


def _null_of_nulls(tree: Typed) -> bool:
    """Whether the value is NULL where all columns are: then a missing row needs no care."""
    if isinstance(tree, Leaf):
        return True
    if isinstance(tree, Constant):
        return tree.value is None
    nulls, of = tree.operator.nulls, [_null_of_nulls(arg) for arg in tree.args]
    if nulls == "gives NULL" or tree.operator.name == "when":
        return any(of)
    return nulls != "is tested" and (of[0] if tree.operator.name == "nullif" else all(of))
