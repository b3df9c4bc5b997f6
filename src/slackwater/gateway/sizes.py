"""Sizes in bytes, written as ``"64MB"`` or ``"1GiB"``."""

from __future__ import annotations

import re

from slackwater.core.errors import ConfigError, did_you_mean

__all__ = ["bytes_of", "share_of"]

_UNITS = {"b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS[_letter] = _UNITS[_letter + "b"] = 1000**_power
    _UNITS[_letter + "ib"] = 1024**_power
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


def share_of(text: str, *, name: str = "share") -> float | None:
    """A share written in per cent, or None if the text is none.

    Examples
    --------
    >>> share_of("70%"), share_of("10GB")
    (0.7, None)
    """
    match = _SHARE.fullmatch(text)
    if match is None:
        return None
    if not 0 < float(match[1]) <= 100:
        raise ConfigError("is not a share", step=name, got=repr(text),
                          expected="more than 0%, at most 100%")
    return float(match[1]) / 100


def bytes_of(text: str | int, *, name: str = "size") -> int:
    """A size in bytes.

    Examples
    --------
    >>> bytes_of("64MiB"), bytes_of("1.5 GB"), bytes_of("4096")
    (67108864, 1500000000, 4096)
    """
    if isinstance(text, int):
        return text
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigError("is not a size", step=name, got=repr(text),
                          expected='a number and a unit, as in "512MB", "10GiB"')
    unit = _UNITS.get(match[2].lower() or "b")
    if unit is None:
        raise ConfigError(f"{match[2]!r} is not a unit of size", step=name, got=repr(text),
                          expected="B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
                          hint=did_you_mean(match[2], _UNITS))
    return round(float(match[1]) * unit)
