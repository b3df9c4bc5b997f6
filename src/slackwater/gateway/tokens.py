"""The tokens that let a request in; those of a file are read again when it changes."""

from __future__ import annotations

import hmac
import logging
import os
from pathlib import Path

from slackwater.core.errors import ConfigError

__all__ = ["Tokens"]

_log = logging.getLogger("slackwater.gateway")


class Tokens:
    """Knows a token when it sees one.

    Parameters
    ----------
    fixed
        Tokens that do not change.
    file
        A file with one token per line; blank lines and lines that begin with # do not count.
    """

    def __init__(self, fixed: tuple[str, ...] = (), file: Path | None = None) -> None:
        self._fixed, self._file = tuple(token.encode() for token in fixed), file
        self._seen: tuple[int, int, int] | None = None
        self._known = self._fixed
        if file is not None:
            self._seen = _stamp(file)
            self._known = self._fixed + self._read(file)

    @property
    def needed(self) -> bool:
        """Whether a token is asked for at all."""
        return bool(self._fixed) or self._file is not None

    def lets_in(self, authorization: bytes) -> bool:
        """Whether the value of the header field ``Authorization`` holds one of them."""
        scheme, _, token = authorization.partition(b" ")
        token = token.strip()
        # every token is compared, each in constant time: the time says nothing
        matches = [hmac.compare_digest(token, known) for known in self._known]
        return scheme.lower() == b"bearer" and any(matches)

    def reload(self) -> None:
        """Read the file again if it has changed; one that cannot be used is not taken up."""
        if self._file is None:
            return
        stamp = _stamp(self._file)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._known = self._fixed + self._read(self._file)
        except ConfigError as error:
            _log.error("the tokens stay as they were: %s", " ".join(str(error).split()))
        else:
            _log.warning("the tokens were read again: %d in %s",
                         len(self._known) - len(self._fixed), self._file)

    @staticmethod
    def _read(file: Path) -> tuple[bytes, ...]:
        try:
            lines = [line.strip() for line in file.read_bytes().splitlines()]
        except OSError as error:
            raise ConfigError("the tokens cannot be read", step="token-file",
                              got=f"{file}: {error.strerror}") from None
        found = tuple(line for line in lines if line and not line.startswith(b"#"))
        if not found:
            raise ConfigError("holds no token", step="token-file", got=str(file),
                              expected="one token per line")
        return found


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
