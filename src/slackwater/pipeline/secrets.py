"""What must not be seen: passwords, tokens, credentials inside addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from slackwater.pipeline.option import HIDDEN, is_secret_name

__all__ = ["Secrets", "credentials", "hide_credentials"]

# scheme://user:password@host: all up to the last @ before a slash, for passwords may hold an @
_IN_URL = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<secret>[^\s/?#'\"]*)@", re.IGNORECASE)
# name=value in an address or a connection string, "name": "value" in JSON; whether the name is a
# secret's is asked
_IN_QUERY = re.compile(
    r"(?P<name>(?:^|[?&;,\s([{'\"])(?P<word>[A-Za-z][\w.-]{0,80})(?:=|['\"]\s*:\s*(?=['\"])))"
    r"(?P<secret>\"[^\"]*\"|'[^']*'|[^&;\s'\"]+)")
_BEARER = re.compile(r"(?P<scheme>\b(?:Bearer|Basic)\s+)(?P<secret>[\w.~+/=-]{8,})", re.IGNORECASE)
_SHORTEST = 3  # shorter ones would blank out half of every text; where they stand they are hidden


def credentials(text: str) -> Iterable[str]:
    """The secrets inside an address.

    Examples
    --------
    >>> list(credentials("postgresql://me:p%40ss@db/x?sslpassword=k"))
    ['me:p%40ss', 'p%40ss', 'k']
    """
    for found in _IN_URL.finditer(text):
        yield found["secret"]
        if ":" in found["secret"]:
            yield found["secret"].partition(":")[2]
    for found in _BEARER.finditer(text):
        yield found["secret"]
    for found in _named(text):
        yield found["secret"].strip("'\"")


def hide_credentials(text: str) -> str:
    """An address without its secrets.

    Examples
    --------
    >>> hide_credentials("postgresql://me:pass@db:5432/x?password=y&application_name=z")
    'postgresql://***@db:5432/x?password=***&application_name=z'
    """
    text = _IN_URL.sub(lambda m: f"{m['scheme']}{HIDDEN}@", text)
    text = _BEARER.sub(lambda m: f"{m['scheme']}{HIDDEN}", text)
    for found in reversed(list(_named(text))):
        text = text[:found.start("secret")] + HIDDEN + text[found.end("secret"):]
    return text


def _named(text: str) -> Iterator[re.Match[str]]:
    """Values with a secret's name; another value may hold one that follows it."""
    at = 0
    while found := _IN_QUERY.search(text, at):
        if is_secret_name(found["word"]):
            yield found
            at = found.end()
        else:
            at = found.end("name")


class Secrets:
    """The secrets of one pipeline, and a way to keep them out of any text.

    Examples
    --------
    >>> secrets = Secrets(["hunter2"])
    >>> secrets.redact("login failed for hunter2 at nats://me:x@host")
    'login failed for *** at nats://***@host'
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Keep a value secret, as it is written and as an address would encode it."""
        for form in (value, unquote(value), *credentials(value)):
            if len(form.strip()) >= _SHORTEST:
                self._values.add(form.strip())

    def redact(self, text: str) -> str:
        """The text without secrets."""
        # the longest first: one may be a part of another
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return hide_credentials(text)

    def clean(self, value: Any) -> Any:
        """Plain values of any depth without secrets in their texts."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {name: self.clean(one) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.clean(one) for one in value]
        return value
