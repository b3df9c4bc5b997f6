"""The aggregates of one column over the windows of every group.

`panes` serves windows with a slide: one partial aggregate for each slide.  `lane` serves windows
per row: `two_stacks` holds one entry for each row, `extremes` only the rows that can still become
the minimum or maximum of a stream without groups.  `ranks` finds quantiles in either.  `values`
turns columns into numbers and results into columns; `arena` keeps records that come and go.

All three answer to `run`, `size`, `save` and `load`.

Enters: rows in time order for each group, and probes (see `slackwater.window.schedule`).
Leaves: one column for each aggregate.  May import: core, and `schedule` and `aggregate` beside it.
"""
