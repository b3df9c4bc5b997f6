"""One Spark session for all tests: starting a JVM takes longer than most of them."""

from __future__ import annotations

import pytest
from parts.fixtures import kafka, nats_server, postgres  # noqa: F401
from parts.jars import NotHad, spark_kafka


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
