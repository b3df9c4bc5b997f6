"""Which events come in: a request's bytes cut into events, each looked at by itself.

An event's own bytes are kept, so that a number too long for a double, or the order of the keys,
reaches the reader as it was sent.  A batch is cut by brackets and strings alone; whether an event
is JSON is asked of each one, and a bad one does not take its neighbours with it.

Every step is bounded by what has been read so far: the cut stops at the first event too many, one
event is decoded at a time and dropped again, and of the refused ones only the first are described.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

__all__ = ["LISTED", "Admitted", "BadBody", "Rules", "TooMany", "admit", "elements"]

LISTED = 100  # refused events that are described one by one; the others are counted
_DEEPEST = 10_000  # JSON itself is read to a depth of 1024; this only ends the search
_SPACES = b" \t\r\n"
_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# most elements are flat objects, or scalars: one match finds their end and what stands behind it
_FLAT = re.compile(rb"(\{(?:[^\"{}\[\]]++|" + _STRING + rb")*+\})"
                   rb"[ \t\r\n]*+(?:,|(\]))[ \t\r\n]*+", re.DOTALL)
_SCALAR = re.compile(rb"([^\"\[\]{},]++)(?:,|(\]))[ \t\r\n]*+")
_TOKEN = re.compile(_STRING + rb"|[\[\]{},]|\"", re.DOTALL)
_BETWEEN = re.compile(rb"\}[ \t\r\n]*+,[ \t\r\n]*+\{")
_LINE = re.compile(rb"[ \t\r\n]*+([^\n]++)")
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*+\\u0000")


class BadBody(ValueError):  # noqa: N818
    """A body that cannot be cut into events at all."""


class TooMany(ValueError):  # noqa: N818
    """A batch with more events than are taken at once."""


@dataclass(frozen=True)
class Rules:
    r"""What an event must be.

    Parameters
    ----------
    max_event
        Its greatest size in bytes.
    required
        Fields that it must have, and not as null.
    refuse_nul
        Refuse an event with the character U+0000 (``\u0000``) in a text: PostgreSQL, for one,
        cannot hold it.
    """

    max_event: int = 256 << 10
    required: tuple[str, ...] = ()
    refuse_nul: bool = False

    def refusal(self, event: bytes) -> str | None:
        """Why the event cannot come in, or None."""
        if len(event) > self.max_event:
            return f"the event has {len(event)} bytes; at most {self.max_event} are taken"
        try:
            value = orjson.loads(event)
        except orjson.JSONDecodeError as error:
            return f"is not JSON: {error}"
        return self._refusal_of(value, event)

    def _refusal_of(self, value: object, event: bytes) -> str | None:
        if not isinstance(value, dict):
            return f"an event is a JSON object, not {_kind(value)}"
        for name in self.required:
            if value.get(name) is None:
                return f"the field {name!r} is missing" if name not in value else \
                    f"the field {name!r} is null"
        if self.refuse_nul and b"\\u0000" in event and _NUL.search(event):
            return "a text holds the character U+0000, which is not taken here"
        return None


@dataclass
class Admitted:
    """The events that may come in, and of the others the place in the batch and the reason."""

    events: list[bytes] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    refused_count: int = 0
    too_large: int = 0

    @property
    def count(self) -> int:
        """How many events there were."""
        return len(self.events) + self.refused_count

    def refuse(self, index: int, reason: str) -> None:
        """Note an event that does not come in; described if it is among the first."""
        self.refused_count += 1
        if len(self.refused) < LISTED:
            self.refused.append((index, reason))


def admit(body: bytes, rules: Rules, *, lines: bool = False, most: int | None = None) -> Admitted:
    """Cut a body into events and look at each: an object, an array of objects, or lines.

    Parameters
    ----------
    body
        As it was sent.
    rules
        What an event must be.
    lines
        One event per line, instead of one JSON value.
    most
        Events that are taken at once; None: any number.

    Raises
    ------
    BadBody
        If it is empty, or its brackets or strings do not end.
    TooMany
        If there are more events than `most`.

    Examples
    --------
    >>> found = admit(b'[{"v": 1}, {"v": NaN}, 3]', Rules())
    >>> found.events, [index for index, _ in found.refused]
    ([b'{"v": 1}'], [1, 2])
    """
    if lines:
        few = most is None or body.count(b"\n") < most
        return _looked_at(_few_lines(body) if few else _lines(body), rules, most)
    stripped = body.strip(_SPACES)
    if not stripped:
        raise BadBody("the body is empty")
    if not stripped.startswith(b"["):
        return _looked_at([stripped], rules, most)
    found = _objects(stripped, rules, most)
    return _looked_at(elements(stripped), rules, most) if found is None else found


def _looked_at(events: Iterable[bytes], rules: Rules, most: int | None) -> Admitted:
    found = Admitted()
    loads, largest, taken = orjson.loads, rules.max_event, found.events
    plain = not rules.required and not rules.refuse_nul
    for index, event in enumerate(events):
        if index == most:
            raise TooMany(f"more than {most} events; at most {most} are taken")
        if found.refused_count >= LISTED and event[0] != 0x7B:
            found.refused_count += 1  # it is no object, and nobody will be told more than that
            continue
        try:
            if len(event) <= largest:
                value = loads(event)
                if (plain and type(value) is dict) or rules._refusal_of(value, event) is None:
                    taken.append(event)
                    continue
        except orjson.JSONDecodeError:
            pass
        found.refuse(index, rules.refusal(event) or "")
        found.too_large += len(event) > largest
    return found


def _objects(body: bytes, rules: Rules, most: int | None) -> Admitted | None:
    """An array of objects only, or None if it has to be cut with more care.

    Cut at every ``},{`` wherever it stands.  If each piece is a JSON object by itself, then the
    array is made of exactly these: JSON can be read in one way only.
    """
    if not (body.startswith(b"[{") and body.endswith(b"}]")):
        return None
    pieces = _BETWEEN.split(body[2:-2], 0 if most is None else most)
    found = Admitted()
    loads, largest = orjson.loads, rules.max_event
    plain = not rules.required and not rules.refuse_nul
    try:
        for index, piece in enumerate(pieces):
            if index == most:
                raise TooMany(f"more than {most} events; at most {most} are taken")
            event = b"{%b}" % piece
            if len(event) > largest:
                return None
            value = loads(event)  # an object: it has its brackets
            reason = None if plain else rules._refusal_of(value, event)
            if reason is None:
                found.events.append(event)
            else:
                found.refuse(index, reason)
    except orjson.JSONDecodeError:
        return None
    return found


def _few_lines(body: bytes) -> list[bytes]:
    return [line for part in body.split(b"\n") if (line := part.strip(_SPACES))]


def _lines(body: bytes) -> Iterator[bytes]:
    # without blanks at the end every run of blanks has a line behind it: no match is tried twice
    for match in _LINE.finditer(body.rstrip(_SPACES)):
        yield match[1].rstrip(_SPACES)


def elements(body: bytes) -> Iterator[bytes]:
    """The elements of a JSON array one by one, sound or not; the array's end is checked last.

    Raises
    ------
    BadBody
        If brackets or strings do not end, or there is more behind the array.
    """
    byte = _skip(body, 1)
    if body[byte:byte + 1] == b"]":
        return _ended(body, byte + 1)
    while True:
        while quick := _FLAT.match(body, byte) or _SCALAR.match(body, byte):
            event = quick[1].rstrip(_SPACES)
            yield event
            byte = quick.end()
            if quick[2] is not None:
                return _ended(body, byte)
        end, closing = _element_end(body, byte)
        event = body[byte:end].strip(_SPACES)
        if not event:
            raise BadBody(f"the array has no value before byte {end}")
        yield event
        if closing:
            return _ended(body, end + 1)
        byte = _skip(body, end + 1)


def _element_end(body: bytes, byte: int) -> tuple[int, bool]:
    """Where the comma or the bracket after an element is, and whether it is the bracket."""
    depth = 0
    for token in _TOKEN.finditer(body, byte):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > _DEEPEST:
                raise BadBody(f"nested deeper than {_DEEPEST}, at byte {token.start()}")
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


def _ended(body: bytes, byte: int) -> None:
    if _skip(body, byte) != len(body):
        raise BadBody(f"there is more after the array, at byte {byte}")


def _skip(body: bytes, byte: int) -> int:
    match = _SPACE.match(body, byte)
    return byte if match is None else match.end()


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "true" if value else "false"
    return {str: "a string", type(None): "null"}.get(type(value), "a number")
