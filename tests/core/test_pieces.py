"""A large batch is taken in pieces, and nobody can tell: of any stage, in any order of arrival."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events
from slackwater.checks.subject import collect, run
from slackwater.core import stage
from slackwater.dedupe import Dedupe
from slackwater.pattern import Match
from slackwater.query import SelectQuery
from slackwater.query.event.query import event_pattern
from slackwater.query.recognise import RecogniseQuery
from slackwater.reorder import POLICIES
from slackwater.synchronise import FrontierSync
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", "arrival", "source", "sequence", key=("key",))
DERIVED = Roles("time", source="source", key=("key",))
PATTERN = event_pattern("EVENT SEQ(A a, !(B b), C c) WHERE [key] WITHIN 300 milliseconds")
KERNELS = {
    **{policy: Reorder(policy, ROLES) for policy in POLICIES},
    "derived clock": Reorder("MeanPlusRange(n=20, offset=10ms)", DERIVED),
    "scope": Reorder("KSlack", ROLES, scope="key"),
    "synchronise": FrontierSync(ROLES, max_delay="300ms"),
    "dedupe": Dedupe(Roles("time", "arrival", key=("key",)), within="100ms"),
    "window": Windowed(Reorder("MeanPlusRange(n=20, offset=10ms)", ROLES), Window(
        [Aggregate("sum", "value")], range="1s", group=("key",), roles=ROLES)),
    "select": SelectQuery("SELECT key, COUNT(*) AS n FROM s [RANGE 1 s, SLIDE 500 ms, DRATIO 5%] "
                          "WHERE value > 8 GROUP BY key", sample_events().schema,
                          Roles("time", "arrival")),
    "match": Match(PATTERN, Roles("time", "arrival", sequence="row", type="type", key=("key",)),
                   slack="400ms", emit="eager"),
    "recognise": RecogniseQuery(
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY key ORDER BY time, row MEASURES "
        "FIRST(A.row) AS begun PATTERN (A B+) WITHIN 400 ms DEFINE B AS B.value > LAST(A.value))",
        sample_events().schema, Roles("time", "arrival"), slack="300ms"),
}


@pytest.mark.parametrize("order", ["arrival", "shuffled", "reversed"])
@pytest.mark.parametrize("name", KERNELS)
def test_pieces_of_a_batch_in_any_order(monkeypatch, name, order):
    events = sample_events(400)
    at = {"arrival": np.arange(400), "reversed": np.arange(400)[::-1],
          "shuffled": np.random.default_rng(1).permutation(400)}[order]
    events = events.take(pa.array(at))
    whole = collect(run(KERNELS[name], [events]))
    assert whole["ready"]
    assert whole["quarantined"]
    monkeypatch.setattr(stage, "_PIECE", 30)
    assert collect(run(KERNELS[name], [events])) == whole
