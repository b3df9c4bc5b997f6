"""An endpoint that Prometheus can scrape: GET /metrics."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from slackwater.core.errors import ConfigError
from slackwater.pipeline.exposition import prometheus_text
from slackwater.pipeline.metrics import Numbers

__all__ = ["serve_metrics"]


@contextmanager
def serve_metrics(numbers: Numbers, host: str, port: int) -> Iterator[int]:
    """Answer while the context lasts; gives the port (a free one for 0)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.split("?")[0] in ("/metrics", "/")
            body = (prometheus_text(numbers) if found else "see /metrics\n").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are no news."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise ConfigError("the port cannot be had", step="metrics", got=f"{host}:{port}: "
                          f"{error.strerror}", hint="another run has it, perhaps; set "
                          "metrics: {port: …}") from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="slackwater-metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
