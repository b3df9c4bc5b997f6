"""A gateway at work: the store, HTTP and MQTT in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterable
from dataclasses import replace

import orjson
import uvloop

from slackwater.core.errors import ConfigError
from slackwater.gateway.admit import Rules
from slackwater.gateway.check import Checker
from slackwater.gateway.config import GatewayConfig
from slackwater.gateway.http.crowd import MOST_GUESTS
from slackwater.gateway.http.routes import Routes
from slackwater.gateway.http.server import Server
from slackwater.gateway.http.tls import Certificates
from slackwater.gateway.keep import Limits
from slackwater.gateway.log import Log
from slackwater.gateway.metrics import Family, Tally, families, prometheus
from slackwater.gateway.openapi import description
from slackwater.gateway.store import Store
from slackwater.gateway.tokens import Tokens
from slackwater.gateway.verify import Verifier

__all__ = ["serve"]

_log = logging.getLogger("slackwater.gateway")
_DEAD_LETTERS = Limits(segment_size=4 << 20, retain_size=64 << 20, min_free=0)
_SEND_BUFFER = 128 << 10
_OTHER_FILES = 64  # the log, the broker, the checking process, libraries


def serve(config: GatewayConfig, *, say: Callable[[str], None] = print) -> None:
    """Run a gateway until SIGTERM or SIGINT; queued events are written before it returns.

    SIGHUP reads certificates and tokens again at once.

    Parameters
    ----------
    config
        What to do.
    say
        Called with one line that holds the address, once requests are taken.
    """
    certificates = None
    if config.tls_cert is not None and config.tls_key is not None:
        certificates = Certificates(config.tls_cert, config.tls_key, config.tls_client_ca)
    tokens = Tokens(config.tokens, config.token_file)
    for warning in config.in_the_clear:
        _log.warning("%s", warning)
    _allow_files(config.http.max_connections)
    with contextlib.ExitStack() as stack:
        door = _listen(config)
        stack.callback(door.close)
        store, shown = _open_store(config, stack)
        checker = Checker(_rules(config, store), config.max_batch)
        stack.callback(checker.close)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(config, store, shown, checker, tokens, certificates, door, say))


async def _run(config: GatewayConfig, store: Store, shown: str, checker: Checker, tokens: Tokens,
               certificates: Certificates | None, door: socket.socket,
               say: Callable[[str], None]) -> None:
    tally = Tally()
    stop = asyncio.Event()

    def counts() -> Iterable[Family]:
        return families(store, tally, server.crowd)

    document = description(secured=tokens.needed, required=config.rules.required,
                           max_batch=config.max_batch)
    routes = Routes(store, checker, tokens, tally, max_body=config.max_body,
                    metrics=lambda: prometheus(counts()),
                    description=orjson.dumps(document))
    server = Server(routes, config.http, config.max_body, tally, certificates=certificates,
                    reload=tokens.reload)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, server.reload)
    with contextlib.ExitStack() as stack:
        await server.start(door)
        if config.mqtt is not None:
            from slackwater.gateway.mqtt import Bridge

            assert config.log is not None
            dead = stack.enter_context(await asyncio.to_thread(
                Log, config.log / "dead-letters", _DEAD_LETTERS))
            bridge = Bridge(config.mqtt, store, dead, checker, config.max_body, tally)
            await asyncio.to_thread(bridge.start)
        if config.otel:
            from slackwater.gateway.telemetry import Telemetry

            stack.callback(Telemetry(counts).close)
        host, port = door.getsockname()[:2]
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        say(f"slackwater gateway: http{'s' if certificates else ''}://{where} → {shown}")
        await stop.wait()
        if config.mqtt is not None:
            await asyncio.to_thread(bridge.stop)
        await server.stop()


def _open_store(config: GatewayConfig, stack: contextlib.ExitStack) -> tuple[Store, str]:
    if config.forward is not None:
        from slackwater.gateway.forward import open_forward

        forward = open_forward(config.forward, dict(config.forward_settings),
                               "" if config.mqtt is None else config.mqtt.client_id)
        stack.callback(forward.close)
        return forward, forward.shown
    assert config.log is not None
    log = stack.enter_context(Log(config.log, config.limits, readers=config.readers,
                                  verify_all=False, trust_clock=config.trust_clock))
    if config.verify_all:
        verifier = Verifier(log)
        verifier.start()
        stack.callback(verifier.stop)
    return log, str(config.log)


def _rules(config: GatewayConfig, store: Store) -> Rules:
    """The rules for events, no larger than a broker takes them."""
    largest = getattr(store, "largest", config.rules.max_event)
    if config.rules.max_event <= largest:
        return config.rules
    _log.warning("the broker takes no events of more than %d bytes: larger ones are refused",
                 largest)
    return replace(config.rules, max_event=largest)


def _allow_files(connections: int) -> None:
    """Let the process have as many open files as its connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + MOST_GUESTS + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ConfigError("the system allows fewer open files", step="max_connections",
                          expected=f"at most {hard - MOST_GUESTS - _OTHER_FILES}", got=connections,
                          hint="lower --max-connections, or raise the limit (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _listen(config: GatewayConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        door = socket.create_server((config.host, config.port), family=family, backlog=4096)
    except (OSError, OverflowError) as error:
        raise ConfigError("cannot listen there", step="http",
                          got=f"{config.host}:{config.port}: {error}",
                          hint="port 0 takes a free one") from error
    # answers are short; the system would keep megabytes for each sender that does not read its own
    door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return door
