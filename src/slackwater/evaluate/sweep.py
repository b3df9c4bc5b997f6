"""One parameter of a policy tried over a range of values (paper 3, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.datasets import Dataset
from slackwater.evaluate.metrics import Metrics, evaluate
from slackwater.evaluate.run import Events, usable_events
from slackwater.reorder import Policy, as_policy

__all__ = ["sweep"]


def sweep(dataset: Dataset | Events, policy: Policy | str, parameter: str,
          values: Sequence[Any]) -> list[Metrics]:
    """Evaluate a policy for each value of a parameter, the others as they are.

    Examples
    --------
    >>> from slackwater.datasets import simulated
    >>> found = sweep(simulated("g-2"), "sba", "buffer", ["480ms", "500ms", "520ms"])
    >>> [m.not_compensated for m in found]
    [5386, 1778, 0]
    """
    base = as_policy(policy)
    known = base.__dataclass_fields__  # type: ignore[attr-defined]
    if parameter not in known:
        raise ConfigError(f"{parameter!r} is not a parameter of {type(base).__name__}",
                          step="sweep", expected=", ".join(known),
                          hint=did_you_mean(parameter, known))
    events = dataset if isinstance(dataset, Events) else usable_events(dataset)
    tried = [replace(base, **{parameter: value}) for value in values]  # type: ignore[type-var]
    return evaluate(events, tried)
