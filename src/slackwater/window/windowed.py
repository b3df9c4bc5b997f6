"""Reorder, then window, as one kernel."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Store
from slackwater.core.stage import Stage
from slackwater.reorder.chain import ChainLogic
from slackwater.reorder.reorder import Reorder
from slackwater.window.logic import WindowLogic
from slackwater.window.window import Window

__all__ = ["Windowed"]


@dataclass(frozen=True)
class Windowed(Stage):
    """Windows over a disordered stream.

    `ready` holds the results; `late` and `quarantined` hold input rows, with all their columns.
    `notes` say how good the results are (see `slackwater.reorder.chain.ChainLogic`).

    Parameters
    ----------
    reorder
        How the input is put in order. Its key columns must be among the window's group columns: a
        group that took rows of several keys would not get them in order.
    window
        What is computed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> from slackwater.window import Aggregate
    >>> roles = Roles("time", unit="s")
    >>> kernel = Windowed(Reorder("Static(buffer=3s)", roles),
    ...                   Window([Aggregate("sum", "x")], range="2s", slide="2s", roles=roles))
    >>> logic = kernel.start()
    >>> rows = pa.record_batch({"time": [0, 2, 1, 9], "x": [1, 10, 100, 1000]})
    >>> [r["sum_x"] for out in (logic.push(rows), logic.finish()) for r in out.ready.to_pylist()]
    [101, 10, 1000]
    """

    reorder: Reorder
    window: Window

    def __post_init__(self) -> None:
        strangers = [k for k in self.reorder.roles.key if k not in self.window.group]
        if strangers:
            raise ConfigError(
                f"rows are put in order per {', '.join(strangers)}, but are not grouped by it",
                step="window", expected=f"key columns among {', '.join(self.window.group) or '()'}",
                hint="add it to GROUP BY, or take it out of the key")

    def logic(self, store: Store) -> ChainLogic:
        """A logic with nothing held."""
        return ChainLogic("windowed", self.reorder, WindowLogic(self.window, store), store)
