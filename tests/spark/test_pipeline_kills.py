"""A few of the kills that tests/kill/run_kills.py does by the dozen."""

from __future__ import annotations

import sys

import pytest
from parts.jars import NotHad
from run_kills import play
from supervise import settings


@pytest.fixture
def played(spark, tmp_path):
    """A scene played; the session of all tests, not one of its own, runs it to its end."""
    from slackwater.pipeline import load
    from slackwater.spark.pipeline import run_pipeline

    def drain(scene, out):
        run_pipeline(load(scene.file, settings(out)), spark, until_done=True)

    def run(scene, *kills):
        for client in ("deltalake", "confluent_kafka", "nats"):
            pytest.importorskip(client, reason=f"{client} is missing")
        try:
            return play(scene, list(kills), seed=3, folder=tmp_path, drain=drain)
        except NotHad as missing:
            pytest.skip(str(missing))

    return run


def test_the_broker_then_the_driver(played):
    assert played("kafka", "server", "driver").endswith("equal")


def test_the_gateway(played):
    assert played("gateway", "server").endswith("equal")


@pytest.mark.skipif(sys.platform != "linux", reason="executors are found in /proc")
def test_an_executor_of_a_cluster_then_the_broker(played):
    assert played("nats", "executor", "server").endswith("equal")
