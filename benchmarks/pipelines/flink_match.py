"""PyFlink's side of the pattern benchmark; runs in an environment of its own, not in ours.

``python flink_match.py FILE OUT DELAY WITHIN``: A-B-C by key over a CSV file, into files of the
folder OUT; delay of the watermark and window in seconds.  Prints the seconds from the job's
submission to its end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

SOURCE = """
CREATE TABLE events (id BIGINT, kind STRING, n BIGINT, ts TIMESTAMP(3),
  arrival TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '{delay}' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv')
"""
SINK = """
CREATE TABLE found (id BIGINT, a BIGINT, b BIGINT, c BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv')
"""
MATCH = """
INSERT INTO found SELECT id, a, b, c FROM events MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY ts
  MEASURES A.n AS a, B.n AS b, C.n AS c
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A X*? B Y*? C) WITHIN INTERVAL '{within}' SECOND
  DEFINE A AS A.kind = 'A', B AS B.kind = 'B', C AS C.kind = 'C',
         X AS X.kind <> 'B', Y AS Y.kind <> 'C')
"""


def main(file: str, out: str, delay: str, within: str) -> None:
    """Run one job and wait for its end."""
    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table.get_config().set("parallelism.default", "2")
    table.execute_sql(SOURCE.format(file=file, delay=delay))
    table.execute_sql(SINK.format(out=Path(out).as_uri()))
    begin = time.perf_counter()
    table.execute_sql(MATCH.format(within=within)).wait()
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
