"""The reorder kernel against a plain sort of the same rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from benchmarks.workloads import disordered
from slackwater import Reorder, Roles

ROWS = 4_000_000


def run() -> list[Result]:
    table = disordered(ROWS).combine_chunks()
    batch = table.to_batches()[0]
    columns = [batch.column(i).to_numpy(zero_copy_only=False) for i in range(batch.num_columns)]
    time = batch["time"].cast(pa.int64()).to_numpy()

    def sort() -> list[np.ndarray]:
        order = np.argsort(time, kind="stable")
        return [column[order] for column in columns]

    reference = best_of(3, sort)
    results = []
    for policy in ("Static", "MeanPlusRange", "KSlack"):
        kernel = Reorder(policy, Roles("time", "arrival"))

        def reorder(kernel: Reorder = kernel) -> None:
            logic = kernel.start()
            logic.push(batch)
            logic.finish()

        Reorder(policy, Roles("time", "arrival")).start().push(batch.slice(0, 1000))  # compiled
        results.append(Result(f"reorder kernel, {policy}, 4 M rows", best_of(3, reorder),
                              "numpy stable argsort and gather", reference, limit=3))
    return results
