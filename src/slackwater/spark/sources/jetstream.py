"""A JetStream stream read by its sequence numbers, through restarts of its server."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from slackwater.core.errors import ConfigError, DataError

__all__ = ["Access", "JetStream", "Message", "StreamState"]

T = TypeVar("T")
PATIENCE = 60.0  # seconds: a server that restarts is back by then
_FETCH = 5_000   # messages asked for at once
_LIST = 20_000   # and handed on
_ANSWER = 5.0    # seconds for one request
_NO_STREAM = 10059  # the server's code


@dataclass(frozen=True)
class Access:
    """Which stream, and how to be let in."""

    servers: tuple[str, ...]
    stream: str
    subject: str | None = None
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class StreamState:
    """The stream holds messages `first` … `next` − 1, without those `deleted`.

    `mean` is the size of a message in bytes, as the server keeps it.
    """

    first: int
    next: int
    deleted: tuple[int, ...]
    last_time: int
    mean: float = 0.0


@dataclass(frozen=True)
class Message:
    """A message's number, its time (microseconds) and its bytes."""

    sequence: int
    time: int
    value: bytes


class _TornError(Exception):
    """The delivery has a hole that is not one of the stream: ask again from there."""


class JetStream:
    """A connection that is opened when first used and again when it breaks."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None
        self._broken = asyncio.Event()

    def close(self) -> None:
        """Let the server know, if it is there."""
        if self._loop is not None:
            self._loop.run_until_complete(self._disconnect())
            self._loop.run_until_complete(_end_tasks())
            self._loop.close()
            self._loop = None

    def state(self) -> StreamState:
        """Which messages the stream holds now."""
        return self._lasting(self._state)

    def messages(self, start: int, end: int) -> Iterator[list[Message]]:
        """Messages `start` … `end` − 1 of the subject, in lists; deleted ones are not there."""
        at = start
        while at < end:
            found, at = self._lasting(partial(self._some, at, end))
            if found:
                yield found

    def _lasting(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, asked for again while the server is away."""
        import nats.errors
        import nats.js.errors

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self._loop.run_until_complete(self._connected(ask))
            except (nats.errors.Error, OSError, TimeoutError, _TornError) as error:
                # no cause: the client's errors may hold the address, with its password
                self._loop.run_until_complete(self._disconnect())
                if getattr(error, "err_code", None) == _NO_STREAM:
                    raise ConfigError(f"there is no stream {self._access.stream!r}", step="nats",
                                      hint="it must exist before it can be read") from None
                if "Authorization" in str(error):
                    raise ConfigError("the server refuses to let us in", step="nats",
                                      hint="see token, or user and password") from None
                if time.monotonic() > until:
                    raise DataError(f"the server has not answered for {PATIENCE:.0f} s",
                                    step="nats", got=type(error).__name__) from None
                time.sleep(0.2)

    async def _connected(self, ask: Callable[[], Awaitable[T]]) -> T:
        import nats
        import nats.errors

        if self._client is None:
            access, self._broken = self._access, asyncio.Event()
            asked = {"token": access.token, "user": access.user, "password": access.password}
            self._client = await nats.connect(
                list(access.servers), allow_reconnect=False, connect_timeout=_ANSWER,
                error_cb=_nothing, closed_cb=self._closed,
                **{k: v for k, v in asked.items() if v is not None})
        # a request on a connection that has broken would wait for its whole time
        answer = asyncio.ensure_future(ask())
        broken = asyncio.ensure_future(self._broken.wait())
        await asyncio.wait({answer, broken}, return_when=asyncio.FIRST_COMPLETED)
        broken.cancel()
        if not answer.done():
            answer.cancel()
            await asyncio.wait({answer}, timeout=_ANSWER)
            raise nats.errors.ConnectionClosedError
        return await answer

    async def _closed(self) -> None:
        self._broken.set()

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # it may be broken: that may be why it is closed
                await asyncio.wait_for(client.close(), _ANSWER)

    async def _state(self) -> StreamState:
        import nats.js.errors

        # the library's own call does not ask for the numbers of deleted messages
        answer = await self._client.request(
            f"$JS.API.STREAM.INFO.{self._access.stream}", b'{"deleted_details": true}',
            timeout=_ANSWER)
        info = json.loads(answer.data)
        if error := info.get("error"):
            raise nats.js.errors.APIError.from_error(error)
        kept = info["config"].get("retention", "limits")
        if kept != "limits":
            raise ConfigError("a stream whose messages go away when read cannot be read again "
                              "after a crash", step="nats", expected="retention: limits",
                              got=f"retention: {kept}")
        state = info["state"]
        return StreamState(max(state["first_seq"], 1), state["last_seq"] + 1,
                           tuple(state.get("deleted") or ()), _micros(state.get("last_ts", "")),
                           state["bytes"] / max(state["messages"], 1))

    async def _some(self, start: int, end: int) -> tuple[list[Message], int]:
        """A list of messages from `start` on, and where to go on."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        stream, client = self._access.stream, self._client
        context = client.jetstream(timeout=_ANSWER)
        consumer = await context.add_consumer(stream, ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start,
            ack_policy=AckPolicy.NONE, filter_subject=self._access.subject, mem_storage=True,
            inactive_threshold=60.0))
        delivery = _Delivery()
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox, cb=delivery.heard)
        waiting = consumer.num_pending or 0
        found: list[Message] = []
        try:
            while waiting and start < end and len(found) < _LIST:
                asked = min(waiting, _FETCH, end - start)
                delivery.expect(asked)
                await client.publish(
                    f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer.name}", json.dumps(
                        {"batch": asked, "expires": int(_ANSWER * 1e9)}).encode(), reply=inbox)
                for one, behind in await delivery.all_come():
                    if one.sequence >= end:
                        return found, end
                    found.append(one)
                    start, waiting = one.sequence + 1, behind
        finally:
            # where this fails, the server forgets the consumer by itself after a while
            with suppress(Exception):
                await subscription.unsubscribe()
                await context.delete_consumer(stream, consumer.name)
        return found, start if waiting else end


class _Delivery:
    """Messages of a consumer as they come; the library's own `fetch` takes nine times as long."""

    def __init__(self) -> None:
        self._delivered = 0
        self._asked = 0
        self._come: list[tuple[Message, int]] = []
        self._done = asyncio.Event()
        self._torn = False

    def expect(self, messages: int) -> None:
        """So many are asked for now."""
        self._asked, self._come = messages, []
        self._done.clear()

    async def heard(self, message: Any) -> None:
        """One has come, or word that no more will."""
        if not message.reply.startswith("$JS.ACK."):
            self._torn = True
        else:
            one, number, pending = _place(message)
            self._delivered += 1
            # a hole in the consumer's own numbers is one of the way, not of the stream
            self._torn = self._torn or number != self._delivered
            self._come.append((one, pending))
        if self._torn or len(self._come) == self._asked:
            self._done.set()

    async def all_come(self) -> list[tuple[Message, int]]:
        """What was asked for, each with how many wait behind it."""
        await asyncio.wait_for(self._done.wait(), _ANSWER)
        if self._torn:
            raise _TornError
        return self._come


async def _end_tasks() -> None:
    """What a connection that broke has left behind."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _nothing(_error: Exception) -> None:
    """The client would print it; the call that fails tells it better."""


def _place(message: Any) -> tuple[Message, int, int]:
    """A message, its number in the delivery, and how many wait behind it.

    The reply address says it: ``$JS.ACK.[domain.account.]stream.consumer.tries.stream-sequence.
    delivery-sequence.nanoseconds.pending``.
    """
    words = message.reply.split(".")
    at = 5 if len(words) == 9 else 7
    sequence, number, nanos, pending = (int(word) for word in words[at:at + 4])
    return Message(sequence, nanos // 1000, message.data), number, pending


def _micros(text: str) -> int:
    """Microseconds of the server's time text, which has nanoseconds."""
    if not text or text.startswith("0001"):
        return 0
    whole, _, fraction = text.rstrip("Z").partition(".")
    moment = dt.datetime.fromisoformat(whole).replace(tzinfo=dt.UTC)
    return int(moment.timestamp()) * 1_000_000 + int((fraction + "000000")[:6])
