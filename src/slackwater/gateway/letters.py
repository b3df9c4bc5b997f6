"""What becomes of MQTT messages on their way: topics as fields, dead letters, known repeats."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from slackwater.gateway.frames import Records, open_frame
from slackwater.gateway.log import Log
from slackwater.gateway.segments import tail

__all__ = ["dead_letter", "digest", "number_of", "recent", "tags_of", "with_field"]

_KEPT = 64 << 10
_SEARCHED = 256 << 20
_NUMBER, _FIRST, _AGAIN = 0xFFFF, 1 << 16, 1 << 17  # parts of a tag


def tags_of(number: int, count: int, *, again: bool = False) -> list[int]:
    """What is kept with the events of one message: its number at the broker, and where it begins.

    Parameters
    ----------
    number
        The message's number, up to 65535.
    count
        How many events it has.
    again
        It may have been kept before.
    """
    return [number | _FIRST | (_AGAIN if again else 0)] + [number] * (count - 1)


def number_of(tag: int) -> tuple[int, bool]:
    """The message's number, and whether it may have been kept before."""
    return tag & _NUMBER, bool(tag & _AGAIN)


def recent(log: Log, most: int) -> list[tuple[int, bytes]]:
    """Numbers and digests of the last messages of MQTT, oldest first.

    What a broker delivers again was written last, so the search ends after some segments even if
    they hold little of MQTT.
    """
    found: list[tuple[int, bytes]] = []
    searched = 0
    for segment in reversed(log.segments):
        here: list[tuple[int, bytes]] = []
        for data, frame in tail(segment):
            here += _messages(open_frame(data, frame))
            del here[:-most]
        found = here + found
        searched += segment.size
        if len(found) >= most or searched >= _SEARCHED:
            break
    return found[-most:]


def _messages(records: Records) -> Iterator[tuple[int, bytes]]:
    """The messages of a frame: none begins in one frame and ends in another."""
    if not records.tags.any():
        return
    byte, number, events = 0, 0, list[bytes]()
    for tag, length in zip(records.tags.tolist(), records.lengths.tolist(), strict=True):
        if events and (tag & _FIRST or tag & _NUMBER != number):
            yield number, digest(events)
            events = []
        number = tag & _NUMBER
        if tag:
            events.append(bytes(records.payload[byte:byte + length]))
        byte += length
    if events:
        yield number, digest(events)


def digest(events: Iterable[bytes]) -> bytes:
    """What a message is known by."""
    found = hashlib.blake2b(digest_size=12)
    for event in events:
        found.update(b"%d:" % len(event))
        found.update(event)
    return found.digest()


def with_field(event: bytes, name: str, value: str) -> bytes:
    """The event with one more field; it comes last, so that an event cannot give its own."""
    head = event.rstrip()[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return head + comma + orjson.dumps(name) + b":" + orjson.dumps(value) + b"}"


def dead_letter(topic: str, payload: bytes, reason: str) -> bytes:
    """A message that cannot be an event, with the reason; a long one is cut."""
    letter: dict[str, Any] = {"_topic": topic, "reason": reason}
    if len(payload) > _KEPT:
        letter["payload_bytes"] = len(payload)
        payload = payload[:_KEPT]
    try:
        letter["payload"] = payload.decode()
    except UnicodeDecodeError:
        letter["payload_base64"] = base64.b64encode(payload).decode()
    return orjson.dumps(letter)
