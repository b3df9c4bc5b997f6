"""What someone should look at, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater.view.run_view import RunView

__all__ = ["alerts"]

_NAMED, _LONG = 3, 60
# signs that turn the direction of the text after them: a name must not turn the sentence around it
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def alerts(view: RunView, statuses: Mapping[tuple[str, str], str]) -> list[list[str]]:
    """The sentences, the worst first; each with a key that stays while its numbers change."""
    found = []
    if view.state == "failed":
        found.append(["failed", f"The run failed: {_straight(view.error)}"])
    for name, stream in view.streams.items():
        share, bound = stream.totals.get("late_share"), stream.totals.get("bound")
        if share is not None and bound is not None and share > bound:
            found.append([f"late {name}", f"{_short(name)}: {share:.2%} of the rows are late, "
                                          f"above the bound of {bound:.2%}."])
    for name, query in view.queries.items():
        if query.error:
            found.append([f"ended {name}", f"The query {_short(name)} failed: "
                                           f"{_straight(query.error)}"])
        mark = query.totals.get("watermark")
        if mark and mark["dropped"]:
            count = mark["dropped"]
            found.append([f"dropped {name}", f"{_short(name)}: Spark's watermark has dropped at "
                          f"least {count:,} row{'' if count == 1 else 's'} ({mark['loss']:.2%}); a "
                          f"delay of {mark['keeps_all_ms'] / 1000:,g} s would have kept all."])
    for sink, count in view.refused.items():
        found.append([f"refused {sink}", f"The sink {_short(sink)} has refused {count:,} "
                      f"row{'' if count == 1 else 's'}; they are in the dead letters."])
    silent: dict[str, list[str]] = {}
    for (name, source), status in statuses.items():
        if status == "silent":
            silent.setdefault(name, []).append(source)
    for name, sources in silent.items():
        some = ", ".join(map(_short, sources[:_NAMED])) + (", …" if len(sources) > _NAMED else "")
        found.append([f"silent {name}", f"{_short(name)}: {len(sources)} "
                      f"source{'' if len(sources) == 1 else 's'} silent: {some}"])
    return found


def _short(name: str) -> str:
    name = _straight(name)
    return name if len(name) <= _LONG else name[:_LONG] + "…"


def _straight(text: str) -> str:
    return _TURNS.sub("\ufffd", text)
