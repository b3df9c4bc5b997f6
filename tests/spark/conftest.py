"""One Spark session for all tests: starting a JVM takes longer than most of them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from slackwater.spark import local_session

    session = local_session("slackwater-tests", cores=2,
                            log=tmp_path_factory.mktemp("spark") / "jvm.log")
    yield session
    session.stop()
