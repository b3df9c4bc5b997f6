"""One connection's requests: read, handed to the routes, answered, everything within its time.

A request is worked on before the next one is read, so what a connection can make the gateway hold
is one head, one body and one read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from slackwater.gateway.http.answer import CONTINUE, Answer, Refused, error
from slackwater.gateway.http.body import Body
from slackwater.gateway.http.crowd import Stage
from slackwater.gateway.http.head import Head, read_head
from slackwater.gateway.http.routes import EVENTS
from slackwater.gateway.http.wire import LINGER_SECONDS, Wire

if TYPE_CHECKING:
    from slackwater.gateway.http.server import Server

__all__ = ["Connection"]

_LINGER_BYTES, _STRANGER_BYTES = 64 << 20, 256 << 10
# before a wrong token is answered; the more strangers wait for that, the longer each does
_STRANGER_PAUSE, _FEW_STRANGERS = 0.1, 20
# requests of one connection that are worked on in a row, and those that may lie ahead of their
# answers before the connection has to wait: nobody needs to send thousands without listening
_AT_ONCE, _AHEAD, _AHEAD_PAUSE, _AHEAD_FEW = 2, 32, 0.005, 8
_DROPPED = 1 << 20
_EMPTY_LINES = 2
_BETWEEN = (Stage.SILENT, Stage.IDLE, Stage.HEAD)


class Connection(Wire):
    """A member of the crowd: requests one after another, each answered.

    Parameters
    ----------
    server
        Whose connection it is: limits, routes, the crowd and its room.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._limits = server.limits
        self._bytes = bytearray()  # of a head, or behind a request that is being worked on
        self._head: Head | None = None
        self._body: Body | None = None
        self._taken = 0  # to tell an answer that comes too late from one that is waited for
        self._verdict: Answer | None = None  # what a body that is only dropped will get
        self._ahead = 0
        self._refusal: asyncio.TimerHandle | None = None  # of a wrong token: said after a while
        self._known = False  # has shown a token, where one is needed
        self._working = self._ended = False
        self._lingered = 0

    # -- what the event loop calls ---------------------------------------------------------------

    def eof_received(self) -> bool:
        """The other side sends no more; an answer that is under way still reaches it."""
        self._ended = True
        return self._stage is Stage.BUSY or self._refusal is not None

    # -- what the crowd calls --------------------------------------------------------------------

    def give_way(self, reason: str) -> None:
        """End at once; a request that was begun is answered, if that needs no waiting."""
        if self._stage is Stage.BODY:
            self._write(error(408, reason).encoded(keep_alive=False))
        self._close()

    def overdue(self) -> None:
        """End, with a word where somebody may be listening."""
        if self._stage is Stage.BUSY:
            self._taken += 1  # whatever comes of it, nobody hears it any more
            self._answer(self._server.routes.in_doubt(), last=True)
        elif self._stage is Stage.BODY:
            self._answer(error(408, "the body did not come in time"), last=True)
        elif self._bytes and self._stage is not Stage.LEAVING:
            self._answer(error(408, "the head did not come in time"), last=True)
        else:
            self._close(hard=True)

    def go_on_reading(self) -> None:
        """There is time for a large body again."""
        if self._stage is Stage.BODY:
            self._held = False
            self._pace()

    # -- requests --------------------------------------------------------------------------------

    def _take(self, data: bytes) -> None:
        if self._stage is Stage.LEAVING:
            self._drop(len(data))
        elif self._stage is Stage.BODY:
            self._take_body(data)
        else:
            self._bytes += data
            if self._stage is Stage.BUSY or self._resting:
                self._pace()  # what it sends ahead of its answer can wait
            else:
                self._go_on()

    def _drop(self, size: int) -> None:
        """Bytes that come after the last answer: read for a while, so that it is not lost."""
        self._lingered += size
        if self._lingered > (_LINGER_BYTES if self._known else _STRANGER_BYTES):
            # who goes on sending has to wait for the end, and costs nothing until then
            self._held = True
            self._pace()

    def _go_on(self) -> None:
        """Work on the requests whose bytes are here, until one has to be waited for."""
        if self._working or self._resting or self._stage not in _BETWEEN:
            return  # an answer was given at once, the loop below goes on by itself; or it waits
        if not self._bytes:
            self._ahead = 0
        elif self._ahead > _AHEAD:
            self._resting = True
            self._server.ahead += 1  # the more of them, the longer each waits
            self._server.loop.call_later(_AHEAD_PAUSE * (1 + self._server.ahead / _AHEAD_FEW),
                                         self._caught_up)
            self._pace()
            return
        self._working = True
        try:
            for _ in range(_AT_ONCE):
                if (not self._bytes or self._full or self._resting or self._transport is None
                        or self._stage not in _BETWEEN or not self._take_head()):
                    break
                self._ahead += bool(self._bytes)
            else:
                self._server.loop.call_soon(self._go_on)  # others have a turn first
        finally:
            self._working = False
        self._pace()

    def _take_head(self) -> bool:
        for _ in range(_EMPTY_LINES):  # some senders end a body with one
            if self._bytes.startswith(b"\r\n"):
                del self._bytes[:2]
        end = self._bytes.find(b"\r\n\r\n", 0, self._limits.max_header + 4)
        if end < 0:
            if len(self._bytes) > self._limits.max_header:
                self._answer(error(431, "the head is too large; at most "
                                        f"{self._limits.max_header} bytes"), last=True)
            elif self._stage is Stage.IDLE and self._bytes:
                self._enter(Stage.HEAD, self._limits.header_seconds)
            return False
        data = bytes(self._bytes[:end])
        del self._bytes[:end + 4]
        try:
            self._head = head = read_head(data)
        except Refused as refused:
            self._answer(refused.answer, last=True)
            return False
        refusal = self._server.routes.refusal(head, guest=self.guest)
        if refusal is not None and refusal.status == 401:
            self._keep_waiting(refusal, last=head.has_body or not head.keep_alive)
            return False
        self._known = True
        if not self._spoken:
            self._spoken = True
            self._server.crowd.spoke(self)
        # from here on the request is known, and its body has the rest of the time
        self._enter(Stage.BODY, self._limits.body_seconds)
        if refusal is not None and not self._can_drop(head, refusal):
            self._answer(refusal, last=head.has_body or not head.keep_alive)
            return self._stage in _BETWEEN
        self._verdict = refusal
        self._body = Body(None if head.chunked else head.length or 0, self._server.max_body,
                          drop=refusal is not None)
        if head.waits and not self._bytes:
            self._write(CONTINUE)
        # no more than the body's own bytes: behind it there may be many requests
        size = len(self._bytes) if head.chunked else min(head.length or 0, len(self._bytes))
        begun = bytes(self._bytes[:size])
        del self._bytes[:size]
        self._take_body(begun)
        return True

    def _can_drop(self, head: Head, refusal: Answer) -> bool:
        """Whether to read a refused body, so that the connection can go on."""
        return (head.has_body and not head.waits and head.path == EVENTS
                and head.length is not None and head.length <= min(_DROPPED, self._server.max_body))

    def _keep_waiting(self, refusal: Answer, *, last: bool) -> None:
        """Answer a wrong token only after a while, so that guessing takes time.

        A pause after the answer would not do: for the next guess there is a new connection.
        """
        self._server.strangers += 1
        pause = _STRANGER_PAUSE * (1 + self._server.strangers / _FEW_STRANGERS)
        self._enter(self._stage, pause + self._limits.header_seconds)
        self._resting = True
        self._pace()
        self._refusal = self._server.loop.call_later(pause, self._refuse, refusal, last)

    def _refuse(self, refusal: Answer, last: bool) -> None:
        self._wait_no_more()
        self._resting = False
        if self._stage in _BETWEEN:
            self._answer(refusal, last=last)

    def _wait_no_more(self) -> None:
        if self._refusal is not None:
            self._refusal.cancel()
            self._refusal = None
            self._server.strangers -= 1

    def _caught_up(self) -> None:
        self._server.ahead -= 1
        self._rested()

    def _rested(self) -> None:
        self._resting = False
        self._ahead = max(self._ahead - _AT_ONCE, 0)
        if self._transport is not None:
            self._go_on()

    def _take_body(self, data: bytes) -> None:
        body, head = self._body, self._head
        assert body is not None
        assert head is not None
        try:
            rest = body.feed(data)
            if not self._server.room.grow(self, len(body.data)):
                raise Refused(429, "too many large requests at once", **{"retry-after": "1"})
        except Refused as refused:
            self._answer(refused.answer, last=True)
            return
        if not body.whole:
            if not self._server.intake.take(self, len(body.data), len(data)):
                self._held = True
                self._pace()
            return
        if rest:
            self._bytes[:0] = rest
        self._body = None
        if self._verdict is not None:
            self._answer(self._verdict, last=not head.keep_alive)
            return
        self._enter(Stage.BUSY, self._limits.request_seconds)
        if body.data:
            self._server.intake.small(len(body.data))
        self._taken += 1
        number = self._taken
        self._server.routes.handle(
            head, bytes(body.data), lambda answer: self._answer_to(number, answer))

    # -- answers ---------------------------------------------------------------------------------

    def _answer_to(self, number: int, answer: Answer) -> None:
        if number == self._taken and self._stage is Stage.BUSY:
            assert self._head is not None
            self._answer(answer, last=not self._head.keep_alive)

    def _answer(self, answer: Answer, *, last: bool) -> None:
        self._server.room.free(self)
        self._server.tally.requests[answer.status] += 1
        if self._transport is None:
            return
        last = last or self._ended or self.guest or self._server.stopping
        bodiless = self._head is not None and self._head.method == "HEAD"
        self._write(answer.encoded(keep_alive=not last, bodiless=bodiless))
        self._head = self._body = self._verdict = None
        if last:
            self._linger()
            return
        self._enter(Stage.IDLE, self._limits.idle_seconds)
        self._go_on()

    def _linger(self) -> None:
        """Let the answer be read: closed with bytes unread, the connection is reset instead."""
        self._bytes.clear()
        self._held = False
        self._enter(Stage.LEAVING, LINGER_SECONDS)
        transport = self._transport
        if transport is None:
            return
        if self._tls is not None:
            self._tls.close()
        if transport.can_write_eof():
            transport.write_eof()
        self._pace()

    def _forget(self) -> None:
        self._transport = None
        self._taken += 1
        self._bytes.clear()
        self._body = None
        self._wait_no_more()
        self._server.room.free(self)
        self._server.handshakes.leave(self)
        self._server.crowd.leave(self)
