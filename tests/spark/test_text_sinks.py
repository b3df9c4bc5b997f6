"""JSON and CSV files: values as text, with all that the rows have."""

from __future__ import annotations

import pytest

from slackwater.pipeline.connectors import CsvSink, JsonSink
from slackwater.spark.sinks import Rows, open_sink

ROWS = """
    SELECT timestamp'1960-05-01 10:00:00.000001' AS time, timestamp_ntz'2024-05-01 10:00:00.000002'
           AS clock, named_struct('at', timestamp_ntz'2024-05-01 10:00:00.000003', 'v', NULL) AS s,
           IF(id = 1, NULL, named_struct('one', 1)) AS perhaps, interval '2' month AS long
    FROM range(1, 2, 1, 1)"""


@pytest.mark.parametrize(("config", "line"), [
    (JsonSink, '{"time":"1960-05-01T10:00:00.000001Z","clock":"2024-05-01T10:00:00.000002",'
               '"s":{"at":"2024-05-01T10:00:00.000003","v":null},"perhaps":null,'
               '"long":"INTERVAL \'2\' MONTH"}'),
    (CsvSink, '1960-05-01T10:00:00.000001Z,2024-05-01T10:00:00.000002,'
              r'"{\"at\":\"2024-05-01T10:00:00.000003\",\"v\":null}",,'
              "INTERVAL '2' MONTH"),
])
def test_nothing_is_cut_off(spark, tmp_path, config, line):
    open_sink(config(str(tmp_path)), "p.s").write(Rows.of(spark.sql(ROWS)), 0)
    (file,) = tmp_path.glob("batch_id=0/part-*")
    assert file.read_text().splitlines()[-1] == line
