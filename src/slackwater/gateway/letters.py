"""What becomes of MQTT messages on their way: topics as fields, dead letters, known repeats."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson

from slackwater.gateway.frames import open_frame
from slackwater.gateway.log import Log
from slackwater.gateway.segments import tail

__all__ = ["dead_letter", "digest", "recent", "with_field"]

_KEPT = 64 << 10
_SEARCHED = 256 << 20


def recent(log: Log, most: int) -> list[tuple[int, bytes]]:
    """Tags and digests of the last tagged records, oldest first.

    What a broker delivers again was written last, so the search ends after some segments even if
    they hold little of MQTT.
    """
    found: list[tuple[int, bytes]] = []
    searched = 0
    for segment in reversed(log.segments):
        here: list[tuple[int, bytes]] = []
        for data, frame in tail(segment):
            records = open_frame(data, frame)
            if not records.tags.any():
                continue
            byte = 0
            for tag, length in zip(records.tags.tolist(), records.lengths.tolist(), strict=True):
                if tag:
                    here.append((tag, digest(bytes(records.payload[byte:byte + length]))))
                byte += length
            del here[:-most]
        found = here + found
        searched += segment.size
        if len(found) >= most or searched >= _SEARCHED:
            break
    return found[-most:]


def digest(event: bytes) -> bytes:
    """What an event is known by."""
    return hashlib.blake2b(event, digest_size=12).digest()


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
