"""The bytes of a connection: in and out, encrypted or not, read only while there is a use for them.

What they mean is the business of `slackwater.gateway.http.connection`.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from ipaddress import ip_address
from typing import TYPE_CHECKING, cast

from slackwater.gateway.http.crowd import Stage
from slackwater.gateway.http.tls import Tls, TlsFailed

if TYPE_CHECKING:
    from slackwater.gateway.http.server import Server

__all__ = ["LINGER_SECONDS", "Wire"]

LINGER_SECONDS = 2.0
_FIRST_READ, _NEXT_READ = 16 << 10, 64 << 10


class Wire(asyncio.BufferedProtocol, ABC):
    """A member of the crowd as the network sees it.

    Parameters
    ----------
    server
        Whose connection it is: limits, certificates, the crowd.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.address = ""
        self.guest = False
        self._stage = Stage.SILENT
        self.since = time.monotonic()
        self.deadline = self.since + server.limits.header_seconds
        self._transport: asyncio.Transport | None = None
        self._tls: Tls | None = None
        self._spoken = False  # has sent a whole request
        # why nothing is read: a pause was asked for, others come first, it is not its turn
        self._resting = self._held = self._in_turn = False
        self._full = self._paused = False

    # -- what a connection makes of the bytes ----------------------------------------------------

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Bytes have come."""

    @abstractmethod
    def _drop(self, size: int) -> None:
        """Bytes have come that nobody needs any more."""

    @abstractmethod
    def _go_on(self) -> None:
        """There is room for answers again."""

    @abstractmethod
    def _forget(self) -> None:
        """The connection is gone."""

    @abstractmethod
    def eof_received(self) -> bool:
        """The other side sends no more; whether something is still to be said."""

    @abstractmethod
    def give_way(self, reason: str) -> None:
        """End it at once."""

    @abstractmethod
    def overdue(self) -> None:
        """Its deadline has passed."""

    @abstractmethod
    def go_on_reading(self) -> None:
        """It was asked to wait, and need not any more."""

    # -- what the event loop calls ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the crowd, or leave."""
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(64 << 10)
        peer = transport.get_extra_info("peername")
        self.address = _address(peer[0]) if peer else ""
        self._server.crowd.join(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """One buffer serves all connections: its bytes are taken before the next read."""
        return self._server.buffer[:_NEXT_READ if self._spoken else _FIRST_READ]

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        if self._transport is None:
            return
        if self._stage is Stage.LEAVING:
            self._drop(nbytes)
            return
        data = bytes(self._server.buffer[:nbytes])
        if self._server.certificates is None:
            self._take(data)
            return
        if self._tls is None:
            self._tls = Tls(self._server.certificates.context, self._transport.write)
        self._tls.feed(data)
        if self._tls.shaken:
            self._decrypt()
        else:
            self._in_turn = True
            self._pace()
            self._server.handshakes.ask(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        self._forget()

    def pause_writing(self) -> None:
        """The other side does not read its answers."""
        self._full = True

    def resume_writing(self) -> None:
        """It does again."""
        self._full = False
        self._go_on()
        self._pace()

    # -- what the crowd calls --------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """What it is about."""
        return self._stage

    def shake_hands(self) -> None:
        """It is its turn to go on with its TLS handshake."""
        self._in_turn = False
        self._decrypt()
        self._pace()

    # -- what a connection does ------------------------------------------------------------------

    def _enter(self, stage: Stage, seconds: float) -> None:
        self._stage, self.since = stage, time.monotonic()
        self.deadline = self.since + seconds

    def _decrypt(self) -> None:
        assert self._tls is not None
        try:
            for data in self._tls.plain():
                self._take(data)
                if self._transport is None:
                    return
        except TlsFailed:
            self._close()
            return
        if self._tls.ended and not self.eof_received():
            self._close()

    def _write(self, data: bytes) -> None:
        if self._transport is None:
            return
        if self._tls is None:
            self._transport.write(data)
        else:
            self._tls.write(data)

    def _pace(self) -> None:
        """Read only while there is a use for what comes."""
        if self._transport is None:
            return
        pause = self._held or self._in_turn or (self._stage is not Stage.LEAVING and (
            self._stage is Stage.BUSY or self._full or self._resting))
        if pause is not self._paused:
            self._paused = pause
            if pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _close(self, *, hard: bool = False) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            if hard or self._full:
                transport.abort()  # what the other side does not read would be kept for ever
            else:
                transport.close()
                # closing waits until what was written has left, however long nobody reads it
                self._server.loop.call_later(LINGER_SECONDS, transport.abort)
        self._forget()


def _address(host: str) -> str:
    """Who is counted as one: an IPv4 address, or the network of an IPv6 address."""
    if ":" not in host:
        return host
    found = ip_address(host.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped) if mapped else found.packed[:8].hex()
