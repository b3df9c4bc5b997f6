"""Which broker an address means."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from slackwater.core.errors import ConfigError
from slackwater.gateway.forward.base import Forward

__all__ = ["open_forward"]


def open_forward(url: str, settings: dict[str, str] | None = None, source: str = "") -> Forward:
    """Connect to a broker.

    Parameters
    ----------
    url
        ``kafka://host:9092,other:9092/topic``, with ``?key=field`` to send events of the same
        field to the same partition; ``nats://[user:password@]host:4222/subject`` or ``tls://…``.
    settings
        Further settings of the broker's client.
    source
        The name under which events come from MQTT, where they do.

    Raises
    ------
    ConfigError
        If the address means nothing, or the client is not installed.
    """
    parts = urlsplit(url)
    target = parts.path.strip("/")
    if parts.scheme not in ("kafka", "nats", "tls") or not parts.netloc or not target:
        raise ConfigError(
            "is not a broker to forward to", step="forward",
            expected="kafka://host:9092/topic or nats://host:4222/subject", got=_shown(parts))
    try:
        if parts.scheme == "kafka":
            from slackwater.gateway.forward.kafka import KafkaForward

            return KafkaForward(parts, target, settings or {}, _shown(parts))
        from slackwater.gateway.forward.jetstream import JetStreamForward

        return JetStreamForward(parts, target, settings or {}, _shown(parts), source)
    except ImportError as missing:
        extra = "kafka" if parts.scheme == "kafka" else "jetstream"
        raise ConfigError(f"forwarding there needs {missing.name}, which is not installed",
                          step="forward", hint=f'pip install "slackwater[{extra}]"') from missing


def _shown(parts: SplitResult) -> str:
    """The address without its secrets."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
