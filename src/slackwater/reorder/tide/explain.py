"""`Tide` in words: what an event waited for, why another is late, and how the sources fare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.durations import format_duration
from slackwater.reorder.estimator import Names
from slackwater.reorder.tide.loop import (
    BACK,
    CAUGHT_UP,
    CUT,
    EARLY,
    MEETING,
    NEW,
    ODD,
    PLAIN,
    SEQUENCE_GAP,
    SILENT,
    SLOW,
    SWAPPED,
    UNHEARD,
    UNKNOWN,
)
from slackwater.reorder.tide.state import ABSENT, NEVER, Records

__all__ = ["health", "promise", "words_for_late", "words_for_ready"]

Int64 = NDArray[np.int64]
Sentence: TypeAlias = "tuple[str | pa.Array, ...]"

_SHOWN = 100  # sources told of one by one: the notes stay small however many there are


def words_for_ready(why: Int64, whom: Int64, value: Int64, names: Names | None) -> pa.Array:
    """What each released event waited for."""
    def sentence(kind: int, whom: Int64, value: Int64) -> Sentence:
        if kind == CAUGHT_UP:
            return (_named(whom, names, before="waited for "),)
        if kind == SILENT:
            return (_named(whom, names), " silent for ", _seconds(value), " s")
        if kind == SEQUENCE_GAP:
            return ("sequence gap at ", _text(value), " in ", _named(whom, names))
        if kind == MEETING:
            return ("start: sources still to be met",)
        if kind == UNHEARD:
            return ("declared sources not heard yet: ", _text(value))
        if kind == CUT:
            return ("max_timeout: not waited for longer",)
        if kind == PLAIN:
            return ("waited ", _seconds(value), " s, a buffer for all sources")
        assert kind == UNKNOWN
        return ("waited ", _seconds(value), " s for absent or new sources")

    return _told(why, whom, value, sentence, counts=(SEQUENCE_GAP, UNHEARD))


def words_for_late(why: Int64, whom: Int64, value: Int64, names: Names | None) -> pa.Array:
    """Why each late event is late."""
    def sentence(kind: int, whom: Int64, value: Int64) -> Sentence:
        source, seconds = _named(whom, names), _seconds(value)
        if kind == NEW:
            return ("new ", source)
        if kind == BACK:
            return (source, " came back after ", seconds, " s")
        if kind == ODD:
            return (source, " stamped it ", seconds, " s before it came: a wrong clock, or far too "
                    "old")
        if kind == SLOW:
            return (source, " took ", seconds, " s, longer than was waited for")
        if kind == SWAPPED:
            return (source, " swapped events ", seconds, " s apart")
        if kind == EARLY:
            return (source, " sent ", seconds, " s earlier than its rhythm")
        return (source, " was not waited for longer")

    return _told(why, whom, value, sentence)


def promise(groups: Records, total: Mapping[str, int], loss: float,
            longest: int | None) -> dict[str, Any]:
    """How the promise is kept: late rows beyond the target (`debt`), and rows that do not count.

    `patience` and `debt` are those of the worst of these groups, `by_buffer` is how many of them
    follow the plain buffer; the others are counted over all;
    `warning` is there if a promise cannot be kept.
    """
    heard = groups[groups["rows"] > 0]
    rows, cut = total["rows"], total["cut"]
    found: dict[str, Any] = {
        "debt": float(heard["debt"].max(initial=0.0)),
        "patience": float(heard["patience"].max(initial=0.0)),
        "by_buffer": int(heard["plain"].sum()),
        "odd_rows": total["odd_rows"],
        "cut": cut,
    }
    if longest is not None and cut > loss * rows:
        found["warning"] = (
            f"max_timeout={format_duration(longest)} makes {cut:,} of {rows:,} rows late "
            f"({100 * cut / rows:.3g} %), more than loss={100 * loss:g} % allows; "
            "a longer max_timeout, or none, would keep the promise")
    return found


def health(sources: Records, some: Int64, groups: Records, names: Names | None) -> dict[str, Any]:
    """How many of some sources are live, idle or new; the most troubled of them one by one."""
    heard = some[sources["delay"][some] != NEVER]
    of = sources[heard]
    now = groups["now"][of["home"]]
    live, met = of["status"] != ABSENT, of["seen"] != NEVER
    silent = np.where(met, now - of["seen"], -1)
    order = np.lexsort((-silent, live))[:_SHOWN]
    labels = _named(heard[order], names).to_pylist()
    return {
        "live": int(live.sum()),
        "idle": int((~live & met).sum()),
        "new": int((~live & ~met).sum()),
        "worst": [
            {
                "source": label.removeprefix("source "),
                "status": "live" if live[i] else "idle" if met[i] else "new",
                "events": int(of["count"][i]),
                "silent_us": _known(int(silent[i]), of["seen"][i]),
                "time": _known(int(of["newest"][i]), of["newest"][i]),
                "delay_us": int(of["delay"][i]),
                "reach_us": int(of["reach"][i]),
                "mean_gap_us": float(of["gap"][i]),
                "longest_silence_us": float(of["longest"][i]),
            }
            for i, label in zip(order, labels, strict=True)
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


def _seconds(ms: Int64) -> pa.Array:
    return pa.array(ms / 1e3).cast(pa.string())


def _text(value: Int64) -> pa.Array:
    return pa.array(value).cast(pa.string())


def _told(kind: Int64, whom: Int64, value: Int64, sentence: Callable[[int, Int64, Int64], Sentence],
          counts: tuple[int, ...] = ()) -> pa.Array:
    """Each row's sentence, of `whom` and a number: of milliseconds, or, for `counts`, as it is.

    There may be as many as rows, so they are made column-wise, kind by kind, and each that many
    rows have in common only once.
    """
    rows, texts = [], []
    for k in np.flatnonzero(np.bincount(kind)).tolist():
        at = np.flatnonzero(kind == k)
        who, number = whom[at], value[at]
        if k not in counts:
            number = np.round(number / 1e3).astype(np.int64)
        each, which = _distinct(who, number)
        text = _sentence(sentence(k, who[each], number[each]), len(each))
        rows.append(at)
        texts.append(text if which is None else text.take(pa.array(which)))
    if len(texts) == 1:
        return texts[0]
    back = np.empty(len(kind), np.int64)
    back[np.concatenate(rows)] = np.arange(len(kind))
    return pa.concat_arrays(texts).take(pa.array(back))


def _distinct(whom: Int64, number: Int64) -> tuple[Int64, Int64 | None]:
    """Rows that have between them all pairs, and which of these each row has (None: its own)."""
    least, first = int(number.min()), int(whom.min())
    width = int(number.max()) - least + 1
    room = (int(whom.max()) - first + 1) * width
    if room > len(whom):
        return np.arange(len(whom)), None
    code = (whom - first) * width + (number - least)
    of = np.zeros(room, np.int64)
    of[code] = np.arange(1, len(code) + 1)
    there = np.flatnonzero(of)
    each = of[there] - 1
    of[there] = np.arange(len(there))
    return each, of[code]


def _sentence(parts: Sentence, count: int) -> pa.Array:
    if len(parts) > 1:
        return pc.binary_join_element_wise(*parts, "")
    return pa.repeat(parts[0], count) if isinstance(parts[0], str) else parts[0]
