"""The head of a request: one reading of its bytes, or none.

Whatever two readers could understand differently is refused: lines that do not end in CR LF, folded
lines, blanks in a name, two lengths, a length beside a transfer coding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from slackwater.gateway.http.answer import Refused

__all__ = ["Head", "read_head"]

_NAME = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_FIRST = rb"(" + _NAME + rb") ([\x21-\x7e]{1,8000}) HTTP/1\.([01])"
_VALUE = rb"[\t\x20-\x7e\x80-\xff]*+"
_HEAD = re.compile(_FIRST + rb"((?:\r\n" + _NAME + rb":" + _VALUE + rb")*+)")
_FIELD = re.compile(rb"\r\n(" + _NAME + rb"):[ \t]*+(" + _VALUE + rb")")
_ABSOLUTE = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)
_MOST_FIELDS = 100
_ONCE = frozenset((b"host", b"content-length", b"transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Head:
    """What a request says before its body; names of fields are in lower case."""

    method: str
    path: str
    fields: dict[bytes, bytes]
    length: int | None
    chunked: bool
    keep_alive: bool
    waits: bool  # for "100 Continue", before it sends its body

    @property
    def has_body(self) -> bool:
        """Whether bytes of this request follow the head."""
        return self.chunked or bool(self.length)

    def text(self, name: bytes) -> str:
        """A field as text, empty if it is missing."""
        return self.fields.get(name, b"").decode("latin-1")


def read_head(data: bytes) -> Head:
    """Read the lines of a head, without the empty line at its end.

    Raises
    ------
    Refused
        If it can be read in no way, or in more than one.

    Examples
    --------
    >>> head = read_head(b"POST /events?x HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 2")
    >>> head.method, head.path, head.length, head.keep_alive
    ('POST', '/events', 2, True)
    """
    begun = _HEAD.fullmatch(data)
    if begun is None:
        raise _unreadable(data)
    found = _FIELD.findall(begun[4])
    if len(found) > _MOST_FIELDS:
        raise Refused(431, f"more than {_MOST_FIELDS} header fields")
    fields: dict[bytes, bytes] = {}
    for name, value in found:
        name, value = name.lower(), value.rstrip(b" \t")
        if name in fields:
            if name in _ONCE:
                raise Refused(400, f"the header field {name.decode()} comes twice")
            value = fields[name] + b", " + value
        fields[name] = value
    newer = begun[3] == b"1"
    if newer and b"host" not in fields:
        raise Refused(400, "the header field host is missing")
    options = {option.strip().lower() for option in fields[b"connection"].split(b",")} \
        if b"connection" in fields else set()
    length, chunked = _framing(fields, newer)
    return Head(begun[1].decode(), _path(begun[2]), fields, length, chunked,
                b"close" not in options and (newer or b"keep-alive" in options),
                newer and fields.get(b"expect", b"").lower() == b"100-continue")


def _unreadable(data: bytes) -> Refused:
    first = data.partition(b"\r\n")[0]
    if first.endswith((b" HTTP/2.0", b" HTTP/3.0", b" HTTP/0.9")):
        return Refused(505, "speak HTTP/1.1")
    if _HEAD.fullmatch(first) is None:
        return Refused(400, "is not a request of HTTP/1.1")
    return Refused(400, "a header field cannot be read")


def _framing(fields: dict[bytes, bytes], newer: bool) -> tuple[int | None, bool]:
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if coding is not None:
        if length is not None or not newer:
            raise Refused(400, "the body's length is given in two ways")
        if coding.lower() != b"chunked":
            raise Refused(501, "the only transfer coding is chunked")
        return None, True
    if length is None:
        return None, False
    if not length.isdigit() or len(length) > 18:
        raise Refused(400, "the content length is not a number")
    return int(length), False


def _path(target: bytes) -> str:
    whole = _ABSOLUTE.match(target)
    if whole is not None:
        target = target[whole.end():] or b"/"
    path = target.partition(b"?")[0]
    return (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1")
