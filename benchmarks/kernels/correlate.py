"""Correlate: whole tables against DuckDB's inequality join, and growth with d and the rate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from slackwater.core.events import Roles
from slackwater.correlate import correlate_tables

EPOCH = 1_700_000_000_000_000
ROLES = Roles(time_min="lo", time_max="hi", unit="us")
CONFIDENCE = 0.8

# the satisfaction probability of |left − right| ≤ d for uniforms, SPEC section 6, from offsets
QUERY = """
SELECT a, b FROM (
    SELECT l.id AS a, r.id AS b, l.hi - l.lo AS n, r.hi - r.lo AS m,
           {d} + l.lo - r.lo AS c, -{d} + l.lo - r.lo AS e
    FROM l JOIN r ON r.lo <= l.hi + {d} AND r.hi >= l.lo - {d})
WHERE (greatest(c + n, 0)::DOUBLE ** 2 - greatest(c + n - m, 0)::DOUBLE ** 2
     - greatest(c, 0)::DOUBLE ** 2 + greatest(c - m, 0)::DOUBLE ** 2
     - greatest(e + n, 0)::DOUBLE ** 2 + greatest(e + n - m, 0)::DOUBLE ** 2
     + greatest(e, 0)::DOUBLE ** 2 - greatest(e - m, 0)::DOUBLE ** 2)
     / (2.0 * n * m) >= {confidence} - 1e-12
"""


def intervals(n: int, gap: int, seed: int) -> pa.Table:
    """n shuffled intervals of 20 to 200 µs, one every `gap` on average."""
    rng = np.random.default_rng(seed)
    lo = EPOCH + rng.integers(0, n * gap, n)
    return pa.table({"id": np.arange(n), "lo": lo, "hi": lo + rng.integers(20, 201, n)})


def ours(left: pa.Table, right: pa.Table, d: int) -> pa.Table:
    return correlate_tables(left, right, within=d, confidence=CONFIDENCE, roles=ROLES,
                            columns=["id_left", "id_right"], threads=2)


def against_duckdb(n: int = 1_000_000) -> Result:
    import duckdb

    left, right = intervals(n, 100, 1), intervals(n, 100, 2)
    con = duckdb.connect()
    con.execute("SET threads = 2")
    for name, table in (("l", left), ("r", right)):
        con.register(f"{name}_arrow", table)
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")
    query = QUERY.format(d=500, confidence=CONFIDENCE)
    mine = ours(left, right, 500)
    theirs = con.sql(query).to_arrow_table()

    def sorted_codes(table: pa.Table) -> np.ndarray:
        a, b = (column.to_numpy() for column in table.columns)
        return np.sort(a * n + b)

    assert np.array_equal(sorted_codes(mine), sorted_codes(theirs)), "not the same pairs"
    our_s = best_of(8, lambda: ours(left, right, 500))
    their_s = best_of(3, lambda: con.sql(query).to_arrow_table())
    return Result("correlate 1 M × 1 M", our_s, "DuckDB, 2 threads", their_s, 1 / 8,
                  f"{mine.num_rows:,} pairs, the same")


def growth() -> list[Result]:
    """Time a pair when the result grows tenfold: by a longer d, by a higher rate."""
    results = []
    base = intervals(100_000, 100, 3), intervals(100_000, 100, 4)
    dense = intervals(100_000, 10, 3), intervals(100_000, 10, 4)
    few, longer, denser = ours(*base, 500), ours(*base, 5_000), ours(*dense, 500)
    few_s = best_of(5, lambda: ours(*base, 500))
    for name, tables, d, pairs in (("d × 10", base, 5_000, longer), ("rate × 10", dense, 500,
                                                                     denser)):
        seconds = best_of(3, lambda tables=tables, d=d: ours(*tables, d))
        per_pair = seconds / pairs.num_rows * few.num_rows
        results.append(Result(f"correlate, {name}: time a pair", per_pair, "at d and rate × 1",
                              few_s, 1.2, f"{few.num_rows:,} → {pairs.num_rows:,} pairs"))
    return results


def run() -> list[Result]:
    return [against_duckdb(), *growth()]


if __name__ == "__main__":
    for result in run():
        print(f"{result.name}: {result.ours_s:.3f} s, {result.reference} "
              f"{result.reference_s:.3f} s, ratio {result.ratio:.3f} (limit {result.limit}), "
              f"{result.detail}")
