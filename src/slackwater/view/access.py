"""Who may look: a token for people, a check of the Host header against rebound names."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field

__all__ = ["Access"]

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d{1,5})?", re.ASCII)


@dataclass(frozen=True)
class Access:
    """What a request must bring.

    Parameters
    ----------
    token
        The secret; None: none is asked for.
    names
        Host names, besides ``localhost``, by which the page may be asked for. An address in numbers
        is always good: only a name can be made to point somewhere else.
    """

    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    names: frozenset[str] = frozenset()

    def admits(self, given: str | None) -> bool:
        """Whether this is the token; how long that takes says nothing about it."""
        if self.token is None:
            return True
        return given is not None and hmac.compare_digest(given.encode("utf-8", "replace"),
                                                         self.token.encode())

    def knows_host(self, header: str | None) -> bool:
        """Whether the Host header names this machine.

        Examples
        --------
        >>> access = Access(names=frozenset({"plant.example"}))
        >>> [access.knows_host(h) for h in ("localhost:1", "127.0.0.1:1", "[::1]:1", "evil.example",
        ...                                 "plant.example", None)]
        [True, True, True, False, True, False]
        """
        found = _HOST.fullmatch(header or "")
        if not found:
            return False
        name = found[1].strip("[]").lower()
        if name == "localhost" or name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
