"""Run the benchmarks: `python -m benchmarks [name …]`, as `make bench` does.

Each is a ratio against a reference that runs in the same process on the same rows: machines differ
and are noisy, ratios much less so.  Each module has a process of its own, for a JVM keeps the heap
that it was first given.  A table is printed and `benchmarks/latest.json` written; the exit code is
1 if a ratio is over its limit, or a benchmark failed.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.result import Result, measure

MODULES = ["kernels.reorder", "kernels.tide", "kernels.synchronise", "kernels.window",
           "kernels.pattern", "kernels.correlate", "kernels.state", "kernels.growth",
           "commands.first", "pipelines.reorder", "pipelines.tiny_batches",
           "pipelines.fresh_worker", "pipelines.wide_rows",
           "pipelines.group_by",
           "pipelines.correlate", "pipelines.pattern", "pipelines.run_overhead",
           "pipelines.gateway", "pipelines.waiting_topic", "pipelines.kafka_to_delta"]


def main(names: list[str]) -> None:
    chosen = [m for m in MODULES if not names or any(n in m for n in names)]
    console = Console(width=None if sys.stdout.isatty() else 160)
    results: list[Result] = []
    failed: list[str] = []
    for module in chosen:
        console.print(f"[dim]{module} …[/dim]")
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            try:
                results += alone.submit(measure, module).result()
            except Exception:
                console.print_exception()
                failed.append(module)
    table = Table()
    for column in ("benchmark", "ours (s)", "reference", "reference (s)", "ratio", "limit", ""):
        table.add_column(column, justify="right" if column.endswith(")") else "left")
    for r in results:
        met = "" if r.limit is None else ("ok" if r.ratio <= r.limit else "[red]over[/red]")
        table.add_row(r.name, f"{r.ours_s:.3f}", r.reference, f"{r.reference_s:.3f}",
                      f"{r.ratio:.2f}", "" if r.limit is None else f"≤ {r.limit:g} {met}", r.detail)
    console.print(table)
    rows = [{"name": r.name, "ours_s": r.ours_s, "reference": r.reference,
             "reference_s": r.reference_s, "ratio": r.ratio} for r in results]
    Path(__file__).with_name("latest.json").write_text(json.dumps(rows, indent=1) + "\n")
    over = [r for r in results if r.limit is not None and r.ratio > r.limit]
    for r in over:
        console.print(f"over its limit: {r.name}: {r.ratio:.2f} > {r.limit:g}", markup=False)
    for module in failed:
        console.print(f"failed: {module}")
    if over or failed:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
