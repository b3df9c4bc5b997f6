"""How a logic's state is kept: small, versioned, without pickle, and written as it changes.

`record` encodes a snapshot's index; `keys` turns key columns into slots; `pages` keeps numbers per
slot; `buffer` keeps the rows that are held.

Enters: numpy arrays and record batches.  Leaves: bytes, into a `kernel.Store`.
May import: errors, kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.core.lazy import lazy
from slackwater.core.state.pages import Pages, Table
from slackwater.core.state.record import Record, bundle, unbundle

if TYPE_CHECKING:
    from slackwater.core.state.buffer import Buffer, Held, Rows
    from slackwater.core.state.keys import Keys

__all__ = ["Buffer", "Held", "Keys", "Pages", "Record", "Rows", "Table", "bundle", "unbundle"]

# what packs rows on Spark's workers imports from here too, and should not load numba for it
__getattr__ = lazy(__name__, {
    "Buffer": "buffer", "Held": "buffer", "Rows": "buffer", "Keys": "keys"})
