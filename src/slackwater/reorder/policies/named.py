"""Policies by name: ours, or the acronym of the paper, with parameters."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.reorder.policies.bounded import BoundedOutOfOrderness
from slackwater.reorder.policies.delay_range import DelayRange
from slackwater.reorder.policies.drop_ratio import DropRatio
from slackwater.reorder.policies.kalman import Kalman
from slackwater.reorder.policies.kslack import KSlack
from slackwater.reorder.policies.latest_delay import LatestDelay
from slackwater.reorder.policies.max_delay import MaxDelay
from slackwater.reorder.policies.mean_plus_range import MeanPlusRange
from slackwater.reorder.policies.percentile import Percentile
from slackwater.reorder.policies.static import Static
from slackwater.reorder.policies.weighted_mean import WeightedMean
from slackwater.reorder.policy import Policy
from slackwater.reorder.tide.policy import Tide

__all__ = ["POLICIES", "as_policy", "default_policy", "parameters", "policy_for", "split_policies"]

POLICIES: dict[str, type[Policy]] = {
    kind.__name__: kind
    for kind in (Static, LatestDelay, WeightedMean, DelayRange, MeanPlusRange, Kalman, KSlack,
                 DropRatio, MaxDelay, Percentile, BoundedOutOfOrderness, Tide)
}
"""Every built-in policy, by its name."""

_BY_NAME = {
    _name.lower(): kind
    for kind in POLICIES.values()
    for _name in (kind.__name__, kind.paper)
    if _name
}
_CALL = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def as_policy(policy: Policy | str) -> Policy:
    """The policy itself, or the one that a text names.

    Examples
    --------
    >>> print(as_policy("bsttd(n=60)"))
    DelayRange(n=60, initial='750ms', offset='350ms', fill='use')
    >>> print(as_policy("Static(buffer=2s)"))
    Static(buffer='2s')
    >>> try:
    ...     as_policy("Kalmann")
    ... except ConfigError as error:
    ...     print(error.hint)
    did you mean 'kalman'?
    """
    if isinstance(policy, Policy):
        return policy
    match = _CALL.fullmatch(policy) if isinstance(policy, str) else None
    if match is None:
        raise ConfigError("is not a policy", step="policy", got=repr(policy),
                          expected='a policy, or a name such as "MeanPlusRange" or "bsttda"')
    kind = _BY_NAME.get(match[1].lower())
    if kind is None:
        known = ", ".join(n if not k.paper else f"{n} ({k.paper})" for n, k in POLICIES.items())
        raise ConfigError(f"there is no policy {match[1]!r}", step="policy", expected=known,
                          hint=did_you_mean(match[1], _BY_NAME))
    return kind(**parameters(kind, match[2] or ""))


def split_policies(text: str) -> list[str]:
    """Split at commas that stand outside parentheses.

    Examples
    --------
    >>> split_policies("sba, kslack(scale=1, initial=2s)")
    ['sba', 'kslack(scale=1, initial=2s)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def parameters(kind: type, text: str, *, step: str = "policy") -> dict[str, Any]:
    """Read ``name=value, …`` as the fields of a dataclass.

    Examples
    --------
    >>> parameters(KSlack, "scale=1, initial=2s")
    {'scale': 1, 'initial': '2s'}

    What stands for a duration stays text: a number without a unit is not one.

    >>> KSlack(**parameters(KSlack, "initial=5"))
    Traceback (most recent call last):
    ...
    slackwater.core.errors.ConfigError: KSlack.initial: is not a duration
      expected: a number and a unit, as in "500ms", "1 hour"
      got:      '5'
      hint:     add a unit: "5s" or "5ms"
    """
    known = {f.name: f for f in fields(kind)}
    found: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = (p.strip() for p in part.partition("="))
        if not equals or name not in known:
            raise ConfigError(f"{name!r} is not a parameter of {kind.__name__}", step=step,
                              expected=", ".join(known), hint=did_you_mean(name, known))
        value = value.strip("'\"")
        text_itself = str(known[name].type).startswith(("Duration", "tuple")) and value != "None"
        found[name] = value if text_itself else _value(value)
    return found


def _value(text: str) -> Any:
    """A number, a truth (which a text would always be taken for), None, or the text itself."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return None if text == "None" else text


def default_policy(source: str | None) -> Policy:
    """The policy for those who name none: with a source role Tide, which looks at the sources.

    Examples
    --------
    >>> type(default_policy("sensor")).__name__, type(default_policy(None)).__name__
    ('Tide', 'MeanPlusRange')
    """
    return MeanPlusRange() if source is None else Tide()


def policy_for(slack: Duration | None, policy: Policy | str | None, source: str | None) -> Policy:
    """The policy of those who give a fixed time, or a policy, or neither.

    Examples
    --------
    >>> print(policy_for("2s", None, "sensor"))
    Static(buffer='2s')
    """
    if slack is not None:
        return Static(slack)
    return default_policy(source) if policy is None else as_policy(policy)
