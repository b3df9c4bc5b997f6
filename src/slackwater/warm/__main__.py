"""``python -m slackwater.warm Tide correlate``: compile what these workloads use."""

from __future__ import annotations

import sys
import warnings

from slackwater.warm import warm

__all__: list[str] = []

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warm(processes=1, only=sys.argv[1:])
