"""The conformance suite that every kernel must pass, shipped for kernels of third parties too.

Each promise of the kernel protocol has a file of its own, and `CHECKS` lists them.  That the checks
can fail is shown by `slackwater.checks.mutants`: for each promise a kernel that breaks it.

Enters: a kernel's configuration, and if need be a stream of its kind.
Leaves: named checks, each a function that raises AssertionError if the kernel breaks a promise.
May import: core.

Examples
--------
>>> from slackwater import Reorder, Roles
>>> from slackwater.checks import sample_events, yield_checks
>>> kernel = Reorder("kslack", Roles("time", "arrival", key=("key",)))
>>> for name, check in yield_checks(kernel, sample_events(rows=60)):
...     if name.startswith("ready rows"):
...         check()
"""

from slackwater.checks.registry import CHECKS, Check, yield_checks
from slackwater.checks.samples import sample_events

__all__ = ["CHECKS", "Check", "sample_events", "yield_checks"]
