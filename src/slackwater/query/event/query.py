"""EVENT queries as patterns that the matcher can run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.html import html_text
from slackwater.core.kernel import MemoryStore
from slackwater.core.state.keys import Keys
from slackwater.pattern.match import Match
from slackwater.pattern.pattern import Matched
from slackwater.pattern.program import Op
from slackwater.pattern.schedule import ANY, FOLLOWING, STRICT, Component, Negation
from slackwater.pattern.shape import Shape
from slackwater.pattern.skip import Skip
from slackwater.pattern.texts import NO_TEXTS, Texts, texts_of
from slackwater.query.errors import QueryError
from slackwater.query.event.code import Coder, bits
from slackwater.query.event.parse import parse_event
from slackwater.query.event.plan import EventPlan, accesses, make_plan
from slackwater.query.event.returns import Returns
from slackwater.query.event.shape import groups_of, shape_of
from slackwater.query.expr.arrow import Compiled, compile_condition, schema_lookup
from slackwater.query.expr.ticks import unit_lookup
from slackwater.query.expr.tree import Binary, Expr, Name

__all__ = ["EventPattern", "event_pattern", "event_query"]

Int64 = NDArray[np.int64]
_WAYS: dict[str | None, int] = {"=>": STRICT, "->": FOLLOWING, "~>": ANY}


def event_pattern(text: str) -> EventPattern:
    """The pattern of an ``EVENT …`` text, or a `QueryError` that draws the place of a mistake."""
    return EventPattern(text)


def event_query(text: str, roles: Roles, **options: Any) -> Match:
    """The matcher of an ``EVENT …`` text; the options are those of `slackwater.pattern.Match`."""
    return Match(event_pattern(text), roles, **options)


@dataclass(frozen=True)
class EventPattern:
    """An EVENT query, parsed and planned.

    Examples
    --------
    >>> pattern = EventPattern("EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 10 s")
    >>> pattern.partition, [c.variable for c in pattern.components], pattern.negations[0].gap
    (('id',), ['a', 'c'], 1)
    """

    text: str
    plan: EventPlan = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", make_plan(parse_event(self.text)))
        loops = {loop for p in self.plan.tree.parts for loop in p.loops}
        if len(self.components) + len(self.negations) > 60 or len(loops) > 60:
            raise ConfigError("the pattern has too many components", step="query",
                              expected="at most 60", got=len(self.plan.tree.parts))

    def _repr_html_(self) -> str:
        from slackwater.query.event.explain import explain_event

        return html_text(explain_event(self))

    @property
    def components(self) -> tuple[Component, ...]:
        """What must occur, in order."""
        return tuple(Component(p.variable, p.types, p.many, 0 if p.absent else p.least,
                               p.most if p.kleene or not p.loops else 0, p.greedy,
                               _WAYS.get(p.before), _WAYS.get(p.inside))
                     for p in self.plan.tree.parts if not p.negated)

    @property
    def shape(self) -> Shape | None:
        """Its groups, alternatives and the like; None: it is a row of components."""
        return None if self.plan.tree.shape is None else self.whole

    @cached_property
    def whole(self) -> Shape:
        """It as a shape, also where it is no more than a row of components."""
        names = [*(c.variable for c in self.components), *(n.variable for n in self.negations)]
        return shape_of(self.plan.tree, {name: i for i, name in enumerate(names)},
                        len(self.components), _WAYS)

    @property
    def ways(self) -> set[int]:
        """The selections that the arrows of groups ask for."""
        found: set[int] = set()
        for group in groups_of(self.plan.tree.shape):
            said = [group.inside, *(arrow for arrow, _ in group.items)]
            found |= {_WAYS[arrow] for arrow in said if arrow}
        return found

    @property
    def negations(self) -> tuple[Negation, ...]:
        """What must not occur."""
        found, gap = [], 0
        shaped = self.plan.tree.shape is not None
        total = sum(not p.negated for p in self.plan.tree.parts)
        for part in self.plan.tree.parts:
            if part.negated and shaped:  # it may lead, or not; where it stands, the shape knows
                lead = all(p.negated or p.optional for p in
                           self.plan.tree.parts[: self.plan.tree.parts.index(part)])
                found.append(Negation(part.variable, part.types, 0 if lead else total))
            elif part.negated:
                found.append(Negation(part.variable, part.types, gap))
            else:
                gap += 1
        return tuple(found)

    @property
    def skip(self) -> Skip | None:
        """AFTER MATCH SKIP; None: matches may overlap as they like."""
        asked = self.plan.tree.skip
        if asked is None:
            return None
        names = [c.variable for c in self.components]
        return Skip(asked.to, names.index(asked.variable) if asked.variable is not None else 0)

    @property
    def said(self) -> dict[str, str]:
        """The options of `Match` that the text itself gives."""
        tree = self.plan.tree
        words = {"select": tree.strategy, "emit": tree.emit, "timed_out": tree.timed_out}
        return {name: word.word for name, word in words.items() if word is not None}

    @property
    def window(self) -> int:
        """WITHIN, in microseconds."""
        return self.plan.tree.within

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns in which WHERE makes all variables equal.

        Once bound to a schema (`Bound.partition`), without those that hold reals.
        """
        return self.plan.partition

    def bound_later(self) -> list[tuple[Expr, set[str]]]:
        """The conditions inside a match, each with its variables."""
        return [(e, {v for v, _, _ in accesses(e)}) for e in self.plan.within_match]

    def bind(self, schema: pa.Schema, roles: Roles) -> BoundEvent:
        """Check it against the data's columns."""
        return BoundEvent(self, schema, roles)


class BoundEvent:
    """An EVENT query over given columns; see `slackwater.pattern.pattern.Bound`."""

    def __init__(self, pattern: EventPattern, schema: pa.Schema, roles: Roles) -> None:
        self._pattern, self._schema, self._roles = pattern, schema, roles
        plan, text = pattern.plan, pattern.text
        lookup = schema_lookup(schema, text)
        # `s.time` and `s.type` mean the columns with these roles, if no column has that name
        self._alias = {role: column for role, column in (("time", roles.time), ("type", roles.type))
                       if column is not None and role not in schema.names}

        def schema_of(name: Name) -> pa.DataType:
            return lookup(Name(name.qualifier, self._alias.get(name.name, name.name), name.index,
                               at=name.at))

        stamped = unit_lookup(roles)

        def unit_of(name: Name) -> str | None:
            return stamped(Name(None, self._alias.get(name.name, name.name), at=name.at))

        variables: list[Component | Negation] = [*pattern.components, *pattern.negations]
        self._types = [v.types for v in variables]
        self._scan: list[list[Compiled]] = [
            [compile_condition(e, schema_of, text, unit_of=unit_of)
             for e in plan.scan.get(v.variable, [])] for v in variables]
        keys, loose_keys = self._split_keys(schema_of)
        self.partition = tuple(self._alias.get(c, c) for c in keys)
        self._texts = Keys("texts", ["text"], MemoryStore())
        self._constants: list[str] = []
        coder = Coder(text, {v.variable: i for i, v in enumerate(variables)},
                      {p.variable for p in plan.tree.parts if p.many},
                      len(pattern.components), schema_of, self._constant, unit_of,
                      {p.variable: p for p in plan.tree.parts})
        loose = [e for v in pattern.negations for e in plan.against[v.variable]]
        self.conditions = [coder.condition(e)
                           for e in [*plan.within_match, *loose, *loose_keys]]
        self.conditions += [coder.limit(p) for p in plan.tree.parts if p.within and p.within[1]]
        self._lanes = coder.lanes
        self.lanes = len(coder.lanes)
        self._returns = Returns(pattern.components, plan.tree, schema_of, self._alias,
                                unit_of, schema.names)
        self.fields = self._returns.fields

    def _split_keys(self, schema_of: Callable[[Name], pa.DataType]) -> tuple[list[str], list[Expr]]:
        """Partition columns, and equalities for those that are reals: −0.0 is 0.0, NaN is nothing.

        Such equalities are not about the text of a value, so no partition can be made of them.
        """
        keys: list[str] = []
        equal: list[Expr] = []
        parts = self._pattern.plan.tree.parts
        for column in self._pattern.plan.partition:
            if not pa.types.is_floating(schema_of(Name(None, column, at=parts[0].at))):
                keys.append(column)
                continue
            head, *rest = sorted(parts, key=lambda p: (p.negated, p.optional, p.many))
            for part in rest:
                if head.many and part.many:
                    raise QueryError(f"{column!r} holds reals, which cannot be compared between "
                                     "the elements of two Kleene variables", self._pattern.text,
                                     part.at, hint="use a whole number or a text as the key")
                equal.append(Binary("=", Name(head.variable, column, at=head.at),
                                    Name(part.variable, column, at=part.at), at=part.at))
            if head.many:
                equal.append(Binary("=", Name(head.variable, column, "i", at=head.at),
                                    Name(head.variable, column, "i-1", at=head.at), at=head.at))
        return keys, equal

    def scan(self, batch: pa.RecordBatch) -> Int64:
        """Which components and negations each row may take part in, as bits."""
        every = sum(1 << i for i, types in enumerate(self._types) if not types)
        mask: Int64
        if self._roles.type is None:
            mask = np.full(batch.num_rows, every, np.int64)
            return self._tested(batch, mask)
        column = batch.column(self._roles.type)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        names = column.dictionary.cast(pa.string()).to_pylist()
        kinds = np.array([
            sum(1 << i for i, types in enumerate(self._types) if name in types) | every
            for name in [*names, None]], np.int64)
        codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        mask = kinds[codes]
        return self._tested(batch, mask)

    def _tested(self, batch: pa.RecordBatch, mask: Int64) -> Int64:
        """The bits that the conditions on one event leave."""
        for i, tests in enumerate(self._scan):
            if not tests:
                continue
            rows = np.flatnonzero(mask >> i & 1)
            some = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
            good = np.ones(len(rows), bool)
            for test in tests:
                found = test.evaluate(partial(self._read, some), len(rows))
                good &= pc.fill_null(found.cast(pa.bool_()), False).to_numpy(zero_copy_only=False)
            mask[rows[~good]] &= ~(1 << i)
        return mask

    def values(self, batch: pa.RecordBatch) -> tuple[Int64, NDArray[np.bool_]]:
        """The lanes' values, and which are not NULL."""
        value = np.empty((self.lanes, batch.num_rows), np.int64)
        known = np.empty((self.lanes, batch.num_rows), bool)
        for i, lane in enumerate(self._lanes):
            array = lane.compiled.evaluate(partial(self._read, batch), batch.num_rows)
            known[i] = array.is_valid().to_numpy(zero_copy_only=False)
            if pa.types.is_string(array.type):
                value[i] = self._texts.slots(pa.record_batch({"text": array}))[0]
            else:
                value[i] = bits(array)
        return value, known

    def forget(self) -> None:
        """Forget the texts of events that are gone; those of the query keep their codes."""
        self._texts = Keys("texts", ["text"], MemoryStore())
        if self._constants:
            self._texts.slots(pa.record_batch({"text": self._constants}))

    def texts(self) -> Texts:
        """The texts that the codes stand for, if a condition looks at more than the codes."""
        reads = {op for c in self.conditions for op, *_ in c.code}
        if not reads & {Op.TEXT_ORDER, Op.LIKE}:
            return NO_TEXTS
        codes = np.arange(len(self._texts), dtype=np.int64)
        return texts_of(self._texts.values(codes)[0]) if len(codes) else NO_TEXTS

    def results(self, matched: Matched) -> list[pa.Array]:
        """What RETURN asks for."""
        return self._returns.evaluate(matched)

    def _constant(self, text: str) -> int:
        if text not in self._constants:
            self._constants.append(text)
            self._texts.slots(pa.record_batch({"text": [text]}))
        return self._constants.index(text)

    def _read(self, batch: pa.RecordBatch, name: Name) -> pa.Array:
        return batch.column(self._alias.get(name.name, name.name))
