"""The page on the network: one GET for each file, and a stream of changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from slackwater.core.plain import to_json
from slackwater.view.access import Access
from slackwater.view.page import MODULES, POLICY, STYLES, asset, live_page
from slackwater.view.run_view import RunView

__all__ = ["make_app"]

_HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_FILES = {**dict.fromkeys(("uplot.js", *MODULES), "text/javascript"),
          **dict.fromkeys(STYLES, "text/css")}


def make_app(view: RunView, access: Access, *, cookie: str, most_clients: int = 16,
             every: float = 1.0, ends: Callable[[], bool] = lambda: False) -> ASGIApp:
    """The application.

    Parameters
    ----------
    view
        What is shown.
    access
        Who may look.
    cookie
        The name of the cookie that has the token after the first visit.
    most_clients
        Pages that are open at the same time.
    every
        Seconds between changes.
    ends
        Whether the server is about to stop.
    """
    open_pages = 0

    async def page(request: Request) -> Response:
        given = request.query_params.get("token")
        if given is not None:
            # the token leaves the address bar, and so the history and what is copied from there
            answer = RedirectResponse("./", status_code=303)
            answer.set_cookie(cookie, given, httponly=True, samesite="strict", path="/")
            return answer
        return Response(live_page(), media_type="text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _FILES:
            return PlainTextResponse("not found\n", 404)
        return Response(asset(name), media_type=_FILES[name])

    async def model(request: Request) -> Response:
        return Response(_encoded(view.model(time.time())), media_type="application/json")

    async def events(request: Request) -> Response:
        nonlocal open_pages
        if open_pages >= most_clients:
            return PlainTextResponse("too many pages are open; close one\n", 503,
                                     {"Retry-After": "30"})
        return StreamingResponse(changes(), media_type="text/event-stream")

    async def changes() -> AsyncIterator[bytes]:
        nonlocal open_pages
        open_pages += 1
        mark: dict[str, Any] | None = None
        try:
            yield b"retry: 2000\n\n"
            while not ends():
                # a client that is slow to take one change gets fewer and larger ones
                change, mark = view.changes(mark, time.time())
                yield b"data: " + _encoded(change) + b"\n\n"
                await asyncio.sleep(every)
        finally:
            open_pages -= 1

    routes = [Route("/", page), Route("/static/{name}", static), Route("/model.json", model),
              Route("/events", events)]
    return _Guard(Starlette(routes=routes), access, cookie)


def _encoded(value: Any) -> bytes:
    # half a character of an odd name cannot be written
    return to_json(value).encode("utf-8", "replace")


class _Guard:
    """Before anything else: the right host, GET, and the token."""

    def __init__(self, app: ASGIApp, access: Access, cookie: str) -> None:
        self._app, self._access, self._cookie = app, access, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        refusal = self._refusal(request)

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *(
                    (name.lower().encode(), value.encode()) for name, value in _HEADERS.items())]
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if not self._access.knows_host(request.headers.get("host")):
            return PlainTextResponse("this host name is not served; --allow-host NAME serves it\n",
                                     421)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("only GET\n", 405, {"Allow": "GET, HEAD"})
        given = request.query_params.get("token") if request.url.path == "/" else None
        if not self._access.admits(given or request.cookies.get(self._cookie)):
            return PlainTextResponse("open the address with the token that slackwater printed\n",
                                     401)
        return None
