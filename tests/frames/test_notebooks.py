"""What notebooks show: tables, in which data is text and never markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater.core.events import Roles
from slackwater.datasets import simulated
from slackwater.evaluate import evaluate, profile
from slackwater.evaluate.tune import tune
from slackwater.pipeline import parse
from slackwater.query import compile
from slackwater.query.event.query import event_pattern
from slackwater.reorder import Reorder, Static, Tide

SCHEMA = pa.schema({"time": pa.int64(), "x": pa.float64(), "type": pa.string(),
                    "<b>": pa.string()})
ROLES = Roles("time", type="type", unit="s")
RISES = """SELECT * FROM s MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(x) AS top
           PATTERN (a b+) DEFINE b AS b.x > PREV(b.x))"""


def compiled(text: str, **options: Any) -> Any:
    return compile(text, SCHEMA, ROLES, **options)


PIPELINE = """
name: plant
sources:
  raw: {kind: kafka, servers: b, topic: "<script>", columns: {time: timestamp, v: double}}
steps:
  clean: {reorder: raw}
sinks:
  out: {from: clean, kind: console}
"""


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td", "pre"), tag
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def shown(thing: Any) -> str:
    page = Tags()
    page.feed(thing._repr_html_())
    page.close()
    assert not page.open
    return page.text


@pytest.mark.parametrize(("make", "says"), [
    (lambda: Tide(loss="0.5%"), ["Tide", "loss"]),
    (lambda: Static(buffer="2s"), ["buffer", "2s"]),
    (lambda: profile(simulated("g-2")), ["g-2", "out of order", "policy = Tide"]),
    (lambda: evaluate(simulated("g-2"), ["sba", "kslack"]), ["sba", "kslack", "late %"]),
    (lambda: evaluate(simulated("g-2"), ["sba"])[0], ["sba"]),
    (lambda: tune(simulated("g-2"), loss="1%", sample=500), ["→", "late %"]),
    (lambda: event_pattern("EVENT SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 s"), ["a.x < b.x"]),
    (lambda: compiled("SELECT MAX(x) AS m FROM s [RANGE 5 s, SLIDE 5 s] WHERE x < 3", slack="2s"),
     ["SELECT MAX(x)", "x < 3, row by row", "5s long, every 5s", "waiting 2s"]),
    (lambda: compiled(RISES, policy="Tide(loss=1%)"), ["b AS b.x > PREV", "waiting as Tide"]),
    (lambda: compiled("EVENT SEQ(A a, B b) WITHIN 1 s", slack="2s"),
     ["a, b in strict order", "Match", "skip_till_any", "type='type'", "5m"]),
    (lambda: compile("SELECT a.x FROM A a, B b WHERE |@a - @b| <= 5 seconds", [SCHEMA, SCHEMA],
                     (ROLES, ROLES)),
     ["pairs of A a and B b", "Correlate", "within"]),
    (lambda: Reorder(Static(buffer="2s"), Roles("<b>")),
     ["Reorder", "Static(buffer='2s')", "time='<b>'", "max_future_skew"]),
    (lambda: parse(PIPELINE, Path("p.yaml"), {}), ["plant", "<script>", "console"]),
    (lambda: slackwater.reorder(pa.table({"time": ["<b>", "2024-01-01"]})).account, ["loss"]),
], ids=["Tide", "Static", "profile", "evaluation", "metrics", "tuned", "pattern", "select",
        "recognise", "match", "pairs", "reorder", "pipeline", "account"])
def test_objects_show_themselves(make: Any, says: list[str]) -> None:
    text = shown(make())
    for word in says:
        assert word in text
