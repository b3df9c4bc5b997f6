"""The gateway's log: many callers append, one thread writes a frame and fsyncs it for all of them.

While one fsync is under way, the next frame gathers; so the disk's latency is shared by however
many callers there are, and each gets its answer only when its events are durable.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from slackwater.core.errors import DataError, SlackwaterError
from slackwater.gateway.clock import STEP, Clock, system_micros
from slackwater.gateway.frames import SEGMENT
from slackwater.gateway.groups import Entry, columns_of, group_of
from slackwater.gateway.keep import Keeper, Limits
from slackwater.gateway.owner import locked, said_clearly
from slackwater.gateway.places import Place, commit, folder_made, folder_synced, read_end, readers
from slackwater.gateway.segments import Segment, recover
from slackwater.gateway.store import Appended, Backlogged, LogFailed, Packed
from slackwater.gateway.writer import Writer, is_full

__all__ = ["Appended", "Backlogged", "Limits", "Log", "LogFailed"]

_log = logging.getLogger("slackwater.gateway")
_REST = 1.0
_DISK_PATIENCE = 10.0  # seconds of one write and its fsync, before nothing more is taken


@dataclass
class Counters:
    """What the log has done since it was opened."""

    records: int = 0
    bytes: int = 0
    commits: int = 0
    sync_seconds: float = 0.0
    deleted_segments: int = 0
    cut_bytes: int = 0
    lost_records: int = 0


class Log:
    """A segmented, checksummed, fsynced log, open for appending by this process alone.

    Parameters
    ----------
    folder
        Where it is, or will be.
    limits
        Sizes, retention, back-pressure.
    readers
        Names to register before anything is written, so that retention waits for them from the
        first record on, even while they have not started.
    verify_all
        Check every frame of every segment when opening, not only of the last segment.
    clock
        The system's clock, in microseconds UTC. Stamps never repeat and never go back by less than
        a minute; a jump of the clock is not followed (see `slackwater.gateway.clock`).
    trust_clock
        Believe the clock as it is now, whatever the log's last run believed.

    Raises
    ------
    ConfigError
        If another process has the log open, or its files cannot be made.
    DataError
        If a record before the tail is damaged.
    """

    def __init__(self, folder: str | Path, limits: Limits | None = None, *,
                 readers: Sequence[str] = (), verify_all: bool = True,
                 clock: Callable[[], int] = system_micros, trust_clock: bool = False) -> None:
        self.folder = Path(folder)
        self.limits = limits or Limits()
        self.counters = Counters()
        self.damaged: list[str] = []
        with said_clearly(self.folder):
            folder_made(self.folder)
            self._lock_file = locked(self.folder)
            try:
                self._open(readers, verify_all)
                self._clock = Clock(self.folder / "clock", wall=clock, trust=trust_clock,
                                    seen=self._last_arrival)
            except BaseException:
                os.close(self._lock_file)
                raise
        self._wake = threading.Condition()
        self._pending: list[Entry] = []
        self._pending_bytes = 0
        self._closing = False
        self._failed: str | None = None
        self._rest_until, self._rest_reason = 0.0, ""
        self._write_begun: float | None = None
        self._keeper.look(self._segments)
        self._thread = threading.Thread(target=self._run, name="gateway-log", daemon=True)
        self._thread.start()

    # -- opening ---------------------------------------------------------------------------------

    def _open(self, names: Sequence[str], verify_all: bool) -> None:
        found = recover(self.folder, verify_all=verify_all)
        self.counters.cut_bytes = found.cut_bytes
        self._segments = found.segments
        try:
            told = read_end(self.folder)
        except DataError:
            told = None
        known = readers(self.folder)
        end = self._segments[-1].end if self._segments else 0
        # a number that was ever shown to a reader is not given to another record
        beyond = max([end] + [p.record for p in known.values()] + ([told.record] if told else []))
        if beyond > end and self._segments:
            self.counters.lost_records = beyond - end
            _log.error("%s: %d acknowledged records at the tail are gone, numbers %d to %d; "
                       "they stay unused", self.folder, beyond - end, end, beyond - 1)
        self._last_arrival = max((s.last_arrival for s in self._segments), default=0)
        self._writer = Writer(self.folder, self._segments, beyond)
        first = self._segments[0]
        for name in names:
            if name not in known:
                commit(self.folder, name, Place(first.base, first.base, SEGMENT))
        self._keeper = Keeper(self.folder, self.limits, kept=names)

    # -- what callers see ------------------------------------------------------------------------

    @property
    def end(self) -> Place:
        """The durable end."""
        return self._writer.end

    @property
    def first(self) -> int:
        """Number of the oldest record that is still kept."""
        return self._segments[0].base

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(s.size for s in self._segments)

    @property
    def segments(self) -> list[Segment]:
        """The segments on the disk, oldest first."""
        return list(self._segments)

    @property
    def behind(self) -> dict[str, int]:
        """Bytes that each registered reader has not committed yet."""
        return self._keeper.behind(self._segments)

    @property
    def failed(self) -> str | None:
        """Why the log is of no use until it is opened anew, or None."""
        return self._failed

    @property
    def refusing(self) -> str | None:
        """Why nothing can be appended now, or None."""
        if self._failed is not None:
            return self._failed
        if time.monotonic() < self._rest_until:
            return self._rest_reason
        begun = self._write_begun
        if begun is not None and time.monotonic() - begun > _DISK_PATIENCE:
            return "the disk does not answer"
        return self._keeper.refusing

    @property
    def warning(self) -> str | None:
        """What somebody should look at: damage found in the log, a clock that jumped; or None."""
        return self.damaged[0] if self.damaged else self._clock.problem

    @property
    def clock_off(self) -> float:
        """Seconds by which the system's clock is not believed; 0 if it is."""
        return self._clock.off / 1e6

    def append(self, payloads: Sequence[bytes] | Packed, tags: Sequence[int] | None = None
               ) -> Future[Appended]:
        """Stamp the events and queue them; the future is done when they are durable.

        All of them are written, in this order and without others in between, or none.

        Raises
        ------
        Backlogged
            If the disk or a reader is behind; nothing was queued.
        LogFailed
            If the log is closed or its disk has failed.
        """
        entry = Entry(payloads, tags)
        with self._wake:
            if self._closing or self._failed is not None:
                raise LogFailed(self._failed or "the log is closed", step="gateway log")
            reason = self.refusing
            if reason is None and (self._pending_bytes + entry.size
                                   > max(self.limits.max_pending, entry.size)):
                reason = "the disk is slower than what comes in"
            if reason is not None:
                raise Backlogged(reason, step="gateway log", hint="send it again later")
            entry.arrival = self._stamp()
            entry.future.set_running_or_notify_cancel()  # a caller that leaves cannot unwrite it
            if not payloads:
                entry.future.set_result(Appended(self.end.record, 0))
                return entry.future
            self._last_arrival = entry.arrival + len(payloads) - 1
            self._pending.append(entry)
            self._pending_bytes += entry.size
            self._wake.notify()
        return entry.future

    def _stamp(self) -> int:
        now = self._clock.now()
        ahead = self._last_arrival - now
        if ahead > STEP:
            # the clock was wrong when those were stamped; going on from there would be wrong for
            # as long as it was ahead
            _log.error("%s: the last arrival is %.0f s ahead of the clock; stamps go on from the "
                       "clock", self.folder, ahead / 1e6)
            return now
        return max(now, self._last_arrival + 1)

    def close(self) -> None:
        """Write what is queued, and let another process have the log."""
        with self._wake:
            if self._closing:
                return
            self._closing = True
            self._wake.notify()
        self._thread.join()
        self._writer.close()
        os.close(self._lock_file)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the writing thread ----------------------------------------------------------------------

    def _run(self) -> None:
        looked = 0.0
        while True:
            with self._wake:
                if not self._pending and not self._closing:
                    self._wake.wait(self.limits.look_every)
                group = group_of(self._pending)
                del self._pending[:len(group)]
                if not group and self._closing:
                    return
            if self._failed is not None and time.monotonic() >= self._rest_until:
                self._renew()
            if group:
                self._write_begun = time.monotonic()
                self._commit_or_refuse(group)
                self._write_begun = None
                with self._wake:
                    self._pending_bytes -= sum(entry.size for entry in group)
            try:
                if time.monotonic() - looked >= self.limits.look_every:
                    looked = time.monotonic()
                    with self._wake:
                        now, note = self._clock.now(), self._clock.due_note()
                    self._clock.keep(note)  # without the lock: callers do not wait for the disk
                    self._keeper.look(self._segments)
                    if self._failed is None:
                        # by a clock that nothing confirms no event is old
                        self._let_go(self._clock.seen if self._clock.doubted else now)
                else:
                    self._keeper.judge(self._segments)
            except OSError as error:  # a folder that cannot be listed now may be listed later
                _log.error("%s: retention: %s", self.folder, error)
            except Exception:  # without this thread nobody would ever be answered
                _log.exception("%s: retention failed", self.folder)

    def _commit_or_refuse(self, group: list[Entry]) -> None:
        error: SlackwaterError
        try:
            if self._failed is not None:
                raise LogFailed(self._failed, step="gateway log")
            first = self._commit(group)
        except OSError as problem:
            # of too many open files and the like the log recovers as of a full disk
            self._rest_reason = ("the disk is full" if is_full(problem)
                                 else f"the log cannot be written now: {problem.strerror}")
            error = Backlogged(self._rest_reason, step="gateway log", got=problem.strerror)
            self._rest_until = time.monotonic() + _REST
        except LogFailed as problem:
            if self._failed is None:
                _log.error("%s: %s", self.folder, problem.problem)
                self._rest_until = time.monotonic() + _REST
            self._failed = problem.problem
            error = problem
        except Exception as problem:  # whatever it was, nobody must wait for ever
            _log.exception("%s: appending failed", self.folder)
            self._failed = f"appending failed: {problem!r}"
            self._rest_until = time.monotonic() + _REST
            error = LogFailed(self._failed, step="gateway log")
        else:
            for entry in group:
                entry.future.set_result(Appended(first, len(entry.payloads)))
                first += len(entry.payloads)
            return
        for entry in group:
            entry.future.set_exception(error)

    def _commit(self, group: list[Entry]) -> int:
        if self._segments[-1].size >= self._keeper.segment_size:
            self._writer.roll()
        first = self._segments[-1].end
        columns = columns_of(group)
        self.counters.bytes += self._writer.add(*columns)
        self.counters.commits += 1
        self.counters.records += len(columns.lengths)
        self.counters.sync_seconds = self._writer.sync_seconds
        return first

    def _renew(self) -> None:
        """After a failure, see whether the disk is sound again."""
        try:
            self._writer.renew()
        except OSError:
            self._rest_until = time.monotonic() + _REST
            return
        _log.warning("%s: the disk is sound again; the log goes on in a new segment", self.folder)
        self._failed = None

    def _let_go(self, now: int) -> None:
        if self._keeper.wants_roll(self._segments, now):
            self._writer.roll()
        for segment in self._keeper.due(self._segments, now):
            self._segments.remove(segment)
            segment.path.unlink(missing_ok=True)
            folder_synced(self.folder)  # one after another: a gap would look like damage
            self.counters.deleted_segments += 1
            _log.info("%s: let go of %s, records %d to %d", self.folder, segment.path.name,
                      segment.base, segment.end - 1)
