"""EXPLAIN: the plan of any query, with the options it would run with, in words."""

from __future__ import annotations

from typing import Any

from slackwater.core.durations import format_duration, micros
from slackwater.core.html import html_text
from slackwater.query.correlate.timing import split_timing
from slackwater.query.correlate.tree import CorrelateTree
from slackwater.query.event.explain import explain_event
from slackwater.query.event.query import EventPattern
from slackwater.query.event.tree import EventTree
from slackwater.query.expr.tree import Node
from slackwater.query.language import parse
from slackwater.query.recognise.tree import Recognise
from slackwater.query.select.tree import Select
from slackwater.reorder import Policy

__all__ = ["explain", "explained_html"]

_STRATEGIES = {
    "skip_till_any": "skip_till_any: every combination of events is a match",
    "skip_till_next": "skip_till_next: irrelevant events are skipped, relevant ones are not",
    "strict": "strict: the events of a match follow each other directly",
    "branching": "branching: each way to go on takes its own next event",
}
_ROWS = {"one": "one row per match", "all": "all rows of a match", "omit": "all rows of a match, "
         "without empty matches", "unmatched": "all rows, those without a match too"}
_SKIPS = {"past": "after its last row", "next": "after its first row",
          "first": "at the first {0}", "last": "at the last {0}"}


def explain(text: str, **options: Any) -> str:
    """What a query does, and in which order.

    Parameters
    ----------
    text
        The query, with or without EXPLAIN.
    options
        Those of `compile`; what is not said has its default.

    Examples
    --------
    >>> print(explain('''SELECT room, MAX(temp) AS peak FROM Sensors [RANGE 30 s, SLIDE 5 s]
    ...                  WHERE temp > -40 GROUP BY room''', slack="2s"))
    SELECT over windows of Sensors
    filter     temp > -40, row by row; what it leaves out moves no clock
    order      per room, waiting 2s for late rows
    window     30s long, every 5s, per room
    select     room, MAX(temp) AS peak
    output     once, when the watermark passes the end of a window
    >>> print(explain("EVENT SEQ(A a, B b) WITHIN 5 s", slack="1 minute", emit="eager"))
    EVENT pattern, 2 components
    partition  none: no column is equal in all variables, every event meets every other
    scan       a: A
               b: B
    sequence   a, b in strict order of time
    construct  window of 5s pushed into it: instances more than 5s from the end are not visited
    output     + when its last event has arrived: nothing can undo it
    select     skip_till_any: every combination of events is a match
    order      any, waiting 1m for late rows
    """
    query = parse(text)
    if isinstance(query, EventTree):
        return _event(text, options)
    if isinstance(query, CorrelateTree):
        lines = _correlate(query, options)
    elif isinstance(query, Recognise):
        lines = _recognise(query, options)
    else:
        lines = _select(query, options)
    return "\n".join([lines[0], *(f"{title:<11}{words}" for title, words in lines[1:] if words)])


def explained_html(text: str, **options: Any) -> str:
    """The query and its plan, for notebooks."""
    return html_text(f"{text.strip()}\n\n{explain(text, **options)}")


def _said(query: Any, *nodes: Node | None) -> str:
    """The parts of a query, as they are written there."""
    return ", ".join(" ".join(query.text[n.at.start:n.at.end].split())
                     for n in nodes if n is not None)


def _filter(query: Any) -> str:
    said = _said(query, query.where)
    return f"{said}, row by row; what it leaves out moves no clock" if said else ""


def _wait(options: dict[str, Any], dratio: float | None = None) -> str:
    if dratio is not None:
        return f"waiting as long as it takes to lose at most {dratio:.4g} of the rows (DRATIO)"
    slack, policy = options.get("slack"), options.get("policy")
    given = policy if slack is None else slack
    if given is None:
        return "waiting as long as the rows' delays ask for: the policy that reorder takes"
    if isinstance(given, Policy) or (isinstance(given, str) and slack is None):
        return f"waiting as {given} says"
    return f"waiting {format_duration(micros(given))} for late rows"


def _per(names: tuple[str, ...]) -> str:
    return f"per {', '.join(names)}, " if names else ""


def _select(query: Select, options: dict[str, Any]) -> list[Any]:
    group = tuple(name.name for name in query.group)
    per = f", per {', '.join(group)}" if group else ""
    if query.session is not None:
        window = f"sessions: rows at most {format_duration(query.session)} apart{per}"
        output = "once, when the watermark passes the end of a session"
    elif query.range is None:
        window, output = "", "each row, in the order of time"
    elif query.slide is None:
        window = f"for each row: the {format_duration(query.range)} up to its time{per}"
        output = "one result for each row, in the order of time"
    else:
        window = (f"{format_duration(query.range)} long, every {format_duration(query.slide)}{per}")
        output = "once, when the watermark passes the end of a window"
    return [
        f"SELECT over {'windows' if window else 'rows'} of {query.source}",
        ("filter", _filter(query)),
        ("order", _per(group) + _wait(options, query.dratio)),
        ("window", window), ("having", _said(query, query.having)),
        ("select", _said(query, *query.items)), ("output", output)]


def _recognise(query: Recognise, options: dict[str, Any]) -> list[Any]:
    partition = tuple(name.name for name in query.partition)
    skip = _SKIPS[query.skip.how].format(query.skip.variable)
    return [
        f"MATCH_RECOGNIZE over {query.source}",
        ("order", _per(partition) + f"by {_said(query, *query.order)}, {_wait(options)}"),
        ("pattern", _said(query, query.pattern)),
        ("within", "" if query.within is None else format_duration(query.within)),
        ("define", _said(query, *query.defines)), ("measures", _said(query, *query.measures)),
        ("rows", _ROWS[query.rows]), ("skip", f"the next match begins {skip}"),
        ("filter", _said(query, query.where)), ("select", _said(query, *query.items)),
        ("output", "a match, when no row that may still come could change it")]


def _correlate(query: CorrelateTree, options: dict[str, Any]) -> list[Any]:
    timing, others = split_timing(query)
    one, two = query.streams
    delay = options.get("max_delay")
    return [
        f"SELECT over pairs of {one.name} {one.alias} and {two.name} {two.alias}",
        ("pair", f"{query.text[timing.at.start:timing.at.end]}, with a probability of "
                 f"{timing.confidence:.4g} or more"),
        ("within", "" if query.within is None else f"latest times at most "
                   f"{format_duration(query.within)} apart"),
        ("filter", _said(query, *others)),
        ("order", "" if delay is None else
         f"none needed: a row may come up to {format_duration(micros(delay))} late"),
        ("select", _said(query, *query.items)),
        ("output", "a pair, when its later row has come")]


def _event(text: str, options: dict[str, Any]) -> str:
    pattern = EventPattern(text)
    asked = {**pattern.said, **{name: value for name, value in options.items() if value}}
    late = asked.get("timed_out")
    also = "" if late is None else (
        "every partial match that could have gone on" if late == "all" else
        "partial matches that nothing followed") + ", when the window after their start has closed"
    return "\n".join([explain_event(pattern, asked.get("emit", "final")),
                      *([f"{'timed out':<11}{also}"] if also else []),
                      f"{'select':<11}{_STRATEGIES[asked.get('select', 'skip_till_any')]}",
                      f"{'order':<11}any, {_wait(options)}"])
