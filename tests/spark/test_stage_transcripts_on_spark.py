"""The transcripts of reorder, synchronise and window on Spark, batch and streaming.

All cases share one operator (`many`) and one job.  A stream does not end, so the last rows of a
case wait for rows that come a day or two later.  Cases in which time passes without a row are left
to the tests in-process: on Spark it passes as real time.
"""

from __future__ import annotations

import json
import random
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import functions as F

import many
from slackwater.spark.runner.carry import carry
from slackwater.spark.runner.operator_spec import Input, OperatorSpec
from spark_feed import write_parts
from test_reorder_on_spark import drain, stream
from tests import transcripts

cloudpickle.register_pickle_by_value(many)  # the workers do not have the tests
CASES = [(stage, case.values[0]) for stage in transcripts.STAGES
         for case in transcripts.load(stage) if not transcripts.ticks(case.values[0])]
SCHEMA = pa.schema([("query", pa.int32()), ("case", pa.string()), *transcripts.SCHEMA])
DAY = 86_400


def last_rows(stage: str, case: dict[str, Any]) -> list[dict[str, Any]]:
    """For every key and every source that is waited for, a row a day later, and one that it needs.

    A row of a window is done when a younger one is in order, not when it has only come.
    """
    rows = list(transcripts.rows_of(case).values())
    keys = sorted({row.get("key") or "" for row in rows})
    sources = {row.get("source") or "" for row in rows}
    if stage == "synchronise":
        sources |= set(case.get("sources", ()))
    # where times are the clock, a row far ahead of all others is in doubt
    step = 240 if case.get("arrival") == "none" else DAY
    return [{"label": "END", "time": at, "arrival": at, "key": key or None,
             "source": source or None, "v": 1000}
            for at in (transcripts.START + step, transcripts.START + 2 * step)
            for key in keys for source in sorted(sources)]


def parts(*, closed: bool) -> list[pa.Table]:
    """All cases' rows, a table a micro-batch."""
    found: list[list[dict[str, Any]]] = [[], [], []]
    for number, (stage, case) in enumerate(CASES):
        rows = list(transcripts.rows_of(case).values())
        cut = random.Random(case["name"]).randint(0, len(rows))
        for at, part in enumerate([rows[:cut], rows[cut:],
                                   last_rows(stage, case) if closed else []]):
            found[at] += [{**row, "query": number, "case": str(number)} for row in part]
    return [pa.Table.from_batches([transcripts.batch(part, SCHEMA)]) for part in found if part]


def every() -> OperatorSpec:
    """All cases' kernels in one operator."""
    kernels = tuple(transcripts.kernel_of(stage, case, SCHEMA) for stage, case in CASES)
    return OperatorSpec(many.Many(kernels, matches=False), (Input("arrival", "s", ("case",)),),
                        None, "transcripts")


def is_last(row: dict[str, Any]) -> bool:
    """Whether a result is of the rows that only end the stream."""
    start = transcripts.seconds(row.get("window_start"))
    return row.get("label") == "END" or (start is not None and start > DAY // 2)


def outcomes(df: Any) -> list[transcripts.Outcome]:
    """What came of each case."""
    found = [transcripts.Outcome() for _ in CASES]
    for row in df.withColumn("row", F.to_json("_row")).collect():
        if row["_status"] == "ready":
            result = json.loads(row["result"])
            for name in ("window_start", "window_end", "_released"):
                if result.get(name) is not None:
                    result[name] = datetime.fromisoformat(result[name])
            if not is_last(result):
                found[row["number"]].ready.append(result)
        else:
            inner = json.loads(row["row"])
            getattr(found[int(inner["case"])], row["_status"]).append(inner["label"])
    return found


def wrong(df: Any) -> dict[str, str]:
    """All cases that came out differently, not only the first."""
    bad = {}
    for (stage, case), found in zip(CASES, outcomes(df), strict=True):
        try:
            transcripts.check(stage, case, found, when=False)
        except AssertionError as error:
            bad[f"{stage}: {case['name']}"] = str(error)
    return bad


def test_there_are_cases_of_every_stage():
    assert {stage for stage, _ in CASES} == set(transcripts.STAGES)
    assert len(CASES) >= 36


def test_batch(spark, tmp_path):
    # one file: equal arrivals go by input position, and Spark reads several files in any order
    write_parts([pa.concat_tables(parts(closed=False))], tmp_path / "in")
    assert not wrong(carry(spark.read.parquet(str(tmp_path / "in")), every()))


def test_streaming(spark, tmp_path):
    write_parts(parts(closed=True), tmp_path / "in")
    df = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    assert not wrong(drain(carry(df, every(), shards=2), "stage_transcripts", spark, tmp_path))
