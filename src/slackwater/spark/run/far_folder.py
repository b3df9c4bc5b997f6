"""A checkpoint's folder on HDFS or an object store: who has it, and what was written down there.

All of it rests on one operation of Hadoop's file systems: to create a file that is not there yet.

* What the pipeline was is written to a new file each time, ``identity/N.json``, and never written
  over; one that a crash cut short is not valid JSON, and the one before it counts.
* The lock is a file with a name of its own for its holder, who writes it again every few seconds.
  A lock that has not changed for a while is of a run that died, and is taken over; a holder who
  finds another's name in it stops.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError

__all__ = ["FarFolder"]

BEAT, STALE = 5.0, 30.0
"""Seconds between signs of life, and without one after which a lock is a dead run's."""
_READ_AGAIN = 20  # times within a beat
_KEPT = 3  # generations of the identity


class FarFolder:
    """A folder by any address that Spark knows.

    Parameters
    ----------
    session
        With a JVM: Spark Connect gives no access to its file systems.
    address
        The folder.
    """

    def __init__(self, session: SparkSession, address: str) -> None:
        self._jvm: Any = session._jvm
        self._at = self._jvm.org.apache.hadoop.fs.Path(address)
        self._fs = self._at.getFileSystem(session._jsc.hadoopConfiguration())
        self._address = address
        self._token = uuid.uuid4().hex
        self._beats = 0
        self._stop = threading.Event()
        self._beating: threading.Thread | None = None
        self.lost: str | None = None
        """Who has taken the lock from this run."""

    @classmethod
    def of(cls, session: SparkSession, address: str) -> FarFolder | None:
        """The folder, or None where there is no JVM at hand."""
        return cls(session, address) if getattr(session, "_jsc", None) is not None else None

    # -- identity -------------------------------------------------------------------------------

    def read(self) -> str | None:
        """What was last written whole."""
        for number in reversed(self._generations()):
            text = self.text(f"identity/{number:06}.json")
            try:
                json.loads(text or "")
            except json.JSONDecodeError:
                continue  # a run died while it wrote
            return text
        return None

    def write(self, text: str) -> None:
        """Write something new beside what is there; two runs cannot write the same."""
        known = self._generations()
        number = (known[-1] if known else 0) + 1
        if not self._create(self._inside(f"identity/{number:06}.json"), text):
            raise self._taken("it has just written to the checkpoint")
        for old in known[:-_KEPT]:
            self._fs.delete(self._inside(f"identity/{old:06}.json"), False)

    def has(self, name: str) -> bool:
        """Whether there is something of this name."""
        return bool(self._fs.exists(self._inside(name)))

    def names(self, folder: str) -> list[str]:
        """What is in a folder in it; nothing if there is none."""
        place = self._inside(folder) if folder else self._at
        if not self._fs.exists(place):
            return []
        return sorted(str(one.getPath().getName()) for one in self._fs.listStatus(place))

    def text(self, name: str) -> str | None:
        """What is in a file; None: there is none."""
        return self._text(self._inside(name))

    def put_aside(self) -> str | None:
        """Give the folder another name; which one."""
        if not self._fs.exists(self._at):
            return None
        for number in range(1, 10_000):
            aside = self._jvm.org.apache.hadoop.fs.Path(f"{self._bare()}.old-{number}")
            if not self._fs.exists(aside) and self._fs.rename(self._at, aside):
                return str(aside.toString())
        return None

    # -- the lock -------------------------------------------------------------------------------

    def lock(self) -> None:
        """Have the folder to oneself, or raise."""
        place = self._lock_place()
        if not self._create(place, self._sign()):
            held = self._held(place)
            if held is not None and not _is_dead(held):
                self._watch(place, held)
            if self._held(place) == held:
                self._fs.delete(place, False)
            if not self._create(place, self._sign()):
                raise self._taken(_who(self._held(place)))
        self._beating = threading.Thread(target=self._beat, name="slackwater-lock", daemon=True)
        self._beating.start()

    def close(self) -> None:
        """Let another have it."""
        self._stop.set()
        if self._beating is not None:
            self._beating.join()
            self._beating = None
            try:
                if self._mine(self._text(self._lock_place())):
                    self._fs.delete(self._lock_place(), False)
            except Py4JError:
                return  # Spark is gone; the lock is stale soon

    def _watch(self, place: Any, held: str) -> None:
        """Wait until the lock is stale; raise if its holder gives a sign of life."""
        until = time.monotonic() + STALE
        while time.monotonic() < until:
            time.sleep(BEAT / 4)
            now = self._held(place)
            if now is None:
                return  # let go just now
            if now != held:
                raise self._taken(_who(now))

    def _held(self, place: Any) -> str | None:
        """The sign in the lock; one that is cut short, or empty, is just being written."""
        text = self._text(place)
        for _ in range(_READ_AGAIN):
            if text is None or _said(text):
                break
            time.sleep(BEAT / _READ_AGAIN)
            text = self._text(place)
        return text

    def _beat(self) -> None:
        while not self._stop.wait(BEAT):
            try:
                held = self._text(self._lock_place())
                if held is not None and held.strip() and not self._mine(held):
                    self.lost = _who(held)
                    return
                self._create(self._lock_place(), self._sign(), over=True)
            except Py4JError:
                continue  # the store does not answer: the next beat may reach it

    def _sign(self) -> str:
        self._beats += 1
        return json.dumps({"token": self._token, "beat": self._beats, "pid": os.getpid(),
                           "host": socket.gethostname()})

    def _mine(self, text: str | None) -> bool:
        return text is not None and self._token in text

    def _taken(self, who: str) -> ConfigError:
        return ConfigError("another run has this checkpoint", step="checkpoint",
                           got=f"{self._address} ({who})",
                           hint="stop it first, or give this one another checkpoint: folder")

    # -- files ----------------------------------------------------------------------------------

    def _bare(self) -> str:
        return str(self._at.toString())

    def _inside(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._bare()}/{name}")

    def _lock_place(self) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._bare()}.lock")

    def _generations(self) -> list[int]:
        return sorted(int(n[:-5]) for n in self.names("identity")
                      if n.endswith(".json") and n[:-5].isdigit())

    def _create(self, place: Any, text: str, *, over: bool = False) -> bool:
        """Write a file; False: there is one already."""
        try:
            out = self._fs.create(place, over)
        except Py4JJavaError as error:
            if "FileAlreadyExists" in _kind(error):
                return False
            raise
        try:
            out.write(bytearray(text.encode()))
        finally:
            out.close()
        return True

    def _text(self, place: Any) -> str | None:
        """What is in a file; None: there is none.  One that is just being written may seem cut."""
        try:
            file = self._fs.open(place)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(file, "UTF-8"))
            finally:
                file.close()
        except Py4JJavaError as error:
            kind = _kind(error)
            if "FileNotFound" in kind:
                return None
            if "Checksum" in kind:  # its check is written after it, to a file beside it
                return ""
            raise


def _kind(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getName())


def _said(text: str | None) -> tuple[int, str] | None:
    """The process and the host of a sign; None: it is not whole."""
    try:
        said = json.loads(text or "")
        return int(said["pid"]), str(said["host"])
    except (ValueError, KeyError, TypeError):
        return None


def _who(text: str | None) -> str:
    said = _said(text)
    return "its holder cannot be told" if said is None else f"process {said[0]} on {said[1]}"


def _is_dead(text: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    said = _said(text)
    if said is None or said[1] != socket.gethostname() or said[0] == os.getpid():
        return False
    try:
        os.kill(said[0], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
