"""What notebooks show: tables, in which data is text and never markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater
from slackwater.datasets import simulated
from slackwater.evaluate import evaluate, profile
from slackwater.evaluate.tune import tune
from slackwater.pipeline import parse
from slackwater.query.event.query import event_pattern
from slackwater.reorder import Static, Tide

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
    (lambda: parse(PIPELINE, Path("p.yaml"), {}), ["plant", "<script>", "console"]),
    (lambda: slackwater.reorder(pa.table({"time": ["<b>", "2024-01-01"]})).account, ["loss"]),
], ids=["Tide", "Static", "profile", "evaluation", "metrics", "tuned", "pattern", "pipeline",
        "account"])
def test_objects_show_themselves(make: Any, says: list[str]) -> None:
    text = shown(make())
    for word in says:
        assert word in text
