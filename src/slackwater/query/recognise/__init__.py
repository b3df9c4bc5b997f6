"""MATCH_RECOGNIZE: row pattern recognition of standard SQL over rows that arrive in any order.

``SELECT … FROM s MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES … PATTERN (…) DEFINE …)``.
`parse` makes a `tree`; `automaton` the states that a pattern goes through; `resolve` finds out
which row each part of an expression looks at; `plan` puts both together for the columns at hand;
`search` finds matches, with `machine` (whose code `coder` makes) for conditions that look at the
match so far; `measures` computes the results; `stage` keeps the rows of unfinished matches; `query`
puts `Reorder` in front.

Enters: a text, and rows in any order.  Leaves: a row per match, or per row of a match.  May import:
what the rest of query may.
"""

from slackwater.query.recognise.query import RecogniseQuery

__all__ = ["RecogniseQuery"]
