"""What every synchroniser is told: the parameters of the paper, and which sources there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.events import Roles
from slackwater.core.punctuation import declared
from slackwater.core.stage import Stage

__all__ = ["Synchroniser"]

_BLAME = ("missing", "producer")


@dataclass(frozen=True)
class Synchroniser(Stage):
    """Base of all methods; `slackwater.synchronise` says when an event may leave.

    Parameters
    ----------
    roles
        Which columns are time, arrival, source, key…; each key is synchronised by itself.
    sources
        The sources to wait for from the start, in every key. Rows of any other source are put in
        their place, but nobody waits for it. None: a source is waited for once it has appeared.
    max_delay
        MD: an event held longer than this after its arrival leaves at the next step. None: it waits
        for ever, and what is held has no bound.
    max_failures
        MS: a source that was waited for in vain by so many events is disabled until it sends an
        event newer than the watermark. None: never.
    blame
        Whose failure it is when an event times out: each source that it was waiting for
        (``"missing"``), or, as the paper has it, the source that produced it (``"producer"``).
    max_future_skew
        A row stamped further ahead of its arrival is quarantined.
    forget_after
        Keys that are silent for longer than this on the arrival clock, and learned sources that
        are disabled, start afresh with their next row (see `slackwater.core.keyed`). None: they
        are kept for ever.
    """

    roles: Roles = field(default_factory=lambda: Roles(source="source"))
    sources: tuple[str, ...] | None = None
    max_delay: Duration | None = "10s"
    max_failures: int | None = 3
    blame: Literal["missing", "producer"] = "missing"
    max_future_skew: Duration = "5 minutes"
    forget_after: Duration | None = "1 day"

    def __post_init__(self) -> None:
        step = type(self).__name__
        if self.roles.source is None:
            raise ConfigError("needs to know which column tells the source", step=step,
                              expected='roles with a source, as in Roles("time", source="device")')
        object.__setattr__(self, "sources", declared(self.sources, step))
        for name in ("max_delay", "max_future_skew", "forget_after"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, micros(value, name=f"{step}.{name}"))
        if self.max_failures is not None and (not isinstance(self.max_failures, int)
                                              or self.max_failures < 1):
            raise ConfigError("a source must be allowed at least one failure",
                              step=f"{step}.max_failures", got=repr(self.max_failures),
                              expected="a whole number ≥ 1, or None: never disable")
        if self.blame not in _BLAME:
            raise ConfigError("is not a way to count failures", step=f"{step}.blame",
                              expected=" or ".join(map(repr, _BLAME)), got=repr(self.blame),
                              hint=did_you_mean(str(self.blame), _BLAME))
