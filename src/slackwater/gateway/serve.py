"""A gateway at work: the log, HTTP and MQTT in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator

import uvicorn

from slackwater.core.errors import ConfigError
from slackwater.gateway.config import GatewayConfig
from slackwater.gateway.http import make_app
from slackwater.gateway.log import Limits, Log
from slackwater.gateway.metrics import Tally

__all__ = ["serve"]

_DEAD_LETTERS = Limits(segment_size=4 << 20, retain_size=64 << 20, min_free=0)


class _Server(uvicorn.Server):
    """Signals end it in order; uvicorn's own way would raise them again once it has stopped."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        yield


def serve(config: GatewayConfig, *, say: Callable[[str], None] = print) -> None:
    """Run a gateway until SIGTERM or SIGINT; queued events are written before it returns.

    Parameters
    ----------
    config
        What to do.
    say
        Told one line with the address once requests are taken.
    """
    _check_tls(config)
    with contextlib.ExitStack() as stack:
        door = _listen(config)
        stack.callback(door.close)
        log = stack.enter_context(Log(config.log, config.limits, readers=config.readers,
                                      verify_all=config.verify_all))
        tally = Tally()
        bridge = None
        if config.mqtt is not None:
            from slackwater.gateway.mqtt import Bridge

            dead = stack.enter_context(Log(config.log / "dead-letters", _DEAD_LETTERS))
            bridge = Bridge(config.mqtt, log, dead, config.rules, tally)

        async def started() -> None:
            if bridge is not None:
                await asyncio.to_thread(bridge.start)
            host, port = door.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            say(f"slackwater gateway: http{'s' if config.tls_cert else ''}://{shown}:{port} "
                f"→ {config.log}")

        async def stopping() -> None:
            if bridge is not None:
                await asyncio.to_thread(bridge.stop)

        server = _Server(uvicorn.Config(
            make_app(log, config, tally, started=started, stopping=stopping),
            http="httptools", ws="none", lifespan="on", access_log=False, log_config=None,
            server_header=False, timeout_graceful_shutdown=10,
            ssl_certfile=config.tls_cert, ssl_keyfile=config.tls_key))
        with asyncio.Runner(loop_factory=_loop()) as runner:
            runner.run(server.serve(sockets=[door]))
        if not server.started:
            raise ConfigError("the gateway could not start", step="gateway")


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":  # pragma: no cover - fcntl keeps the log off Windows anyway
        return None
    import uvloop

    return uvloop.new_event_loop


def _listen(config: GatewayConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise ConfigError("cannot listen there", step="http",
                          got=f"{config.host}:{config.port}: {error}",
                          hint="port 0 takes a free one") from error


def _check_tls(config: GatewayConfig) -> None:
    if config.tls_cert is None or config.tls_key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            config.tls_cert, config.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError("the certificate or its key cannot be used", step="tls",
                          got=f"{config.tls_cert}, {config.tls_key}: {error}",
                          expected="PEM files that belong together") from error
