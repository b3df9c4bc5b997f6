"""Correlate two streams whose times are intervals: |@A − @B| ≤ d with confidence.

Enters: rows of two sides with earliest and latest times, in any order within their maximum delay.
Leaves: pairs of rows that satisfy the timing condition, each once (`ready`); rows that came too
late (`late`); rows without a usable interval (`quarantined`).
May import: events, kernel, state, outcome.

`probability` and `bounds` are the theory; `simple`, `lazy` (eager too) and `lookup` the paper's
algorithms, `match` chooses one; `tables` runs them on whole tables, `kernel` on streams, `replay`
tuple by tuple as the paper measured them; `intervals` makes intervals out of points; `buckets`
spreads the work where there is no key.
"""

from slackwater.core.callable_module import make_callable
from slackwater.correlate.bounds import Bounds, bounds
from slackwater.correlate.buckets import bucketed, buckets
from slackwater.correlate.distribution import (
    Distribution,
    Histogram,
    Normal,
    Point,
    Triangular,
    Uniform,
)
from slackwater.correlate.intervals import from_clock_error, from_ntp, from_sampling
from slackwater.correlate.kernel import Correlate
from slackwater.correlate.match import ALGORITHMS
from slackwater.correlate.predicate import Predicate
from slackwater.correlate.probability import difference_cdf, probability
from slackwater.correlate.tables import correlate_tables, find_pairs, unusable_rows

__all__ = [
    "ALGORITHMS",
    "Bounds",
    "Correlate",
    "Distribution",
    "Histogram",
    "Normal",
    "Point",
    "Predicate",
    "Triangular",
    "Uniform",
    "bounds",
    "bucketed",
    "buckets",
    "correlate_tables",
    "difference_cdf",
    "find_pairs",
    "from_clock_error",
    "from_ntp",
    "from_sampling",
    "probability",
    "unusable_rows",
]

make_callable(__name__)  # slackwater.correlate(df, …) is slackwater.frames.correlate
