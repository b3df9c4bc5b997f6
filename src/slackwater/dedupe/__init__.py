"""Let each event pass once: rows whose id came before, not long ago, are told apart.

Enters: events in arrival order, with columns that together are their id.  Leaves: the same events,
at once and in the same order (`ready`), except those whose id came before (`late`, with the reason)
or that have no usable time (`quarantined`).  May import: core.

A row is a duplicate if a row with the same id arrived before it, and no longer than `within` before
(or after it, where arrivals are out of order).  So an id that is sent again and again stays a
duplicate for as long as the pauses are short, and is forgotten after one that is longer.  A row
without an id (null in one of its columns) cannot be compared, and passes.
"""

from slackwater.dedupe.dedupe import Dedupe

__all__ = ["Dedupe"]
