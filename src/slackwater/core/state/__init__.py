"""How a logic's state is kept: small, versioned, without pickle, and written as it changes.

`record` encodes a snapshot's index; `table` keeps per-key numbers in pages; `hold` keeps waiting
events in sorted runs; `keys` turns key columns into dense codes.

Enters: numpy arrays and record batches.  Leaves: bytes, into a `kernel.Store`.
May import: errors, kernel.
"""

from slackwater.core.state.buffer import Hold
from slackwater.core.state.keys import KeyTable
from slackwater.core.state.pages import Table
from slackwater.core.state.record import Record, bundle, unbundle

__all__ = ["Hold", "KeyTable", "Record", "Table", "bundle", "unbundle"]
