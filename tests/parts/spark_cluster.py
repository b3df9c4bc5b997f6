"""A Spark standalone cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from parts.java import java
from parts.server import Server, free_port, wait_until

# small heaps and no late compilation: all of it shares two cores
_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class SparkCluster:
    """`address` is for ``--master``; `executors` can be killed one by one."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        folder.mkdir(parents=True, exist_ok=True)
        env = {
            "SPARK_HOME": str(home), "JAVA_HOME": str(Path(java()).parents[1]),
            "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": _JVM,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
        }
        spark_class = str(home / "bin" / "spark-class")
        port, page = free_port(), free_port()
        self.master = Server(
            "Spark's master",
            [spark_class, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
             "--port", str(port), "--webui-port", str(page)],
            folder / "master.log", port=port, env=env)
        self.address = f"spark://127.0.0.1:{port}"
        self.workers = []
        for number in range(workers):
            at, page = free_port(), free_port()
            self.workers.append(Server(
                "a Spark worker",
                [spark_class, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
                 "--port", str(at), "--webui-port", str(page), "--cores", "1", "--memory", "1g",
                 "--work-dir", str(folder / f"work-{number}"), self.address],
                folder / f"worker-{number}.log", port=at, env=env))

    def start(self) -> None:
        """Start all; the workers find the master by themselves."""
        self.master.start()
        try:
            for worker in self.workers:
                worker.start()
            wait_until(lambda: all("Successfully registered" in w.log.read_text()
                                   for w in self.workers), 60, "the workers are registered")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the workers, with their executors, and the master."""
        for worker in self.workers:
            worker.stop()
        self.master.stop()

    def executors(self) -> list[int]:
        """The process ids of the executors that run now."""
        return [pid for worker in self.workers for pid in _children(worker.pid)
                if "CoarseGrainedExecutorBackend" in _command(pid)]

    def kill_executor(self, which: int = 0) -> int:
        """SIGKILL for one of them; its worker lives and starts another."""
        pid = wait_until(self.executors, 60, "an executor runs")[which]
        os.kill(pid, signal.SIGKILL)
        return pid


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # the command's name may hold spaces and brackets: the parent is after the last one
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[1]) == parent:
            found.append(int(entry.name))
    return sorted(found)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
