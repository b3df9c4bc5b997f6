"""Synchronise many sources that are each in order in itself but arrive with different delays.

Enters: events in arrival order, each telling its source.  Leaves: the same events in time order
(`ready`), except those that came after their place had been released (`late`) or have no usable
time (`quarantined`).  May import: events, kernel, state, outcome, the sorting of reorder.

The rule, the same for all methods, for each key by itself:

* A source's *frontier* is the greatest time it has shown.  The *threshold* is the least frontier of
  the live sources; with no live source, the greatest time taken in.
* An event may leave when its time is ≤ the threshold: every live source, its own among them, has
  shown an event at or after it.  An event that nothing can come before any more (one at or after it
  has left) leaves with that one, or at once: equal times leave together, in order of arrival.
* The *watermark* is the greatest time that was allowed to leave.  An arrival before it is `late`
  and moves nothing.  A row that goes back in its own source's time but not before the watermark is
  just sorted in.
* An arrival first lets time pass to its own moment: every event that has waited more than
  `max_delay` on the arrival clock leaves, with all before it, and its failure is counted, once for
  each live source it was waiting for (or for its producer).  At `max_failures` a source is
  *disabled*; what that frees leaves in the same step.  Then the arrival is judged and taken in, and
  what may leave leaves.  `tick(now)` is such a step without an arrival (so ticks change nobody's
  fate), `finish()` releases everything.
* A disabled source is live again, its failures forgotten, with an event newer than the watermark.
  So is a source not seen before, if sources are learned; events that were held when it joined do
  not wait for it, nor do those that come before one of them.  The rows of a *guest* (removed, or
  not among the declared sources) are sorted in, but nobody waits for it.

All methods release the same events in the same order.  `MergedTreeSync`, `RedBlackSync`, the lists
and `FrontierSync` let an event go at the step that allows it; `TreeSync` tests only the event that
has waited longest, so it may let go later, never earlier.
"""

from slackwater.core.callable_module import make_callable
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.frontier import FrontierSync
from slackwater.synchronise.indexed_list import IndexedListSync
from slackwater.synchronise.linked_list import LinkedListSync
from slackwater.synchronise.merged import MergedTreeSync
from slackwater.synchronise.module import OutputQueue, SyncModule
from slackwater.synchronise.named import METHODS, method_named
from slackwater.synchronise.redblack import RedBlackSync
from slackwater.synchronise.tree import TreeSync

__all__ = [
    "METHODS",
    "FrontierSync",
    "IndexedListSync",
    "LinkedListSync",
    "MergedTreeSync",
    "OutputQueue",
    "RedBlackSync",
    "SyncModule",
    "Synchroniser",
    "TreeSync",
    "method_named",
]

make_callable(__name__)  # slackwater.synchronise(df, …) is slackwater.frames.synchronise
