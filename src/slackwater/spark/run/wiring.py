"""From a pipeline to groups of steps: which run together, how they are fed, how they are sharded.

Steps that feed each other run in one group, shard by shard, so that a row goes through all of them
in one micro-batch and in one order.  A group is sharded by the columns that all of its steps keep
apart; where they have none in common, it is one shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from slackwater.core.durations import micros
from slackwater.core.events import Roles
from slackwater.core.names import ARRIVAL
from slackwater.correlate import Correlate
from slackwater.correlate.rows import split_by
from slackwater.pipeline.kernels import make_kernel, operator_schema
from slackwater.pipeline.order import order_of, time_of
from slackwater.pipeline.steps import PASSED_ON, Step, StreamName
from slackwater.query import SelectQuery, parse_as
from slackwater.query.correlate.query import PairQuery
from slackwater.query.expr.tree import Name
from slackwater.query.recognise import RecogniseQuery
from slackwater.query.select.tree import Select
from slackwater.reorder import Reorder
from slackwater.reorder.policies.punctuated import Punctuated
from slackwater.spark.runner.carry import seen_columns
from slackwater.spark.runner.group import Group, Part, Port
from slackwater.spark.runner.operator_spec import operator_spec, output_schema
from slackwater.spark.runner.packing import canonical_schema, shard_labels

__all__ = ["Wired", "wire"]

_STAMP = pa.timestamp("us", "UTC")
_QUIET = "10s"


@dataclass(frozen=True)
class Wired:
    """What becomes of steps: groups, and the columns of each step's rows with their status."""

    groups: tuple[Group, ...]
    outputs: Mapping[str, pa.Schema]


def wire(steps: list[Step], schemas: Mapping[str, pa.Schema], wanted: Mapping[str, frozenset[str]],
         shards: int, numbers: dict[str, int], lives: Mapping[str, int] | None = None) -> Wired:
    """Wire steps, each after those that it reads.

    Parameters
    ----------
    steps
        The steps, without SQL.
    schemas
        The columns of the streams that come from outside.
    wanted
        For each step, the outcomes that leave it.
    shards
        How many shards a group has whose first step does not say.
    numbers
        The number of each group, by its first step; those of new groups are added.
    lives
        How many times each step has started afresh, if it has.
    """
    wiring = _Wiring(dict(schemas))
    for step in steps:
        wiring.add(step, wanted.get(step.name, frozenset()))
    found = []
    for members in wiring.members():
        parts = [replace(part, life=(lives or {}).get(part.name, 0))
                 for part in wiring.led(members)]
        columns = _common_columns(parts, wiring.steps)
        count = 1
        if columns or any(given.spread for given in parts[0].spec.inputs):
            count = int(wiring.steps[members[0]].options.get("shards") or shards)
        number = numbers.setdefault(members[0], max(numbers.values(), default=-1) + 1)
        if columns is not None:
            spec = parts[0].spec
            inputs = tuple(given if given.side else replace(given, shard_by=columns)
                           for given in spec.inputs)
            parts = [replace(parts[0], spec=replace(spec, inputs=inputs)), *parts[1:]]
        found.append(Group(tuple(parts), shard_labels(count, number)))
    return Wired(tuple(found), wiring.outputs)


class _Wiring:
    def __init__(self, schemas: dict[str, pa.Schema]) -> None:
        self.steps: dict[str, Step] = {}
        self.outputs: dict[str, pa.Schema] = {}
        self._parts: dict[str, Part] = {}
        self._streams: dict[StreamName, pa.Schema] = {
            StreamName(name): schema for name, schema in schemas.items()}

    def add(self, step: Step, wanted: frozenset[str]) -> None:
        """Make the part of a step, and know the columns of its streams."""
        given = [self._streams[stream] for stream in step.inputs]
        seen = [operator_schema(step, schema) for schema in given]
        made = make_kernel(step, list(given))
        kernel = made.kernel
        quiet = None if step.kind in ("correlate", "pairs") else step.options.get("quiet", _QUIET)
        inside = any(stream.node in self.steps for stream in step.inputs)
        spec = operator_spec(kernel, seen[0], None if quiet is None else
                             micros(quiet, name="quiet"), step.name,
                             together=inside and len(step.inputs) > 1)
        self.steps[step.name] = step
        ports = tuple(self._port(step, stream, schema, at, spec.kernel)
                      for at, (stream, schema) in enumerate(zip(step.inputs, seen, strict=True)))
        if inside:
            # what comes from a step of the group is in this shard already
            spec = replace(spec, quiet=None if step.ordered else spec.quiet)
        # neither sinks nor steps see what ready rows have waited for
        self._parts[step.name] = Part(spec, ports, step.ordered, wanted=wanted, reasons=False)
        columns = [seen_columns(one, schema)
                   for one, schema in zip(spec.inputs, seen, strict=True)]
        self.outputs[step.name] = output_schema(spec, columns)
        results = made.results
        assert results is not None
        if ARRIVAL not in results.names:
            results = results.append(pa.field(ARRIVAL, _STAMP))
        self._streams[StreamName(step.name)] = canonical_schema(results)
        aside = pa.schema([*seen[0], pa.field("_reason", pa.string()),
                           pa.field("_released", _STAMP)])
        for outcome in ("late", "quarantined"):
            self._streams[StreamName(step.name, outcome)] = canonical_schema(aside)

    def _port(self, step: Step, stream: StreamName, schema: pa.Schema, at: int,
              kernel: Any) -> Port:
        if stream.node not in self.steps:
            return Port(schema=schema)
        merge = None
        above = self.steps[stream.node]
        if step.ordered and not set(order_of(above, self.steps)) <= set(_keys(kernel, at)):
            time = time_of(step)
            merge = Reorder(Punctuated(), Roles(time, time, unit=step.options.get("unit")))
        return Port(stream.node, stream.outcome, schema, merge)

    def members(self) -> list[list[str]]:
        """The names of the steps of each group, in order."""
        home: dict[str, str] = {name: name for name in self._parts}
        for name, part in self._parts.items():
            for port in part.ports:
                if port.above is not None:
                    old, new = home[port.above], home[name]
                    home = {n: old if h == new else h for n, h in home.items()}
        return [[n for n in self._parts if home[n] == h] for h in dict.fromkeys(home.values())]

    def led(self, members: list[str]) -> list[Part]:
        """The parts of a group, each knowing whether others go by what it promises."""
        parts = []
        for name in members:
            behind = [port for other in members if self._parts[other].ordered
                      for port in self._parts[other].ports if port.above == name]
            parts.append(replace(self._parts[name], leads=bool(behind),
                                 shared=any(port.merge is not None for port in behind)))
        return parts


def _keys(kernel: Any, at: int) -> tuple[str, ...]:
    """The columns by which a kernel keeps rows of an input apart."""
    if isinstance(kernel, (SelectQuery, RecogniseQuery)):
        return kernel.chain.reorder.roles.key
    if isinstance(kernel, (Correlate, PairQuery)):
        pairing = kernel if isinstance(kernel, Correlate) else kernel.correlate
        return tuple(split_by(pairing.by)[at])
    key: tuple[str, ...] = kernel.roles.key
    return key


def _common_columns(parts: list[Part], steps: Mapping[str, Step]) -> tuple[str, ...] | None:
    """The columns by which a whole group can be sharded; None: as its only step says."""
    if len(parts) == 1:
        return None if len(parts[0].ports) > 1 else parts[0].spec.inputs[0].shard_by
    if any(len(part.ports) > 1 for part in parts):
        return ()
    columns = parts[0].spec.inputs[0].shard_by
    for part in parts[1:]:
        mine = part.spec.inputs[0].shard_by
        columns = tuple(c for c in columns if c in mine)
        above = steps[str(part.ports[0].above)]
        if part.ports[0].outcome == "ready" and above.kind not in PASSED_ON:
            columns = tuple(c for c in columns if c in _handed_on(above))
    return columns


def _handed_on(step: Step) -> set[str]:
    """The columns that a query's results have as its input had them."""
    if step.kind != "select":
        return set()
    tree = parse_as(Select, step.text)
    grouped = {name.name for name in tree.group}
    return {item.expr.name for item in tree.items
            if isinstance(item.expr, Name) and item.expr.name in grouped
            and (item.name or item.expr.name) == item.expr.name}
