"""`Tide` in words: what an event waited for, why another is late, and how the sources fare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.reorder.policy import Names
from slackwater.reorder.tide.loop import (
    BACK,
    CAUGHT_UP,
    EARLY,
    GUARD,
    NEW,
    OLD,
    SEQUENCE_GAP,
    SILENT,
    SLOW,
    SWAPPED,
    UNHEARD,
    WARM_UP,
)
from slackwater.reorder.tide.source import foretold
from slackwater.reorder.tide.state import (
    COUNT,
    FAILURES,
    GREATEST,
    IDLE,
    LIVE,
    LONGEST,
    NEVER,
    SCALE,
    SEEN,
    STATUS,
)

__all__ = ["health", "words_for_late", "words_for_ready"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Sentence: TypeAlias = "tuple[str | pa.Array, ...]"

_SHOWN = 100  # sources told of one by one: the notes stay small however many there are


def words_for_ready(why: Int64, whom: Int64, value: Int64, names: Names | None) -> pa.Array:
    """What each released event waited for."""
    def sentence(kind: int, at: Int64) -> Sentence:
        if kind == CAUGHT_UP:
            return (_named(whom[at], names, before="waited for "),)
        if kind == SILENT:
            return (_named(whom[at], names), " silent for ", _seconds(value[at]), " s")
        if kind == SEQUENCE_GAP:
            return ("sequence gap at ", _text(value[at]), " in ", _named(whom[at], names))
        if kind == WARM_UP:
            return ("warm-up: sources still to be met",)
        if kind == UNHEARD:
            return ("declared sources not heard yet: ", _text(value[at]))
        assert kind == GUARD
        return ("waited the usual delay, ", _seconds(value[at]), " s, for absent or new sources")

    return _told(why, sentence)


def words_for_late(why: Int64, whom: Int64, value: Int64, timeout: Int64,
                   names: Names | None) -> pa.Array:
    """Why each late event is late."""
    def sentence(kind: int, at: Int64) -> Sentence:
        source, seconds = _named(whom[at], names), _seconds(value[at])
        if kind == NEW:
            return ("new ", source)
        if kind == BACK:
            return (source, " came back after ", seconds, " s")
        if kind == OLD:
            return (source, " sent what was ", seconds, " s old, given up long before")
        if kind == SLOW:
            return (source, " took ", seconds, " s, timeout ", _seconds(timeout[at]), " s")
        if kind == SWAPPED:
            return (source, " swapped events ", seconds, " s apart")
        if kind == EARLY:
            return (source, " sent ", seconds, " s earlier than its rhythm")
        return (source, " was not waited for longer")

    return _told(why, sentence)


def health(whole: Int64, real: Float64, now: Int64, names: Names | None) -> dict[str, Any]:
    """How many sources are live, idle or new, and the most troubled of them one by one."""
    heard = np.flatnonzero(whole[:, COUNT])
    status = whole[heard, STATUS]
    trouble = np.where(status == LIVE, 0, 2**40) + whole[heard, FAILURES]
    worst = heard[np.argsort(-trouble, kind="stable")[:_SHOWN]]
    labels = _named(worst, names).to_pylist()
    return {
        "live": int((status == LIVE).sum()),
        "idle": int((status == IDLE).sum()),
        "new": int(((status != LIVE) & (status != IDLE)).sum()),
        "worst": [
            {
                "source": label.removeprefix("source "),
                "status": {LIVE: "live", IDLE: "idle"}.get(int(whole[s, STATUS]), "new"),
                "events": int(whole[s, COUNT]),
                "failures": int(whole[s, FAILURES]),
                "silent_us": _known(int(now[s]) - int(whole[s, SEEN]), whole[s, SEEN]),
                "time": _known(int(whole[s, GREATEST]), whole[s, GREATEST]),
                "rhythm_us": float(foretold(whole[s], real[s])),
                "mean_gap_us": float(real[s, SCALE]),
                "longest_silence_us": float(real[s, LONGEST]),
            }
            for s, label in zip(worst, labels, strict=True)
        ],
    }


def _known(value: int, stamp: int) -> int | None:
    """The value, if the stamp it comes from was ever set."""
    return None if stamp == NEVER else value


def _named(whom: Int64, names: Names | None, before: str = "") -> pa.Array:
    """Each row's source; the words are joined once a source where those are fewer than the rows."""
    if names is None:
        return pa.repeat(f"{before}source", len(whom))
    at = np.maximum(whom, 0)
    distinct, where = np.unique(at, return_inverse=True)
    text = _joined(f"{before}source ", names(distinct)).take(pa.array(where))
    if (whom >= 0).all():
        return text
    return pc.if_else(pa.array(whom >= 0), text, f"{before}every source")


def _joined(before: str, names: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(before, names.cast(pa.string()), "")


def _seconds(us: Int64) -> pa.Array:
    return pa.array(np.round(us / 1e6, 3)).cast(pa.string())


def _text(value: Int64) -> pa.Array:
    return pa.array(value).cast(pa.string())


def _told(kind: Int64, sentence: Callable[[int, Int64], Sentence]) -> pa.Array:
    """Each row's sentence; made kind by kind, column-wise: there may be as many as rows."""
    rows, texts = [], []
    for k in np.flatnonzero(np.bincount(kind)):
        at = np.flatnonzero(kind == k)
        parts = sentence(int(k), at)
        rows.append(at)
        if len(parts) > 1:
            texts.append(pc.binary_join_element_wise(*parts, ""))
        else:
            only = parts[0]
            texts.append(pa.repeat(only, len(at)) if isinstance(only, str) else only)
    if len(texts) == 1:
        return texts[0]
    back = np.empty(len(kind), np.int64)
    back[np.concatenate(rows)] = np.arange(len(kind))
    return pa.concat_arrays(texts).take(pa.array(back))
