"""Which events come in: a request's bytes cut into events, each looked at by itself.

An event's own bytes are kept, so that a number too long for a double, or the order of the keys,
reaches the reader as it was sent.  A batch is cut by brackets and strings alone; whether an event
is JSON is asked of each one, and a bad one does not take its neighbours with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import orjson

__all__ = ["Admitted", "BadBody", "Rules", "admit", "split_array"]

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# most events are flat objects: one match finds their end, and the comma or bracket behind it
_FLAT = re.compile(rb"(\{(?:[^\"{}\[\]]++|" + _STRING + rb")*+\})"
                   rb"[ \t\r\n]*+(?:,|(\]))[ \t\r\n]*+", re.DOTALL)
_TOKEN = re.compile(_STRING + rb"|[\[\]{},]|\"", re.DOTALL)


class BadBody(ValueError):  # noqa: N818
    """A body that cannot be cut into events at all."""


@dataclass(frozen=True)
class Rules:
    """What an event must be.

    Parameters
    ----------
    max_event
        Its greatest size in bytes.
    required
        Fields that it must have, and not as null.
    """

    max_event: int = 256 << 10
    required: tuple[str, ...] = ()

    def refusal(self, event: bytes) -> str | None:
        """Why the event cannot come in, or None."""
        if len(event) > self.max_event:
            return f"the event has {len(event)} bytes; at most {self.max_event} are taken"
        try:
            value = orjson.loads(event)
        except orjson.JSONDecodeError as error:
            return f"is not JSON: {error}"
        if not isinstance(value, dict):
            return f"an event is a JSON object, not {_kind(value)}"
        for name in self.required:
            if value.get(name) is None:
                return f"the field {name!r} is missing" if name not in value else \
                    f"the field {name!r} is null"
        return None


@dataclass
class Admitted:
    """The events that may come in, and of the others the place in the batch and the reason."""

    events: list[bytes] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    too_large: int = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return len(self.events) + len(self.refused)


def admit(body: bytes, rules: Rules, *, lines: bool = False) -> Admitted:
    """Cut a body into events and look at each: an object, an array of objects, or lines.

    Raises
    ------
    BadBody
        If it is empty, or its brackets or strings do not end.

    Examples
    --------
    >>> found = admit(b'[{"v": 1}, {"v": NaN}, 3]', Rules())
    >>> found.events, [index for index, _ in found.refused]
    ([b'{"v": 1}'], [1, 2])
    """
    if lines:
        events = [line for line in (part.strip() for part in body.split(b"\n")) if line]
    else:
        stripped = body.strip(b" \t\r\n")
        if not stripped:
            raise BadBody("the body is empty")
        events = split_array(stripped) if stripped.startswith(b"[") else [stripped]
    found = Admitted()
    refusal = rules.refusal
    for index, event in enumerate(events):
        reason = refusal(event)
        if reason is None:
            found.events.append(event)
        else:
            found.refused.append((index, reason))
            found.too_large += len(event) > rules.max_event
    return found


def split_array(body: bytes) -> list[bytes]:
    """The elements of a JSON array as they were written, sound or not."""
    events: list[bytes] = []
    byte = _skip(body, 1)
    if body[byte:byte + 1] == b"]":
        return _ended(body, byte + 1, events)
    while True:
        while flat := _FLAT.match(body, byte):
            events.append(flat[1])
            byte = flat.end()
            if flat[2] is not None:
                return _ended(body, byte, events)
        end, closing = _element_end(body, byte)
        event = body[byte:end].strip(b" \t\r\n")
        if not event:
            raise BadBody(f"the array has no value before byte {end}")
        events.append(event)
        if closing:
            return _ended(body, end + 1, events)
        byte = _skip(body, end + 1)


def _element_end(body: bytes, byte: int) -> tuple[int, bool]:
    """Where the comma or the bracket after an element is, and whether it is the bracket."""
    depth = 0
    for token in _TOKEN.finditer(body, byte):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            if depth == 0:
                if first == 0x5D:
                    return token.start(), True
                raise BadBody(f"a bracket at byte {token.start()} closes nothing")
            depth -= 1
        elif first == 0x2C:
            if depth == 0:
                return token.start(), False
        elif token.end() - token.start() == 1:
            raise BadBody(f"the string at byte {token.start()} does not end")
    raise BadBody("the array does not end")


def _ended(body: bytes, byte: int, events: list[bytes]) -> list[bytes]:
    if _skip(body, byte) != len(body):
        raise BadBody(f"there is more after the array, at byte {byte}")
    return events


def _skip(body: bytes, byte: int) -> int:
    match = _SPACE.match(body, byte)
    return byte if match is None else match.end()


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "a string", type(None): "null"}.get(type(value), "a number")
