"""`slackwater gateway`: take events over HTTP and MQTT into a durable log."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from slackwater.core.durations import micros
from slackwater.core.errors import ConfigError

__all__ = ["command"]

_SAFE, _KEPT, _BROKER = "Security", "Limits and retention", "MQTT"


def command(
    log: Annotated[Path, typer.Option(
        "--log", metavar="DIR", show_default=False, help="The log folder; made if missing.")],
    http: Annotated[str, typer.Option(
        "--http", metavar="HOST:PORT", help="Where to listen; port 0 takes a free one."
    )] = "127.0.0.1:8080",
    require: Annotated[list[str] | None, typer.Option(
        "--require", metavar="FIELD,…", show_default=False,
        help="Fields that every event must have, such as its time.")] = None,
    reader: Annotated[list[str] | None, typer.Option(
        "--reader", metavar="NAME", show_default=False,
        help="A reader to wait for from the start: what it has not read is kept.")] = None,
    token_env: Annotated[list[str] | None, typer.Option(
        "--token-env", metavar="NAME", show_default=False, rich_help_panel=_SAFE,
        help="Environment variable that holds a bearer token; may be repeated.")] = None,
    no_token: Annotated[bool, typer.Option(
        "--no-token", rich_help_panel=_SAFE,
        help="Take events from everybody, also on an address that others can reach.")] = False,
    tls_cert: Annotated[Path | None, typer.Option(
        "--tls-cert", metavar="PEM", show_default=False, rich_help_panel=_SAFE,
        help="Certificate chain for HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(
        "--tls-key", metavar="PEM", show_default=False, rich_help_panel=_SAFE,
        help="Its key.")] = None,
    mqtt: Annotated[str | None, typer.Option(
        "--mqtt", metavar="URL", show_default=False, rich_help_panel=_BROKER,
        help="A broker: mqtt://host:1883 or mqtts://host:8883.")] = None,
    topic: Annotated[list[str] | None, typer.Option(
        "--topic", metavar="FILTER", show_default=False, rich_help_panel=_BROKER,
        help="Topics to subscribe to; may be repeated.")] = None,
    client_id: Annotated[str, typer.Option(
        "--client-id", metavar="NAME", rich_help_panel=_BROKER,
        help="The session's name at the broker.")] = "slackwater-gateway",
    topic_field: Annotated[str, typer.Option(
        "--topic-field", metavar="FIELD", rich_help_panel=_BROKER,
        help="Field that the topic is put into; empty: none.")] = "_topic",
    mqtt_ca: Annotated[Path | None, typer.Option(
        "--mqtt-ca", metavar="PEM", show_default=False, rich_help_panel=_BROKER,
        help="Certificates to trust for mqtts.")] = None,
    mqtt_user_env: Annotated[str | None, typer.Option(
        "--mqtt-login-env", metavar="NAME", show_default=False, rich_help_panel=_BROKER,
        help="Environment variable that holds user:password.")] = None,
    max_body: Annotated[str, typer.Option(
        "--max-body", metavar="SIZE", rich_help_panel=_KEPT, help="Largest request.")] = "8MiB",
    max_event: Annotated[str, typer.Option(
        "--max-event", metavar="SIZE", rich_help_panel=_KEPT, help="Largest event.")] = "256KiB",
    max_batch: Annotated[int, typer.Option(
        "--max-batch", metavar="N", rich_help_panel=_KEPT,
        help="Most events in a request.")] = 100_000,
    segment_size: Annotated[str, typer.Option(
        "--segment-size", metavar="SIZE", rich_help_panel=_KEPT,
        help="Length of the log's files.")] = "64MiB",
    retain_size: Annotated[str | None, typer.Option(
        "--retain-size", metavar="SIZE", show_default=False, rich_help_panel=_KEPT,
        help="Let go of the oldest events while the log is larger.")] = None,
    retain_age: Annotated[str | None, typer.Option(
        "--retain-age", metavar="DURATION", show_default=False, rich_help_panel=_KEPT,
        help="Let go of events older than this.")] = None,
    max_backlog: Annotated[str | None, typer.Option(
        "--max-backlog", metavar="SIZE", show_default=False, rich_help_panel=_KEPT,
        help="Take nothing (429) while a reader is further behind.")] = None,
    min_free: Annotated[str, typer.Option(
        "--min-free", metavar="SIZE", rich_help_panel=_KEPT,
        help="Take nothing (429) while the disk has less room.")] = "64MiB",
    quick_start: Annotated[bool, typer.Option(
        "--quick-start", rich_help_panel=_KEPT,
        help="Check only the log's last segment when starting.")] = False,
) -> None:
    """Take events over HTTP and MQTT; an event that is acknowledged is on the disk."""
    try:
        from slackwater.gateway.admit import Rules
        from slackwater.gateway.config import GatewayConfig, MqttConfig, host_and_port
        from slackwater.gateway.log import Limits
        from slackwater.gateway.serve import serve
        from slackwater.gateway.sizes import bytes_of
    except ImportError as missing:
        raise ConfigError(f"the gateway needs {missing.name}, which is not installed",
                          step="gateway", hint='pip install "slackwater[gateway]"') from missing

    def size(text: str | None, name: str) -> int | None:
        return None if text is None else bytes_of(text, name=name)

    host, port = host_and_port(http)
    config = GatewayConfig(
        log=log, host=host, port=port,
        tokens=tuple(_from_environment(name) for name in token_env or []), open_to_all=no_token,
        tls_cert=tls_cert, tls_key=tls_key,
        limits=Limits(
            segment_size=bytes_of(segment_size, name="segment-size"),
            retain_size=size(retain_size, "retain-size"),
            retain_age=None if retain_age is None else micros(retain_age, name="retain-age"),
            max_backlog=size(max_backlog, "max-backlog"),
            min_free=bytes_of(min_free, name="min-free")),
        rules=Rules(bytes_of(max_event, name="max-event"),
                    tuple(f for part in require or [] for f in part.split(",") if f)),
        max_body=bytes_of(max_body, name="max-body"), max_batch=max_batch,
        readers=tuple(reader or []), verify_all=not quick_start,
        mqtt=None if mqtt is None else MqttConfig(
            mqtt, tuple(topic or []), client_id=client_id, topic_field=topic_field or None,
            ca_file=mqtt_ca,
            login=None if mqtt_user_env is None else _from_environment(mqtt_user_env)),
    )
    if mqtt is None and topic:
        raise ConfigError("there is no broker to subscribe at", step="topic",
                          hint="--mqtt mqtt://host:1883")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    serve(config, say=_say)


def _say(line: str) -> None:
    print(line, flush=True)


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ConfigError(f"the environment variable {name} is not set", step="gateway",
                          hint=f"export {name}=…")
    return value
