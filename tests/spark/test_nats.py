"""The NATS source against a real server."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from functools import partial

import pytest
from parts.drain import drain

from slackwater.core.errors import DataError
from slackwater.pipeline.connectors import MAX_BYTES, NatsSource
from slackwater.spark.sources import read_source
from slackwater.spark.sources.nats import NatsReader
from slackwater.spark.sources.python_source import ReadMaxRows

COLUMNS = {"n": "int", "device": "string"}


def config(server, stream, **more):
    return NatsSource(server.address.removeprefix("nats://"), stream, columns=COLUMNS,
                      token=more.pop("token", server.token), **more)


def message(n, subject="x.a"):
    return subject, b'{"n": %d, "device": "d"}' % n


def on_stream(server, stream, call):
    """Do something with the stream's manager."""
    async def run():
        client = await server._client()
        try:
            return await call(client.jsm(), stream)
        finally:
            await client.close()
    return asyncio.run(run())


def test_messages_are_read_once_in_order_and_none_is_lost(spark, nats_server, tmp_path):
    nats_server.create("ONE", ["x.>"])
    begun = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    nats_server.send([message(1), ("x.b", b"poison"), message(3), message(4, "x.b"), message(5)])
    source = config(nats_server, "ONE", max_rows=2)
    batches = drain(partial(read_source, spark, source), tmp_path / "all")
    assert [[(r.n, r.device, r._raw) for r in batch] for batch in batches] == [
        [(1, "d", None), (None, None, "poison")], [(3, "d", None), (4, "d", None)],
        [(5, "d", None)]]
    arrivals = [r._arrival for batch in batches for r in batch]
    assert begun <= arrivals[0] <= arrivals[-1] <= begun + dt.timedelta(minutes=2)
    assert arrivals == sorted(arrivals)
    # a later run goes on; one that starts late has only what comes after its first look
    latest = config(nats_server, "ONE", starting="latest")
    assert drain(partial(read_source, spark, latest), tmp_path / "latest") == []
    nats_server.send([message(6), message(7, "x.b")])
    for name, source_ in (("all", source), ("latest", latest)):
        (rows,) = drain(partial(read_source, spark, source_), tmp_path / name)
        assert [r.n for r in rows] == [6, 7]
    by_subject = config(nats_server, "ONE", subject="x.b")
    (rows,) = drain(partial(read_source, spark, by_subject), tmp_path / "subject")
    assert [r._raw or r.n for r in rows] == ["poison", 4, 7]


def test_a_micro_batch_of_wide_messages_has_fewer_of_them(nats_server):
    nats_server.create("WIDE", ["w.>"])
    nats_server.send([("w.a", bytes(200_000))] * 5)
    wide = NatsReader({"url": nats_server.address, "stream": "WIDE", "starting": "earliest",
                       "token": nats_server.token})
    begin = wide.initialOffset()
    try:
        assert wide.latestOffset(begin, ReadMaxRows(100)) == {"next": 6}
        state = wide._connection().state()
        assert 200_000 < state.mean < 201_000
        far = {"next": -1_000_000}  # as if there were many
        assert wide.latestOffset(far, ReadMaxRows(10_000))["next"] - far["next"] == int(
            MAX_BYTES / state.mean)
    finally:
        wide.stop()


def test_a_stream_that_was_made_anew_is_told(nats_server):
    nats_server.create("ANEW", ["anew.>"])
    nats_server.send([("anew.a", b"{}")] * 3)
    reader = NatsReader({"url": nats_server.address, "stream": "ANEW", "starting": "earliest",
                         "token": nats_server.token})
    try:
        assert reader.everything() == {"next": 4}
        assert reader.partitions({"next": 4}, {"next": 3}) == []
        with pytest.raises(DataError, match="has lost messages that it had, or is another one"):
            reader.partitions({"next": 9}, reader.everything())
    finally:
        reader.stop()


def test_positions_are_the_messages_numbers(spark, nats_server, tmp_path):
    nats_server.create("PLACES", ["p.>"])
    nats_server.send([message(n, "p.a") for n in range(1, 6)])
    on_stream(nats_server, "PLACES", lambda jsm, name: jsm.delete_msg(name, 2))
    make = partial(read_source, spark, config(nats_server, "PLACES", max_rows=2), placed=True)
    rows = [r for batch in drain(make, tmp_path / "checkpoint") for r in batch]
    assert sorted((r._position, r.n) for r in rows if r.n) == [(n, n) for n in (1, 3, 4, 5)]
    assert [r._position for r in rows if r._raw] == [2]


def test_deleted_messages_are_told_and_expired_ones_end_the_query(spark, nats_server, tmp_path):
    nats_server.create("HOLES", ["h.>"])
    nats_server.send([message(n, "h.a") for n in range(1, 8)])
    for n in (3, 4, 6):
        on_stream(nats_server, "HOLES", lambda jsm, name, n=n: jsm.delete_msg(name, n))
    for subject in (None, "h.a"):
        source = config(nats_server, "HOLES", subject=subject)
        (rows,) = drain(partial(read_source, spark, source), tmp_path / f"holes-{subject}")
        assert [r.n for r in rows if r.n] == [1, 2, 5, 7]
        assert [r._raw for r in rows if r._raw] == [
            "messages 3 to 4 were deleted from stream 'HOLES' before being read",
            "message 6 was deleted from stream 'HOLES' before being read"]
    nats_server.send([message(n, "h.a") for n in range(8, 12)])
    on_stream(nats_server, "HOLES", lambda jsm, name: jsm.purge_stream(name, seq=10))
    with pytest.raises(Exception, match="messages 8 to 9 of stream 'HOLES' were removed"):
        drain(partial(read_source, spark, config(nats_server, "HOLES")), tmp_path / "holes-None")


def test_a_server_that_restarts_is_waited_for(spark, nats_server, tmp_path):
    nats_server.create("DOWN", ["d.>"])
    nats_server.send([message(n, "d.a") for n in range(300)])
    make = partial(read_source, spark, config(nats_server, "DOWN", max_rows=100))
    nats_server.kill()
    back = threading.Timer(2, nats_server.start)
    back.start()
    try:
        batches = drain(make, tmp_path / "checkpoint")
    finally:
        back.join()
    assert [r.n for batch in batches for r in batch] == list(range(300))


@pytest.mark.parametrize(("stream", "token", "problem"), [
    ("NONE", "let-me-in-7", "there is no stream 'NONE'"),
    ("ONE", "hush-hush", "refuses to let us in")])
def test_no_stream_or_no_access(spark, nats_server, tmp_path, stream, token, problem):
    source = config(nats_server, stream, token=token)
    with pytest.raises(Exception, match=problem) as told:
        drain(partial(read_source, spark, source), tmp_path / "checkpoint")
    assert "hush" not in str(told.value)
