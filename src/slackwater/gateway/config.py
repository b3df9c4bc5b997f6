"""What a gateway is told to do; checked before anything is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from slackwater.core.errors import ConfigError
from slackwater.gateway.admit import Rules
from slackwater.gateway.keep import Limits

__all__ = ["GatewayConfig", "MqttConfig", "host_and_port"]

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
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
class GatewayConfig:
    """One gateway: where it listens, what it takes, where it keeps it.

    Parameters
    ----------
    log
        The log folder.
    host, port
        Where HTTP listens; port 0 takes a free one.
    tokens
        Bearer tokens, any of which lets a request in. None at all: everybody may send, which is
        refused on an address that others can reach unless `open_to_all`.
    tls_cert, tls_key
        Certificate chain and key for HTTPS.
    limits, rules
        Of the log, and of single events.
    max_body, max_batch
        Bytes of a request, events of a request.
    readers
        Readers to wait for from the start.
    mqtt
        A broker to take messages from.
    verify_all
        Check the whole log when opening, not only its last segment.
    """

    log: Path
    host: str = "127.0.0.1"
    port: int = 8080
    tokens: tuple[str, ...] = field(default=(), repr=False)
    open_to_all: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    limits: Limits = field(default_factory=Limits)
    rules: Rules = field(default_factory=Rules)
    max_body: int = 8 << 20
    max_batch: int = 100_000
    readers: tuple[str, ...] = ()
    mqtt: MqttConfig | None = None
    verify_all: bool = True

    def __post_init__(self) -> None:
        if any(not token.strip() for token in self.tokens):
            raise ConfigError("a token is empty", step="token",
                              hint="set the variable that --token-env names")
        if not self.tokens and not self.open_to_all and self.host not in _LOOPBACK:
            raise ConfigError("everybody who can reach this address could send events",
                              step="http", got=f"{self.host} without a token",
                              hint="--token-env NAME, or --no-token if that is what you want")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("a certificate needs its key, and a key its certificate",
                              step="tls", hint="give both --tls-cert and --tls-key")
        if not 0 < self.max_body <= _LARGEST_BODY:
            raise ConfigError("is not a size that a request can have", step="max_body",
                              expected=f"1 to {_LARGEST_BODY} bytes", got=self.max_body)
        for name, value in (("max_event", self.rules.max_event), ("max_batch", self.max_batch)):
            if value < 1:
                raise ConfigError("must be at least 1", step=name, got=value)


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
