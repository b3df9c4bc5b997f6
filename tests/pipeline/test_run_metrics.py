"""A run's numbers as text: what Prometheus scrapes, and the run log."""

from __future__ import annotations

import json
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from slackwater.core.errors import ConfigError
from slackwater.pipeline import Pipeline, parse
from slackwater.pipeline.exposition import METRICS, registry_of
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


def samples(found: Numbers, now: float) -> dict[tuple, float]:
    """What a scraper reads, by name and labels."""
    text = generate_latest(registry_of(found, lambda: now)).decode()
    return {(one.name, *sorted(one.labels.items())): one.value
            for family in text_string_to_metric_families(text) for one in family.samples}


def key(name: str, **labels: str) -> tuple:
    return (f"slackwater_{name}", *sorted({"pipeline": "plant", **labels}.items()))


def test_what_prometheus_reads():
    run = numbers()
    run.refused({"out": 3})
    found = samples(run, 1100.0)
    assert found[key("rows_in_total", stream="clean")] == 100
    assert found[key("rows_in_total", stream="peaks")] == 95
    assert found[key("rows_in_total", stream="again")] == 1
    assert found[key("rows_total", stream="clean", outcome="late")] == 1
    assert found[key("unreadable_total", stream="raw")] == 2
    assert found[key("late_share", stream="clean")] == pytest.approx(1 / 96)
    assert found[key("late_share_bound", stream="clean")] == 0.005
    assert found[key("latency_seconds", stream="clean", quantile="0.99")] == 0.25
    assert found[key("buffer_seconds", stream="clean")] == 0.05
    assert found[key("watermark_lag_seconds", stream="clean")] == 0.5
    assert found[key("batch_seconds", query="main")] == 1.25
    assert found[key("state_rows", query="main")] == 30
    assert found[key("state_bytes", query="main")] == 4096
    assert found[key("source_late_total", stream="clean", source="a")] == 1
    assert found[key("source_rows_total", stream="clean", source='b"\n')] == 38
    assert found[key("source_silence_seconds", stream="clean", source="a")] == 10
    assert found[key("up_seconds")] == 100
    assert found[key("dead_letters_total", sink="out")] == 3
    assert found[key("dead_letters_total", sink="more")] == 0, "so that an increase can be seen"
    assert {name for name, *_ in found} == set(METRICS)
    assert not any(("stream", "unused") in one for one in found), "it does not run"


@given(st.text())
def test_any_producer_can_be_told_of(name: str):
    found = Numbers(plant(), began=0.0)
    found.seen("clean", {name: 1}, {}, 1.0)
    rows = [one for one in samples(found, 2.0) if one[0] == "slackwater_source_rows_total"]
    assert len(rows) == 1


def test_the_endpoint():
    with serve_metrics(numbers(), "127.0.0.1", 0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert b"slackwater_rows_total" in answer.read()
        with (pytest.raises(ConfigError, match=r"cannot bind the metrics port .*in use"),
              serve_metrics(numbers(), "127.0.0.1", port)):
            pass


def test_refused_rows_are_warned_about_once():
    heard: list[str] = []
    run = Numbers(plant(), warn=heard.append)
    for count in (1, 1, 4):
        run.refused({"out": count})
    where = f"they are in the dead letters: {run.pipeline.dead_letters.path}"
    assert heard == [f"sinks.out has refused 1 row (1 since the start); {where}",
                     f"sinks.out has refused 3 rows (4 since the start); {where}"]


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
