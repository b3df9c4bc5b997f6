"""PyFlink's side of the pattern benchmark; runs in an environment of its own, not in ours.

``python flink_match.py SOURCE ROWS OUT DELAY WITHIN``: A-B-C by key over the first ROWS rows that
the SQL of the file SOURCE makes of the numbers 0, 1, 2…, into files of the folder OUT; delay of the
watermark and window in seconds.  Prints the seconds from the job's submission to its end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

NUMBERS = """
CREATE TABLE numbers (n BIGINT, {columns},
  WATERMARK FOR happened AS happened - INTERVAL '{delay}' SECOND)
WITH ('connector' = 'datagen', 'rows-per-second' = '1000000000', 'fields.n.kind' = 'sequence',
      'fields.n.start' = '0', 'fields.n.end' = '{last}')
"""
SINK = """
CREATE TABLE found (id BIGINT, a BIGINT, b BIGINT, c BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv')
"""
MATCH = """
INSERT INTO found SELECT id, a, b, c FROM numbers MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY happened
  MEASURES A.n AS a, B.n AS b, C.n AS c
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A X*? B Y*? C) WITHIN INTERVAL '{within}' SECOND
  DEFINE A AS A.kind = 'A', B AS B.kind = 'B', C AS C.kind = 'C',
         X AS X.kind <> 'B', Y AS Y.kind <> 'C')
"""


def main(source: str, rows: str, out: str, delay: str, within: str) -> None:
    """Run one job and wait for its end."""
    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table.get_config().set("parallelism.default", "2")
    table.execute_sql(NUMBERS.format(columns=Path(source).read_text(), delay=delay,
                                     last=int(rows) - 1))
    table.execute_sql(SINK.format(out=Path(out).as_uri()))
    begin = time.perf_counter()
    table.execute_sql(MATCH.format(within=within)).wait()
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
