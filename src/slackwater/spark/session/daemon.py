"""The process that Spark forks its Python workers from, with everything loaded.

A worker that starts by itself imports the kernels and their compiler first, which takes a second or
two in the middle of a micro-batch; from here on it has them, and shares their memory with the
others.  Spark is told to start this one by ``spark.python.daemon.module`` (see `local_session`).
"""

from __future__ import annotations

from pyspark import daemon

import slackwater.spark.runner.shard  # noqa: F401
from slackwater.spark.session.worker import settle

__all__: list[str] = []

if __name__ == "__main__":
    settle()
    daemon.manager()
