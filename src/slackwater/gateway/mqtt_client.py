"""An MQTT client that holds no message larger than it may, and outlives a broker's mistakes.

The protocol allows messages of 256 MB and the client library keeps each whole before anyone sees
it.  Here the bytes pass by first: of a message that is too large only the beginning reaches the
library, as a shorter message, and the rest is dropped as it comes in.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import MQTTErrorCode

__all__ = ["BoundedClient"]

_log = logging.getLogger("slackwater.gateway")
_PUBLISH, _QOS_2 = 0x30, 0x04
_TOPIC = 2 + 65535 + 2  # what stands before a payload at most
_KEPT = _TOPIC + (64 << 10)
_MOST_OTHER = 64 << 10  # no other packet that a subscriber gets is as long
_DROP_AT_ONCE = 64 << 10


class _State(Enum):
    COMMAND = 0
    LENGTH = 1
    REST = 2


class _Poll:
    """What the library needs of the module `select`, by poll.

    `select.select` takes no descriptor above 1023, and a gateway with a thousand connections has
    such: a broker that was lost would not be reached again while they stay.
    """

    @staticmethod
    def select(readers: Sequence[Any], writers: Sequence[Any], _: Sequence[Any], timeout: float
               ) -> tuple[list[Any], list[Any], list[Any]]:
        """The readers and the writers that are ready, or have ended."""
        asked = select.poll()
        for one in {*readers, *writers}:
            asked.register(one, (select.POLLIN if one in readers else 0)
                           | (select.POLLOUT if one in writers else 0))
        found = dict(asked.poll(timeout * 1000))
        ended = select.POLLERR | select.POLLHUP | select.POLLNVAL
        return ([one for one in readers if found.get(one.fileno(), 0) & (select.POLLIN | ended)],
                [one for one in writers if found.get(one.fileno(), 0) & (select.POLLOUT | ended)],
                [])


paho.select = _Poll  # type: ignore


class BoundedClient(paho.Client):
    """paho's client with a bound on the size of messages.

    Parameters
    ----------
    largest
        Bytes of a payload.
    """

    def __init__(self, *arguments: Any, largest: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bound = _Bound(largest)

    @property
    def cut(self) -> int | None:
        """Of the message that is being delivered: its size, if only its beginning is here."""
        return self._bound.cut

    def reconnect(self) -> Any:
        """Begin anew; a packet that a break cut off does not go on."""
        self._bound.restart()
        return super().reconnect()

    def _packet_handle(self) -> MQTTErrorCode:
        try:
            return super()._packet_handle()
        except Exception as error:  # else it would end the library's thread, and all of MQTT
            _log.error("the MQTT broker sends a packet that cannot be read: %r", error)
            return MQTTErrorCode.MQTT_ERR_PROTOCOL

    def _sock_recv(self, bufsize: int) -> bytes:
        return self._bound.receive(bufsize, super()._sock_recv)


class _Bound:
    """Sees a broker's packets pass: one byte, a length byte by byte, then the rest."""

    def __init__(self, largest: int) -> None:
        self._largest = max(largest, _KEPT)
        self.restart()

    def restart(self) -> None:
        self._state = _State.COMMAND
        self._command = self._left = self._drop = 0
        self._coded = bytearray()  # a packet's length as it came
        self._ready = bytearray()  # a packet's length as the library gets it
        self.cut: int | None = None

    def receive(self, size: int, read: Callable[[int], bytes]) -> bytes:
        while self._drop:
            gone = read(min(self._drop, _DROP_AT_ONCE))
            if not gone:
                return b""
            self._drop -= len(gone)
        if self._state is _State.COMMAND:
            data = read(1)
            if data:
                self._command, self.cut, self._state = data[0], None, _State.LENGTH
            return data
        if self._state is _State.LENGTH:
            return self._length_byte(read)
        data = read(min(size, self._left))
        self._left -= len(data)
        if not self._left:
            self._state = _State.COMMAND
            self._drop = 0 if self.cut is None else self.cut - _KEPT
        return data

    def _length_byte(self, read: Callable[[int], bytes]) -> bytes:
        while not self._ready:
            byte = read(1)
            if not byte:
                return b""
            self._coded += byte
            if len(self._coded) > 4:
                raise ConnectionError("the length of a packet cannot be read")
            if byte[0] < 128:
                self._judge(sum((b & 127) << (7 * n) for n, b in enumerate(self._coded)))
                self._coded.clear()
        byte = bytes(self._ready[:1])
        del self._ready[:1]
        if not self._ready:
            self._state = _State.REST if self._left else _State.COMMAND
        return byte

    def _judge(self, size: int) -> None:
        if self._command & 0xF0 != _PUBLISH:
            if size > _MOST_OTHER:
                raise ConnectionError("the broker sends a packet that is too long")
        elif self._command & _QOS_2:
            raise ConnectionError("the broker sends at QoS 2, which was not asked for")
        self._left = size
        if size > self._largest + _TOPIC:
            self.cut, self._left = size, _KEPT
        left = self._left
        while True:
            left, low = left >> 7, left & 127
            self._ready.append(low | (128 if left else 0))
            if not left:
                return
