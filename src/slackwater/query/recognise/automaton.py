"""A row pattern as states without empty steps: each state takes one row.

A state is one occurrence of a variable in the pattern (with {n,m} written out).  What may follow a
state is a list of other states and of the end, the preferred first: trying them in that order, and
going back where a row does not fit, gives the matches in the order of preference that standard SQL
defines.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.query.errors import QueryError
from slackwater.query.recognise.machine import ACCEPT, AT_END, AT_START
from slackwater.query.recognise.tree import (
    Anchor,
    Either,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Sequence,
    Variable,
)

__all__ = ["Automaton", "automaton"]

_MOST_STATES = 2_000


@dataclass(frozen=True)
class Automaton:
    """States and what follows them.

    Parameters
    ----------
    variables
        The names of the pattern's variables, in the order in which they occur first.
    variable
        The number of each state's variable.
    excluded
        Whether ALL ROWS PER MATCH leaves a state's row out.
    first, target, flags
        The transitions of state q are `target[first[q + 1]:first[q + 2]]`; those from the start
        come before them all, at q = −1.
    """

    variables: tuple[str, ...]
    variable: NDArray[np.int64]
    excluded: NDArray[np.bool_]
    first: NDArray[np.int64]
    target: NDArray[np.int64]
    flags: NDArray[np.int64]

    @property
    def states(self) -> int:
        """How many."""
        return len(self.variable)

    @property
    def anchored_start(self) -> bool:
        """Whether the start of the partition matters."""
        return bool((self.flags & AT_START).any())


class _Step:
    """A node of the graph with empty steps: either a state, or choices, the preferred first.

    A repetition begins with a step, `begins`, and ends with one that names it, `ends`.
    """

    __slots__ = ("begins", "ends", "flag", "following", "state")

    def __init__(self, state: int = -1, following: list[_Step] | None = None,
                 flag: int = 0) -> None:
        self.state, self.following, self.flag = state, following or [], flag
        self.begins = False
        self.ends: _Step | None = None


def automaton(pattern: Pattern, text: str) -> Automaton:
    """The states of a pattern.

    Examples
    --------
    >>> from slackwater.query.recognise.parse import parse_recognise
    >>> text = "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A B*? C))"
    >>> found = automaton(parse_recognise(text).pattern, text)
    >>> found.variables, found.first.tolist(), found.target.tolist()
    (('A', 'B', 'C'), [0, 1, 2, 4, 6], [2, -1, 0, 1, 0, 1])
    """
    return _Maker(pattern, text).made()


class _Maker:
    def __init__(self, pattern: Pattern, text: str) -> None:
        self._pattern, self._text = pattern, text
        self._names: dict[str, int] = {}
        self._variable: list[int] = []
        self._excluded: list[bool] = []
        self._states: list[_Step] = []

    def made(self) -> Automaton:
        _name_all(self._pattern, self._names)
        end = _Step(ACCEPT - 1)  # a state's number, and no state: `_closure` knows it
        try:
            start = self._before(self._pattern, end, False)
            lists = [_closure(start, end)]
            lists += [_closure(state.following[0], end) for state in self._states]
        except RecursionError:
            raise QueryError("the pattern is nested too deeply", self._text, self._pattern.at,
                             mistake="pattern") from None
        first = np.cumsum([0, *map(len, lists)])
        flat = [one for some in lists for one in some]
        return Automaton(tuple(self._names), np.array(self._variable, np.int64),
                         np.array(self._excluded, bool), first.astype(np.int64),
                         np.array([t for t, _ in flat], np.int64),
                         np.array([f for _, f in flat], np.int64))

    def _before(self, node: Pattern, rest: _Step, excluded: bool) -> _Step:
        """The step at which `node` begins, if `rest` follows it."""
        if isinstance(node, Variable):
            if len(self._states) >= _MOST_STATES:
                raise QueryError("the pattern is too large when its repetitions are written out",
                                 self._text, node.at, mistake="pattern",
                                 expected=f"at most {_MOST_STATES:,} occurrences of variables")
            state = _Step(len(self._states), [rest])
            self._states.append(state)
            self._variable.append(self._names[node.name])
            self._excluded.append(excluded)
            return state
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                rest = self._before(part, rest, excluded)
            return rest
        if isinstance(node, Either):
            return _Step(following=[self._before(p, rest, excluded) for p in node.parts])
        if isinstance(node, Permute):
            return _Step(following=[self._before(Sequence(parts), rest, excluded)
                                    for parts in itertools.permutations(node.parts)])
        if isinstance(node, Exclude):
            return self._before(node.part, rest, True)
        if isinstance(node, Anchor):
            return _Step(following=[rest], flag=AT_START if node.start else AT_END)
        return self._repeated(node, rest, excluded)

    def _repeated(self, node: Repeat, rest: _Step, excluded: bool) -> _Step:
        if node.most is None:
            step = _Step()
            step.following = self._choice(node, step, rest, excluded)
        else:
            step = rest
            for _ in range(node.most - node.least):
                step = _Step(following=self._choice(node, step, rest, excluded))
        for _ in range(node.least):
            step = self._before(node.part, step, excluded)
        return step

    def _choice(self, node: Repeat, again: _Step, rest: _Step, excluded: bool) -> list[_Step]:
        """Once more, and then perhaps `again`; or on with the rest."""
        begin, end = _Step(), _Step(following=[again, rest])
        begin.begins, end.ends = True, begin
        begin.following = [self._before(node.part, end, excluded)]
        return [rest, begin] if node.lazy else [begin, rest]


def _name_all(node: Pattern, names: dict[str, int]) -> None:
    """Number the variables as they occur from left to right."""
    if isinstance(node, Variable):
        names.setdefault(node.name, len(names))
        return
    parts: tuple[Pattern, ...] = getattr(node, "parts", None) or (
        (node.part,) if isinstance(node, (Repeat, Exclude)) else ())
    for part in parts:
        _name_all(part, names)


def _closure(start: _Step, end: _Step) -> list[tuple[int, int]]:
    """What can come next from a step, with the anchors passed on the way, the preferred first.

    A repetition that took no row is the last one: the pattern goes on behind it, as in Perl.
    """
    found: list[tuple[int, int]] = []
    seen: set[tuple[int, int, frozenset[int]]] = set()
    stack: list[tuple[_Step, int, frozenset[int]]] = [(start, 0, frozenset())]
    while stack:
        step, flags, begun = stack.pop()
        flags |= step.flag
        if (id(step), flags, begun) in seen:
            continue
        seen.add((id(step), flags, begun))
        if step is end or step.state >= 0:
            target = ACCEPT if step is end else step.state
            if not any(t == target and flags & had == had for t, had in found):
                found.append((target, flags))
        elif step.ends is not None:
            empty = id(step.ends) in begun
            stack.append((step.following[1 if empty else 0], flags, begun - {id(step.ends)}))
        else:
            if step.begins:
                begun = begun | {id(step)}
            stack += [(other, flags, begun) for other in reversed(step.following)]
    return found
