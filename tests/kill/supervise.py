"""Kill parts of a running pipeline at random moments, restart them, compare what is in the sinks.

What a supervisor would restart is restarted: the driver when it ends, the server after a while;
a killed executor is the cluster's own affair.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from parts.gateway_server import COMMAND
from parts.server import wait_until
from parts.spark_cluster import SparkCluster
from scenes import Scene


def settings(out: Path) -> dict[str, str]:
    """What a scene's pipeline file takes from the environment."""
    return {"OUT": str(out), "READER": f"reader-{out.name}"}


class Driver:
    """`slackwater run` in a process of its own."""

    def __init__(self, scene: Scene, out: Path, master: str | None = None) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._file, self.out = scene.file, out
        self._options = [] if master is None else ["--master", master]
        self._log = out / "driver.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.ends = 0  # how often it ended by itself

    def start(self, *options: str) -> None:
        env = {**os.environ, **settings(self.out)}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "run", str(self._file), *self._options, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=env)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL for the driver and the JVM that it started, at once."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=30)

    def stop(self) -> None:
        """As a person would: SIGTERM, and it ends well."""
        if self.running():
            assert self._process is not None
            self._process.terminate()
            self._ended(60)

    def drain(self) -> None:
        """Run it once more, to the end of what is there."""
        self.start("--until-done")
        self._ended(600)

    def _ended(self, patience: float) -> None:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if code != 0:
            raise RuntimeError(f"the run ended with {code}:\n{self.words()}")

    def words(self) -> str:
        """The end of what it said, and of what Spark said."""
        logs = [self._log, *self.out.glob("*.spark.log")]
        return "\n".join(log.read_text(errors="replace")[-3000:] for log in logs)

    def keep_up(self) -> None:
        """What a supervisor does."""
        if not self.running():
            self.ends += 1
            if self.ends > 20:
                raise RuntimeError(f"the run ends again and again:\n{self.words()}")
            self.start()

    def commits(self) -> dict[str, int]:
        """The last micro-batch that each of its queries has committed."""
        return {query.name: max((int(f.name) for f in query.glob("commits/[0-9]*")), default=-1)
                for query in (self.out / "state" / "queries").glob("*")}


def disturb(scene: Scene, driver: Driver, kills: list[str], seed: int,
            cluster: SparkCluster | None = None) -> None:
    """Run it continuously on events that keep coming, with these kills at random moments."""
    rng = random.Random(seed)
    feeder = scene.feeding(seed)
    driver.start()
    feeder.start()
    try:
        for what in kills:
            _progress(driver)
            time.sleep(rng.uniform(0, 1.5))
            if what == "driver":
                driver.kill()
                driver.start()
            elif what == "executor":
                assert cluster is not None, "an executor of its own needs a cluster"
                cluster.kill_executor(rng.randrange(len(cluster.executors()) or 1))
            elif what == "server":
                scene.server.kill()
                time.sleep(rng.uniform(0.1, 1.5))
                scene.server.start()
            elif what == "together":
                driver.kill()
                scene.server.kill()
                time.sleep(rng.uniform(0.1, 1.5))
                scene.server.start()
                driver.start()
            else:
                raise ValueError(what)
        _progress(driver)
    except BaseException:
        driver.kill()
        raise
    finally:
        feeder.stop()
    driver.stop()


def _progress(driver: Driver) -> None:
    """Until each query has committed more than it had: a kill then hits all of them at work."""
    before = driver.commits()

    def there() -> bool:
        driver.keep_up()
        now = driver.commits()
        return bool(now) and all(last > before.get(name, -1) for name, last in now.items())

    try:
        wait_until(there, 300, "each query commits a batch")
    except TimeoutError as error:
        raise TimeoutError(f"{error}\n{driver.words()}") from None


def compare(scene: Scene, disturbed: Path, undisturbed: Path) -> dict[str, int]:
    """Assert that the sinks of two runs hold the same rows; how many each holds."""
    counts = {}
    for name in (*scene.fates, *scene.sinks):
        got, truth = (rows(out / name, scene.unlike) for out in (disturbed, undisturbed))
        lost, extra = truth - got, got - truth
        assert got == truth, (
            f"{scene.name}.{name}: lost {_some(lost)}, not to be there {_some(extra)}")
        assert truth, f"{scene.name}.{name} holds nothing"
        counts[name] = sum(truth.values())
    ids = [dict(row)["id"] for name in scene.fates for row in rows(disturbed / name).elements()]
    expected = list(scene.sent)
    if scene.copies:
        twice = {number for number, count in Counter(ids).items() if count > 1}
        assert twice <= scene.repeated, f"sent once, kept twice: {sorted(twice - scene.repeated)}"
        ids = sorted(set(ids))
    assert sorted(ids) == expected, "what was acknowledged is not what the sink holds"
    return counts


def _some(found: Counter[Any]) -> str:
    return f"{sum(found.values())} rows, such as {list(found)[:2]}" if found else "nothing"


def rows(folder: Path, unlike: tuple[str, ...] = ()) -> Counter[Any]:
    """The rows of a Delta table, or of a folder of whole batches, without some columns."""
    if (folder / "_delta_log").exists():
        import deltalake

        table = deltalake.DeltaTable(str(folder)).to_pyarrow_table()
    else:
        parts = []
        for batch in folder.glob("batch_id=*"):
            assert (batch / "_SUCCESS").exists(), f"{batch} is not whole"
            form = "parquet" if any(batch.glob("*.parquet")) else "json"
            parts.append(ds.dataset(batch, format=form).to_table())
        table = pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})
    return Counter(tuple(sorted((k, _plain(v)) for k, v in row.items() if k not in unlike))
                   for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((k, _plain(v)) for k, v in value.items()))
    return tuple(_plain(v) for v in value) if isinstance(value, list) else value
