"""What an option of a source or a sink may hold, told in the fields of its configuration."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, field, fields
from typing import Any

__all__ = ["is_secret_name", "option", "required", "shown", "value_kind"]

HIDDEN = "***"
# parts of names; those of few letters must stand alone, or "compass" and "bypass" were secrets
_SECRET = re.compile(
    r"password|passwd|passphrase|secret|jaas|token|credential|private"
    r"|(?:api|access|auth|account|shared|sas|encryption|signing)[-_. ]?key"
    r"|signature|(?<![a-z])(?:pass|pwd|pw|sig)(?![a-z])", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def option(kind: str, default: Any = MISSING, *, secret: bool = False,
           choices: tuple[str, ...] = (), doc: str = "") -> Any:
    """Declare an option: a dataclass field that knows what may stand there.

    Parameters
    ----------
    kind
        ``text``, ``texts`` (one or a list), ``path``, ``choice``, ``count``, ``flag``, ``columns``
        (name: type), ``settings`` (name: value), ``servers`` (host:port), ``url`` (of a database),
        ``address`` (of a server that speaks HTTP), ``keys`` (names of columns), ``key`` (the name
        of one), ``avro`` (a schema, or a file with one), ``avros`` (a number: such a schema).
    default
        Left out: the option must be given.
    secret
        Never shown.
    choices
        The values of a ``choice``.
    doc
        What it means, in a few words.
    """
    about = {"kind": kind, "secret": secret, "choices": choices, "doc": doc}
    if default is MISSING:
        return field(metadata=about)
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=about)
    return field(default=default, metadata=about)


def required(one: Field[Any]) -> bool:
    """Whether an option has no default."""
    return one.default is MISSING and one.default_factory is MISSING


def value_kind(one: Field[Any]) -> str:
    """What kind of value an option has."""
    return str(one.metadata["kind"])


def is_secret_name(name: str) -> bool:
    """Tell by its name whether a setting (``kafka.sasl.jaas.config``, ``API_TOKEN``) is a secret.

    Examples
    --------
    >>> is_secret_name("kafka.ssl.keystore.password"), is_secret_name("kafka.client.id")
    (True, False)
    >>> [is_secret_name(n) for n in ("db_pass", "pwd", "apiKey", "fs.s3a.access.key", "compass")]
    [True, True, True, True, False]
    """
    return _SECRET.search(_HUMP.sub("_", name)) is not None


def shown(config: Any) -> dict[str, Any]:
    """The options of a configuration that are not at their default, fit to be seen by anyone."""
    found: dict[str, Any] = {}
    for one in fields(config):
        value = getattr(config, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if value == default:
            continue
        found[one.name] = HIDDEN if one.metadata["secret"] else _fit_to_be_seen(value)
    return found


def _fit_to_be_seen(value: Any) -> Any:
    """A value of any depth without what its names or its addresses say is secret."""
    from slackwater.pipeline.secrets import hide_credentials

    if isinstance(value, dict):
        return {name: HIDDEN if is_secret_name(str(name)) else _fit_to_be_seen(one)
                for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fit_to_be_seen(one) for one in value]
    return hide_credentials(value) if isinstance(value, str) else value
