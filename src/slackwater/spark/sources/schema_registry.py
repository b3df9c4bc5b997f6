"""A client of a schema registry, by the HTTP interface that Confluent's has and others share."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from slackwater.core.errors import ConfigError, DataError

__all__ = ["SchemaRegistry"]

_PATIENCE, _BELIEVED = 10.0, 60.0  # seconds
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


class SchemaRegistry:
    """Schemas by their number.

    A number's schema never changes, so each is asked for once; that there is none is believed for a
    minute.

    Parameters
    ----------
    url
        ``http://host:8081``, with ``user:password@`` before the host if it asks for them.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        where = host if parts.port is None else f"{host}:{parts.port}"
        self._url = urllib.parse.urlunsplit((parts.scheme, where, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": _ACCEPT}
        if parts.username is not None:
            who = f"{urllib.parse.unquote(parts.username)}:" \
                  f"{urllib.parse.unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(who.encode()).decode()}"
        self._known: set[int] = set()
        self._missing: dict[int, float] = {}

    def of_topic(self, topic: str) -> dict[int, str]:
        """The schemas of a topic's values by number, the oldest first.

        Raises
        ------
        ConfigError
            The registry has none for the topic, or one that is not Avro.
        """
        subject = urllib.parse.quote(f"{topic}-value", safe="")
        versions = self._get(f"/subjects/{subject}/versions")
        if not versions:
            raise ConfigError("the schema registry knows no schema of the topic's values",
                              step="registry", expected=f"a subject {topic}-value", got=self._url,
                              hint="is the topic's name right, and has anybody written to it?")
        found = {}
        for version in sorted(versions):
            said = self._get(f"/subjects/{subject}/versions/{version}")
            if said is None:
                continue  # it was deleted just now
            kind = said.get("schemaType") or "AVRO"
            if kind != "AVRO" or said.get("references"):
                got = kind if kind != "AVRO" else "references to other schemas"
                raise ConfigError("only plain Avro schemas can be read", step="registry",
                                  got=f"version {version} of {topic}-value has {got}",
                                  hint="give the schemas themselves: schemas: {number: file}")
            found[int(said["id"])] = str(said["schema"])
        return found

    def has(self, number: int) -> bool:
        """Whether there is a schema of this number."""
        if number in self._known:
            return True
        if time.monotonic() < self._missing.get(number, 0.0):
            return False
        if self._get(f"/schemas/ids/{number}") is None:
            self._missing[number] = time.monotonic() + _BELIEVED
            return False
        self._known.add(number)
        return True

    def _get(self, path: str) -> Any:
        """The answer; None: there is no such thing."""
        request = urllib.request.Request(self._url + path, headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            if error.code in (401, 403):
                raise ConfigError("the schema registry does not let us in", step="registry",
                                  got=f"{self._url} answers {error.code}",
                                  hint="registry: http://user:password@host:port") from None
            raise DataError("the schema registry does not answer as it should", step="registry",
                            got=f"{self._url}{path}: {error.code}") from None
        except (OSError, ValueError) as error:
            raise DataError("the schema registry cannot be asked", step="registry",
                            got=f"{self._url}: {error}",
                            hint="a run needs it when it starts") from None
