"""Steps that run together in each shard of a query: what one releases, the next gets at once."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from slackwater.reorder import Reorder
from slackwater.spark.runner.operator_spec import OperatorSpec

__all__ = ["Group", "Part", "Port"]


@dataclass(frozen=True)
class Port:
    """Where the rows of one input of a step come from.

    Parameters
    ----------
    above, outcome
        The step of the same group whose rows they are, and which of them; None: they come from
        outside.
    schema
        The columns that the step sees of them.
    merge
        Brings the other's keys into one order, as far as all of them have come.
    """

    above: str | None = None
    outcome: str = "ready"
    schema: pa.Schema | None = None
    merge: Reorder | None = None


@dataclass(frozen=True)
class Part:
    """A step of a group.

    Parameters
    ----------
    spec
        Its kernel; its inputs are those of `ports`.
    ports
        Where its rows come from.
    ordered
        Its rows come in time order, from steps that promise how far they have come.
    leads, shared
        Whether such steps follow this one, and whether one of them brings its keys together.
    wanted
        The outcomes that leave the group, beside numbers about the step; None: all, without.
    reasons
        Whether somebody reads what ready rows have waited for.
    life
        How many times the step has started afresh: it has no use for the state of earlier lives.
    """

    spec: OperatorSpec
    ports: tuple[Port, ...] = (Port(),)
    ordered: bool = False
    leads: bool = False
    shared: bool = False
    wanted: frozenset[str] | None = None
    reasons: bool = True
    life: int = 0

    @property
    def name(self) -> str:
        """The step's name."""
        return self.spec.step

    @property
    def state(self) -> str:
        """The name of its state."""
        return f"{self.name}@{self.life}" if self.life else self.name

    @property
    def promise(self) -> int | None:
        """What the silence of a key promises (see `slackwater.core.keyed`).

        To a step whose rows come in time order it promises nothing more than the steps above do,
        and they are believed at the end of each micro-batch: to ask at every row would cut the
        micro-batch into rows.
        """
        if self.ordered:
            return None
        return self.spec.quiet if self.leads else self.spec.promise


@dataclass(frozen=True)
class Group:
    """Steps, each after those that it reads, in so many shards with these labels.

    Without steps it only hands on the rows of the stream that `passes`.
    """

    parts: tuple[Part, ...]
    labels: tuple[int, ...]
    passes: str | None = None

    @property
    def tells(self) -> bool:
        """Whether numbers about its steps leave beside its rows."""
        return any(part.wanted is not None for part in self.parts)

    @property
    def quiet(self) -> int | None:
        """The shortest silence that any of its steps looks out for."""
        waits = [part.spec.quiet for part in self.parts if part.spec.quiet is not None]
        return min(waits, default=None)
