"""One Spark session for all tests: starting a JVM takes longer than most of them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    from slackwater.spark import local_session

    session = local_session("slackwater-tests", cores=2)
    yield session
    session.stop()
