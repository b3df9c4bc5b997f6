"""The page's server in a thread, beside a run or a command."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from slackwater.core.errors import ConfigError
from slackwater.view.access import Access
from slackwater.view.app import make_app
from slackwater.view.run_view import RunView

__all__ = ["address_of", "serve_view"]

_CONNECTIONS = 64
_PATIENCE = 10.0  # seconds for the server to start


def address_of(text: str) -> tuple[str, int]:
    """Host and port as an option gives them: ``HOST:PORT``, ``HOST``, ``PORT`` or ``:PORT``.

    Examples
    --------
    >>> address_of(""), address_of("8080"), address_of("0.0.0.0:80"), address_of("[::1]:5")
    (('127.0.0.1', 0), ('127.0.0.1', 8080), ('0.0.0.0', 80), ('::1', 5))
    """
    host, colon, port = text.rpartition(":")
    if text.endswith("]") or (not colon and not text.isdigit()):
        host, port = text, ""
    if (port and not (port.isascii() and port.isdigit() and int(port) < 65536)) or (
            ":" in host and not host.startswith("[")):
        raise ConfigError("is not an address", step="dashboard", expected="HOST:PORT", got=text,
                          hint="an IPv6 address stands in brackets: [::1]:8080")
    return host.strip("[]") or "127.0.0.1", int(port or 0)


@contextmanager
def serve_view(view: RunView, host: str = "127.0.0.1", port: int = 0, *,
               access: Access | None = None, most_clients: int = 16,
               every: float = 1.0) -> Iterator[str]:
    """Show a run while the context lasts; gives the address to open, with the token."""
    access = Access() if access is None else access
    listening = _bound(host, port)
    try:
        port = int(listening.getsockname()[1])
        server: uvicorn.Server
        app = make_app(view, access, cookie=f"slackwater-{port}", most_clients=most_clients,
                       every=every, ends=lambda: server.should_exit)
        server = uvicorn.Server(uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan="off", ws="none",
            server_header=False, limit_concurrency=_CONNECTIONS, proxy_headers=False,
            timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]},
                                  name="slackwater-dashboard", daemon=True)
        thread.start()
        until = time.monotonic() + _PATIENCE
        while not server.started and thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield _url(host, port, access)
        finally:
            server.should_exit = True
            thread.join()
    finally:
        listening.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot bind the dashboard's port {port}: "
                          f"{(error.strerror or str(error)).lower()}", step="dashboard",
                          got=f"{host}:{port}",
                          hint="name another: --dashboard-address HOST:PORT, --address for the "
                               "command dashboard; 0 is any free one") from None
    return listening


def _url(host: str, port: int, access: Access) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + ("" if access.token is None else f"?token={access.token}")
