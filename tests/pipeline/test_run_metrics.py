"""A run's numbers as text: what Prometheus scrapes, and the run log."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError
from slackwater.pipeline import Pipeline, parse
from slackwater.pipeline.exposition import METRICS, prometheus_text
from slackwater.pipeline.metrics import Numbers, loss_bound
from slackwater.pipeline.metrics_server import serve_metrics
from slackwater.pipeline.steps import Step

TEXT = """
name: plant
sources:
  raw: {kind: kafka, servers: b, topic: t, columns: {time: timestamp, device: string, v: double}}
steps:
  clean: {reorder: raw, policy: tide(loss=0.5%), source: device}
  peaks: {query: "SELECT MAX(v) AS peak FROM clean [RANGE 3 s]"}
  again: {reorder: clean.late}
  unused: {reorder: raw}
sinks:
  out: {from: peaks, kind: console}
  more: {from: again, kind: console}
"""
SAMPLE = re.compile(r'[a-z_]+\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\} -?[\d.e+-]+(?:inf|nan)?')


def plant(**metrics: object) -> Pipeline:
    return parse(TEXT + f"metrics: {json.dumps(metrics)}\n", "p.yaml", {})


def numbers() -> Numbers:
    found = Numbers(plant(), began=1000.0)
    raw, clean = found.streams["raw"], found.streams["clean"]
    raw.ready = raw.rows = 100
    raw.unreadable = 2
    clean.ready, clean.late, clean.quarantined = 95, 1, 2
    clean.latency, clean.buffer, clean.lag = (0.1, 0.2, 0.25), 0.05, 0.5
    found.batch("main", 7, 1.25, 100, 30, 4096)
    found.seen("clean", {"a": 60, 'b"\n': 38}, {"a": 1}, 1090.0)
    return found


def test_the_text_that_prometheus_reads():
    text = prometheus_text(numbers(), now=1100.0)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in lines)
    for wanted in (
        'slackwater_rows_in_total{pipeline="plant",stream="clean"} 100',
        'slackwater_rows_in_total{pipeline="plant",stream="peaks"} 95',
        'slackwater_rows_in_total{pipeline="plant",stream="again"} 1',
        'slackwater_rows_total{pipeline="plant",stream="clean",outcome="late"} 1',
        'slackwater_unreadable_total{pipeline="plant",stream="raw"} 2',
        'slackwater_late_share{pipeline="plant",stream="clean"} 0.01041666667',
        'slackwater_late_share_bound{pipeline="plant",stream="clean"} 0.005',
        'slackwater_latency_seconds{pipeline="plant",stream="clean",quantile="0.99"} 0.25',
        'slackwater_buffer_seconds{pipeline="plant",stream="clean"} 0.05',
        'slackwater_watermark_lag_seconds{pipeline="plant",stream="clean"} 0.5',
        'slackwater_batch_seconds{pipeline="plant",query="main"} 1.25',
        'slackwater_state_rows{pipeline="plant",query="main"} 30',
        'slackwater_state_bytes{pipeline="plant",query="main"} 4096',
        'slackwater_source_late_total{pipeline="plant",stream="clean",source="a"} 1',
        'slackwater_source_rows_total{pipeline="plant",stream="clean",source="b\\"\\n"} 38',
        'slackwater_source_silence_seconds{pipeline="plant",stream="clean",source="a"} 10',
        'slackwater_up_seconds{pipeline="plant"} 100',
    ):
        assert wanted in lines
    for name in METRICS:
        if f"\n{name}{{" in text:
            assert text.count(f"# TYPE {name} ") == text.count(f"# HELP {name} ") == 1
    assert "unused" not in text  # it does not run


@given(st.text())
def test_any_producer_can_be_told_of(name: str):
    found = Numbers(plant(), began=0.0)
    found.seen("clean", {name: 1}, {}, 1.0)
    lines = [line for line in prometheus_text(found, now=2.0).split("\n") if "source_rows" in line]
    assert len(lines) == 3
    assert SAMPLE.fullmatch(lines[2])


def test_the_endpoint():
    with serve_metrics(numbers(), "127.0.0.1", 0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"slackwater_rows_total" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/other", timeout=10)
        with (pytest.raises(ConfigError, match="the port cannot be had"),
              serve_metrics(numbers(), "127.0.0.1", port)):
            pass


def test_the_run_log(tmp_path):
    run = Numbers(plant(log=str(tmp_path / "logs" / "run.jsonl")))
    with run.told():
        run.batch("main", 0, 0.5, 10, 1, 100)
        run.batch("main", 0, 0.5, 10, 1, 100)
        run.tell()
        run.tell()  # no news, no line
    with pytest.raises(RuntimeError), run.told():
        raise RuntimeError("boom")
    lines = [json.loads(line) for line in (tmp_path / "logs" / "run.jsonl").open()]
    assert [line["event"] for line in lines] == ["start", "batch", "batch", "stop", "start",
                                                 "failed"]
    assert lines[2]["streams"]["clean"]["bound"] == 0.005
    assert lines[-1]["error"] == "boom"


@pytest.mark.parametrize(("kind", "text", "options", "bound"), [
    ("reorder", None, {"policy": "tide(loss=0.1%)"}, 0.001),
    ("reorder", None, {"policy": "DropRatio(ratio=2%)"}, 0.02),
    ("reorder", None, {"policy": "kslack"}, None),
    ("reorder", None, {}, None),
    ("reorder", None, {"source": "device"}, 0.001),
    ("synchronise", None, {"source": "device"}, None),
    ("select", "SELECT MAX(v) FROM s [RANGE 3 s, DRATIO 1%]", {}, 0.01),
    ("select", "SELECT MAX(v) FROM s [RANGE 3 s]", {"slack": "1s"}, None),
    ("event", "EVENT …", {"slack": "5s"}, None),
    ("event", "EVENT …", {}, None),
    ("event", "EVENT …", {"source": "device"}, 0.001),
    ("event", "EVENT …", {"slack": "tide(loss=3%)"}, 0.03),
])
def test_the_bound_on_late_rows(kind, text, options, bound):
    assert loss_bound(Step("s", kind, (), text, options)) == bound
