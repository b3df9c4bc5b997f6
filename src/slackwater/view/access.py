"""Who may look: a token for people, a check of the Host header against rebound names."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["Access"]


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
        try:
            name = urlsplit(f"//{header or ''}").hostname
        except ValueError:
            return False
        if not name:
            return False
        if name == "localhost" or name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
