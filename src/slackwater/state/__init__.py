"""How a logic's state is kept: small, versioned, without pickle, and written as it changes.

`record` encodes a snapshot's index; `table` keeps per-key numbers in pages; `hold` keeps waiting
events in sorted runs; `keys` turns key columns into dense codes.

Enters: numpy arrays and record batches.  Leaves: bytes, into a `kernel.Store`.
May import: errors, kernel.
"""

from slackwater.state.hold import Hold
from slackwater.state.keys import KeyTable
from slackwater.state.record import Record, bundle, unbundle
from slackwater.state.table import Table

__all__ = ["Hold", "KeyTable", "Record", "Table", "bundle", "unbundle"]
