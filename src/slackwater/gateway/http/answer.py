"""Answers: their bytes, and the one that ends a request before its time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import orjson

__all__ = ["CONTINUE", "Answer", "Refused", "answer", "error"]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, fields and a body."""

    status: int
    body: bytes
    kind: str = "application/json"
    fields: Mapping[str, str] | None = None

    def encoded(self, *, keep_alive: bool, bodiless: bool = False) -> bytes:
        """The bytes to send."""
        lines = [f"HTTP/1.1 {self.status} {_PHRASES[self.status]}", f"date: {_date()}",
                 f"content-type: {self.kind}", f"content-length: {len(self.body)}"]
        if not keep_alive:
            lines.append("connection: close")
        lines += [f"{name}: {value}" for name, value in (self.fields or {}).items()]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        return head if bodiless else head + self.body


class Refused(Exception):  # noqa: N818
    """An answer that ends the request."""

    def __init__(self, status: int, text: str, **fields: str) -> None:
        super().__init__(text)
        self.answer = error(status, text, fields)


def answer(status: int, body: dict[str, Any], fields: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return Answer(status, orjson.dumps(body), fields=fields)


def error(status: int, text: str, fields: Mapping[str, str] | None = None) -> Answer:
    """An answer that says what was wrong, and that nothing was taken."""
    return answer(status, {"accepted": 0, "refused": [], "error": text}, fields)


_date_of: tuple[int, str] = (0, "")


def _date() -> str:
    global _date_of
    now = int(time.time())
    if _date_of[0] != now:
        _date_of = (now, formatdate(now, usegmt=True))
    return _date_of[1]
