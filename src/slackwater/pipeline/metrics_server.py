"""An endpoint that Prometheus can scrape: GET /metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from slackwater.core.errors import ConfigError
from slackwater.pipeline.exposition import registry_of
from slackwater.pipeline.metrics import Numbers

__all__ = ["serve_metrics"]


@contextmanager
def serve_metrics(numbers: Numbers, host: str, port: int) -> Iterator[int]:
    """Answer while the context lasts; gives the port (a free one for 0)."""
    try:
        server, thread = start_http_server(port, host, registry_of(numbers))
    except OSError as error:
        raise ConfigError(f"cannot bind the metrics port {port}: {str(error.strerror).lower()}",
                          step="metrics", got=f"{host}:{port}",
                          hint="another run has it, perhaps; set metrics: {port: …}") from None
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
