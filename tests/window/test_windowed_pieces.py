"""A large batch goes through in pieces, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events
from slackwater.checks.subject import collect, run
from slackwater.reorder import chain
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", "arrival", "source", key=("key",))
KERNEL = Windowed(Reorder("MeanPlusRange(n=20, offset=10ms)", ROLES), Window(
    [Aggregate("sum", "value")], range="1s", group=("key",), roles=ROLES))


@pytest.mark.parametrize("order", ["arrival", "shuffled", "reversed"])
def test_pieces_of_a_batch_in_any_order(monkeypatch, order):
    events = sample_events(400, bad=order == "arrival")
    at = np.arange(400)
    if order == "shuffled":
        at = np.random.default_rng(1).permutation(400)
    elif order == "reversed":
        at = at[::-1]
    events = events.take(pa.array(at))
    whole = collect(run(KERNEL, [events]))
    assert whole["late"]
    monkeypatch.setattr(chain, "_PIECE", 30)
    assert collect(run(KERNEL, [events])) == whole
