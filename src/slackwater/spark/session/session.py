"""A Spark session with the settings that Slackwater's operators need, each with its reason."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError
from slackwater.spark.session.home import light_home
from slackwater.spark.session.java import find_java
from slackwater.spark.sources.python_source import SETTINGS

__all__ = ["local_session", "open_session", "settings"]

_STREAMING = "org.apache.spark.sql.execution.streaming"
_ROCKSDB = f"{_STREAMING}.state.RocksDBStateStoreProvider"
_PLAIN_FILES = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"


def settings() -> dict[str, str]:
    """Spark settings for streaming queries that use Slackwater's operators.

    Examples
    --------
    >>> settings()["spark.sql.streaming.stateStore.providerClass"].rpartition(".")[2]
    'RocksDBStateStoreProvider'
    """
    return {
        # transformWithState keeps its state in RocksDB and in nothing else
        "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
        # write what changed in a micro-batch, not a whole snapshot of the store
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # the operators speak UTC; a session zone of its own would only relabel Arrow's timestamps
        "spark.sql.session.timeZone": "UTC",
        # larger Arrow batches: packing costs per batch, and blobs are made of many rows anyway
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # smaller in bytes: results of a shard are then unpacked, and used, while the next shard is
        # still at work, and do not wait for the last one
        "spark.sql.execution.arrow.maxBytesPerBatch": "1m",
        # Spark talks to Python workers over loopback TCP with Nagle's algorithm on, so that each
        # task with Python in it waits 40 ms for a delayed acknowledgement, and each micro-batch has
        # several; domain sockets know no such wait
        "spark.python.unix.domain.socket.enabled": "true",
        **SETTINGS,
    }


def local_session(app: str = "slackwater", *, cores: int = 2, log: Path | None = None,
                  extra: dict[str, str] | None = None) -> SparkSession:
    """An embedded Spark for demos, tests and the command; finds a Java by itself.

    Parameters
    ----------
    app
        The application's name.
    cores
        Threads, and shuffle partitions.
    log
        A file for what the JVM prints, instead of this process's standard error.
    extra
        Further Spark settings.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # each of the JVM's many threads would get a heap of its own for what is not Java's (RocksDB,
    # Arrow), and none of them gives back what it had at its peak
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    light_home()
    return _classic(app, f"local[{cores}]", log, {
        # one shard a core: more only adds a task's fixed cost to every micro-batch
        "spark.sql.shuffle.partitions": str(cores),
        # Spark's first choice starts `readlink` and `chmod` as processes for every file that a
        # micro-batch writes to a checkpoint on a local disk: a hundred milliseconds; this one is
        # the same without, and a rename on a local disk is atomic either way
        "spark.sql.streaming.checkpointFileManagerClass": _PLAIN_FILES,
        # RocksDB fills 64 MiB per store in memory, twice, before it writes them to its files; held
        # rows leave long before that, and all stores of an embedded session are in one process
        "spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB": "16",
        # on one machine a shuffle is a file in memory: compressing it takes longer than writing it
        "spark.shuffle.compress": "false",
        # workers are forked with everything loaded: the kernels and their compiler take seconds. On
        # a cluster this gains nothing that can be measured, and one without this package could not
        # say so
        "spark.python.daemon.module": "slackwater.spark.session.daemon",
        **_LOOPBACK,
        **(extra or {}),
    })


def open_session(app: str = "slackwater", *, master: str | None = None, remote: str | None = None,
                 log: Path | None = None, extra: dict[str, str] | None = None) -> SparkSession:
    """A session on this machine, on a cluster, or on a Spark Connect server.

    Parameters
    ----------
    app
        The application's name.
    master
        ``local[4]``, ``spark://host:7077``, …; default: this machine with all its cores.
    remote
        A Spark Connect server, ``sc://host:15002``, instead of a master. Its executors, and the
        server itself, need `slackwater` installed. ``local[2]`` starts one on this machine.
    log
        A file for what the JVM prints.
    extra
        Further Spark settings. A server takes those that can change while it runs.
    """
    if remote is not None:
        if master is not None:
            raise ConfigError("a session has a master or a remote server, not both",
                              step="spark", got=f"{master} and {remote}")
        return _remote(app, remote, extra or {})
    if master is None or master == "local[*]":
        return local_session(app, cores=os.cpu_count() or 1, log=log, extra=extra)
    local = re.fullmatch(r"local(?:\[(\d+)\])?", master)
    if local:
        return local_session(app, cores=int(local[1] or 1), log=log, extra=extra)
    near = re.match(r"spark://(127\.0\.0\.1|localhost)[:/]", master)
    session = _classic(app, master, log, {**(_LOOPBACK if near else {}), **(extra or {})})
    if "spark.sql.shuffle.partitions" not in (extra or {}):
        # one shard a core of the cluster, for the reason given above
        cores = max(session.sparkContext.defaultParallelism, 2)
        session.conf.set("spark.sql.shuffle.partitions", str(cores))
    return session


_LOOPBACK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # RocksDB, Arrow and the code need room beside the heap: the aim is a process below 2 GiB
    "spark.driver.memory": "1280m",
}


def _classic(app: str, master: str, log: Path | None, extra: dict[str, str]) -> SparkSession:
    java = find_java()
    if java is not None:
        os.environ["JAVA_HOME"] = str(java)
    # workers must run the Python that has slackwater, which need not be the first on the PATH
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(app)
    for key, value in {**settings(), **extra}.items():
        builder = builder.config(key, value)
    with _stderr_to(log):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _remote(app: str, remote: str, extra: dict[str, str]) -> SparkSession:
    if remote.startswith("local"):  # a server of our own, which needs what a local session needs
        java = find_java()
        if java is not None:
            os.environ["JAVA_HOME"] = str(java)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        light_home()
    try:
        session: SparkSession = SparkSession.builder.remote(remote).appName(app).getOrCreate()
    except ImportError as error:
        raise ConfigError("Spark Connect needs more than PySpark", step="--remote", got=str(error),
                          hint="pip install 'slackwater[connect]'") from None
    asked = {**settings(), **extra}
    if session.conf.get("spark.sql.shuffle.partitions") == "200":
        # nobody chose: a server does not tell its cores, and 200 state stores a step are too many
        local = re.fullmatch(r"local\[(\d+)\]", remote)
        asked = {"spark.sql.shuffle.partitions": local[1] if local else "8", **asked}
    for key, value in asked.items():
        if key not in _AT_START:
            session.conf.set(key, value)
    return session


# what only the server's own start can decide
_AT_START = ("spark.jars.packages", "spark.jars", "spark.driver.memory",
             "spark.python.unix.domain.socket.enabled")


@contextmanager
def _stderr_to(log: Path | None) -> Iterator[None]:
    """While the JVM starts, file descriptor 2, which it inherits, is the log.

    What this process itself says meanwhile, such as its progress, still goes to where it went.
    """
    if log is None:
        yield
        return
    kept, before = os.dup(2), sys.stderr
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    own = os.fdopen(kept, "w", buffering=1, errors="backslashreplace", closefd=False)
    if _descriptor(before) == 2:
        sys.stderr = own
    try:
        yield
    finally:
        if sys.stderr is own:
            sys.stderr = before
        own.close()
        os.dup2(kept, 2)
        os.close(kept)


def _descriptor(stream: object) -> int | None:
    """The file descriptor of a stream; None: it has none, as in a notebook."""
    try:
        return stream.fileno()  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None
