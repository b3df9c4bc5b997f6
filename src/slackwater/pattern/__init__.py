"""Sequence patterns over events that arrive out of order.

One idea a file: `stacks` (active instance stacks with RIP pointers), `program` (conditions between
events), `schedule` (when a condition can be checked), `construct` (every match of an event),
`follow` (the next event that fits), `explore` (quantifiers), `shape`, `wander`, `judge`, `rounds`
(groups, alternatives and the like), `loop` (a batch), `finality` (when nothing can undo a match),
`identity` (match ids), `live`, `clocks`, `run`, `result`, `logic` (state and protocol).

Enters: events in arrival order, and a `Pattern` (the query language makes one).  Leaves: matches,
and retractions of matches (`ready`), events behind the watermark (`late`), events without a usable
time (`quarantined`).  May import: errors, durations, events, kernel, state, outcome, and reorder's
policies, which estimate the slack.
"""

from slackwater.pattern.match import EMIT, SELECT, Match
from slackwater.pattern.pattern import Bound, Matched, Pattern
from slackwater.pattern.program import Aggregate, Condition, Op
from slackwater.pattern.schedule import Component, Negation

__all__ = ["EMIT", "SELECT", "Aggregate", "Bound", "Component", "Condition", "Match", "Matched",
           "Negation", "Op", "Pattern"]
