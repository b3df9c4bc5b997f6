"""One Spark session for all tests: starting a JVM takes longer than most of them."""

from __future__ import annotations

import pytest
from parts.fixtures import kafka, nats_server, postgres  # noqa: F401
from parts.jars import NotHad, spark_kafka

# Numba compiles a kernel on its first use, in every process that needs it and finds no cache. The
# tests without Spark compile them all; so here those go first that run no kernel, and those last
# whose kernels come last over there.
FIRST = ("test_kafka", "test_nats", "test_delta_sink", "test_postgres_sink",
         "test_gateway_on_spark")
LAST = ("test_queries_on_spark", "test_pipeline_on_spark", "test_examples")


def pytest_collection_modifyitems(items):
    def turn(item):
        name = item.path.stem
        return (name not in FIRST) + (name in LAST)

    items.sort(key=turn)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from slackwater.spark import local_session

    try:
        # a session takes its archives at its start or never
        extra = {"spark.jars": ",".join(str(jar) for jar in spark_kafka())}
    except NotHad:
        extra = {}
    # a few rows through many plans: compiling each plan takes longer than running it
    extra["spark.sql.codegen.wholeStage"] = "false"
    session = local_session("slackwater-tests", cores=2, extra=extra,
                            log=tmp_path_factory.mktemp("spark") / "jvm.log")
    yield session
    session.stop()
