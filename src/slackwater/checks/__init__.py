"""The conformance suite that every kernel must pass, shipped for kernels of third parties too.

Enters: a kernel's configuration, and if need be a stream of its kind.
Leaves: named checks, each a function that raises AssertionError if the kernel breaks a promise.
May import: kernel, events, outcome.

Examples
--------
>>> from slackwater import Reorder, Roles
>>> from slackwater.checks import sample_events, yield_checks
>>> kernel = Reorder("kslack", Roles("time", "arrival", key=("key",)))
>>> for name, check in yield_checks(kernel, sample_events(rows=60)):
...     check()
"""

from slackwater.checks.samples import sample_events
from slackwater.checks.suite import yield_checks

__all__ = ["sample_events", "yield_checks"]
