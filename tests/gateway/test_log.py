"""The log by itself: what is acknowledged is there, whatever is done to the file's tail."""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import shutil
import threading
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError, DataError
from slackwater.gateway import Backlogged, Limits, Log, LogFailed, LogReader, Place
from slackwater.gateway.places import commit, committed, readers
from slackwater.gateway.segments import segments
from slackwater.gateway.slots import Slot

PLAIN = Limits(min_free=0, look_every=0.01)


def events(log_folder, start=None):
    reader = LogReader(log_folder)
    return [row["event"] for span in reader.spans(start or reader.first(), reader.end())
            for batch in reader.read(span) for row in batch.to_pylist()]


def fill(folder, frames, limits=PLAIN):
    """One frame a call: each append waits for the one before."""
    with Log(folder, limits) as log:
        for frame in frames:
            log.append(frame).result(10)


def wait_for(true, seconds=10):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def frames():
    return [[b'{"frame":%d,"n":%d}' % (f, n) for n in range(f % 3 + 1)] for f in range(12)]


@pytest.fixture(scope="module")
def original(tmp_path_factory, frames):
    folder = tmp_path_factory.mktemp("log") / "log"
    fill(folder, frames)
    return folder


@pytest.fixture
def copy(original, tmp_path):
    def make():
        target = tmp_path / f"copy{len(os.listdir(tmp_path))}"
        shutil.copytree(original, target)
        return target
    return make


def test_events_come_back_in_order_with_growing_stamps(original, frames):
    reader = LogReader(original)
    (span,) = reader.spans(reader.first(), reader.end())
    rows = [row for batch in reader.read(span) for row in batch.to_pylist()]
    assert [row["event"].encode() for row in rows] == [e for f in frames for e in f]
    assert [row["record"] for row in rows] == list(range(len(rows)))
    stamps = [row["arrival"] for row in rows]
    assert all(a < b for a, b in pairwise(stamps))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_file_cut_at_any_byte_loses_whole_frames_of_its_tail_only(
        data, original, frames, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cut") / "log"
    shutil.copytree(original, folder)
    (path,) = segments(folder)
    whole = path.read_bytes()
    size = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:size])
    with Log(folder, PLAIN) as log:
        log.append([b'{"after":1}']).result(10)
        lost, cut = log.counters.lost_records, log.counters.cut_bytes
    kept = [e.encode() for e in events(folder)]
    everything = [e for f in frames for e in f]
    assert kept[-1] == b'{"after":1}'
    assert kept[:-1] == everything[:len(kept) - 1]
    assert len(kept) - 1 in {sum(map(len, frames[:n])) for n in range(len(frames) + 1)}
    # the numbers of what is gone are not used again, so that no reader skips the new record
    assert LogReader(folder).end().record == len(everything) + 1
    assert lost == (len(everything) - (len(kept) - 1) if size >= 28 else 0)
    assert (cut > 0) == (size < len(whole) and size > 0 and whole[:size] != whole[:_last_end(
        whole, size)])


def _last_end(whole, size):
    """The greatest end of a frame (or of the header) that lies within `size` bytes."""
    from slackwater.gateway.frames import SEGMENT, walk

    ends = [SEGMENT, *(f.end_byte for f in walk(whole, SEGMENT, 0))]
    return max((e for e in ends if e <= size), default=0)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_flipped_byte_is_refused_or_was_in_the_tail(data, original, frames, tmp_path_factory):
    from slackwater.gateway.frames import SEGMENT, walk

    folder = tmp_path_factory.mktemp("flip") / "log"
    shutil.copytree(original, folder)
    (path,) = segments(folder)
    whole = bytearray(path.read_bytes())
    *_, last = walk(bytes(whole), SEGMENT, 0)
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    if place >= last.byte:
        with Log(folder, PLAIN) as log:
            assert log.counters.cut_bytes == last.end_byte - last.byte
            assert log.counters.lost_records == last.count
        assert len(events(folder)) == last.first
        assert (folder / "torn").is_dir()
    else:
        with pytest.raises(DataError, match=f"segment {path.name}, byte [0-9]+") as caught:
            Log(folder, PLAIN)
        damaged = int(str(caught.value).split("byte ")[1].split()[0])
        assert damaged <= place < max(damaged + 1, _frame_end(original, damaged))
        assert path.read_bytes() == whole, "what is refused is left as it is"


def _frame_end(original, byte):
    from slackwater.gateway.frames import SEGMENT, walk

    (path,) = segments(original)
    ends = {f.byte: f.end_byte for f in walk(path.read_bytes(), SEGMENT, 0)}
    return ends.get(byte, SEGMENT)


@pytest.mark.parametrize("rubbish", [b"\0" * 5000, b"SWF\x01" + b"\xff" * 40, b"{", b"SWF\x01" * 9])
def test_rubbish_after_the_last_frame_is_cut_and_kept_aside(copy, frames, rubbish):
    folder = copy()
    (path,) = segments(folder)
    with path.open("ab") as file:
        file.write(rubbish)
    with Log(folder, PLAIN) as log:
        assert (log.counters.cut_bytes, log.counters.lost_records) == (len(rubbish), 0)
    assert len(events(folder)) == sum(map(len, frames))
    (aside,) = (folder / "torn").iterdir()
    assert aside.read_bytes() == rubbish


def test_a_missing_or_damaged_earlier_segment_is_refused(tmp_path):
    def make(name):
        fill(tmp_path / name, [[b'{"n":%d}' % n] for n in range(40)],
             Limits(segment_size=200, min_free=0))
        return segments(tmp_path / name)

    first, second, third, *_ = make("missing")
    second.unlink()
    with pytest.raises(DataError, match=f"missing.*segment {third.name}, byte 0"):
        Log(first.parent, PLAIN)
    first, second, *_ = make("damaged")
    data = bytearray(second.read_bytes())
    data[-1] ^= 1
    second.write_bytes(data)
    with pytest.raises(DataError, match=f"damaged: segment {second.name}, byte"):
        Log(first.parent, PLAIN)
    with Log(first.parent, PLAIN, verify_all=False):
        pass  # found when it is read instead
    with pytest.raises(DataError, match=f"damaged: segment {second.name}, byte"):
        events(first.parent)


def test_segments_roll_and_any_range_reads_the_same(tmp_path):
    limits = Limits(segment_size=300, min_free=0)
    fill(tmp_path, [[b'{"n":%d}' % (3 * f + i) for i in range(3)] for f in range(30)], limits)
    assert len(segments(tmp_path)) > 5
    reader = LogReader(tmp_path)
    everything = events(tmp_path)
    assert everything == [f'{{"n":{n}}}' for n in range(90)]
    start = reader.first()
    frame = 3  # records that were written together, and are read together at least
    for rows, most in itertools.product((1, 2, 7, 50, 100), (None, 1, 100, 250, 700, 5000)):
        place, found = start, []
        while place.record < reader.end().record:
            following = reader.advance(place, rows, most)
            assert 0 < following.record - place.record <= rows
            if most == 1:
                assert following.record - place.record <= frame
            if most == 5000:
                assert following == reader.advance(place, rows), "it does not come to that"
            got = [r["event"] for s in reader.spans(place, following)
                   for b in reader.read(s) for r in b.to_pylist()]
            assert len(got) == following.record - place.record
            found += got
            place = following
        assert found == everything


def test_many_callers_share_an_fsync(tmp_path):
    with Log(tmp_path, PLAIN) as log:
        def send(worker):
            for n in range(50):
                log.append([b'{"w":%d,"n":%d}' % (worker, n)]).result(30)

        threads = [threading.Thread(target=send, args=(w,)) for w in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert log.counters.records == 1000
        assert log.counters.commits < 500
    found = [json.loads(e) for e in events(tmp_path)]
    for worker in range(20):
        assert [e["n"] for e in found if e["w"] == worker] == list(range(50))


def test_stamps_never_go_back_even_if_the_clock_does(tmp_path):
    now = [1000]
    with Log(tmp_path, PLAIN, clock=lambda: now[0]) as log:
        log.append([b"{}", b"{}"]).result(10)
        now[0] = 500
        log.append([b"{}"]).result(10)
    with Log(tmp_path, PLAIN, clock=lambda: 7) as log:
        log.append([b"{}"]).result(10)
    reader = LogReader(tmp_path)
    (span,) = reader.spans(reader.first(), reader.end())
    (batch,) = reader.read(span)
    stamps = batch.column("arrival").cast("int64").to_pylist()
    assert stamps == [1000, 1001, 1002, 1003]


def test_only_one_process_writes(tmp_path):
    with Log(tmp_path, PLAIN), pytest.raises(ConfigError, match="another gateway"):
        Log(tmp_path, PLAIN)
    Log(tmp_path, PLAIN).close()


def test_retention_by_size_waits_for_the_slowest_reader(tmp_path):
    limits = Limits(segment_size=1000, retain_size=4000, min_free=0, look_every=0.01)
    with Log(tmp_path, limits, readers=["slow", "fast"]) as log:
        def send(n):
            for _ in range(n):
                log.append([b'{"x":"' + b"y" * 80 + b'"}']).result(10)

        send(100)
        end = log.end
        commit(tmp_path, "fast", end)
        time.sleep(0.1)
        assert log.first == 0, "nothing that the slow reader has not committed may go"
        commit(tmp_path, "slow", Place(40, 0, 0))
        wait_for(lambda: log.first > 0)
        assert log.first <= 40
        commit(tmp_path, "slow", end)
        wait_for(lambda: log.size <= 4000 + 1000)
        assert log.first <= 100
        with pytest.raises(DataError, match="let go of"):
            LogReader(tmp_path).spans(Place(0, 0, 28), LogReader(tmp_path).end())


def test_retention_by_age_also_closes_a_quiet_segment(tmp_path):
    now = [1_000_000]
    limits = Limits(retain_age=5_000_000, min_free=0, look_every=0.01)
    with Log(tmp_path, limits, clock=lambda: now[0]) as log:
        log.append([b"{}"] * 10).result(10)
        time.sleep(0.1)
        assert log.first == 0
        now[0] += 6_000_000
        wait_for(lambda: log.first == 10)
        log.append([b'{"new":1}']).result(10)
    assert events(tmp_path) == ['{"new":1}']
    with Log(tmp_path, PLAIN) as log:
        assert log.end.record == 11


def test_a_reader_too_far_behind_stops_the_log_until_it_has_read(tmp_path):
    limits = Limits(max_backlog=2000, min_free=0, look_every=0.01)
    with Log(tmp_path, limits, readers=["r"]) as log:
        with pytest.raises(Backlogged, match=r"'r' is \d+ bytes behind"):
            send_until_refused(log)
        sent = log.end.record
        assert 10 < sent < 30
        commit(tmp_path, "r", log.end)
        wait_for(lambda: log.refusing is None)
        log.append([b"{}"]).result(10)
    assert len(events(tmp_path)) == sent + 1
    with Log(tmp_path / "unread", limits) as log, pytest.raises(Backlogged, match="nobody reads"):
        send_until_refused(log)


def send_until_refused(log):
    for _ in range(100):
        log.append([b"{}" * 50]).result(10)


def test_a_full_disk_is_back_pressure_and_leaves_no_trace(tmp_path):
    with Log(tmp_path, PLAIN) as log:
        log.append([b'{"before":1}']).result(10)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))  # write() then fails half-way
        try:
            with pytest.raises(Backlogged, match="disk is full"):
                log.append([b'{"large":"' + b"x" * 1000 + b'"}']).result(10)
            with pytest.raises(Backlogged, match="disk is full"):
                log.append([b"{}"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        wait_for(lambda: log.refusing is None)
        log.append([b'{"after":1}']).result(10)
    assert events(tmp_path) == ['{"before":1}', '{"after":1}']
    with Log(tmp_path / "small", Limits(min_free=1 << 60)) as log:
        assert log.refusing == "the disk is full"


def test_a_position_that_cannot_be_read_holds_everything(tmp_path):
    with Log(tmp_path, PLAIN) as log:
        commit(tmp_path, "r", log.end)
    assert committed(tmp_path, "r") == Place(0, 0, 28)
    (tmp_path / "readers" / "r.json").write_text("{")
    with pytest.raises(DataError, match="position"):
        committed(tmp_path, "r")
    assert readers(tmp_path) == {"r": Place(0, 0, 0)}
    with pytest.raises(ConfigError, match="name"):
        commit(tmp_path, "../r", Place(0, 0, 0))


def test_two_scans_of_one_name_hold_retention_each_by_itself(tmp_path):
    Log(tmp_path, PLAIN).close()
    first, second = Slot(tmp_path, "q", patience=0), Slot(tmp_path, "q", patience=0)
    first.commit(Place(10, 0, 28))
    second.start(Place(4, 0, 28))
    assert readers(tmp_path) == {"q": Place(10, 0, 28), "q~2": Place(4, 0, 28)}
    first.close()
    again = Slot(tmp_path, "q", patience=0)
    again.start(Place(12, 0, 28))  # a restart holds at least what was held
    assert readers(tmp_path)["q"] == Place(10, 0, 28)
    again.close()
    second.close()


def test_a_folder_that_is_no_log_is_told(tmp_path):
    with pytest.raises(ConfigError, match="not the log of a gateway"):
        LogReader(tmp_path)


def test_a_failed_fsync_ends_the_log_until_it_is_opened_anew(tmp_path, monkeypatch):
    with Log(tmp_path, PLAIN) as log:
        log.append([b'{"n":1}']).result(10)
        with monkeypatch.context() as disk:
            disk.setattr("slackwater.gateway.writer.os.fdatasync", _failing)
            with pytest.raises(LogFailed, match="Input/output"):
                log.append([b'{"n":2}']).result(10)
        with pytest.raises(LogFailed):
            log.append([b'{"n":3}'])
        assert "disk failed" in log.failed
        assert events(tmp_path) == ['{"n":1}'], "readers see nothing that may not be durable"
    with Log(tmp_path, PLAIN) as log:
        log.append([b'{"n":4}']).result(10)
    assert events(tmp_path)[-1] == '{"n":4}'


def _failing(_file):
    raise OSError(errno.EIO, "Input/output error")
