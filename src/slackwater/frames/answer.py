"""What a frame function gives back: rows of the kind that came in, and the rest beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from slackwater.core.account import Account

__all__ = ["Answer", "answered"]


class Answer:
    """Results of a kind that cannot carry attributes (Arrow, DuckDB), with the rest beside them.

    It passes on whatever else is asked of it to `ready`, and speaks Arrow itself; pandas and polars
    frames carry `late`, `quarantined` and `account` themselves and need no such thing.

    Parameters
    ----------
    ready
        The results.
    late, quarantined
        The rows that took no part, with ``_reason``.
    account
        What became of every row.
    """

    def __init__(self, ready: Any, late: Any, quarantined: Any, account: Account) -> None:
        self.ready, self.late, self.quarantined, self.account = ready, late, quarantined, account

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__arrow_c_stream__":
            raise AttributeError(name)
        return getattr(self.ready, name)

    def __len__(self) -> int:
        return len(self.ready)

    def __getitem__(self, name: Any) -> Any:
        return self.ready[name]

    def __iter__(self) -> Any:
        return iter(self.ready)

    def __repr__(self) -> str:
        return f"{self.ready!r}\n{self.account.line()}"


def answered(give_back: Callable[[pa.Table], Any], ready: pa.Table, late: pa.Table,
             quarantined: pa.Table, account: Account) -> Any:
    """Frames of the kind that came in; the results carry the others, or an `Answer` does."""
    frames = [give_back(table) for table in (ready, late, quarantined)]
    beside = {"late": frames[1], "quarantined": frames[2], "account": account}
    try:
        for name, value in beside.items():
            # past pandas' own __setattr__, which would take it for a column
            object.__setattr__(frames[0], name, value)
    except (AttributeError, TypeError):
        return Answer(frames[0], **beside)
    return frames[0]
