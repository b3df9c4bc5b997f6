"""Conditions that must hold in each round of a loop: `(A a, B b)+ WHERE b.v > a.v`."""

from __future__ import annotations

import numpy as np

from slackwater.pattern.accept import Scratch, Walk
from slackwater.pattern.program import Programs, holds
from slackwater.pattern.schedule import Plan
from slackwater.pattern.shape import Graph
from slackwater.pattern.stacks import Events, inner

__all__ = ["in_rounds"]


@inner
def _gathered(g: int, turn: int, d: int, plan: Plan, graph: Graph, w: Walk, s: Scratch) -> bool:
    """Let conditions look at the events of a round; False if it lacks one of them."""
    loop, bits, c = graph.scope[g], graph.scoped[g], np.int64(0)
    while bits:
        if bits & 1:
            there = False
            for p in range(d, -1, -1):
                if w.rounds[p, loop] == turn and graph.component[w.node[p]] == c:
                    s.now[c] = w.row[p]
                    there = True
                    break
            if not there:
                return False
        bits >>= 1
        c += 1
    return True


@inner
def in_rounds(g: int, d: int, every: bool, plan: Plan, graph: Graph, w: Walk, prog: Programs,
              ev: Events,
              s: Scratch) -> bool:
    """Whether condition g holds in the round of event d, or in `every` one up to it.

    A round that lacks an event of it satisfies it.
    """
    loop, k = graph.scope[g], prog.element[g]
    last = w.rounds[d, loop]
    good = True
    for turn in range(1 if every else last, last + 1):
        if not _gathered(g, turn, d, plan, graph, w, s):
            continue
        if k < 0:
            good = holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last)
        else:
            for p in range(d + 1):
                if w.rounds[p, loop] == turn and graph.component[w.node[p]] == k:
                    s.now[k] = w.row[p]
                    if not holds(g, prog, ev, s.now, s.prev, s.chain, s.first, s.last):
                        good = False
                        break
        if not good:
            break
    for c in range(plan.m):  # what others look at: the last event of each
        if s.last[c] >= s.first[c]:
            s.now[c] = s.chain[s.last[c]]
    return good
