"""What a snapshot holds, told from its index: no kernel is needed, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slackwater.core.kernel import Store
from slackwater.core.state.keys import Keys
from slackwater.core.state.marks import Marks
from slackwater.core.state.record import Record
from slackwater.core.times import NEVER

__all__ = ["KeyMark", "Survey", "survey"]


@dataclass(frozen=True)
class KeyMark:
    """How far one key has come: its watermark (µs; None: nothing has left), and the rows held."""

    key: str
    watermark: int | None
    held: int


@dataclass(frozen=True)
class Survey:
    """What a stage had when its snapshot was taken.

    Parameters
    ----------
    kind
        Which stage.
    keys
        Keys that it knows.
    held
        Rows in its buffers; a few of them may have left since their block was written.
    oldest
        The least time of those rows (µs).
    watermark, ahead
        The least and the greatest watermark of its keys, where it has one per key.
    marks
        Some keys, those furthest back first.
    """

    kind: str
    keys: int
    held: int
    oldest: int | None
    watermark: int | None
    ahead: int | None
    marks: tuple[KeyMark, ...]


def survey(index: bytes, store: Store, *, most: int = 10) -> Survey:
    """Look at the snapshot with this index.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> from slackwater.core.kernel import MemoryStore
    >>> from slackwater.reorder import Reorder
    >>> store = MemoryStore()
    >>> roles = Roles("time", "arrival", key=("room",), unit="s")
    >>> logic = Reorder("Static(buffer=1s)", roles).start(store)
    >>> rows = {"time": [1, 2, 9], "arrival": [1, 2, 9], "room": ["a", "b", "a"]}
    >>> out = logic.push(pa.record_batch(rows))
    >>> found = survey(logic.snapshot(), store)
    >>> found.keys, found.held, found.oldest, [(m.key, m.held) for m in found.marks]
    (2, 2, 2000000, [('b', 1), ('a', 1)])
    """
    kind, meta = Record.head(index)
    state = meta["state"]
    if "first" in state:  # a chain: what it holds back is held by its first stage
        first = survey(bytes.fromhex(state["first"]), store, most=most)
        return Survey(kind, first.keys, first.held, first.oldest, first.watermark, first.ahead,
                      first.marks)
    blocks = list(_blocks(state))
    oldest = min((first for live, first in blocks if live), default=None)
    marks, least, greatest = _marks(state, store, most)
    return Survey(kind, _keys(state["keys"]), sum(live for live, _ in blocks), oldest, least,
                  greatest, marks)


def _keys(meta: Mapping[str, Any]) -> int:
    return int(meta["live"]) if "columns" in meta else int(bool(meta["begun"]))


def _blocks(state: Any) -> Iterator[tuple[int, int]]:
    """The rows and the least time of each block of every buffer: see `Buffer.save`."""
    if isinstance(state, Mapping):
        if {"serial", "runs"} <= state.keys():
            for run in state["runs"]:
                for _, _, _, live, first, *_ in run:
                    yield live, first
            return
        state = list(state.values())
    if isinstance(state, list):
        for part in state:
            yield from _blocks(part)


def _marks(state: Mapping[str, Any], store: Store, most: int
           ) -> tuple[tuple[KeyMark, ...], int | None, int | None]:
    """The watermarks of the keys, for stages that keep them as `Marks`."""
    if not isinstance(state.get("marks"), Mapping) or "greatest" not in state["marks"]:
        return (), None, None
    marks = Marks.of_groups("marks", store)
    marks.load(state["marks"])
    keys = Keys("keys", state["keys"].get("columns", ()), store)
    keys.load(state["keys"])
    slots = keys.live()
    marks.need(slots)
    time, held = marks["time"][slots], marks["held"][slots]
    order = np.argsort(time, kind="stable")[:most]
    labels = keys.labels(slots[order]).to_pylist()
    known = time[time != NEVER]
    return (tuple(KeyMark(label, None if time[at] == NEVER else int(time[at]), int(held[at]))
                  for label, at in zip(labels, order, strict=True)),
            int(known.min()) if len(known) else None, int(known.max()) if len(known) else None)
