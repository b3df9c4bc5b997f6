"""The listening socket, the connections behind it, and what is looked at now and then."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from slackwater.gateway.config import HttpLimits
from slackwater.gateway.http.connection import Connection
from slackwater.gateway.http.crowd import Crowd, Stage
from slackwater.gateway.http.room import Handshakes, Intake, Room
from slackwater.gateway.http.routes import Routes
from slackwater.gateway.http.tls import Certificates
from slackwater.gateway.metrics import Tally

__all__ = ["Server"]

_log = logging.getLogger("slackwater.gateway")
_SWEEP_SECONDS, _RELOAD_SECONDS, _STOP_SECONDS, _REFILL_SECONDS = 0.25, 2.0, 10.0, 0.02
_READ = 64 << 10


class Server:
    """HTTP on one socket.

    Parameters
    ----------
    routes
        Answers requests.
    limits
        Of connections.
    max_body
        Bytes of a body.
    tally
        What is counted into.
    certificates
        For TLS; None: plain HTTP.
    reload
        Called now and then, and on request: reads tokens again.
    """

    def __init__(self, routes: Routes, limits: HttpLimits, max_body: int, tally: Tally, *,
                 certificates: Certificates | None = None,
                 reload: Callable[[], None] = lambda: None) -> None:
        self.routes, self.limits, self.max_body, self.tally = routes, limits, max_body, tally
        self.certificates, self._reload = certificates, reload
        self.loop = asyncio.get_running_loop()
        self.crowd = Crowd(limits.max_connections, limits.max_per_address)
        self.room = Room(max(limits.room, 2 * max_body))
        self.intake = Intake()
        self.handshakes = Handshakes(lambda: self.intake.beside)
        self.buffer = memoryview(bytearray(_READ))
        self.strangers = 0  # connections that wait for the answer to a wrong token
        self.ahead = 0  # connections that wait because they sent too much ahead of their answers
        self.stopping = False
        self._server: asyncio.Server | None = None

    async def start(self, door: socket.socket) -> None:
        """Take connections."""
        self._server = await self.loop.create_server(lambda: Connection(self), sock=door,
                                                     backlog=4096)
        self._every(_SWEEP_SECONDS, self.crowd.sweep)
        self._every(_REFILL_SECONDS, self.intake.refill)
        if self.certificates is not None:
            self._every(_REFILL_SECONDS, self.handshakes.refill)
        self._every(_RELOAD_SECONDS, self.reload)

    async def stop(self) -> None:
        """Take no more connections, give the answers that are under way, and end."""
        self.stopping = True
        assert self._server is not None
        self._server.close()
        for member in list(self.crowd.members):
            if member.stage is not Stage.BUSY:
                member.give_way("the gateway is stopping")
        until = self.loop.time() + _STOP_SECONDS
        while any(m.stage is Stage.BUSY for m in self.crowd.members) and self.loop.time() < until:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0)  # what was written last leaves
        for member in list(self.crowd.members):
            member.give_way("the gateway is stopping")

    def reload(self) -> None:
        """Read certificates and tokens again where their files have changed."""
        if self.certificates is not None:
            self.certificates.reload()
        self._reload()

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        def again() -> None:
            if self.stopping:
                return
            try:
                call()
            except Exception:  # the next time may be better; without it nothing would end in time
                _log.exception("a regular look failed")
            self.loop.call_later(seconds, again)

        self.loop.call_later(seconds, again)
