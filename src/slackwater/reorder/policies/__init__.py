"""The buffer policies, one file each; `named` finds them by name.

Enters: arrivals.  Leaves: for each arrival, the time up to which held events may leave.
May import: core, the release rule of reorder.
"""
