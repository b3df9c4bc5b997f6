"""NATS JetStream: published with an id, again if need be, until the stream has acknowledged it."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, unquote

import nats.errors
from nats.aio.client import Client
from nats.js.errors import APIError

from slackwater.core.errors import ConfigError
from slackwater.gateway.forward.base import Done, Forward, largest_event
from slackwater.gateway.letters import digest, number_of

__all__ = ["JetStreamForward"]

_log = logging.getLogger("slackwater.gateway")
_PATIENCE, _ATTEMPT, _FIRST, _CLOSE = 30.0, 3.0, 5.0, 10.0
_AWAY = "the broker cannot be reached"
_TOO_LARGE = 10054  # the server's number for a message larger than its stream takes


class _Never(Exception):  # noqa: N818
    """The server will not take it, however often it is sent."""


class JetStreamForward(Forward):
    """Each event is a message; its arrival is the time at which the server stores it.

    A message that is sent again has the same id, by which the stream knows it (within its window
    for duplicates, two minutes by default).

    Parameters
    ----------
    parts, subject
        The address, taken apart.
    settings
        Further arguments of ``nats.connect``: ``token``, ``user``, ``password``,
        ``user_credentials``.
    shown
        The address without secrets.
    source
        Whose messages of MQTT these are: two gateways may get the same numbers.
    """

    def __init__(self, parts: SplitResult, subject: str, settings: dict[str, str], shown: str,
                 source: str = "") -> None:
        super().__init__(shown, 0)
        self._subject, self._run, self._source = subject, uuid.uuid4().hex, source
        self._last: dict[int, tuple[bytes, int]] = {}  # of each number of MQTT
        self._client = Client()
        self._stream = self._client.jetstream(timeout=_ATTEMPT)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gateway-nats",
                                        daemon=True)
        self._thread.start()
        login: dict[str, Any] = {}
        if parts.username is not None:
            login = ({"token": unquote(parts.username)} if parts.password is None else
                     {"user": unquote(parts.username), "password": unquote(parts.password)})
        host = parts.netloc.rpartition("@")[2]
        self._heard: Exception | None = None  # what the client has said
        self._connecting = asyncio.run_coroutine_threadsafe(
            self._connect(f"{parts.scheme}://{host}", {**login, **settings}), self._loop)
        problem: Exception | None = None
        try:
            self._connecting.result(_FIRST)
        except TimeoutError:  # it goes on trying
            problem = self._heard
        except Exception as error:
            problem = error
        if problem is not None and not _is_away(problem):
            self._close()
            raise ConfigError("the NATS server does not let the gateway in", step="forward",
                              got=f"{shown}: {problem or type(problem).__name__}") from None
        if not self._client.is_connected:
            self._away = _AWAY
            _log.warning("%s: cannot be reached yet", shown)
        self.largest = largest_event(self._client.max_payload)

    async def _connect(self, url: str, options: dict[str, Any]) -> None:
        async def lost() -> None:
            self._away = _AWAY
            _log.warning("%s: connection lost", self.shown)

        async def back() -> None:
            self._away = None

        async def quiet(error: Exception) -> None:
            if self._heard is None or _is_away(self._heard):  # what follows a refusal says less
                self._heard = error
            _log.debug("%s: %r", self.shown, error)

        await self._client.connect(
            url, max_reconnect_attempts=-1, reconnect_time_wait=1, disconnected_cb=lost,
            reconnected_cb=back, error_cb=quiet, allow_reconnect=True, **options)
        self._away = None

    def _send(self, events: list[bytes], first: int, tags: Sequence[int] | None,
              done: Done) -> None:
        if tags is None:
            ids = [f"{self._run}-{number}" for number in range(first, first + len(events))]
        else:
            name = self._message_id(tags[0], events)
            ids = [f"{name}-{n}" for n in range(len(events))]

        async def publish() -> None:
            try:
                problem = await self._publish(list(zip(ids, events, strict=True)))
            except _Never as error:
                done(f"NATS: {error}", for_good=True)
            except Exception as error:  # whatever it was, nobody must wait for ever
                done(f"NATS: {error!r}")
            else:
                done(problem)

        asyncio.run_coroutine_threadsafe(publish(), self._loop)

    def _message_id(self, tag: int, events: list[bytes]) -> str:
        """The id of a message of MQTT: the same when it is delivered again, also after a restart.

        A broker uses its numbers again, and a device may send the same bytes again: a message that
        is not marked as a repetition is another one.
        """
        (number, again), known = number_of(tag), digest(events)
        last, copy = self._last.get(number, (b"", 0))
        copy = 0 if last != known else copy if again else copy + 1
        self._last[number] = known, copy
        return f"{self._source}-{number}-{known.hex()}-{copy}"

    async def _publish(self, messages: list[tuple[str, bytes]]) -> str | None:
        """Publish until all are acknowledged; what is missing after a while is the problem."""
        until, said = time.monotonic() + _PATIENCE, "NATS: no answer"
        while messages and time.monotonic() < until:
            attempts = []
            for name, event in messages:
                try:
                    attempts.append(await self._stream.publish_async(
                        self._subject, event, headers={"Nats-Msg-Id": name}, wait_stall=_ATTEMPT))
                except nats.errors.MaxPayloadError:
                    raise _Never(f"an event of {len(event)} bytes is too large") from None
                except (nats.errors.Error, OSError) as error:
                    said = f"NATS: {error!r}"
                    break
            if attempts:
                await asyncio.wait(attempts, timeout=_ATTEMPT)
            left = messages[len(attempts):]
            for one, attempt in zip(messages, attempts, strict=False):
                if not attempt.done() or attempt.exception() is not None:
                    left.append(one)
                    attempt.cancel()
            messages = left
            if messages and attempts:
                said = await self._ask(*messages[0]) or said
            if messages:
                await asyncio.sleep(0.2)
        return said if messages else None

    async def _ask(self, name: str, event: bytes) -> str | None:
        """Publish one and wait: the client tells only so why the server does not take it."""
        try:
            await self._stream.publish(self._subject, event, timeout=_ATTEMPT,
                                       headers={"Nats-Msg-Id": name})
        except APIError as error:
            if error.err_code == _TOO_LARGE:
                raise _Never(f"an event of {len(event)} bytes is too large") from None
            return f"NATS: {error.description or error!r}"
        except (nats.errors.Error, OSError) as error:
            return f"NATS: {error!r}"
        return None

    def _close(self) -> None:
        self._connecting.cancel()
        # a server that is away has nothing under way
        last = self._client.drain() if self._client.is_connected else self._client.close()
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(last, _CLOSE), self._loop)
        with suppress(Exception):
            future.result(_CLOSE + 5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _is_away(problem: Exception) -> bool:
    """Whether a server may answer later without anybody's doing."""
    return isinstance(problem, OSError) and not isinstance(problem, ssl.SSLError)
