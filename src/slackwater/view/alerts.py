"""What someone should look at, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater.view.run_view import RunView

__all__ = ["alerts"]

_NAMED, _LONG = 3, 60


def alerts(view: RunView, statuses: Mapping[tuple[str, str], str]) -> list[str]:
    """The sentences, the worst first."""
    found = []
    if view.state == "failed":
        found.append(f"The run failed: {view.error}")
    for name, stream in view.streams.items():
        share, bound = stream.totals.get("late_share"), stream.totals.get("bound")
        if share is not None and bound is not None and share > bound:
            found.append(f"{_short(name)}: {share:.2%} of the rows are late, above the bound of "
                         f"{bound:.2%}.")
    for sink, count in view.refused.items():
        found.append(f"The sink {_short(sink)} has refused {count:,} "
                     f"row{'' if count == 1 else 's'}; they are in the dead letters.")
    silent: dict[str, list[str]] = {}
    for (name, source), status in statuses.items():
        if status == "silent":
            silent.setdefault(name, []).append(source)
    for name, sources in silent.items():
        some = ", ".join(map(_short, sources[:_NAMED])) + (", …" if len(sources) > _NAMED else "")
        found.append(f"{_short(name)}: {len(sources)} source{'' if len(sources) == 1 else 's'} "
                     f"silent: {some}")
    return found


def _short(name: str) -> str:
    return name if len(name) <= _LONG else name[:_LONG] + "…"
