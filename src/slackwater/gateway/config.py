"""What a gateway is told to do; checked before anything is opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from slackwater.core.errors import ConfigError
from slackwater.gateway.admit import Rules
from slackwater.gateway.keep import Limits

__all__ = ["GatewayConfig", "HttpLimits", "MqttConfig", "host_and_port", "is_loopback"]

_LARGEST_BODY = 512 << 20


@dataclass(frozen=True)
class MqttConfig:
    """Where messages come from.

    Parameters
    ----------
    url
        ``mqtt://[user:password@]host[:1883]`` or ``mqtts://host[:8883]``.
    topics
        Filters to subscribe to; ``+`` and ``#`` are wildcards.
    client_id
        The session's name: the broker keeps what was not acknowledged under it.
    topic_field
        Field of the event that the message's topic is put into; None: it is not kept.
    ca_file
        Certificates to trust for ``mqtts``, instead of the system's.
    login
        ``user:password``, where they are not to stand in the address.
    """

    url: str = field(repr=False)
    topics: tuple[str, ...]
    client_id: str = "slackwater-gateway"
    topic_field: str | None = "_topic"
    ca_file: Path | None = None
    login: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        try:
            port = parts.port
        except ValueError:
            port = 0
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or port == 0:
            raise ConfigError("is not the address of a broker", step="mqtt",
                              expected="mqtt://host:1883 or mqtts://host:8883", got=self.shown)
        if not self.topics:
            raise ConfigError("there is nothing to subscribe to", step="mqtt",
                              expected="at least one topic", hint="--topic 'sensors/#'")
        for topic in self.topics:
            _check_filter(topic)

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return urlsplit(self.url).scheme == "mqtts"

    @property
    def host(self) -> str:
        """The broker."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Its port."""
        return urlsplit(self.url).port or (8883 if self.tls else 1883)

    @property
    def user(self) -> tuple[str, str | None] | None:
        """Name and password, if there are any."""
        if self.login is not None:
            name, colon, password = self.login.partition(":")
            return name, password if colon else None
        parts = urlsplit(self.url)
        if parts.username is None:
            return None
        return unquote(parts.username), None if parts.password is None else unquote(parts.password)

    @property
    def shown(self) -> str:
        """The address without its secrets."""
        scheme, _, rest = self.url.rpartition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}" if scheme else rest.rpartition("@")[2]


@dataclass(frozen=True)
class HttpLimits:
    """What a connection may cost, most of it before anybody has shown a token.

    Parameters
    ----------
    max_header
        Bytes of a request's head.
    header_seconds
        Time for a head to come in, from its first byte or the connection's start.
    body_seconds
        Time for a body to come in.
    request_seconds
        Time until an answer is given, from the end of the body.
    idle_seconds
        Time that a connection may be silent between two requests.
    max_connections, max_per_address
        Connections at the same time, in all and from one address (IPv6: one network of 64 bits).
    room
        Bytes of bodies in memory at the same time.
    """

    max_header: int = 16 << 10
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    request_seconds: float = 60.0
    idle_seconds: float = 60.0
    max_connections: int = 1024
    max_per_address: int = 512
    room: int = 32 << 20

    def __post_init__(self) -> None:
        for one in fields(self):
            if getattr(self, one.name) <= 0:
                raise ConfigError("must be more than nothing", step=one.name,
                                  got=getattr(self, one.name))
        if self.max_header < 1024:
            raise ConfigError("is too small for the head of a request", step="max_header",
                              expected="at least 1024 bytes", got=self.max_header)


@dataclass(frozen=True)
class GatewayConfig:
    """One gateway: where it listens, what it takes, where it keeps it.

    Parameters
    ----------
    log
        The log folder.
    host, port
        Where HTTP listens; port 0 takes a free one.
    tokens, token_file
        Bearer tokens, any of which lets a request in; the file has one per line and is read again
        when it changes. None at all: everybody may send, which is refused on an address that others
        can reach unless `open_to_all`.
    tls_cert, tls_key, tls_client_ca
        Certificate chain and key for HTTPS, and the certificates that clients' must be signed by.
        They are read again when they change.
    limits, rules, http
        Of the log, of single events, and of connections.
    max_body, max_batch
        Bytes of a request, events of a request.
    readers
        Readers to wait for from the start.
    mqtt
        A broker to take messages from.
    forward
        A broker to keep events at, instead of the log: ``kafka://host:9092/topic`` or
        ``nats://host:4222/subject``. The log folder then only holds dead letters.
    forward_settings
        Further settings of the broker's client.
    verify_all
        Check the whole log after opening, in the background; not only its last segment.
    trust_clock
        Believe the system's clock, even if it jumped since the last run.
    otel
        Send counts by OpenTelemetry, to where its environment variables say.
    """

    log: Path | None
    host: str = "127.0.0.1"
    port: int = 8080
    tokens: tuple[str, ...] = field(default=(), repr=False)
    open_to_all: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    token_file: Path | None = None
    limits: Limits = field(default_factory=lambda: Limits(retain_share=0.7))
    http: HttpLimits = field(default_factory=HttpLimits)
    rules: Rules = field(default_factory=Rules)
    max_body: int = 8 << 20
    max_batch: int = 100_000
    readers: tuple[str, ...] = ()
    mqtt: MqttConfig | None = None
    forward: str | None = field(default=None, repr=False)
    forward_settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify_all: bool = True
    trust_clock: bool = False
    otel: bool = False

    def __post_init__(self) -> None:
        if self.log is None and (self.forward is None or self.mqtt is not None):
            raise ConfigError("there is no folder to keep events in", step="log",
                              expected="--log DIR, or --forward URL and nothing from MQTT, whose "
                                       "dead letters need a folder")
        if any(not token.strip() for token in self.tokens):
            raise ConfigError("a token is empty", step="token",
                              hint="set the variable that --token-env names")
        if not self.secured and not self.open_to_all and not is_loopback(self.host):
            raise ConfigError("everybody who can reach this address could send events",
                              step="http", got=f"{self.host} without a token",
                              hint="--token-env NAME, or --no-token if that is what you want")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("a certificate needs its key, and a key its certificate",
                              step="tls", hint="give both --tls-cert and --tls-key")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ConfigError("clients can only show certificates over TLS", step="tls",
                              hint="give --tls-cert and --tls-key as well")
        if not 0 < self.max_body <= _LARGEST_BODY:
            raise ConfigError("is not a size that a request can have", step="max_body",
                              expected=f"1 to {_LARGEST_BODY} bytes", got=self.max_body)
        for name, value in (("max_event", self.rules.max_event), ("max_batch", self.max_batch)):
            if value < 1:
                raise ConfigError("must be at least 1", step=name, got=value)

    @property
    def secured(self) -> bool:
        """Whether a request needs a token."""
        return bool(self.tokens) or self.token_file is not None

    @property
    def in_the_clear(self) -> list[str]:
        """Secrets that cross a network unencrypted, in words."""
        found = []
        if self.secured and self.tls_cert is None and not is_loopback(self.host):
            found.append(f"bearer tokens cross the network in the clear to {self.host}: give "
                         "--tls-cert and --tls-key, or put a proxy with TLS in front of loopback")
        mqtt = self.mqtt
        if mqtt is not None and mqtt.user is not None and not mqtt.tls \
                and not is_loopback(mqtt.host):
            found.append(f"the login crosses the network in the clear to {mqtt.shown}: use mqtts://")
        found.extend(self._forwarded_in_the_clear())
        return found

    def _forwarded_in_the_clear(self) -> Iterator[str]:
        parts, settings = urlsplit(self.forward or ""), dict(self.forward_settings)
        hosts = [_host(server) for server in parts.netloc.rpartition("@")[2].split(",")]
        host = next((host for host in hosts if not is_loopback(host)), None)
        if host is None:
            return
        if parts.scheme == "nats" and (parts.username is not None or {"password", "token"}
                                       & settings.keys()):
            yield f"the login crosses the network in the clear to nats://{host}: use tls://"
        if parts.scheme == "kafka" and "sasl.password" in settings \
                and settings.get("security.protocol", "").upper() != "SASL_SSL":
            yield (f"the login crosses the network in the clear to kafka://{host}: "
                   "--forward-set security.protocol=SASL_SSL")


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own.

    Examples
    --------
    >>> is_loopback("127.0.0.53"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host(server: str) -> str:
    """The host of ``host``, ``host:port`` or ``[address]:port``."""
    if server.startswith("["):
        return server[1:].partition("]")[0]
    return server.partition(":")[0]


def host_and_port(text: str) -> tuple[str, int]:
    """Take an address apart.

    Examples
    --------
    >>> host_and_port("127.0.0.1:8080"), host_and_port("[::1]:0"), host_and_port(":9000")
    (('127.0.0.1', 8080), ('::1', 0), ('127.0.0.1', 9000))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError("is not an address", step="http", expected="HOST:PORT", got=repr(text))
    return host.strip("[]") or "127.0.0.1", int(port)


def _check_filter(topic: str) -> None:
    levels = topic.split("/")
    if (not topic or "\0" in topic or any("#" in level and level != "#" for level in levels)
            or "#" in levels[:-1] or any("+" in level and level != "+" for level in levels)):
        raise ConfigError("is not a topic filter", step="topic", got=repr(topic),
                          expected="levels between /, + for any one, # for all that follow",
                          hint="'sensors/#' or 'sensors/+/temperature'")
