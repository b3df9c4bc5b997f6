"""What rates and delays have in common: a small frozen configuration that a text can name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from slackwater.core.durations import format_duration, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.numbers import finite_fields
from slackwater.reorder.policies.named import parameters

__all__ = ["Float64", "Law", "law_named"]

Float64 = NDArray[np.float64]
_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
L = TypeVar("L", bound="Law")


class Law:
    """Base of the frozen dataclasses; fields annotated ``Duration`` become whole microseconds."""

    def __post_init__(self) -> None:
        finite_fields(self)
        for field in fields(self):  # type: ignore[arg-type]
            if str(field.type) == "Duration":
                label = f"{type(self).__name__}.{field.name}"
                least = 1 if field.name == "interval" else 0
                value = micros(getattr(self, field.name), name=label, least=least)
                object.__setattr__(self, field.name, value)

    def __str__(self) -> str:
        parts = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if str(field.type) == "Duration":
                value = format_duration(value)
            parts.append(f"{field.name}={value}")
        return f"{type(self).__name__.lower()}({', '.join(parts)})"


def law_named(text: str, laws: Mapping[str, type[L]], *, what: str) -> L:
    """The law that a text such as ``lognormal(median=80ms, sigma=0.5)`` names."""
    match = _CALL.fullmatch(text)
    kind = laws.get(match[1].lower()) if match else None
    if match is None or kind is None:
        name = match[1] if match else text
        raise ConfigError(f"there is no {what} {name!r}", step=what, expected=", ".join(laws),
                          hint=did_you_mean(name, laws))
    return kind(**_plain(kind, parameters(kind, match[2] or "", step=what)))


def _plain(kind: type[Law], given: dict[str, Any]) -> dict[str, Any]:
    types = {f.name: str(f.type) for f in fields(kind)}  # type: ignore[arg-type]
    for name, value in given.items():
        if types[name].startswith("tuple"):
            given[name] = tuple(str(value).split("/"))
    strangers = [n for n in given if types[n] in ("Delay", "Rate")]
    if strangers:
        raise ConfigError(f"{strangers[0]!r} cannot be given as text", step=kind.__name__.lower(),
                          hint="use slackwater.datasets from Python")
    return given
