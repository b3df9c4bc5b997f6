"""Real parameters: finite numbers, and nothing that only compares like one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from numbers import Real
from typing import Any

from slackwater.core.errors import ConfigError

__all__ = ["finite", "finite_fields"]


def finite(value: Any, *, step: str) -> float:
    """The number itself, if it is a finite one; NaN passes every comparison it should fail.

    Examples
    --------
    >>> finite(0.5, step="KSlack.scale")
    0.5
    >>> try:
    ...     finite(float("nan"), step="KSlack.scale")
    ... except ConfigError as error:
    ...     print(error)
    KSlack.scale: is not a finite number
      expected: a number such as 0.5
      got:      nan
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ConfigError("is not a finite number", step=step, expected="a number such as 0.5",
                          got=repr(value))
    return float(value)


def finite_fields(config: Any, names: Iterable[str] | None = None) -> None:
    """Check fields of a dataclass: the named ones, or all that are annotated ``float``."""
    for field in fields(config):
        if field.name in names if names is not None else str(field.type) == "float":
            finite(getattr(config, field.name), step=f"{type(config).__name__}.{field.name}")
