"""What a matcher needs to know of a pattern; the query language makes one out of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.events import Roles
from slackwater.pattern.program import Condition
from slackwater.pattern.schedule import Component, Negation
from slackwater.pattern.shape import Shape
from slackwater.pattern.texts import Texts

__all__ = ["Bound", "Matched", "Pattern"]

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Matched:
    """Matches as columns: the distinct events in them, and which of these each component has.

    Parameters
    ----------
    rows
        The events, each once.
    index
        A component: the events of all matches, one match after the other; −1 for a single event
        that a match does without.
    offsets
        A component: where each match begins in its `index`, and the end.
    """

    rows: pa.RecordBatch
    index: tuple[Int64, ...]
    offsets: tuple[Int64, ...]

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def column(self, component: int, name: str) -> pa.Array:
        """A column's values for the events of a component."""
        which = self.index[component]
        return self.rows.column(name).take(pa.array(which, mask=which < 0))


class Bound(Protocol):
    """A pattern, checked against the columns of the data."""

    conditions: list[Condition]
    lanes: int
    partition: tuple[str, ...]
    fields: list[pa.Field]

    def scan(self, batch: pa.RecordBatch) -> Int64:
        """For each row a bit mask: which components, then which negations, it may take part in."""

    def values(self, batch: pa.RecordBatch) -> tuple[Int64, NDArray[np.bool_]]:
        """The columns that conditions use: values (floats by their bits) and which are not NULL."""

    def texts(self) -> Texts:
        """What the codes of texts stand for, as far as conditions need it."""

    def forget(self) -> None:
        """Drop what was kept for events that are no longer there (codes of texts)."""

    def results(self, matched: Matched) -> list[pa.Array]:
        """What RETURN asks for: one array a field."""


class Pattern(Protocol):
    """A pattern as it was written: frozen, able to travel to an executor."""

    @property
    def text(self) -> str:
        """The query."""

    @property
    def components(self) -> tuple[Component, ...]:
        """What must occur, in order."""

    @property
    def negations(self) -> tuple[Negation, ...]:
        """What must not occur."""

    @property
    def whole(self) -> Shape:
        """It as a shape, also where it is no more than a row of components."""

    @property
    def window(self) -> int:
        """The greatest time between the first and the last event, in microseconds."""

    @property
    def partition(self) -> tuple[str, ...]:
        """Columns in which all events of a match, and all that can undo it, are equal."""

    def bind(self, schema: pa.Schema, roles: Roles) -> Bound:
        """Check it against the data's columns."""
