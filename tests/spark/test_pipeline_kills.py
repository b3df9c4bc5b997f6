"""Some of the kills that tests/kill/run_kills.py does by the dozen.

Others in the default run: a gateway under load (tests/gateway), servers that restart (test_nats,
test_postgres_sink).
"""

from __future__ import annotations

import pytest
from parts.jars import NotHad
from run_kills import play
from supervise import settings


@pytest.fixture
def played(spark, tmp_path):
    """A scene played; the session of all tests, not one of its own, runs it to its end."""
    from slackwater.pipeline import load
    from slackwater.spark.run import run_pipeline

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


def test_the_gateway_and_the_driver(played):
    assert played("gateway", "server", "driver").endswith("equal")


def test_three_steps_and_five_sinks_on_a_full_topic(played):
    assert played("small overload", "driver", "driver").endswith("equal")
