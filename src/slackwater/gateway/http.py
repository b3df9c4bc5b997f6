"""HTTP in front of the log: an answer means that the events it counts are durable."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slackwater.gateway.admit import Admitted, BadBody, admit
from slackwater.gateway.config import GatewayConfig
from slackwater.gateway.log import Backlogged, Log, LogFailed
from slackwater.gateway.metrics import Tally, prometheus
from slackwater.gateway.openapi import description

__all__ = ["make_app"]

_log = logging.getLogger("slackwater.gateway")
_LINES = {"application/x-ndjson", "application/ndjson", "application/jsonl",
          "application/x-jsonlines"}
_BODY_SECONDS = 30.0
_DRAINED = 64 << 20
_IN_FLIGHT = 128 << 20

Lifespan = Callable[[], Awaitable[None]]


class _Refused(Exception):  # noqa: N818
    """An answer that ends the request."""

    def __init__(self, status: int, error: str, *, found: Admitted | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.found = status, error, found


def make_app(log: Log, config: GatewayConfig, tally: Tally, *, started: Lifespan | None = None,
             stopping: Lifespan | None = None) -> ASGIApp:
    """The ASGI application of a gateway.

    Parameters
    ----------
    log
        Where events go.
    config
        Tokens and limits.
    tally
        What it counts into.
    started, stopping
        Called when the server is up, and before it goes down.
    """
    door = _Door(log, config, tally)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if started is not None:
            await started()
        yield
        if stopping is not None:
            await stopping()

    app = Starlette(
        routes=[Route("/events", door.events, methods=["POST"]),
                Route("/health", door.health), Route("/metrics", door.metrics),
                Route("/openapi.json", door.openapi)],
        exception_handlers={HTTPException: _http_error, Exception: _unexpected},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return _Guard(app, config.tokens, tally)


class _Guard:
    """Lets in who has a token, and counts answers.  Health is open: it tells nothing of data."""

    def __init__(self, app: ASGIApp, tokens: tuple[str, ...], tally: Tally) -> None:
        self._app, self._tally = app, tally
        self._tokens = [token.encode() for token in tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._tally.requests[message["status"]] += 1
            await send(message)

        if self._tokens and scope["path"] != "/health" and not self._known(scope):
            answer = _answer(401, {"error": "the bearer token is missing or wrong"},
                             {"WWW-Authenticate": "Bearer"})
            await answer(scope, receive, counted)
            return
        await self._app(scope, receive, counted)

    def _known(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        token = token.strip()
        # every token is compared, each in constant time: the time tells nothing
        matches = [hmac.compare_digest(token, known) for known in self._tokens]
        return scheme.lower() == b"bearer" and any(matches)


class _Door:
    def __init__(self, log: Log, config: GatewayConfig, tally: Tally) -> None:
        self._log, self._config, self._tally = log, config, tally
        self._in_flight = 0
        self._openapi = orjson.dumps(description(
            secured=bool(config.tokens), required=config.rules.required,
            max_batch=config.max_batch))

    async def events(self, request: Request) -> Response:
        """POST /events."""
        try:
            lines = _takes_lines(request)
            declared = self._declared(request)
            reserved = self._config.max_body if declared is None else declared
            if self._in_flight + reserved > max(_IN_FLIGHT, reserved):
                raise Backlogged("too many requests at once")
            if (reason := self._log.refusing) is not None:
                raise Backlogged(reason)
            self._in_flight += reserved
            try:
                return await self._take(request, lines)
            finally:
                self._in_flight -= reserved
        except _Refused as refused:
            await self._drain(request)
            return _result(refused.status, refused.found or Admitted(), 0, refused.error)
        except Backlogged as error:
            await self._drain(request)
            return _result(429, Admitted(), 0, error.problem)
        except LogFailed as error:
            return _result(503, Admitted(), 0, error.problem)

    async def _take(self, request: Request, lines: bool) -> Response:
        body = await self._body(request)
        try:
            found = admit(body, self._config.rules, lines=lines)
        except BadBody as error:
            raise _Refused(400, f"is not a batch of events: {error}") from error
        if found.count > self._config.max_batch:
            raise _Refused(413, f"{found.count} events; at most {self._config.max_batch} are taken")
        if found.events:
            await asyncio.wrap_future(self._log.append(found.events))
        self._tally.accepted["http"] += len(found.events)
        self._tally.refused["http"] += len(found.refused)
        if not found.refused:
            return _result(200, found, len(found.events))
        if found.events:
            return _result(207, found, len(found.events))
        if found.too_large == found.count:
            raise _Refused(413, "the event is too large", found=found)
        if not lines and found.count == 1 and found.refused[0][1].startswith("is not JSON"):
            raise _Refused(400, found.refused[0][1], found=found)
        raise _Refused(422, "no event could be accepted", found=found)

    def _declared(self, request: Request) -> int | None:
        text = request.headers.get("content-length")
        if text is None:
            return None
        if not text.isdigit():
            raise _Refused(400, "the content length is not a number")
        if int(text) > self._config.max_body:
            raise self._too_large()
        return int(text)

    def _too_large(self) -> _Refused:
        return _Refused(413, f"the body is too large; at most {self._config.max_body} bytes")

    async def _body(self, request: Request) -> bytes:
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self._config.max_body:
                        raise self._too_large()
                    chunks.append(chunk)
            request.state.read = True
        except TimeoutError:
            raise _Refused(408, f"the body did not come within {_BODY_SECONDS:g} s") from None
        except ClientDisconnect:
            request.state.read = True
            raise _Refused(400, "the sender left before the body was there") from None
        return b"".join(chunks)

    async def _drain(self, request: Request) -> None:
        """Read what is left of a refused body, so that its sender lives to read the answer."""
        declared = request.headers.get("content-length", "")
        if (getattr(request.state, "read", False) or request.headers.get("expect")
                or (declared.isdigit() and int(declared) > _DRAINED)):
            return
        size = 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while size < _DRAINED:
                    message = await request.receive()
                    size += len(message.get("body", b""))
                    if message["type"] != "http.request" or not message.get("more_body"):
                        return
        except TimeoutError:
            return

    async def health(self, _: Request) -> Response:
        """GET /health."""
        if self._log.failed is not None:
            return _answer(503, {"status": "failed", "reason": self._log.failed})
        if (reason := self._log.refusing) is not None:
            return _answer(200, {"status": "refusing", "reason": reason})
        return _answer(200, {"status": "ok"})

    async def metrics(self, _: Request) -> Response:
        """GET /metrics."""
        return Response(prometheus(self._log, self._tally), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        """GET /openapi.json."""
        return Response(self._openapi, media_type="application/json")


def _takes_lines(request: Request) -> bool:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    charset = parameters.lower().replace(" ", "").replace('"', "").partition("charset=")[2]
    if kind != "application/json" and kind not in _LINES:
        raise _Refused(415, "send application/json or application/x-ndjson, not "
                            + (kind.encode("ascii", "replace").decode() or "a nameless type"))
    if charset.partition(";")[0] not in ("", "utf-8", "utf8", "us-ascii"):
        raise _Refused(415, "send UTF-8")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise _Refused(415, "send the body uncompressed")
    return kind in _LINES


def _result(status: int, found: Admitted, accepted: int, error: str | None = None) -> Response:
    body: dict[str, Any] = {
        "accepted": accepted,
        "refused": [{"index": index, "reason": reason} for index, reason in found.refused]}
    if error is not None:
        body["error"] = error
    return _answer(status, body, {"Retry-After": "1"} if status == 429 else None)


def _answer(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, "application/json")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers) if error.headers else None
    return _answer(error.status_code, {"error": error.detail.lower()}, headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s: %r", request.method, request.url.path, error)
    return _answer(500, {"error": "the gateway made a mistake; nothing is known to be durable"})
