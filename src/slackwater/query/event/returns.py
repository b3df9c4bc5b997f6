"""RETURN: columns computed from complete matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slackwater.pattern.aggregate import Aggregate as Reducing
from slackwater.pattern.aggregate import fold_runs
from slackwater.pattern.pattern import Matched
from slackwater.pattern.schedule import Component
from slackwater.query.errors import QueryError, check_result_name
from slackwater.query.event.code import Coder, bits, plain_element, stand_in
from slackwater.query.event.navigate import step_of
from slackwater.query.event.plan import accesses
from slackwater.query.event.tree import EventTree, Returned
from slackwater.query.expr.arrow import Compiled, compile
from slackwater.query.expr.kinds import TYPES
from slackwater.query.expr.tree import Call, Expr, Name
from slackwater.query.expr.types import Leaf

__all__ = ["Returns"]

_TAKEN = ("match_id", "op", "events")


@dataclass(frozen=True)
class _Aggregate:
    component: int
    function: str
    arg: Compiled | None  # None: count the elements
    leaf: Leaf
    step: int = 0  # of first and last: how many elements further in

    @property
    def type(self) -> pa.DataType:
        return TYPES[self.leaf.kind]


@dataclass(frozen=True)
class _Item:
    compiled: Compiled
    aggregates: list[_Aggregate]
    elements: int | None  # the Kleene component whose elements give a list of values


class Returns:
    """The items of RETURN, checked and ready to run.

    A column of a Kleene variable gives the list of its elements' values.  A column keeps its name,
    any other item is named by its text, unless AS says otherwise; `*` and `a.*` give all `columns`,
    each under its variable's name and its own: a_time, a_value.
    """

    def __init__(self, components: tuple[Component, ...], tree: EventTree,
                 schema_of: Callable[[Name], pa.DataType], alias: dict[str, str],
                 unit_of: Callable[[Name], str | None] = lambda name: None,
                 columns: Sequence[str] = ()) -> None:
        self._components, self._text, self._alias = components, tree.text, alias
        self._schema_of, self._unit_of = schema_of, unit_of
        self._places = {c.variable: i for i, c in enumerate(components)}
        self._coder = Coder(tree.text, self._places, {c.variable for c in components if c.kleene},
                            len(components), schema_of, lambda text: 0, unit_of)
        returns = [one for r in tree.returns for one in self._each(r, columns)]
        self._items = [self._item(r) for r in returns]
        self.fields = [pa.field(self._name(r), self._type(i))
                       for r, i in zip(returns, self._items, strict=True)]
        names = [f.name for f in self.fields]
        for returned, name in zip(returns, names, strict=True):
            check_result_name(name, tree.text, returned.at)
            if names.count(name) > 1 or name in _TAKEN:
                raise QueryError(f"the name {name!r} is taken", tree.text, returned.at,
                                 hint="give it another with AS", mistake="name-twice")

    def _each(self, returned: Returned, columns: Sequence[str]) -> list[Returned]:
        """The items that `*` or `a.*` stands for."""
        if not returned.every:
            return [returned]
        asked = [str(returned.expr.qualifier)] if isinstance(returned.expr, Name) else list(
            self._places)
        return [Returned(Name(variable, column, at=returned.at), f"{variable}_{column}",
                         returned.at) for variable in asked for column in columns]

    def _name(self, returned: Returned) -> str:
        if returned.name is not None:
            return returned.name
        if isinstance(returned.expr, Name) and returned.expr.index is None:
            return returned.expr.name
        at = returned.expr.at
        return " ".join(self._text[at.start:at.end].split())

    @staticmethod
    def _type(item: _Item) -> pa.DataType:
        return item.compiled.type if item.elements is None else pa.list_(item.compiled.type)

    def _item(self, returned: Returned) -> _Item:
        found: list[Expr] = []
        plain = stand_in(returned.expr, found)
        aggregates = [self._aggregate(a) for a in found]
        elements = {v for v, how, _ in accesses(plain)
                    if how == "now" and v in self._places and self._components[
                        self._places[v]].kleene}
        if elements and (len({v for v, _, _ in accesses(plain)}) > 1 or found):
            raise QueryError("a list of elements cannot be combined with other values", self._text,
                             returned.at, hint="use an aggregate: first, last, avg…",
                             mistake="list-combined")

        def schema_of(name: Name) -> pa.DataType:
            if name.index == "aggregate":
                return aggregates[int(name.name)].type
            return self._schema_of(name)

        def unit_of(name: Name) -> str | None:
            if name.index == "aggregate":
                ticks = aggregates[int(name.name)].leaf.ticks
                return None if ticks is None else ticks[1]
            return self._unit_of(name)

        return _Item(compile(plain, schema_of, self._text, unit_of=unit_of), aggregates,
                     self._places[elements.pop()] if elements else None)

    def _aggregate(self, node: Expr) -> _Aggregate:
        leaf = self._coder.aggregate(node)
        assert leaf is not None
        variable = next(v for v, _, _ in accesses(node))
        if isinstance(node, Name):
            function, arg = str(node.index), node
        else:
            assert isinstance(node, Call)
            function, arg = node.function, node.args[0]  # type: ignore[assignment]
        bare = isinstance(arg, Name) and (arg.qualifier is None or not arg.name)
        compiled = None if bare else compile(plain_element(arg), self._schema_of, self._text,
                                                   unit_of=self._unit_of)
        return _Aggregate(self._places[variable], function, compiled, leaf,
                          step_of(node) if isinstance(node, Call) else 0)

    def evaluate(self, matched: Matched) -> list[pa.Array]:
        """One array an item."""
        return [self._evaluate(item, matched) for item in self._items]

    def _evaluate(self, item: _Item, matched: Matched) -> pa.Array:
        reduced = [self._reduce(a, matched) for a in item.aggregates]

        def columns(name: Name) -> pa.Array:
            if name.index == "aggregate":
                return reduced[int(name.name)]
            return matched.column(self._places[str(name.qualifier)],
                                  self._alias.get(name.name, name.name))

        if item.elements is None:
            return item.compiled.evaluate(columns, len(matched))
        offsets = matched.offsets[item.elements]
        values = item.compiled.evaluate(columns, int(offsets[-1]))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)

    def _reduce(self, aggregate: _Aggregate, matched: Matched) -> pa.Array:
        offsets = matched.offsets[aggregate.component]
        if aggregate.arg is None:
            return pa.array(np.diff(offsets))
        values = aggregate.arg.evaluate(
            lambda name: matched.column(aggregate.component, self._alias.get(name.name, name.name)),
            int(offsets[-1]))
        if aggregate.function in ("first", "last"):
            at = (offsets[:-1] + aggregate.step if aggregate.function == "first"
                  else offsets[1:] - 1 - aggregate.step)
            return values.take(pa.array(at, mask=np.diff(offsets) <= aggregate.step))
        if pa.types.is_string(values.type):
            return _reduce_texts(aggregate, values, offsets)
        out, given = np.zeros(len(matched), np.int64), np.zeros(len(matched), bool)
        known = np.array(values.is_valid().to_numpy(zero_copy_only=False))
        fold_runs(int(Reducing[aggregate.function.upper()]), pa.types.is_floating(values.type),
                  offsets, bits(values), known, out, given)
        found = out.view(np.float64) if pa.types.is_floating(aggregate.type) else out
        return pa.array(found, mask=~given).cast(aggregate.type)


def _reduce_texts(aggregate: _Aggregate, values: pa.Array, offsets: np.ndarray) -> pa.Array:
    """count, min and max of texts, which the compiled loops know by their codes only."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    table = pa.table({"match": owner, "value": values})
    # without threads the groups come in the order of their first rows
    done = table.group_by("match", use_threads=False).aggregate([("value", aggregate.function)])
    return done.column(f"value_{aggregate.function}").combine_chunks().cast(aggregate.type)
