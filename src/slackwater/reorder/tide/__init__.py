"""`Tide`, the source-aware policy: what it remembers, how it decides, and how it explains itself.

Enters: arrivals with their sources.  Leaves: thresholds, and reasons in words.
May import: core, the policy protocol of reorder.
"""
