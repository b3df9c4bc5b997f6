"""Punctuation: promises from outside that nothing before a time comes any more.

A producer, a gateway or a scheduler may know what no estimate can: that a source has sent all it
has up to a moment (the *heartbeat* of Srivastava and Widom, the *punctuation* of Tucker and Maier).
Such a promise is made by one source or by all, and about one key or about every key, those included
that are yet to come.  What a key may rely on is the least promise of its sources, each the better
of the one about that key and the one about every key.

Enters: promises.  Leaves: the time up to which each key may be released.  May import: state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import NEVER
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages

__all__ = ["Punctuation", "declared"]

Int64 = NDArray[np.int64]


def declared(sources: tuple[str, ...] | None, step: str) -> tuple[str, ...] | None:
    """The names of sources as a tuple; for __post_init__."""
    if sources is None:
        return None
    if isinstance(sources, str):
        raise ConfigError("sources is one text, not a list of names", step=step,
                          got=repr(sources), hint=f"say sources=({sources!r},)")
    names = tuple(str(s) for s in sources)
    twice = [s for s, count in Counter(names).items() if count > 1]
    if twice:
        raise ConfigError("a source is declared twice", step=step, got=", ".join(twice))
    return names


class Punctuation:
    """The promises made so far.

    Parameters
    ----------
    sources
        The sources whose own promises are combined: a key may rely on the least of them. None: a
        promise is always about all sources.
    store
        Where promises about single keys go.

    Examples
    --------
    >>> from slackwater.core.kernel import MemoryStore
    >>> made = Punctuation(("a", "b"), MemoryStore())
    >>> made.make(5, "a")
    >>> made.of(np.array([0])).tolist() == [NEVER]  # b has promised nothing
    True
    >>> made.make(9, "b", key=0)
    >>> made.of(np.array([0])).tolist(), made.of(np.array([1])).tolist() == [NEVER]
    ([5], True)
    """

    def __init__(self, sources: tuple[str, ...] | None, store: Store) -> None:
        self._sources = sources
        self._every = np.full(len(sources or "1"), NEVER)
        self._own = Pages("punctuation", {"until": self._every.copy()}, store)

    def make(self, time: int, source: str | None, key: int | None = None) -> None:
        """A promise of a source (None: of all of them) about a key's slot (None: about all)."""
        which = slice(None) if source is None else self._number(source)
        promised = self._every
        if key is not None:
            self._own.grow(key + 1)
            self._own.touch(np.array([key]))
            promised = self._own["until"][key]
        promised[which] = np.maximum(promised[which], time)

    def of(self, slots: Int64) -> Int64:
        """What these keys may rely on (NEVER: on nothing)."""
        return np.asarray(self._until(slots).min(axis=1))

    def by(self, number: int, slots: Int64) -> Int64:
        """What one source, by its number, has promised about these keys."""
        return self._until(slots)[:, number]

    def _until(self, slots: Int64) -> Int64:
        until = np.tile(self._every, (len(slots), 1))
        known = np.flatnonzero(slots < self._own.rows)
        if len(known):
            self._own.need(slots[known])
            until[known] = np.maximum(until[known], self._own["until"][slots[known]])
        return until

    def forget(self, slots: Int64) -> None:
        """These slots will be given to other keys, or start afresh."""
        known = slots[slots < self._own.rows]
        if len(known):
            self._own.reset(known)

    def save(self) -> dict[str, Any]:
        """Write what has changed; the result is what `load` needs."""
        return {"every": self._every.tolist(), "own": self._own.save()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._every[:] = meta["every"]
        self._own.load(meta["own"])

    def _number(self, source: str) -> int:
        if self._sources is None or source not in self._sources:
            raise ConfigError(
                f"{source!r} is not among the sources whose promises are combined",
                step="punctuate", expected=", ".join(self._sources or ()) or "none was declared",
                hint=did_you_mean(source, self._sources or ())
                or "name all of them in `sources`, or let one promise speak for all (source=None)")
        return self._sources.index(source)
