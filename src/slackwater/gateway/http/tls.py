"""Encryption of a connection, and certificates that are read again when their files change."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from slackwater.core.errors import ConfigError

__all__ = ["Certificates", "Tls", "TlsFailed"]

_log = logging.getLogger("slackwater.gateway")


class TlsFailed(Exception):  # noqa: N818
    """The other side does not speak TLS, or has no certificate that is trusted."""


class Certificates:
    """A server's certificate and key, and whose clients it trusts.

    Parameters
    ----------
    certificate, key
        PEM files.
    client_ca
        Certificates that a client's must be signed by; None: clients need none.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._files = [f for f in (certificate, key, client_ca) if f is not None]
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._seen = self._stamps()
        self.context = self._load()

    def reload(self) -> None:
        """Read the files again if they have changed; what cannot be used is not taken up."""
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            self.context = self._load()
        except ConfigError as error:
            _log.error("the new certificate is not used: %s", " ".join(str(error).split()))
        else:
            _log.warning("the certificate was read again")

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        stamps: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                found = os.stat(file)
                stamps.append((found.st_mtime_ns, found.st_size, found.st_ino))
            except OSError:
                stamps.append(None)
        return stamps

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        try:
            context.load_cert_chain(self._certificate, self._key)
            if self._client_ca is not None:
                context.load_verify_locations(self._client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(map(str, self._files))
            raise ConfigError("the certificate or its key cannot be used", step="tls",
                              got=f"{files}: {error}",
                              expected="PEM files that belong together") from error
        return context


class Tls:
    """One connection's encryption, between its bytes and the network's.

    Made when the first bytes come: a connection that says nothing costs nothing.

    Parameters
    ----------
    context
        The certificate.
    send
        Takes bytes for the network.
    """

    _PIECE = 64 << 10

    def __init__(self, context: ssl.SSLContext, send: Callable[[bytes], None]) -> None:
        self._in, self._out, self._send = ssl.MemoryBIO(), ssl.MemoryBIO(), send
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self.shaken = False
        self.ended = False

    def feed(self, data: bytes) -> None:
        """Take bytes of the network."""
        self._in.write(data)

    def plain(self) -> Iterator[bytes]:
        """What can be read now, piece by piece.

        Raises
        ------
        TlsFailed
            If it cannot be decrypted.
        """
        try:
            if not self.shaken:
                self._tls.do_handshake()
                self.shaken = True
            while data := self._tls.read(self._PIECE):
                yield data
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError as error:
            raise TlsFailed(error.reason or "no TLS") from None
        finally:
            self._flush()  # also the alert that says why

    def write(self, data: bytes) -> None:
        """Encrypt and send."""
        self._tls.write(data)
        self._flush()

    def close(self) -> None:
        """Say that nothing more will be sent."""
        with suppress(ssl.SSLError):  # the other side's word is not waited for
            self._tls.unwrap()
        self._flush()

    def _flush(self) -> None:
        if self._out.pending:
            self._send(self._out.read())
