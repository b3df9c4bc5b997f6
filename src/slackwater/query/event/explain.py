"""EXPLAIN: the plan of an EVENT query, in words."""

from __future__ import annotations

from slackwater.core.durations import format_duration
from slackwater.pattern.schedule import Component
from slackwater.query.event.plan import EventPlan
from slackwater.query.event.query import EventPattern
from slackwater.query.expr.tree import Expr

__all__ = ["explain_event"]


def explain_event(pattern: EventPattern | str, emit: str = "final") -> str:
    """Tell what is checked where.

    Examples
    --------
    >>> print(explain_event('''EVENT SEQ(SHELF s, !(CHECKOUT c), EXIT e)
    ...     WHERE [id] AND e.value > 2 * s.value AND s.value > 0 WITHIN 1 hour'''))
    EVENT pattern, 2 components, 1 negation
    partition  by id: all variables are equal in it
    scan       s: SHELF, s.value > 0
               c: CHECKOUT
               e: EXIT
    sequence   s, e in strict order of time
    construct  window of 1h pushed into it: instances more than 1h from the end are not visited
               e.value > 2 * s.value, when s and e are bound
    negation   no c between s and e
    output     + when nothing can undo it: watermark at e
    """
    if isinstance(pattern, str):
        pattern = EventPattern(pattern)
    plan = pattern.plan
    lines = [_head(pattern)]
    lines += _block("partition", [
        f"by {', '.join(plan.partition)}: all variables are equal in it" if plan.partition
        else "none: no column is equal in all variables, every event meets every other"])
    lines += _block("scan", _scan(plan))
    lines += _block("sequence", [_written(plan)] if plan.tree.shape is not None else [", ".join(
        (f"{p.before} " if p.before else "") + p.variable
        + (f"[{p.inside or ''}]" if p.kleene else "") + _how_many(c)
        for p, c in zip([p for p in plan.tree.parts if not p.negated], pattern.components,
                        strict=True))
        + " in strict order of time"])
    lines += _block("construct", _construct(pattern))
    lines += _block("negation", _negations(pattern))
    lines += _block("skip", _skip(plan))
    lines += _block("output", [_output(pattern, emit)])
    lines += _block("return", [plan.tree.text[r.at.start:r.at.end] for r in plan.tree.returns])
    return "\n".join(lines)


def _written(plan: EventPlan) -> str:
    """The pattern of a query with groups and the like, as it is written."""
    assert plan.tree.shape is not None
    at = plan.tree.shape.at
    return " ".join(plan.tree.text[at.start:at.end].split())


def _how_many(c: Component) -> str:
    if c.least == c.most == 1:
        return ""
    few = {0: "none", 1: "one"}.get(c.least, str(c.least))
    if c.most == 0:
        return f" ({few} or more)"
    if c.most == c.least:
        return f" ({c.least})"
    return f" ({few} to {c.most})" if c.most > 1 else " (none or one)"


def _block(title: str, rows: list[str]) -> list[str]:
    return [f"{title if i == 0 else '':<11}{row}" for i, row in enumerate(rows)]


def _head(pattern: EventPattern) -> str:
    m, q = len(pattern.components), len(pattern.negations)
    parts = [f"{m} component{'s' * (m != 1)}"]
    if q:
        parts.append(f"{q} negation{'s' * (q != 1)}")
    return f"EVENT pattern, {', '.join(parts)}"


def _text(plan: EventPlan, expr: Expr) -> str:
    return " ".join(plan.tree.text[expr.at.start:expr.at.end].split())


def _scan(plan: EventPlan) -> list[str]:
    return [f"{p.variable}: " + ", ".join([" or ".join(p.types) or "any type", *(
        _text(plan, e) for e in plan.scan.get(p.variable, []))]) for p in plan.tree.parts]


def _construct(pattern: EventPattern) -> list[str]:
    plan, window = pattern.plan, format_duration(pattern.window)
    rows = [f"window of {window} pushed into it: instances more than {window} from the end are not "
            "visited"]
    order = [c.variable for c in pattern.components]
    for condition in pattern.bound_later():
        bound = [v for v in order if v in condition[1]]
        when = f"when {' and '.join(bound)} are bound" if len(bound) > 1 else (
            f"for the elements of {bound[0]}")
        rows.append(f"{_text(plan, condition[0])}, {when}")
    return rows


def _negations(pattern: EventPattern) -> list[str]:
    names = [c.variable for c in pattern.components]
    window = format_duration(pattern.window)
    rows = []
    if pattern.plan.tree.shape is not None:
        return [f"no {n.variable} where the pattern says so" + _tests(pattern, n.variable)
                for n in pattern.negations]
    for n in pattern.negations:
        if n.gap == 0:
            where = f"in the {window} before {names[-1]}, before {names[0]}"
        elif n.gap == len(names):
            where = f"after {names[-1]}, in the {window} after {names[0]}"
        else:
            where = f"between {names[n.gap - 1]} and {names[n.gap]}"
        rows.append(f"no {n.variable} {where}" + _tests(pattern, n.variable))
    return rows


def _tests(pattern: EventPattern, variable: str) -> str:
    tests = ", ".join(_text(pattern.plan, e) for e in pattern.plan.against[variable])
    return f", with {tests}" if tests else ""


def _skip(plan: EventPlan) -> list[str]:
    asked = plan.tree.skip
    if asked is None:
        return []
    where = {"past_last": "after its last event", "next": "after its first event",
             "first": f"at the first event of {asked.variable}",
             "last": f"at the last event of {asked.variable}"}[asked.to]
    return [f"after a match the next one of the partition begins {where} or later"]


def _output(pattern: EventPattern, emit: str) -> str:
    if emit == "eager" and (pattern.negations or pattern.skip is not None):
        return "+ as soon as its events are there, - if a late event undoes it"
    if pattern.skip is not None:
        first = pattern.components[0].variable
        return f"+ when all earlier matches are known: watermark past {first} + WITHIN"
    if pattern.shape is not None:
        return "+ when nothing can undo it"
    gaps = [n.gap for n in pattern.negations]
    names = [c.variable for c in pattern.components]
    if not gaps:
        return "+ when its last event has arrived: nothing can undo it"
    if len(names) in gaps:
        return f"+ when nothing can undo it: watermark past {names[0]} + WITHIN"
    return f"+ when nothing can undo it: watermark at {names[max(gaps)]}"
