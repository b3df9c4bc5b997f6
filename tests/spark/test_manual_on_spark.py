"""The Python blocks of the manual that want a Spark session, README's among them."""

from __future__ import annotations

import json

import pytest

from blocks import PAGES, needs_spark, run_python


@pytest.fixture
def given(spark, request, tmp_path, monkeypatch):
    """What a page takes for granted: a session, a DataFrame, options of a topic."""
    monkeypatch.chdir(tmp_path)
    df = spark.createDataFrame([("a", 1.0)], "device string, temp double").selectExpr(
        "*", "timestamp'2026-01-01 00:00:00' AS time")
    yield {"__name__": "manual", "spark": spark, "df": df}
    for query in spark.streams.active:
        query.stop()


@pytest.mark.parametrize("page", [pytest.param(p, id=p.name) for p in PAGES if needs_spark(p)])
def test_python_on_spark(page, given, request):
    if page.name == "README.md":
        broker = request.getfixturevalue("kafka")
        broker.create("manual")
        broker.send("manual", [json.dumps({"device": "a", "time": "2026-01-01T00:00:00Z",
                                           "temp": 20.5}).encode()])
        given["kafka"] = {"kafka.bootstrap.servers": broker.address, "subscribe": "manual",
                          "startingOffsets": "earliest"}
    assert run_python(page, given)
    if "watching" in given:
        given["watching"].stop()
    for query in given["spark"].streams.active:
        query.processAllAvailable()
