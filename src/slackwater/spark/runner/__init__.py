"""The runner: it carries any kernel onto Spark, and is all that knows how.

`carry` plans a query: rows become blobs (`packing`), go to their shards, through the steps that run
there (`processor`, `shard`, `group`), and become rows again; `batch` does it for what is all there.
A shard's state is in `shard_state`, what it could not give out yet in `owed`, what it counted in
`stats`, which the driver finds as `observed`.

Enters: DataFrames, and what an operator says of itself (`operator_spec`).  Leaves: DataFrames.
May import: the stages, `sources.ticks`, and what a session is.
"""
