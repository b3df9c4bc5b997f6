"""The checkpoint folder of a pipeline: whose it is, and whether a run may go on with it."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import IO, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater import __version__
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.gateway.places import folder_made, folder_synced
from slackwater.pipeline.document import MAIN, Pipeline
from slackwater.pipeline.fingerprint import FORMAT, as_planned, changes, query_plan, read_plan
from slackwater.spark.run.far_folder import FarFolder
from slackwater.spark.run.lock import near_lock
from slackwater.spark.run.query_log import QueryLog
from slackwater.spark.runner.carry import default_shards

__all__ = ["Checkpoint"]

_FILE = "slackwater.json"


class Checkpoint:
    """Folder with ``slackwater.json`` (what wrote it) and a folder a query.

    Parameters
    ----------
    pipeline, session
        What is to run, and where.
    """

    def __init__(self, pipeline: Pipeline, session: SparkSession) -> None:
        self._pipeline, self._session = pipeline, session
        self._remote = "://" in pipeline.checkpoint
        # with Spark Connect there is no way to its file systems but reading and writing rows
        self._far_folder = FarFolder.of(session, pipeline.checkpoint) if self._remote else None
        self.shards = default_shards(session)
        self.id = uuid.uuid4().hex[:12]
        self.groups: dict[str, int] = {}
        """The numbers of groups of steps, by their first."""
        self.lives: dict[str, int] = {}
        """How many times each step has started afresh, if it has."""
        self._held: IO[str] | None = None

    def of(self, node: str) -> str:
        """Where a query keeps its offsets and its state."""
        return f"{self._pipeline.checkpoint}/queries/{node}"

    def open(self, *, fresh: bool) -> list[str]:
        """Make it this pipeline's, or refuse; gives what is worth saying.

        Raises
        ------
        SnapshotError
            It was written by something that this pipeline cannot go on from.
        """
        told: list[str] = []
        self._lock()
        if fresh and (aside := self._put_aside()) is not None:
            told.append(f"the old checkpoint is now {aside}")
        old = self._read()
        queries: dict[str, Any] = {}
        dead = getattr(self._pipeline.dead_letters, "path", None)
        dead_before = None if old is None else old.get("dead_letters")
        if old is not None:
            self.id, self.groups, self.lives = old["id"], dict(old["groups"]), dict(old["lives"])
            told += self._compare(old)
            queries = dict(old["queries"])
            self.shards = old["shards"]
            told += self._compare_partitions()
        for query in self._pipeline.queries:
            plan = query_plan(self._pipeline, query)
            before = queries.get(query.name, {}).get("sinks", {})
            for name, path in plan["sinks"].items():
                self._check_folder(path, before.get(name), f"sinks.{name}.path")
                if dead is not None:
                    self._check_folder(f"{dead}/{name}", f"{dead_before}/{name}",
                                       "dead_letters.path")
            queries[query.name] = plan
        self._plan: dict[str, Any] = {
            "format": FORMAT, "slackwater": __version__, "name": self._pipeline.name,
            "id": self.id, "shards": self.shards, "queries": queries, "dead_letters": dead,
            "groups": self.groups, "lives": self.lives}
        self._old = old
        return told

    def unfinished(self) -> tuple[Pipeline, tuple[str, ...]] | None:
        """The pipeline as it was when micro-batches were planned that are not done, and whose.

        Their rows are partly in the sinks and not in the state: another plan would give them
        another fate.  None: there are none, or they were planned by the same steps.
        """
        if self._old is None:
            return None
        before = as_planned(self._old, self._pipeline)
        changed = [name for name, plan in self._old["queries"].items()
                   if plan["steps"] != self._plan["queries"].get(name, plan)["steps"]]
        planned = {query.name for query in before.queries}
        names = tuple(name for name in changed
                      if name in planned and (log := self._log(name)) is not None and log.pending)
        return (before, names) if names else None

    def keep(self) -> None:
        """Write down what is to run, now that it is planned."""
        self._write({**self._plan, "groups": self.groups})

    def drained(self) -> None:
        """Write down that the main query has released all that it held."""
        log = self._log(MAIN)
        if log is not None:
            self._write({**self._plan, "groups": self.groups, "drained": log.done})

    def close(self) -> None:
        """Let another run have it."""
        if self._held is not None:
            self._held.close()
            self._held = None
        if self._far_folder is not None:
            self._far_folder.close()

    def check(self) -> None:
        """Raise if another run has taken this checkpoint over."""
        lost = None if self._far_folder is None else self._far_folder.lost
        if lost is not None:
            raise ConfigError("another run has taken this checkpoint over", step="checkpoint",
                              got=f"{self._pipeline.checkpoint} ({lost})",
                              hint="this one gave no sign of life for too long")

    def _lock(self) -> None:
        """Two runs with one checkpoint would write over each other."""
        if self._far_folder is not None:
            self._far_folder.lock()
        if self._remote:
            return
        self._held = near_lock(self._pipeline.checkpoint)

    def _compare(self, old: dict[str, Any]) -> list[str]:
        # several queries may tell of one change; its values may be lists, which have no hash
        found = list({str(c): c for c in changes(old, self._pipeline,
                                                 drained=self._is_drained(old))}.values())
        refused = [c for c in found if c.refused is not None]
        if refused:
            raise SnapshotError(
                "this run cannot go on from the checkpoint of an earlier one, because of what has "
                "changed:\n    " + "\n    ".join(str(c) for c in refused),
                step="checkpoint", got=self._pipeline.checkpoint,
                hint="take the change back; or let the pipeline finish first as it was, with "
                     "run --until-done: then nothing is held, and changed steps start afresh; or "
                     "give another checkpoint: folder, or run with --fresh (from the start of the "
                     "sources, with no state)")
        for step in {c.afresh: None for c in found if c.afresh is not None}:
            self.lives[step] = self.lives.get(step, 0) + 1
        told = [str(c) for c in found]
        if old["slackwater"] != __version__:
            told.append(f"written by slackwater {old['slackwater']}, this is {__version__}")
        return told

    def _is_drained(self, old: dict[str, Any]) -> bool:
        """Whether the main query has held nothing since it was last told that nothing comes."""
        log = self._log(MAIN) if "drained" in old else None
        return log is not None and not log.pending and log.done == old["drained"]

    def _compare_partitions(self) -> list[str]:
        """Spark goes on with the state partitions that the checkpoint has, whatever is set now."""
        wanted = int(self._session.conf.get("spark.sql.shuffle.partitions") or 1)
        logs = [log for query in self._pipeline.queries if (log := self._log(query.name))]
        had = {log.partitions for log in logs} - {None, wanted}
        return [f"{count} state partitions, as the checkpoint has them, and not {wanted}: "
                f"`slackwater state migrate {self._pipeline.checkpoint} --partitions {wanted}` "
                "changes that" for count in sorted(n for n in had if n is not None)]

    def _log(self, query: str) -> QueryLog | None:
        """Spark's log of a query; None: it is on the server's side of Spark Connect."""
        if self._remote and self._far_folder is None:
            return None
        return QueryLog(self._session, self.of(query))

    def _check_folder(self, path: str | None, before: str | None, where: str) -> None:
        """A batch's folder is replaced when the batch comes again: it must be of this run's."""
        if path is None or "://" in path or before == path:
            return
        if any(Path(path).glob("batch_id=*")):
            raise ConfigError(
                "the folder holds the output of another run, and batches would be mixed",
                step=where, got=path, hint="move it away, or give another path")

    def _put_aside(self) -> str | None:
        path = Path(self._pipeline.checkpoint)
        if self._far_folder is not None:
            return self._far_folder.put_aside()
        if self._remote:
            raise ConfigError("Spark Connect cannot put a checkpoint aside", step="--fresh",
                              got=self._pipeline.checkpoint, hint="give another checkpoint: folder")
        if not (path / _FILE).exists() and not (path / "queries").exists():
            return None
        aside = next(p for n in range(1, 10_000)
                     if not (p := path.with_name(f"{path.name}.old-{n}")).exists())
        path.rename(aside)
        return str(aside)

    def _read(self) -> dict[str, Any] | None:
        if self._remote:
            text = self._read_remote()
            if text is None and self._far_folder is not None and self._far_folder.has("queries"):
                raise _no_identity(self._pipeline.checkpoint)
        else:
            path = Path(self._pipeline.checkpoint)
            text = (path / _FILE).read_text() if (path / _FILE).exists() else None
            if text is None and any(path.glob("queries/*")):
                raise _no_identity(str(path))
        if text is None:
            return None
        try:
            return read_plan(json.loads(text))
        except json.JSONDecodeError:
            return read_plan(None)

    def _write(self, plan: dict[str, Any]) -> None:
        text = json.dumps(plan, indent=1, ensure_ascii=False) + "\n"
        if self._far_folder is not None:
            if text != self._read_remote():
                self._far_folder.write(text)
            return
        if self._remote:
            if text != self._read_remote():
                rows = self._session.createDataFrame([(json.dumps(plan),)], "value string")
                rows.coalesce(1).write.mode("overwrite").text(self._far())
            return
        path = Path(self._pipeline.checkpoint)
        folder_made(path)
        draft = path / f".{_FILE}.{os.getpid()}"
        with draft.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path / _FILE)
        folder_synced(path)  # the name too must outlive a power cut

    def _far(self) -> str:
        return f"{self._pipeline.checkpoint.rstrip('/')}/{_FILE}"

    def _read_remote(self) -> str | None:
        if self._far_folder is not None and (found := self._far_folder.read()) is not None:
            return found
        try:
            rows = self._session.read.text(self._far()).collect()
        except PySparkException as error:
            if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
                return None
            raise
        return "\n".join(row[0] for row in rows) or None


def _no_identity(place: str) -> SnapshotError:
    return SnapshotError(f"the checkpoint folder has queries, but no {_FILE}", step="checkpoint",
                         got=place, hint="give another checkpoint: folder, or run with --fresh")
