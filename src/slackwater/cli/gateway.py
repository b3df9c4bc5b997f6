"""`slackwater gateway`: take events over HTTP and MQTT into a durable log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from slackwater.cli import gateway_readers
from slackwater.core.durations import micros
from slackwater.core.errors import ConfigError

__all__ = ["app"]

_SAFE, _KEPT, _BROKER = "Security", "Limits and retention", "MQTT"
_CONNECTIONS, _FORWARD = "Connections", "Forwarding"

app = typer.Typer(invoke_without_command=True, no_args_is_help=False)
app.command("readers")(gateway_readers.command)


@app.callback()
def command(
    context: typer.Context,
    log: Annotated[Path | None, typer.Option(
        "--log", metavar="DIR", show_default=False, help="The log folder; made if missing."
    )] = None,
    http: Annotated[str, typer.Option(
        "--http", metavar="HOST:PORT", help="Where to listen; port 0 takes a free one."
    )] = "127.0.0.1:8080",
    require: Annotated[list[str] | None, typer.Option(
        "--require", metavar="FIELD,…", show_default=False,
        help="Fields that every event must have, such as its time.")] = None,
    refuse_nul: Annotated[bool, typer.Option(
        "--refuse-nul", help="Refuse events with U+0000 in a text; PostgreSQL cannot hold it."
    )] = False,
    reader: Annotated[list[str] | None, typer.Option(
        "--reader", metavar="NAME", show_default=False,
        help="A reader to wait for from the start: what it has not read is kept.")] = None,
    log_format: Annotated[str, typer.Option(
        "--log-format", metavar="text|json", help="How messages are written to standard error."
    )] = "text",
    otel: Annotated[bool, typer.Option(
        "--otel", help="Send metrics by OpenTelemetry, to OTEL_EXPORTER_OTLP_ENDPOINT.")] = False,
    token_env: Annotated[list[str] | None, typer.Option(
        "--token-env", metavar="NAME", show_default=False, rich_help_panel=_SAFE,
        help="Environment variable that holds a bearer token; may be repeated.")] = None,
    token_file: Annotated[Path | None, typer.Option(
        "--token-file", metavar="FILE", show_default=False, rich_help_panel=_SAFE,
        help="Bearer tokens, one per line; read again when it changes.")] = None,
    no_token: Annotated[bool, typer.Option(
        "--no-token", rich_help_panel=_SAFE,
        help="Accept events from anyone, even on an address that others can reach.")] = False,
    tls_cert: Annotated[Path | None, typer.Option(
        "--tls-cert", metavar="PEM", show_default=False, rich_help_panel=_SAFE,
        help="Certificate chain for HTTPS; read again when it changes.")] = None,
    tls_key: Annotated[Path | None, typer.Option(
        "--tls-key", metavar="PEM", show_default=False, rich_help_panel=_SAFE,
        help="Its key.")] = None,
    tls_client_ca: Annotated[Path | None, typer.Option(
        "--tls-client-ca", metavar="PEM", show_default=False, rich_help_panel=_SAFE,
        help="Let in only clients with a certificate signed by one of these.")] = None,
    trust_clock: Annotated[bool, typer.Option(
        "--trust-clock", rich_help_panel=_SAFE,
        help="Believe the system's clock, even if it jumped since the last run.")] = False,
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
        help="Field that receives the topic; empty: none.")] = "_topic",
    mqtt_ca: Annotated[Path | None, typer.Option(
        "--mqtt-ca", metavar="PEM", show_default=False, rich_help_panel=_BROKER,
        help="Certificates to trust for mqtts.")] = None,
    mqtt_user_env: Annotated[str | None, typer.Option(
        "--mqtt-login-env", metavar="NAME", show_default=False, rich_help_panel=_BROKER,
        help="Environment variable that holds user:password.")] = None,
    forward: Annotated[str | None, typer.Option(
        "--forward", metavar="URL", show_default=False, rich_help_panel=_FORWARD,
        help="Keep events at a broker instead of the log: kafka://host:9092/topic or "
             "nats://host:4222/subject (tls:// for NATS with TLS).")] = None,
    forward_set: Annotated[list[str] | None, typer.Option(
        "--forward-set", metavar="NAME=VALUE", show_default=False, rich_help_panel=_FORWARD,
        help="A setting of the broker's client; $NAME is taken from the environment.")] = None,
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
    retain_size: Annotated[str, typer.Option(
        "--retain-size", metavar="SIZE|SHARE|all", rich_help_panel=_KEPT,
        help="Delete the oldest events while the log is larger; a share is of the log and the "
             "disk's free space together.")] = "70%",
    retain_age: Annotated[str | None, typer.Option(
        "--retain-age", metavar="DURATION", show_default=False, rich_help_panel=_KEPT,
        help="Delete events older than this.")] = None,
    reader_lease: Annotated[str, typer.Option(
        "--reader-lease", metavar="DURATION|never", rich_help_panel=_KEPT,
        help="Forget a reader that has been away this long (never one of --reader).")] = "7 days",
    max_backlog: Annotated[str | None, typer.Option(
        "--max-backlog", metavar="SIZE", show_default=False, rich_help_panel=_KEPT,
        help="Accept nothing (429) while a reader is further behind.")] = None,
    min_free: Annotated[str, typer.Option(
        "--min-free", metavar="SIZE", rich_help_panel=_KEPT,
        help="Accept nothing (429) while the disk has less free space.")] = "64MiB",
    quick_start: Annotated[bool, typer.Option(
        "--quick-start", rich_help_panel=_KEPT,
        help="Check only the log's last segment, not the others in the background.")] = False,
    max_connections: Annotated[int, typer.Option(
        "--max-connections", metavar="N", rich_help_panel=_CONNECTIONS,
        help="Connections at the same time.")] = 1024,
    max_per_address: Annotated[int, typer.Option(
        "--max-per-address", metavar="N", rich_help_panel=_CONNECTIONS,
        help="Connections of one address at the same time.")] = 512,
    max_header: Annotated[str, typer.Option(
        "--max-header", metavar="SIZE", rich_help_panel=_CONNECTIONS,
        help="Largest head of a request.")] = "16KiB",
    header_timeout: Annotated[str, typer.Option(
        "--header-timeout", metavar="DURATION", rich_help_panel=_CONNECTIONS,
        help="Time for a head to come in.")] = "10s",
    body_timeout: Annotated[str, typer.Option(
        "--body-timeout", metavar="DURATION", rich_help_panel=_CONNECTIONS,
        help="Time for a body to come in.")] = "30s",
    request_timeout: Annotated[str, typer.Option(
        "--request-timeout", metavar="DURATION", rich_help_panel=_CONNECTIONS,
        help="Time until an answer is given.")] = "60s",
    idle_timeout: Annotated[str, typer.Option(
        "--idle-timeout", metavar="DURATION", rich_help_panel=_CONNECTIONS,
        help="Time between two requests of a connection.")] = "60s",
) -> None:
    """Take events over HTTP and MQTT; an event that is acknowledged is on the disk."""
    if context.invoked_subcommand is not None:
        context.obj = log
        return
    try:
        from slackwater.gateway.admit import Rules
        from slackwater.gateway.config import GatewayConfig, HttpLimits, MqttConfig, host_and_port
        from slackwater.gateway.keep import Limits
        from slackwater.gateway.messages import log_to_stderr
        from slackwater.gateway.serve import serve
        from slackwater.gateway.sizes import bytes_of, share_of
    except ImportError as missing:
        raise ConfigError(f"the gateway needs {missing.name}, which is not installed",
                          step="gateway", hint='pip install "slackwater[gateway]"') from missing

    def seconds(text: str, name: str) -> float:
        return micros(text, name=name) / 1e6

    share = share_of(retain_size, name="retain-size")
    host, port = host_and_port(http)
    config = GatewayConfig(
        log=log, host=host, port=port,
        tokens=tuple(_from_environment(name) for name in token_env or []), open_to_all=no_token,
        token_file=token_file, tls_cert=tls_cert, tls_key=tls_key, tls_client_ca=tls_client_ca,
        limits=Limits(
            segment_size=bytes_of(segment_size, name="segment-size"),
            retain_size=(None if share is not None or retain_size == "all"
                         else bytes_of(retain_size, name="retain-size")),
            retain_share=share,
            retain_age=None if retain_age is None else micros(retain_age, name="retain-age"),
            max_backlog=(None if max_backlog is None
                         else bytes_of(max_backlog, name="max-backlog")),
            reader_lease=(None if reader_lease == "never"
                          else seconds(reader_lease, "reader-lease")),
            min_free=bytes_of(min_free, name="min-free")),
        http=HttpLimits(
            max_header=bytes_of(max_header, name="max-header"),
            header_seconds=seconds(header_timeout, "header-timeout"),
            body_seconds=seconds(body_timeout, "body-timeout"),
            request_seconds=seconds(request_timeout, "request-timeout"),
            idle_seconds=seconds(idle_timeout, "idle-timeout"),
            max_connections=max_connections, max_per_address=max_per_address),
        rules=Rules(bytes_of(max_event, name="max-event"),
                    tuple(f for part in require or [] for f in part.split(",") if f), refuse_nul),
        max_body=bytes_of(max_body, name="max-body"), max_batch=max_batch,
        readers=tuple(reader or []), verify_all=not quick_start, trust_clock=trust_clock,
        otel=otel,
        forward=forward, forward_settings=tuple(_setting(text) for text in forward_set or []),
        mqtt=None if mqtt is None else MqttConfig(
            mqtt, tuple(topic or []), client_id=client_id, topic_field=topic_field or None,
            ca_file=mqtt_ca,
            login=None if mqtt_user_env is None else _from_environment(mqtt_user_env)),
    )
    if mqtt is None and topic:
        raise ConfigError("there is no broker to subscribe at", step="topic",
                          hint="--mqtt mqtt://host:1883")
    log_to_stderr(log_format)
    serve(config, say=_say)


def _say(line: str) -> None:
    print(line, flush=True)


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ConfigError(f"the environment variable {name} is not set", step="gateway",
                          hint=f"export {name}=…")
    return value


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        # what was given may be a password: it is not repeated
        raise ConfigError("is not a setting", step="forward-set", expected="NAME=VALUE",
                          got="a text without =" if not equals else "no name")
    return name, _from_environment(value[1:]) if value.startswith("$") else value
